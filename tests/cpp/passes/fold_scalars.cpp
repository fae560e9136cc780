// fold_scalars computes scalar expressions of constants.
#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/shape.h>
#include <passes/fold_scalars.h>

#include "pass_test.h"

namespace nvfuser {

class FoldScalars : public PassTest {};

TEST_F(FoldScalars, ChainsBecomeOneConstant) {
  TensorView* x = input({4}, DataType::Double);
  Val* a = mul(IrBuilder::constant(3.0), IrBuilder::constant(2.0));
  Val* b = unaryOp(UnaryOpType::Sqrt, sub(a, IrBuilder::constant(2.0)));
  TensorView* y = mul(x, b);
  fusion.addOutput(y);
  EXPECT_EQ(after(foldScalars), "T1 = BinaryOp(T0, 2)\nout T1");
  EXPECT_EQ(fusion.allExprs().size(), 1u);
}

TEST_F(FoldScalars, UnknownScalarsStay) {
  TensorView* x = input({4}, DataType::Double);
  Val* s = inputScalar(DataType::Double);
  Val* t = add(s, mul(IrBuilder::constant(3.0), IrBuilder::constant(2.0)));
  fusion.addOutput(mul(x, t));
  EXPECT_EQ(after(foldScalars), "T1 = BinaryOp(T0, ( " + s->toString() + " + 6 ))\nout T1");
}

TEST_F(FoldScalars, ExtentsHoldTheConstant) {
  Val* n =
      binaryOp(BinaryOpType::Add, IrBuilder::constant(int64_t{3}), IrBuilder::constant(int64_t{4}));
  TensorView* y = full({n}, IrBuilder::constant(1.0), DataType::Float);
  fusion.addOutput(y);
  EXPECT_EQ(shapeOf(y), Dims{-1});
  after(foldScalars);
  EXPECT_EQ(shapeOf(y), Dims{7});
}

TEST_F(FoldScalars, ScalarOutputsKeepTheirDefinition) {
  Val* s = add(IrBuilder::constant(1.0), IrBuilder::constant(2.0));
  fusion.addOutput(s);
  foldScalars(fusion);
  EXPECT_EQ(fusion.outputs()[0], s);
  EXPECT_NE(s->definition(), nullptr);
}

TEST_F(FoldScalars, WhatHasNoAnswerStays) {
  TensorView* x = input({4}, DataType::Int);
  Val* s = div(IrBuilder::constant(int64_t{1}), IrBuilder::constant(int64_t{0}));
  fusion.addOutput(mul(x, s));
  const std::string before = text();
  EXPECT_EQ(after(foldScalars), before);
}

TEST_F(FoldScalars, TensorsAreNotTouched) {
  TensorView* y = full(indices({4}), IrBuilder::constant(2.0), DataType::Double);
  fusion.addOutput(mul(y, IrBuilder::constant(3.0)));
  const std::string before = text();
  EXPECT_EQ(after(foldScalars), before);
}

} // namespace nvfuser
