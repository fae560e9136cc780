#include <bindings/args.h>
#include <bindings/bindings.h>
#include <bindings/executor.h>
#include <bindings/inputs.h>

#include <ir/matmul_nodes.h>
#include <ir/options.h>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace nvfuser::bindings {

namespace {

std::vector<std::string> optionNames(const py::handle& names, const char* keyword) {
  std::vector<std::string> result;
  NVF_CHECK_AS(
      Type,
      !py::isinstance<py::str>(names) && py::isinstance<py::iterable>(names),
      keyword,
      " must be a list of option names");
  for (const py::handle name : names) {
    NVF_CHECK_AS(Type, py::isinstance<py::str>(name), keyword, " must be a list of option names");
    result.push_back(name.cast<std::string>());
  }
  return result;
}

py::list toList(const std::vector<EvalValue>& outputs) {
  py::list result(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    PyList_SET_ITEM(
        result.ptr(), static_cast<Py_ssize_t>(i), valueToPython(outputs[i]).release().ptr());
  }
  return result;
}

// Runs without recording for autograd and without the GIL. A TorchDispatchMode sees the fusion as
// one call: the ATen ops that evaluate it stay below it, unless an input is of a subclass that has
// its own rules.
std::vector<EvalValue> run(
    FusionExecutorCache& cache,
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> device,
    bool below_modes) {
  py::gil_scoped_release release;
  const at::AutoDispatchBelowAutograd below_autograd;
  std::optional<c10::impl::ExcludeDispatchKeyGuard> no_modes;
  if (below_modes) {
    no_modes.emplace(
        c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot}));
  }
  const at::NoGradGuard no_grad;
  return cache.execute(inputs, device);
}

// These options together leave matrix products to generated kernels, which are for half types.
void refuseWithoutScheduler(const Fusion& fusion) {
  if (!isOptionEnabled("fuse_matmul") || !isOptionDisabled("matmul_expr_eval")) {
    return;
  }
  for (const Expr* expr : fusion.exprs()) {
    const DataType dtype = expr->output(0)->dtype();
    NVF_CHECK(
        (!expr->isA<MatmulOp>() && !expr->isA<LinearOp>()) || dtype == DataType::Half ||
            dtype == DataType::BFloat16,
        "Can not find a scheduler to schedule fusion segment: with fuse_matmul enabled and "
        "matmul_expr_eval disabled, matrix products must be Half or BFloat16, unlike ",
        expr->toString());
  }
}

py::list execute(
    const py::object& self,
    const py::object& inputs,
    const py::object& device,
    const py::object& enable_options,
    const py::object& disable_options) {
  auto& cache = self.cast<FusionExecutorCache&>();
  const CallOptions options(enable_options, disable_options);
  if (options.guard.has_value()) {
    refuseWithoutScheduler(*cache.fusion());
  }
  RuntimeInputs flat = flattenInputs(inputs);
  if (flat.has_dispatch_subclass) {
    // FakeTensors are evaluated on meta tensors; None says that there were none.
    py::object outputs = py::module_::import("nvfuser_direct.fake_tensors")
                             .attr("execute")(self, toList(flat.values), device);
    if (!outputs.is_none()) {
      return py::list(outputs);
    }
  }
  return toList(run(cache, flat.values, deviceFromPython(device), !flat.has_dispatch_subclass));
}

} // namespace

CallOptions::CallOptions(const py::object& enable, const py::object& disable) {
  if (enable.is_none() && disable.is_none()) {
    return;
  }
  const auto names = [](const py::object& option, const char* keyword) {
    return option.is_none() ? std::vector<std::string>() : optionNames(option, keyword);
  };
  guard.emplace(names(enable, "_enable_options"), names(disable, "_disable_options"));
}

void bindExecutor(py::module_& m) {
  ExecutorClass cache(
      m,
      "FusionExecutorCache",
      "Runs a fusion for any inputs that fit; what it prepares for a class of inputs is kept.");
  cache
      .def(
          py::init([](std::shared_ptr<Fusion> fusion, int64_t fusion_id, bool auto_schedule) {
            return std::make_shared<FusionExecutorCache>(
                std::move(fusion), fusion_id, auto_schedule);
          }),
          py::arg("fusion").none(false),
          py::arg("fusion_id") = 0,
          py::arg("auto_schedule") = true,
          "Takes the fusion over: it must not be changed afterwards.")
      .def(
          "execute",
          &execute,
          py::arg("inputs"),
          py::kw_only(),
          py::arg("device") = py::none(),
          py::arg("_enable_options") = py::none(),
          py::arg("_disable_options") = py::none(),
          R"(Runs the fusion and returns the list of visible outputs.

inputs: torch tensors and Python numbers in definition order; nested lists and tuples are flattened. device: None (the
tensors' common device), a CUDA index, a str or a torch.device. Nothing is recorded for autograd.
RuntimeError, naming the input: a wrong count, kind, dtype, rank, size, stride class or device.)")
      .def(
          "is_compiled",
          [](FusionExecutorCache& self, const py::object& inputs, const py::object& device) {
            return self.isCompiled(flattenInputs(inputs).values, deviceFromPython(device));
          },
          py::arg("inputs"),
          py::arg("device") = py::none(),
          "True when a run with inputs of this class needs no more preparation.")
      .def(
          "fusion",
          [](const FusionExecutorCache& self) { return self.fusion(); },
          "The fusion as it was defined.")
      .def(
          "num_runtimes",
          &FusionExecutorCache::numRuntimes,
          "For how many classes of inputs something is prepared.")
      .def(
          "last_kernel_code",
          &FusionExecutorCache::mostRecentKernelText,
          "The sources of the generated kernels of the most recent run; empty when ATen evaluated "
          "all of it.")
      .def(
          "get_output_shardings",
          [](const FusionExecutorCache&) { return py::list(); },
          "Empty: no output is sharded over devices.");
  bindExplain(m, cache);
}

} // namespace nvfuser::bindings
