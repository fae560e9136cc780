// Pointwise operators over tensors and scalars, with broadcasting and type promotion.
#pragma once

#include <ir/nodes.h>

namespace nvfuser {

/// Builders of the table: a tensor if an operand is a tensor, else a scalar.
Val* unaryOp(UnaryOpType type, Val* x);
Val* binaryOp(BinaryOpType type, Val* a, Val* b);

/// `x` as `dtype`; a copy when it has that type. RuntimeError "Illegal Cast value" for an
/// impossible pair.
Val* castOp(DataType dtype, Val* x);
TensorView* castOp(DataType dtype, TensorView* x);
/// As castOp, but the same node when nothing changes.
Val* maybeCastOp(DataType dtype, Val* x);
/// A copy. segmentSet forces a segment boundary.
Val* set(Val* x);
Val* segmentSet(Val* x);
/// real + i * imag; both tensors or both scalars, of one real type.
Val* complexOp(Val* real, Val* imag);
/// condition ? a : b. The condition must be Bool.
Val* where(Val* condition, Val* a, Val* b);
/// start + weight * (end - start)
Val* lerp(Val* start, Val* end, Val* weight);
/// x > limit ? x : value
Val* threshold(Val* x, Val* limit, Val* value);
/// min(max(x, low), high); a bound may be nullptr.
Val* clamp(Val* x, Val* low, Val* high);
/// a + alpha * b * c
Val* addcmul(Val* a, Val* b, Val* c, Val* alpha);

inline Val* add(Val* a, Val* b) {
  return binaryOp(BinaryOpType::Add, a, b);
}
inline Val* sub(Val* a, Val* b) {
  return binaryOp(BinaryOpType::Sub, a, b);
}
inline Val* mul(Val* a, Val* b) {
  return binaryOp(BinaryOpType::Mul, a, b);
}
inline Val* div(Val* a, Val* b) {
  return binaryOp(BinaryOpType::Div, a, b);
}
inline TensorView* add(TensorView* a, Val* b) {
  return binaryOp(BinaryOpType::Add, a, b)->as<TensorView>();
}
inline TensorView* mul(TensorView* a, Val* b) {
  return binaryOp(BinaryOpType::Mul, a, b)->as<TensorView>();
}

} // namespace nvfuser
