#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>
#include <ops/utils.h>

#include <algorithm>
#include <numeric>

namespace nvfuser {

namespace {

void checkReducible(std::string_view op, const TensorView* x, const std::vector<int64_t>& dims) {
  NVF_CHECK(
      x->fusion() == FusionGuard::activeOrThrow(),
      op,
      ": ",
      x->toString(),
      " belongs to another Fusion than the one being defined");
  NVF_CHECK(!dims.empty(), op, ": No reduction axis specified");
}

// The output of a reduction: root and logical domain are the operand's with `dims` as reductions.
TensorView* newReduced(const TensorView* x, const std::vector<int64_t>& dims, DataType dtype) {
  std::vector<IterDomain*> domain;
  const auto source = noReductions(x->getLogicalDomain());
  for (size_t i = 0; i < source.size(); ++i) {
    const bool reduced = std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) != dims.end();
    if (!reduced) {
      domain.push_back(source[i]->cloneWithoutRFactor());
      continue;
    }
    domain.push_back(
        IrBuilder::create<IterDomain>(IterDomain::Parts{
            .extent = source[i]->getMaybeExpandedExtent(), .iter_type = IterType::Reduction}));
  }
  return ops::newTensor(std::move(domain), dtype);
}

TensorView* keepDims(TensorView* reduced, const std::vector<int64_t>& dims, int64_t rank) {
  std::vector<bool> flags(static_cast<size_t>(rank), false);
  for (int64_t dim : dims) {
    flags[dim] = true;
  }
  return broadcast(reduced, flags);
}

bool isPlainBroadcast(const IterDomain* id) {
  return id->isBroadcast() && !id->hasExpandedExtent();
}

} // namespace

TensorView* reductionOp(
    ReductionType type,
    TensorView* x,
    const std::vector<int64_t>& dims,
    bool keepdim,
    DataType dtype) {
  const std::string_view op = opText(type);
  checkReducible(op, x, dims);
  const bool is_extremum = type == ReductionType::Max || type == ReductionType::Min;
  NVF_CHECK(
      !is_extremum || dtype == DataType::Null,
      op,
      ": a dtype is not supported, the result has the operand's");
  NVF_CHECK(
      !is_extremum || !isComplexType(x->dtype()),
      op,
      ": complex numbers have no order, got ",
      dataTypeName(x->dtype()));
  if (!is_extremum) {
    if (dtype == DataType::Null) {
      dtype = isInclusiveIntegralType(x->dtype()) ? DataType::Int : x->dtype();
    }
    x = maybeCastOp(dtype, x)->as<TensorView>();
  }
  const int64_t rank = x->nDims();
  if (rank == 0) {
    ops::normalizeDims(op, dims, 1);
    return set(x)->as<TensorView>();
  }
  const auto axes = ops::normalizeDims(op, dims, rank);

  // Dimensions of size 1 are only removed: nothing is to be summed there.
  const auto domain = noReductions(x->getLogicalDomain());
  std::vector<int64_t> removed;
  std::vector<int64_t> reduced;
  for (int64_t axis : axes) {
    (isPlainBroadcast(domain[axis]) ? removed : reduced).push_back(axis);
  }
  TensorView* out = x;
  if (!removed.empty()) {
    out = squeeze(out, removed);
    for (int64_t& axis : reduced) {
      axis -= std::count_if(removed.begin(), removed.end(), [&](int64_t r) { return r < axis; });
    }
  }
  if (!reduced.empty()) {
    TensorView* result = newReduced(out, reduced, x->dtype());
    IrBuilder::create<ReductionOp>(type, result, out);
    out = result;
  }
  return keepdim ? keepDims(out, axes, rank) : out;
}

TensorView* reductionOpAll(ReductionType type, TensorView* x, DataType dtype) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max<int64_t>(x->nDims(), 1)));
  std::iota(dims.begin(), dims.end(), 0);
  return reductionOp(type, x, dims, false, dtype);
}

namespace {

// Number of reduced elements, as a scalar.
Val* reducedCount(const TensorView* x, const std::vector<int64_t>& dims) {
  Val* count = IrBuilder::constInt(1);
  const auto shape = x->shape();
  for (int64_t dim : dims) {
    count = IrBuilder::mulExpr(count, shape[dim]);
  }
  return count;
}

// Two passes: the mean, then the mean of squared deviations.
VarMean varianceTwoPass(
    std::string_view op,
    TensorView* x,
    const std::vector<int64_t>& dims,
    int64_t correction,
    bool keepdim) {
  checkReducible(op, x, dims);
  NVF_CHECK(correction >= 0, op, ": correction must not be negative, got ", correction);
  NVF_CHECK(
      isFloatingPointType(x->dtype()) || isComplexType(x->dtype()),
      op,
      ": expected a floating-point or complex operand, got ",
      dataTypeName(x->dtype()));
  const int64_t rank = x->nDims();
  NVF_CHECK(rank > 0, op, ": expected a tensor with dimensions, got ", shapeText(x));
  const auto axes = ops::normalizeDims(op, dims, rank);
  Val* count = reducedCount(x, axes);
  Val* divisor = IrBuilder::maxExpr(
      IrBuilder::constInt(0), IrBuilder::subExpr(count, IrBuilder::constInt(correction)));

  TensorView* total = reductionOp(ReductionType::Sum, x, axes);
  TensorView* mean = div(total, count)->as<TensorView>();
  TensorView* kept_mean = keepDims(mean, axes, rank);
  Val* deviation = sub(x, kept_mean);
  if (isComplexType(x->dtype())) {
    deviation = unaryOp(UnaryOpType::Abs, deviation);
  }
  TensorView* squares = mul(deviation, deviation)->as<TensorView>();
  TensorView* var = div(reductionOp(ReductionType::Sum, squares, axes), divisor)->as<TensorView>();
  return {keepdim ? keepDims(var, axes, rank) : var, keepdim ? kept_mean : mean};
}

} // namespace

TensorView* variance(
    TensorView* x,
    const std::vector<int64_t>& dims,
    int64_t correction,
    bool keepdim) {
  TensorView* in = isLowFloatType(x->dtype()) ? castOp(DataType::Float, x) : x;
  return varianceTwoPass("var", in, dims, correction, keepdim).var;
}

VarMean varianceMean(
    TensorView* x,
    const std::vector<int64_t>& dims,
    int64_t correction,
    bool keepdim) {
  NVF_CHECK(
      !isLowFloatType(x->dtype()),
      "var_mean: expected Float, Double or a complex operand, got ",
      dataTypeName(x->dtype()));
  return varianceTwoPass("var_mean", x, dims, correction, keepdim);
}

WelfordResult welford(TensorView* x, const std::vector<int64_t>& dims) {
  checkReducible("welford", x, dims);
  NVF_CHECK(x->nDims() > 0, "welford: expected a tensor with dimensions, got ", shapeText(x));
  NVF_CHECK(
      isFloatingPointType(x->dtype()) || isComplexType(x->dtype()),
      "welford: expected a floating-point or complex operand, got ",
      dataTypeName(x->dtype()));
  const auto axes = ops::normalizeDims("welford", dims, x->nDims());
  WelfordResult result{
      newReduced(x, axes, x->dtype()),
      newReduced(x, axes, x->dtype()),
      newReduced(x, axes, DataType::Index)};
  IrBuilder::create<WelfordOp>(result.avg, result.var_sum, result.n, x);
  return result;
}

} // namespace nvfuser
