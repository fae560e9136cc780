#include <ir/builder.h>
#include <ir/nodes.h>

#include <algorithm>
#include <functional>

namespace nvfuser {

Val* IrBuilder::constInt(int64_t value) {
  Fusion* fusion = FusionGuard::activeOrThrow();
  if (value == 0) {
    return fusion->sharedZero();
  }
  if (value == 1) {
    return fusion->sharedOne();
  }
  return create<Val>(ScalarValue(value), DataType::Index);
}

Val* IrBuilder::constant(const ScalarValue& value, DataType dtype) {
  return create<Val>(value, dtype);
}

Val* IrBuilder::constant(const ScalarValue& value) {
  return create<Val>(value, inferredDataType(value));
}

namespace {

bool bothInts(const Val* a, const Val* b) {
  return a->isConstInt() && b->isConstInt();
}

DataType sizeType(const Val* a, const Val* b) {
  return promoteType(a->dtype(), b->dtype());
}

Val* binary(BinaryOpType op, Val* a, Val* b, DataType dtype) {
  Val* out = IrBuilder::create<Val>(dtype);
  IrBuilder::create<BinaryOp>(op, out, a, b);
  return out;
}

Val* folded(int64_t value, DataType dtype) {
  return dtype == DataType::Index ? IrBuilder::constInt(value)
                                  : IrBuilder::constant(ScalarValue(value), dtype);
}

} // namespace

Val* IrBuilder::addExpr(Val* a, Val* b) {
  if (bothInts(a, b)) {
    return folded(a->constInt() + b->constInt(), sizeType(a, b));
  }
  if (a->isZeroInt()) {
    return b;
  }
  if (b->isZeroInt()) {
    return a;
  }
  return binary(BinaryOpType::Add, a, b, sizeType(a, b));
}

Val* IrBuilder::subExpr(Val* a, Val* b) {
  if (bothInts(a, b)) {
    return folded(a->constInt() - b->constInt(), sizeType(a, b));
  }
  if (b->isZeroInt()) {
    return a;
  }
  if (a->sameAs(b)) {
    return folded(0, sizeType(a, b));
  }
  return binary(BinaryOpType::Sub, a, b, sizeType(a, b));
}

Val* IrBuilder::mulExpr(Val* a, Val* b) {
  if (bothInts(a, b)) {
    return folded(a->constInt() * b->constInt(), sizeType(a, b));
  }
  if (a->isOneInt() || b->isZeroInt()) {
    return b;
  }
  if (b->isOneInt() || a->isZeroInt()) {
    return a;
  }
  return binary(BinaryOpType::Mul, a, b, sizeType(a, b));
}

Val* IrBuilder::divExpr(Val* a, Val* b) {
  NVF_CHECK(!b->isZeroInt(), "division of a size by zero");
  if (bothInts(a, b)) {
    return folded(a->constInt() / b->constInt(), sizeType(a, b));
  }
  if (b->isOneInt()) {
    return a;
  }
  return binary(BinaryOpType::Div, a, b, sizeType(a, b));
}

Val* IrBuilder::ceilDivExpr(Val* a, Val* b) {
  NVF_CHECK(!b->isZeroInt(), "division of a size by zero");
  if (bothInts(a, b)) {
    return folded((a->constInt() + b->constInt() - 1) / b->constInt(), sizeType(a, b));
  }
  if (b->isOneInt()) {
    return a;
  }
  return binary(BinaryOpType::CeilDiv, a, b, sizeType(a, b));
}

Val* IrBuilder::modExpr(Val* a, Val* b) {
  NVF_CHECK(!b->isZeroInt(), "remainder of a size by zero");
  if (bothInts(a, b)) {
    return folded(a->constInt() % b->constInt(), sizeType(a, b));
  }
  return binary(BinaryOpType::Mod, a, b, sizeType(a, b));
}

Val* IrBuilder::maxExpr(Val* a, Val* b) {
  if (bothInts(a, b)) {
    return folded(std::max(a->constInt(), b->constInt()), sizeType(a, b));
  }
  return a->sameAs(b) ? a : binary(BinaryOpType::Maximum, a, b, sizeType(a, b));
}

Val* IrBuilder::minExpr(Val* a, Val* b) {
  if (bothInts(a, b)) {
    return folded(std::min(a->constInt(), b->constInt()), sizeType(a, b));
  }
  return a->sameAs(b) ? a : binary(BinaryOpType::Minimum, a, b, sizeType(a, b));
}

Val* IrBuilder::negExpr(Val* a) {
  if (a->isConstInt()) {
    return folded(-a->constInt(), a->dtype());
  }
  Val* out = create<Val>(a->dtype());
  create<UnaryOp>(UnaryOpType::Neg, out, a);
  return out;
}

Val* IrBuilder::eqExpr(Val* a, Val* b) {
  if (bothInts(a, b)) {
    return constant(a->constInt() == b->constInt(), DataType::Bool);
  }
  if (a->sameAs(b)) {
    return constant(true, DataType::Bool);
  }
  return binary(BinaryOpType::Eq, a, b, DataType::Bool);
}

Val* IrBuilder::ltExpr(Val* a, Val* b) {
  if (bothInts(a, b)) {
    return constant(a->constInt() < b->constInt(), DataType::Bool);
  }
  return binary(BinaryOpType::Lt, a, b, DataType::Bool);
}

Val* IrBuilder::whereExpr(Val* condition, Val* a, Val* b) {
  if (condition->isConst()) {
    return toBool(condition->value()) ? a : b;
  }
  Val* out = create<Val>(sizeType(a, b));
  create<TernaryOp>(TernaryOpType::Where, out, condition, a, b);
  return out;
}

Val* IrBuilder::maybeCastExpr(Val* a, DataType dtype) {
  if (a->dtype() == dtype) {
    return a;
  }
  if (a->isConst()) {
    return constant(a->value(), dtype);
  }
  Val* out = create<Val>(dtype);
  create<UnaryOp>(UnaryOpType::Cast, out, a);
  return out;
}

} // namespace nvfuser
