// Arithmetic on known scalars, and the folding of sizes while they are built.
#include <ir/nodes.h>
#include <ir/scalar_ops.h>

#include "../ir_test.h"

#include <cmath>
#include <limits>

namespace nvfuser {

class ScalarArithmetic : public IrTest {
 protected:
  static ScalarValue ints(BinaryOpType op, int64_t a, int64_t b) {
    return applyScalarOp(op, ScalarValue(a), ScalarValue(b), DataType::Int);
  }
  static ScalarValue doubles(BinaryOpType op, double a, double b) {
    return applyScalarOp(op, ScalarValue(a), ScalarValue(b), DataType::Double);
  }
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
};

TEST_F(ScalarArithmetic, IntegersRoundAsTheOperatorSays) {
  for (int64_t a = -7; a <= 7; ++a) {
    for (int64_t b = -4; b <= 4; ++b) {
      if (b == 0) {
        EXPECT_FALSE(hasValue(ints(BinaryOpType::Div, a, b)));
        EXPECT_FALSE(hasValue(ints(BinaryOpType::Mod, a, b)));
        EXPECT_FALSE(hasValue(ints(BinaryOpType::Remainder, a, b)));
        continue;
      }
      EXPECT_EQ(toInt(ints(BinaryOpType::Div, a, b)), a / b);
      EXPECT_EQ(toInt(ints(BinaryOpType::Mod, a, b)), a % b);
      const double floored = std::floor(static_cast<double>(a) / static_cast<double>(b));
      EXPECT_EQ(toInt(ints(BinaryOpType::Remainder, a, b)), a - b * static_cast<int64_t>(floored));
      if (a >= 0 && b > 0) {
        EXPECT_EQ(toInt(ints(BinaryOpType::CeilDiv, a, b)), (a + b - 1) / b);
      }
    }
  }
}

TEST_F(ScalarArithmetic, IntegersWrapInsteadOfTrapping) {
  EXPECT_EQ(toInt(ints(BinaryOpType::Div, kMin, -1)), kMin);
  EXPECT_EQ(toInt(ints(BinaryOpType::Mod, kMin, -1)), 0);
  EXPECT_EQ(toInt(ints(BinaryOpType::Add, kMin, -1)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(toInt(applyScalarOp(UnaryOpType::Neg, ScalarValue(kMin), DataType::Int)), kMin);
  EXPECT_EQ(toInt(ints(BinaryOpType::Pow, 3, 4)), 81);
  EXPECT_FALSE(hasValue(ints(BinaryOpType::Pow, 3, -1)));
  EXPECT_FALSE(hasValue(ints(BinaryOpType::BitwiseLeftShift, 1, 64)));
}

TEST_F(ScalarArithmetic, NanAndSignedZeros) {
  EXPECT_TRUE(std::isnan(toDouble(doubles(BinaryOpType::Maximum, NAN, 1.0))));
  EXPECT_TRUE(std::isnan(toDouble(doubles(BinaryOpType::Minimum, 1.0, NAN))));
  EXPECT_TRUE(std::isinf(toDouble(doubles(BinaryOpType::Div, 1.0, 0.0))));
  const auto relu = [](double x) {
    return toDouble(applyScalarOp(UnaryOpType::Relu, ScalarValue(x), DataType::Double));
  };
  EXPECT_TRUE(std::isnan(relu(NAN)));
  EXPECT_EQ(relu(-2.0), 0.0);
  EXPECT_TRUE(std::signbit(relu(-0.0)));
  EXPECT_EQ(toDouble(applyScalarOp(UnaryOpType::Round, ScalarValue(2.5), DataType::Double)), 2.0);
}

TEST_F(ScalarArithmetic, ResultsHaveTheAskedType) {
  const ScalarValue third = applyScalarOp(
      BinaryOpType::Truediv, ScalarValue(int64_t{1}), ScalarValue(int64_t{3}), DataType::Float);
  EXPECT_EQ(toDouble(third), static_cast<double>(1.0F / 3.0F));
  EXPECT_EQ(toInt(applyScalarOp(UnaryOpType::Cast, ScalarValue(-2.7), DataType::Int)), -2);
  EXPECT_FALSE(hasValue(applyScalarOp(UnaryOpType::Neg, ScalarValue(2.0), DataType::Half)));
  EXPECT_FALSE(hasValue(applyScalarOp(UnaryOpType::Neg, ScalarValue(), DataType::Double)));
  EXPECT_TRUE(toBool(
      applyScalarOp(BinaryOpType::Add, ScalarValue(true), ScalarValue(true), DataType::Bool)));
}

TEST_F(ScalarArithmetic, Ternaries) {
  const ScalarValue none;
  const auto clamp = [](ScalarValue x, ScalarValue low, ScalarValue high) {
    return toDouble(applyScalarOp(TernaryOpType::Clamp, x, low, high, DataType::Double));
  };
  EXPECT_EQ(clamp(5.0, 1.0, 2.0), 2.0);
  EXPECT_EQ(clamp(5.0, none, 2.0), 2.0);
  EXPECT_EQ(clamp(-5.0, 1.0, none), 1.0);
  EXPECT_EQ(
      toInt(applyScalarOp(TernaryOpType::Where, false, int64_t{1}, int64_t{2}, DataType::Int)), 2);
  EXPECT_EQ(toDouble(applyScalarOp(TernaryOpType::Lerp, 2.0, 4.0, 0.25, DataType::Double)), 2.5);
  EXPECT_EQ(
      toDouble(applyScalarOp(TernaryOpType::Threshold, 1.0, 1.0, 9.0, DataType::Double)), 9.0);
}

TEST_F(ScalarArithmetic, SizesFoldAsTheyAreBuilt) {
  Val* n = IrBuilder::create<Val>(DataType::Index);
  EXPECT_EQ(IrBuilder::addExpr(n, index(0)), n);
  EXPECT_EQ(IrBuilder::mulExpr(index(1), n), n);
  EXPECT_TRUE(IrBuilder::mulExpr(n, index(0))->isZeroInt());
  EXPECT_TRUE(IrBuilder::subExpr(n, n)->isZeroInt());
  EXPECT_EQ(IrBuilder::ceilDivExpr(index(7), index(2))->constInt(), 4);
  EXPECT_EQ(IrBuilder::divExpr(n, index(1)), n);
  EXPECT_EQ(IrBuilder::maxExpr(n, n), n);
  EXPECT_TRUE(IrBuilder::eqExpr(n, n)->isConst());
  expectUserErrorWith([&] { IrBuilder::divExpr(n, index(0)); }, "by zero");
  expectUserErrorWith([&] { IrBuilder::modExpr(n, index(0)); }, "by zero");
}

TEST_F(ScalarArithmetic, SameAsComparesStructure) {
  Val* n = IrBuilder::create<Val>(DataType::Index);
  Val* m = IrBuilder::create<Val>(DataType::Index);
  EXPECT_TRUE(IrBuilder::mulExpr(n, m)->sameAs(IrBuilder::mulExpr(n, m)));
  EXPECT_FALSE(IrBuilder::mulExpr(n, m)->sameAs(IrBuilder::mulExpr(m, n)));
  EXPECT_FALSE(IrBuilder::mulExpr(n, m)->sameAs(IrBuilder::addExpr(n, m)));
  EXPECT_FALSE(n->sameAs(m));
  EXPECT_TRUE(index(5)->sameAs(index(5)));
  EXPECT_FALSE(index(5)->sameAs(IrBuilder::constant(int64_t{5})));
}

} // namespace nvfuser
