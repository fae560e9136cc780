#include <bindings/bindings.h>

#include <ir/exceptions.h>

namespace nvfuser::bindings {

namespace py = pybind11;

namespace {

PyObject* pythonClass(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Runtime:
      return PyExc_RuntimeError;
    case ErrorKind::Value:
      return PyExc_ValueError;
    case ErrorKind::Type:
      return PyExc_TypeError;
    case ErrorKind::Index:
      return PyExc_IndexError;
    case ErrorKind::NotImplemented:
      return PyExc_NotImplementedError;
  }
  return PyExc_RuntimeError;
}

} // namespace

void bindExceptions(py::module_& m) {
  py::exception<InternalError> internal(m, "InternalError", PyExc_RuntimeError);
  internal.attr("__module__") = "nvfuser_direct";
  internal.attr("__doc__") =
      "A fault of this library, not of its caller. The message names the place in the source.";
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) {
        std::rethrow_exception(error);
      }
    } catch (const UserError& e) {
      py::set_error(pythonClass(e.kind()), e.what());
    } catch (const InternalError& e) {
      py::object type = py::module_::import("nvfuser_direct._C_DIRECT").attr("InternalError");
      py::set_error(type, e.what());
    }
  });
}

} // namespace nvfuser::bindings
