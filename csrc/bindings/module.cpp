#include <bindings/bindings.h>

namespace nvfuser::bindings {

namespace py = pybind11;

namespace {

void bindOps(py::module_& m) {
  auto ops = m.def_submodule("ops", "The operators of a definition, as fd.ops offers them.");
  bindPointwiseOps(ops);
  bindReductionOps(ops);
  bindShapeOps(ops);
  bindIndexingOps(ops);
  bindMatmulOps(ops);
  bindFactoryOps(ops);
  bindSdpaOps(ops);
}

} // namespace

} // namespace nvfuser::bindings

PYBIND11_MODULE(_C_DIRECT, m) {
  namespace b = nvfuser::bindings;
  m.doc() = "The compiled part of nvfuser_direct: the fusion IR, its operators and its executors.";
  m.attr("_version") = NVFUSER_VERSION;
  m.attr("_built_with_torch") = NVFUSER_BUILT_WITH_TORCH;
  b::bindExceptions(m);
  b::bindTorchExceptions();
  b::bindEnums(m);
  b::bindIr(m);
  b::bindTensorView(m);
  b::bindFusion(m);
  b::bindDefinitionInputs(m);
  b::bindExecutor(m);
  b::bindValidation(m);
  b::bindOps(m);
  auto schedule = m.def_submodule("schedule", "Schedule functions, as fd.sched offers them.");
  b::bindSchedule(schedule);
  auto idm = m.def_submodule("idm", "Which dimensions of a fusion are the same.");
  b::bindIdModel(idm);
  b::bindAttention(m);
  auto kernel_cache =
      m.def_submodule("kernel_cache", "Compiled CPU kernels, in memory and on disk.");
  b::bindKernelCache(kernel_cache);
}
