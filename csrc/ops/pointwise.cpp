#include <ops/pointwise.h>
#include <ops/shape.h>
#include <ops/type_promotion.h>
#include <ops/utils.h>

#include <algorithm>

namespace nvfuser {

namespace {

// Checks that operands belong to the fusion being defined, before any node is made for them.
void checkFusion(std::string_view op, const std::vector<Val*>& operands) {
  const Fusion* active = FusionGuard::activeOrThrow();
  for (const Val* val : operands) {
    NVF_CHECK(
        val == nullptr || val->fusion() == active,
        op,
        ": ",
        val->toString(),
        " belongs to another Fusion than the one being defined");
  }
}

// Pads tensors of lower rank with broadcast dims on the left.
void broadcastToCommonRank(std::vector<Val*>& operands) {
  int64_t rank = 0;
  for (const Val* val : operands) {
    if (val != nullptr && val->isTensor()) {
      rank = std::max(rank, val->as<TensorView>()->nDims());
    }
  }
  for (Val*& val : operands) {
    if (val == nullptr || !val->isTensor()) {
      continue;
    }
    const int64_t missing = rank - val->as<TensorView>()->nDims();
    if (missing > 0) {
      std::vector<bool> flags(static_cast<size_t>(rank), false);
      std::fill_n(flags.begin(), missing, true);
      val = broadcast(val->as<TensorView>(), flags);
    }
  }
}

// The output value: a tensor over the broadcast domain if an operand is a tensor, else a scalar.
Val* newOutput(std::string_view op, const std::vector<Val*>& operands, DataType dtype) {
  std::vector<TensorView*> tensors;
  for (Val* val : operands) {
    if (val != nullptr && val->isTensor()) {
      tensors.push_back(val->as<TensorView>());
    }
  }
  if (tensors.empty()) {
    return IrBuilder::create<Val>(dtype);
  }
  auto* out = ops::newTensor(ops::broadcastDomains(op, tensors), dtype);
  // Where only CPU scalars take part the result is one as well.
  const bool cpu = std::all_of(
      tensors.begin(), tensors.end(), [](const TensorView* tv) { return tv->isCpuScalar(); });
  out->setCpuScalar(cpu);
  return out;
}

// Tensors are cast to `dtype`. Scalars are not, unless they change category: a scalar of the same
// category adapts to the tensor's width when evaluated.
Val* promoteOperand(Val* val, DataType dtype) {
  if (val->isTensor()) {
    return maybeCastOp(dtype, val);
  }
  const bool adapts = (isFloatingPointType(val->dtype()) && isFloatingPointType(dtype)) ||
      (isIntegralType(val->dtype()) && isIntegralType(dtype)) ||
      (isIntegralType(val->dtype()) && isFloatingPointType(dtype)) ||
      (isComplexType(dtype) && !isBooleanType(val->dtype()));
  return adapts ? val : maybeCastOp(dtype, val);
}

DataType partType(DataType dtype, UnaryOpType type) {
  const bool real_result =
      type == UnaryOpType::Abs || type == UnaryOpType::Real || type == UnaryOpType::Imag;
  return real_result ? realTypeOf(dtype) : dtype;
}

} // namespace

Val* unaryOp(UnaryOpType type, Val* x) {
  const PointwiseRow& row = pointwiseRow(type);
  checkFusion(row.name, {x});
  NVF_CHECK(
      type != UnaryOpType::Imag || isComplexType(x->dtype()),
      "imag: expected a complex operand, got ",
      dataTypeName(x->dtype()));
  if (type == UnaryOpType::Real && !isComplexType(x->dtype())) {
    return set(x);
  }
  const PromotedTypes types = promotedTypes(row.name, row.group, {x});
  Val* in = promoteOperand(x, types.operands);
  Val* out = newOutput(row.name, {in}, partType(types.result, type));
  IrBuilder::create<UnaryOp>(type, out, in);
  return out;
}

Val* binaryOp(BinaryOpType type, Val* a, Val* b) {
  const PointwiseRow& row = pointwiseRow(type);
  checkFusion(row.name, {a, b});
  const PromotedTypes types = promotedTypes(row.name, row.group, {a, b});
  std::vector<Val*> operands = {
      promoteOperand(a, types.operands), promoteOperand(b, types.operands)};
  broadcastToCommonRank(operands);
  Val* out = newOutput(row.name, operands, types.result);
  IrBuilder::create<BinaryOp>(type, out, operands[0], operands[1]);
  return out;
}

Val* castOp(DataType dtype, Val* x) {
  checkFusion("cast", {x});
  if (x->dtype() == dtype) {
    return set(x);
  }
  NVF_CHECK(
      dtype != DataType::Null && x->dtype() != DataType::Null &&
          dtype != DataType::Float4_e2m1fn_x2,
      "Illegal Cast value from DataType: ",
      dataTypeName(x->dtype()),
      " to DataType: ",
      dataTypeName(dtype));
  Val* out = newOutput("cast", {x}, dtype);
  IrBuilder::create<UnaryOp>(UnaryOpType::Cast, out, x);
  return out;
}

TensorView* castOp(DataType dtype, TensorView* x) {
  return castOp(dtype, static_cast<Val*>(x))->as<TensorView>();
}

Val* maybeCastOp(DataType dtype, Val* x) {
  return x->dtype() == dtype ? x : castOp(dtype, x);
}

namespace {

Val* copy(Val* x, LoadStoreOpType type, std::string_view name) {
  checkFusion(name, {x});
  Val* out = newOutput(name, {x}, x->dtype());
  IrBuilder::create<LoadStoreOp>(out, x, type);
  return out;
}

} // namespace

Val* set(Val* x) {
  return copy(x, LoadStoreOpType::Set, "set");
}

Val* segmentSet(Val* x) {
  return copy(x, LoadStoreOpType::SegmenterSet, "segment_set");
}

Val* complexOp(Val* real, Val* imag) {
  checkFusion("complex", {real, imag});
  NVF_CHECK(
      real->isTensor() == imag->isTensor(), "complex: both parts must be tensors or both scalars");
  NVF_CHECK(
      real->dtype() == imag->dtype() &&
          (real->dtype() == DataType::Float || real->dtype() == DataType::Double),
      "complex: both parts must be Float or both Double, got ",
      dataTypeName(real->dtype()),
      " and ",
      dataTypeName(imag->dtype()));
  std::vector<Val*> operands = {real, imag};
  broadcastToCommonRank(operands);
  Val* out = newOutput("complex", operands, complexTypeOf(real->dtype()));
  IrBuilder::create<BinaryOp>(BinaryOpType::Complex, out, operands[0], operands[1]);
  return out;
}

namespace {

Val* ternary(TernaryOpType type, std::vector<Val*> operands, DataType dtype) {
  broadcastToCommonRank(operands);
  Val* out = newOutput(opText(type), operands, dtype);
  IrBuilder::create<TernaryOp>(type, out, operands[0], operands[1], operands[2]);
  return out;
}

} // namespace

Val* where(Val* condition, Val* a, Val* b) {
  checkFusion("where", {condition, a, b});
  NVF_CHECK(
      condition->dtype() == DataType::Bool,
      "where: Condition should be of DataType Bool, not ",
      dataTypeName(condition->dtype()));
  const DataType dtype = commonType({a, b});
  return ternary(
      TernaryOpType::Where, {condition, promoteOperand(a, dtype), promoteOperand(b, dtype)}, dtype);
}

Val* lerp(Val* start, Val* end, Val* weight) {
  checkFusion("lerp", {start, end, weight});
  const auto types = promotedTypes("lerp", PromotionGroup::Default, {start, end, weight});
  return ternary(
      TernaryOpType::Lerp,
      {promoteOperand(start, types.operands),
       promoteOperand(end, types.operands),
       promoteOperand(weight, types.operands)},
      types.result);
}

namespace {

// threshold and clamp: scalars take the type of x.
Val* boundOp(TernaryOpType type, Val* x, Val* b, Val* c) {
  const std::string_view name = opText(type);
  checkFusion(name, {x, b, c});
  std::vector<Val*> present = {x};
  for (Val* bound : {b, c}) {
    if (bound == nullptr) {
      continue;
    }
    NVF_CHECK(bound->isScalar(), name, ": a bound must be a scalar, not ", bound->toString());
    present.push_back(bound);
  }
  const auto types = promotedTypes(name, PromotionGroup::Keep, present);
  return ternary(
      type,
      {promoteOperand(x, types.operands),
       b == nullptr ? nullptr : promoteOperand(b, types.operands),
       c == nullptr ? nullptr : promoteOperand(c, types.operands)},
      types.result);
}

} // namespace

Val* threshold(Val* x, Val* limit, Val* value) {
  NVF_CHECK(limit != nullptr && value != nullptr, "threshold: limit and value are required");
  return boundOp(TernaryOpType::Threshold, x, limit, value);
}

Val* clamp(Val* x, Val* low, Val* high) {
  NVF_CHECK(low != nullptr || high != nullptr, "clamp: at least one bound is required");
  return boundOp(TernaryOpType::Clamp, x, low, high);
}

Val* addcmul(Val* a, Val* b, Val* c, Val* alpha) {
  NVF_CHECK(alpha->isScalar(), "addcmul: alpha must be a scalar, not ", alpha->toString());
  return add(a, mul(mul(b, c), alpha));
}

} // namespace nvfuser
