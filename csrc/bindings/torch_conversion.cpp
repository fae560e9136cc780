#include <torch/csrc/Device.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <bindings/bindings.h>
#include <bindings/torch_conversion.h>

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace nvfuser::bindings {

namespace py = pybind11;

bool isTensor(py::handle object) {
  return THPVariable_Check(object.ptr());
}

const at::Tensor& tensorFromPython(py::handle object) {
  return THPVariable_Unpack(object.ptr());
}

py::object tensorToPython(const at::Tensor& tensor) {
  PyObject* wrapped = THPVariable_Wrap(tensor);
  if (wrapped == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(wrapped);
}

namespace {

// With the index that tensors of the device have: none for cpu and meta, the current device for
// "cuda".
at::Device resolved(at::Device device) {
  if (device.is_cpu() || device.is_meta()) {
    return at::Device(device.type());
  }
  if (device.has_index() || !c10::impl::hasDeviceGuardImpl(device.type())) {
    return device;
  }
  return c10::impl::getDeviceGuardImpl(device.type())->getDevice();
}

} // namespace

std::optional<at::Device> deviceFromPython(py::handle object) {
  if (object.is_none()) {
    return std::nullopt;
  }
  if (THPDevice_Check(object.ptr())) {
    return resolved(reinterpret_cast<THPDevice*>(object.ptr())->device);
  }
  if (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr())) {
    const auto index = object.cast<int64_t>();
    NVF_CHECK(
        index >= 0 && index <= 127, "device: a CUDA index must lie between 0 and 127, not ", index);
    return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  }
  NVF_CHECK_AS(
      Type,
      PyUnicode_Check(object.ptr()),
      "device must be None, an int, a str or a torch.device, not ",
      Py_TYPE(object.ptr())->tp_name);
  return resolved(at::Device(object.cast<std::string>()));
}

py::object valueToPython(const EvalValue& value) {
  if (value.isTensor()) {
    return tensorToPython(value.tensor());
  }
  return std::visit(
      [](const auto& v) -> py::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
          return py::none();
        } else {
          return py::cast(v);
        }
      },
      value.scalar());
}

void bindTorchExceptions() {
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) {
        std::rethrow_exception(error);
      }
    } catch (const c10::Error&) {
      torch::translate_exception_to_python(error);
    } catch (const python_error&) {
      torch::translate_exception_to_python(error);
    }
  });
}

} // namespace nvfuser::bindings
