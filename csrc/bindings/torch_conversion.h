// Between torch's Python objects and ATen. Only torch_conversion.cpp sees torch's Python headers.
#pragma once

#include <runtime/value.h>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <pybind11/pybind11.h>

#include <optional>

namespace nvfuser::bindings {

/// A torch.Tensor or an instance of a subclass.
bool isTensor(pybind11::handle object);
/// The tensor behind a Python tensor (see isTensor).
const at::Tensor& tensorFromPython(pybind11::handle object);
pybind11::object tensorToPython(const at::Tensor& tensor);
/// None gives nullopt; an int is a CUDA index; a str or torch.device is what it says. TypeError for
/// other objects, RuntimeError for text that names no device.
std::optional<at::Device> deviceFromPython(pybind11::handle object);

/// A tensor or Python number; None for nothing.
pybind11::object valueToPython(const EvalValue& value);

} // namespace nvfuser::bindings
