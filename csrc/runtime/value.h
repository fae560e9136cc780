// EvalValue: what a Val is at run time; and the mapping between our data types and ATen's.
//
// Folder csrc/runtime: evaluation through ATen, executors, attention backends, RNG state. Together
// with multidevice and bindings it is the only folder that includes ATen.
#pragma once

#include <ir/exceptions.h>
#include <ir/scalar_value.h>
#include <ir/type.h>

#include <ATen/core/Tensor.h>

#include <variant>

namespace nvfuser {

/// A tensor, a scalar, or nothing (an absent operand, or not evaluated yet).
class EvalValue {
 public:
  EvalValue() = default;
  EvalValue(at::Tensor tensor) : tensor_(std::move(tensor)), is_tensor_(true) {}
  EvalValue(ScalarValue scalar) : scalar_(scalar) {}

  bool isTensor() const {
    return is_tensor_;
  }
  bool hasValue() const {
    return is_tensor_ || nvfuser::hasValue(scalar_);
  }
  const at::Tensor& tensor() const {
    NVF_ERROR(is_tensor_, "a tensor was expected");
    return tensor_;
  }
  const ScalarValue& scalar() const {
    return scalar_;
  }
  void reset() {
    *this = EvalValue();
  }

 private:
  at::Tensor tensor_;
  ScalarValue scalar_;
  bool is_tensor_ = false;
};

/// Index is Long. RuntimeError for types that the torch in use does not have.
at::ScalarType toAtenType(DataType dtype);
/// RuntimeError for types that the IR does not have.
DataType fromAtenType(at::ScalarType type);
at::Scalar toAtenScalar(const ScalarValue& value);
ScalarValue fromAtenScalar(const at::Scalar& scalar);

} // namespace nvfuser
