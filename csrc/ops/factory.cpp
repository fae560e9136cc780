#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/shape.h>
#include <ops/utils.h>

#include <cmath>

namespace nvfuser {

namespace {

std::vector<Val*> checkedShape(std::string_view op, const std::vector<Val*>& shape) {
  std::vector<Val*> result;
  for (size_t i = 0; i < shape.size(); ++i) {
    Val* extent = ops::asIndex(op, shape[i]);
    NVF_CHECK(
        !extent->isConstInt() || extent->constInt() >= 0,
        op,
        ": size ",
        extent->toInlineString(),
        " at position ",
        i,
        " is negative");
    result.push_back(extent);
  }
  return result;
}

// 0 or 1 in the kind of number that `dtype` holds.
Val* constantOfKind(int64_t value, DataType dtype) {
  return isFloatingPointType(dtype) ? IrBuilder::constant(static_cast<double>(value))
                                    : IrBuilder::constant(value);
}

void checkIotaArgument(std::string_view name, const Val* val, DataType dtype) {
  NVF_CHECK(
      val->isScalar() &&
          (isFloatingPointType(dtype) ? isFloatingPointType(val->dtype())
                                      : isIntegralType(val->dtype())),
      "iota: ",
      name,
      " (",
      val->toInlineString(),
      " of dtype ",
      dataTypeName(val->dtype()),
      ") must be of the kind of the dtype ",
      dataTypeName(dtype));
  NVF_CHECK(
      !val->isConst() || !isFloatingPointType(val->dtype()) ||
          std::isfinite(toDouble(val->value())),
      "iota: ",
      name,
      " must be finite, not ",
      val->toInlineString());
}

TensorView* random(
    RngType type,
    const std::vector<Val*>& shape,
    Val* a,
    Val* b,
    DataType dtype,
    Val* seed,
    Val* offset) {
  const std::string_view op = type == RngType::Uniform ? "uniform" : "normal";
  NVF_CHECK(
      isFloatingPointType(dtype),
      op,
      ": Random distributions only create floating point types! Got ",
      dataTypeName(dtype));
  for (const Val* parameter : {a, b}) {
    NVF_CHECK(
        parameter->isScalar() && !isComplexType(parameter->dtype()),
        op,
        ": the parameters of the distribution must be real scalars, not ",
        parameter->toInlineString(),
        " of dtype ",
        dataTypeName(parameter->dtype()));
  }
  NVF_CHECK(
      (seed == nullptr) == (offset == nullptr),
      op,
      ": rng_seed and rng_offset must be given together");
  for (const Val* state : {seed, offset}) {
    NVF_CHECK(
        state == nullptr || (state->isScalar() && isIntegralType(state->dtype())),
        op,
        ": rng_seed and rng_offset must be integer scalars, not ",
        state->toInlineString(),
        " of dtype ",
        dataTypeName(state->dtype()));
  }
  const std::vector<Val*> extents = checkedShape(op, shape);
  TensorView* out = ops::newTensorOfShape(extents, dtype);
  // Only nodes that draw from the generator take a slot of it.
  const int64_t rng_id = seed == nullptr ? FusionGuard::activeOrThrow()->nextRngId() : -1;
  IrBuilder::create<RngOp>(type, out, extents, a, b, seed, offset, rng_id);
  return out;
}

TensorView* randomLike(std::string_view op, RngType type, TensorView* x) {
  NVF_CHECK(
      isFloatingPointType(x->dtype()),
      op,
      ": needs a floating-point tensor, not ",
      dataTypeName(x->dtype()),
      ": ",
      shapeText(x));
  return random(
      type,
      x->shape(),
      IrBuilder::constInt(0),
      IrBuilder::constInt(1),
      x->dtype(),
      nullptr,
      nullptr);
}

} // namespace

TensorView* full(const std::vector<Val*>& shape, Val* fill_value, DataType dtype) {
  NVF_CHECK(
      fill_value->isScalar(), "full: fill_value must be a scalar, not ", fill_value->toString());
  NVF_CHECK(dtype != DataType::Null, "full: a dtype is needed");
  NVF_CHECK(
      isComplexType(dtype) || !isComplexType(fill_value->dtype()),
      "full: a complex fill_value does not fit dtype ",
      dataTypeName(dtype));
  const std::vector<Val*> extents = checkedShape("full", shape);
  TensorView* out = ops::newTensorOfShape(extents, dtype);
  IrBuilder::create<FullOp>(out, extents, fill_value);
  return out;
}

TensorView* iota(Val* length, Val* start, Val* step, DataType dtype) {
  NVF_CHECK(
      isIntegralType(dtype) || isFloatingPointType(dtype),
      "iota: dtype must be an integer or floating-point type, not ",
      dataTypeName(dtype));
  const std::vector<Val*> extents = checkedShape("iota", {length});
  start = start != nullptr ? start : constantOfKind(0, dtype);
  step = step != nullptr ? step : constantOfKind(1, dtype);
  checkIotaArgument("start", start, dtype);
  checkIotaArgument("step", step, dtype);
  NVF_CHECK(!step->isConst() || toDouble(step->value()) != 0.0, "iota: step must not be zero");
  TensorView* out = ops::newTensorOfShape(extents, dtype);
  IrBuilder::create<IotaOp>(out, extents[0], start, step);
  return out;
}

TensorView* uniform(
    const std::vector<Val*>& shape,
    Val* low,
    Val* high,
    DataType dtype,
    Val* seed,
    Val* offset) {
  return random(RngType::Uniform, shape, low, high, dtype, seed, offset);
}

TensorView* normal(
    const std::vector<Val*>& shape,
    Val* mean,
    Val* deviation,
    DataType dtype,
    Val* seed,
    Val* offset) {
  return random(RngType::Normal, shape, mean, deviation, dtype, seed, offset);
}

TensorView* randLike(TensorView* x) {
  return randomLike("rand_like", RngType::Uniform, x);
}

TensorView* randnLike(TensorView* x) {
  return randomLike("randn_like", RngType::Normal, x);
}

TensorView* triu(TensorView* x, Val* diagonal) {
  const int64_t rank = x->nDims();
  NVF_CHECK(rank >= 2, "triu: needs a tensor of at least two dimensions: ", shapeText(x));
  NVF_CHECK(
      diagonal->isScalar() && isIntegralType(diagonal->dtype()),
      "triu: diagonal must be an integer scalar, not ",
      diagonal->toInlineString(),
      " of dtype ",
      dataTypeName(diagonal->dtype()));
  const std::vector<Val*> shape = x->shape();
  // Row i keeps the columns from i + diagonal on.
  TensorView* first_kept = iota(shape[rank - 2], diagonal, nullptr, DataType::Int);
  TensorView* column = iota(shape[rank - 1], nullptr, nullptr, DataType::Int);
  Val* keep = binaryOp(
      BinaryOpType::Ge, broadcast(column, {true, false}), broadcast(first_kept, {false, true}));
  Val* zero = IrBuilder::constant(int64_t{0}, x->dtype());
  return where(keep, x, zero)->as<TensorView>();
}

} // namespace nvfuser
