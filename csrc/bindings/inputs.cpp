#include <bindings/args.h>
#include <bindings/inputs.h>

namespace nvfuser::bindings {

namespace {

void append(RuntimeInputs& result, PyObject* item) {
  if (isTensor(item)) {
    const at::Tensor& tensor = tensorFromPython(item);
    result.has_dispatch_subclass =
        result.has_dispatch_subclass || tensor.key_set().has(c10::DispatchKey::Python);
    result.values.emplace_back(tensor);
    return;
  }
  ScalarValue scalar;
  if (loadPythonScalar(item, scalar)) {
    result.values.emplace_back(scalar);
    return;
  }
  NVF_CHECK(
      !PyLong_Check(item),
      "input ",
      result.values.size(),
      " is an integer that does not fit in 64 bits: ",
      py::str(py::handle(item)).cast<std::string>());
  NVF_CHECK(
      PyList_Check(item) || PyTuple_Check(item),
      "input ",
      result.values.size(),
      " has the unsupported type ",
      Py_TYPE(item)->tp_name,
      "; expected a torch.Tensor, bool, int, float or complex");
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(item);
  for (Py_ssize_t i = 0; i < n; ++i) {
    append(result, PySequence_Fast_GET_ITEM(item, i));
  }
}

} // namespace

RuntimeInputs flattenInputs(py::handle inputs) {
  RuntimeInputs result;
  if (PyList_Check(inputs.ptr()) || PyTuple_Check(inputs.ptr())) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(inputs.ptr());
    result.values.reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      append(result, PySequence_Fast_GET_ITEM(inputs.ptr(), i));
    }
    return result;
  }
  // Iterating a tensor would take its rows for inputs.
  NVF_CHECK_AS(
      Type,
      !isTensor(inputs) && !py::isinstance<py::str>(inputs) && py::isinstance<py::iterable>(inputs),
      "inputs must be a list or tuple of tensors and numbers, not ",
      Py_TYPE(inputs.ptr())->tp_name);
  for (const py::handle item : inputs) {
    append(result, item.ptr());
  }
  return result;
}

} // namespace nvfuser::bindings
