// Reductions.
#pragma once

#include <ir/nodes.h>

#include <optional>

namespace nvfuser {

/// Reduces over `dims` (negatives count from the end). sum and prod: Bool and integers become Int,
/// or the operand is cast to `dtype` first; max and min refuse a dtype. keepdim leaves size-1 dims
/// (a broadcast). A 0-dim operand gives a copy. RuntimeError: no dims, a dim out of range or twice,
/// complex max or min.
TensorView* reductionOp(
    ReductionType type,
    TensorView* x,
    const std::vector<int64_t>& dims,
    bool keepdim = false,
    DataType dtype = DataType::Null);
/// Over all dims; a copy of a 0-dim operand.
TensorView* reductionOpAll(ReductionType type, TensorView* x, DataType dtype = DataType::Null);

inline TensorView* sum(TensorView* x, const std::vector<int64_t>& dims, bool keepdim = false) {
  return reductionOp(ReductionType::Sum, x, dims, keepdim);
}
inline TensorView* max(TensorView* x, const std::vector<int64_t>& dims, bool keepdim = false) {
  return reductionOp(ReductionType::Max, x, dims, keepdim);
}

struct VarMean {
  TensorView* var;
  TensorView* mean;
};
/// Variance with divisor max(0, n - correction). Complex operands have a real variance; low floats
/// become Float.
TensorView* variance(
    TensorView* x,
    const std::vector<int64_t>& dims,
    int64_t correction,
    bool keepdim);
/// As variance, with the mean. RuntimeError for low floats.
VarMean varianceMean(
    TensorView* x,
    const std::vector<int64_t>& dims,
    int64_t correction,
    bool keepdim);

struct WelfordResult {
  TensorView* avg;
  TensorView* var_sum;
  TensorView* n;
};
WelfordResult welford(TensorView* x, const std::vector<int64_t>& dims);

} // namespace nvfuser
