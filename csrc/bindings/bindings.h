// The parts of the extension module, in the order in which module.cpp adds them.
#pragma once

#include <pybind11/pybind11.h>

namespace nvfuser::bindings {

void bindExceptions(pybind11::module_& m);
/// c10::Error and its subclasses, and Python errors that crossed torch.
void bindTorchExceptions();
void bindEnums(pybind11::module_& m);
void bindIr(pybind11::module_& m);
void bindTensorView(pybind11::module_& m);
void bindFusion(pybind11::module_& m);
void bindDefinitionInputs(pybind11::module_& m);
void bindExecutor(pybind11::module_& m);
void bindValidation(pybind11::module_& m);

// fd.ops
void bindPointwiseOps(pybind11::module_& ops);
void bindReductionOps(pybind11::module_& ops);
void bindShapeOps(pybind11::module_& ops);
void bindIndexingOps(pybind11::module_& ops);
void bindMatmulOps(pybind11::module_& ops);
void bindFactoryOps(pybind11::module_& ops);
void bindSdpaOps(pybind11::module_& ops);

// fd.sched, idm, attention backends
void bindSchedule(pybind11::module_& schedule);
void bindIdModel(pybind11::module_& idm);
void bindAttention(pybind11::module_& m);

/// The submodule kernel_cache.
void bindKernelCache(pybind11::module_& m);

} // namespace nvfuser::bindings
