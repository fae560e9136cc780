#include <bindings/args.h>

#include <ir/nodes.h>

namespace nvfuser::bindings {

py::object handleOf(Val* val) {
  if (val == nullptr) {
    return py::none();
  }
  switch (val->kind()) {
    case ValKind::TensorView:
      return py::cast(share(static_cast<TensorView*>(val)));
    case ValKind::IterDomain:
      return py::cast(share(static_cast<IterDomain*>(val)));
    case ValKind::TensorDomain:
      return py::cast(share(static_cast<TensorDomain*>(val)));
    case ValKind::Scalar:
      break;
  }
  return py::cast(share(val));
}

namespace {

template <typename T, typename... Rest>
py::object castToFirst(Expr* expr) {
  if (auto* derived = dynamic_cast<T*>(expr)) {
    return py::cast(share(derived));
  }
  if constexpr (sizeof...(Rest) > 0) {
    return castToFirst<Rest...>(expr);
  } else {
    return py::cast(share(expr));
  }
}

} // namespace

py::object handleOf(Expr* expr) {
  if (expr == nullptr) {
    return py::none();
  }
  return castToFirst<Split, Merge, BroadcastOp, ReshapeOp, SqueezeOp>(expr);
}

bool loadPythonScalar(PyObject* object, ScalarValue& out) {
  if (PyFloat_Check(object)) {
    out = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyBool_Check(object)) { // before int, of which bool is a subclass
    out = object == Py_True;
    return true;
  }
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    out = static_cast<int64_t>(value);
    return overflow == 0;
  }
  if (PyComplex_Check(object)) {
    out = std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
    return true;
  }
  return false;
}

Val* OpCall::checked(Val* val) const {
  NVF_CHECK(
      val->fusion() == fusion_,
      op_,
      ": ",
      val->toString(),
      " belongs to another Fusion than the one being defined");
  return val;
}

Val* OpCall::operator()(const Operand& arg) const {
  return arg.val != nullptr ? checked(arg.val) : IrBuilder::constant(arg.value);
}

Val* OpCall::operator()(const Scalar& arg) const {
  return arg.val != nullptr ? checked(arg.val) : IrBuilder::constant(arg.value);
}

TensorView* OpCall::operator()(const Tensor& arg) const {
  checked(arg.tv);
  return arg.tv;
}

Val* OpCall::operator()(const ScalarVal& arg) const {
  return checked(arg.val);
}

std::vector<Val*> OpCall::operator()(const Shape& arg) const {
  std::vector<Val*> result;
  result.reserve(arg.entries.size());
  for (const Scalar& entry : arg.entries) {
    result.push_back(
        entry.val != nullptr ? checked(entry.val)
                             : IrBuilder::constInt(std::get<int64_t>(entry.value)));
  }
  return result;
}

std::vector<TensorView*> OpCall::operator()(const std::vector<Tensor>& arg) const {
  std::vector<TensorView*> result;
  for (const Tensor& tensor : arg) {
    result.push_back((*this)(tensor));
  }
  return result;
}

Val* OpCall::typed(const Operand& arg, DataType dtype) const {
  return arg.val != nullptr ? checked(arg.val) : IrBuilder::constant(arg.value, dtype);
}

} // namespace nvfuser::bindings

namespace pybind11::detail {

using nvfuser::bindings::loadPythonScalar;

namespace {

// Calls `load` on each element of a list or tuple; false for other objects and when `load` says so.
template <typename F>
bool loadSequence(handle source, F load) {
  if (!PyList_Check(source.ptr()) && !PyTuple_Check(source.ptr())) {
    return false;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(source.ptr());
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!load(PySequence_Fast_GET_ITEM(source.ptr(), i))) {
      return false;
    }
  }
  return true;
}

bool isInt(PyObject* object) {
  return PyLong_Check(object) && !PyBool_Check(object);
}

} // namespace

bool type_caster<nvfuser::bindings::Shape>::load(handle source, bool) {
  value.is_tuple = PyTuple_Check(source.ptr());
  return loadSequence(source, [&](PyObject* item) {
    nvfuser::bindings::Scalar entry;
    const bool ok = isInt(item)
        ? loadPythonScalar(item, entry.value)
        : loadVal(item, entry.val, [](auto* val) { return val->isScalar(); });
    value.entries.push_back(entry);
    return ok;
  });
}

bool type_caster<nvfuser::bindings::IntList>::load(handle source, bool) {
  return loadSequence(source, [&](PyObject* item) {
    nvfuser::ScalarValue entry;
    if (!isInt(item) || !loadPythonScalar(item, entry)) {
      return false;
    }
    value.values.push_back(std::get<int64_t>(entry));
    return true;
  });
}

} // namespace pybind11::detail
