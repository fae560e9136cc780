// What bound functions take and give: handles that keep their fusion alive, tensors, scalars,
// shapes, lists.
//
// Folder csrc/bindings: the extension module _C_DIRECT, one file a topic. Only torch_conversion.cpp
// includes torch's Python headers.
#pragma once

#include <ir/builder.h>
#include <ir/tensor_view.h>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nvfuser::bindings {

namespace py = pybind11;

/// A Python handle to a node owns a share of the node's fusion, so it stays valid when the
/// definition is gone.
template <typename T>
std::shared_ptr<T> share(T* node) {
  return std::shared_ptr<T>(node->fusion()->shared_from_this(), node);
}

/// The handle of the most derived bound class; None for nullptr.
py::object handleOf(Val* val);
py::object handleOf(Expr* expr);
template <typename T>
py::list handlesOf(const std::vector<T*>& nodes) {
  py::list result;
  for (T* node : nodes) {
    result.append(handleOf(node));
  }
  return result;
}

/// bool, int, float or complex as a value; false for anything else and for integers beyond 64 bits.
bool loadPythonScalar(PyObject* object, ScalarValue& out);

// --- argument kinds ---

/// A scalar Val or a Python bool, int, float or complex.
struct Scalar {
  Val* val = nullptr;
  ScalarValue value;
};
/// A TensorView or what Scalar takes.
struct Operand {
  Val* val = nullptr;
  ScalarValue value;
  bool isTensor() const {
    return val != nullptr && val->isTensor();
  }
};
/// A TensorView, never None.
struct Tensor {
  TensorView* tv = nullptr;
};
/// A scalar Val, never a Python number or None.
struct ScalarVal {
  Val* val = nullptr;
};
/// A list or tuple of ints (no bools) and scalar Vals.
struct Shape {
  std::vector<Scalar> entries;
  bool is_tuple = false;
};
/// A list or tuple of ints.
struct IntList {
  std::vector<int64_t> values;
};

// --- result kinds ---

struct NewVal {
  Val* val;
};
struct NewTensor {
  TensorView* tv;
};

/// Turns the arguments of one call of an op into values of the active fusion. Values of another
/// fusion raise RuntimeError that names the op.
class OpCall {
 public:
  explicit OpCall(std::string_view op) : op_(op), fusion_(FusionGuard::activeOrThrow()) {}

  Val* operator()(const Operand& arg) const;
  Val* operator()(const Scalar& arg) const;
  TensorView* operator()(const Tensor& arg) const;
  Val* operator()(const ScalarVal& arg) const;
  /// Integers become constants of type Index.
  std::vector<Val*> operator()(const Shape& arg) const;
  std::vector<TensorView*> operator()(const std::vector<Tensor>& arg) const;
  /// nullptr for None.
  template <typename T>
  auto operator()(const std::optional<T>& arg) const -> decltype((*this)(*arg)) {
    return arg.has_value() ? (*this)(*arg) : decltype((*this)(*arg)){};
  }
  /// A scalar whose constants have the type `dtype`.
  Val* typed(const Operand& arg, DataType dtype) const;
  Val* typed(const Scalar& arg, DataType dtype) const {
    return typed(Operand{arg.val, arg.value}, dtype);
  }

 private:
  Val* checked(Val* val) const;

  std::string_view op_;
  Fusion* fusion_;
};

} // namespace nvfuser::bindings

namespace pybind11::detail {

/// The Val behind `source`, if it is one of `kind`.
template <typename Pred>
bool loadVal(handle source, nvfuser::Val*& out, Pred accepts) {
  make_caster<nvfuser::Val> caster;
  if (source.is_none() || !caster.load(source, false)) {
    return false;
  }
  out = cast_op<nvfuser::Val*>(caster);
  return accepts(out);
}

template <>
struct type_caster<nvfuser::bindings::Scalar> {
  PYBIND11_TYPE_CASTER(nvfuser::bindings::Scalar, const_name("Val | bool | int | float | complex"));
  bool load(handle source, bool) {
    return nvfuser::bindings::loadPythonScalar(source.ptr(), value.value) ||
        loadVal(source, value.val, [](auto* val) { return val->isScalar(); });
  }
};

template <>
struct type_caster<nvfuser::bindings::Operand> {
  PYBIND11_TYPE_CASTER(
      nvfuser::bindings::Operand,
      const_name("TensorView | Val | bool | int | float | complex"));
  bool load(handle source, bool) {
    return nvfuser::bindings::loadPythonScalar(source.ptr(), value.value) ||
        loadVal(source, value.val, [](auto* val) { return val->isScalar() || val->isTensor(); });
  }
};

template <>
struct type_caster<nvfuser::bindings::Tensor> {
  PYBIND11_TYPE_CASTER(nvfuser::bindings::Tensor, const_name("TensorView"));
  bool load(handle source, bool) {
    nvfuser::Val* val = nullptr;
    if (!loadVal(source, val, [](auto* v) { return v->isTensor(); })) {
      return false;
    }
    value.tv = static_cast<nvfuser::TensorView*>(val);
    return true;
  }
};

template <>
struct type_caster<nvfuser::bindings::ScalarVal> {
  PYBIND11_TYPE_CASTER(nvfuser::bindings::ScalarVal, const_name("Val"));
  bool load(handle source, bool) {
    return loadVal(source, value.val, [](auto* val) { return val->isScalar(); });
  }
};

template <>
struct type_caster<nvfuser::bindings::Shape> {
  PYBIND11_TYPE_CASTER(nvfuser::bindings::Shape, const_name("Sequence[Val | int]"));
  bool load(handle source, bool convert);
};

template <>
struct type_caster<nvfuser::bindings::IntList> {
  PYBIND11_TYPE_CASTER(nvfuser::bindings::IntList, const_name("Sequence[int]"));
  bool load(handle source, bool convert);
};

template <>
struct type_caster<nvfuser::bindings::NewVal> {
  static constexpr auto name = const_name("Val");
  static handle cast(const nvfuser::bindings::NewVal& source, return_value_policy, handle) {
    return nvfuser::bindings::handleOf(source.val).release();
  }
};

template <>
struct type_caster<nvfuser::bindings::NewTensor> {
  static constexpr auto name = const_name("TensorView");
  static handle cast(const nvfuser::bindings::NewTensor& source, return_value_policy, handle) {
    return nvfuser::bindings::handleOf(static_cast<nvfuser::Val*>(source.tv)).release();
  }
};

} // namespace pybind11::detail
