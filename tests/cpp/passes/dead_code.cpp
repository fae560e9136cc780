// dead_code removes what no output depends on, and nothing else.
#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/shape.h>
#include <passes/dead_code.h>

#include "pass_test.h"

namespace nvfuser {

class DeadCode : public PassTest {};

TEST_F(DeadCode, UnusedExpressionsGo) {
  TensorView* x = input({4});
  TensorView* y = add(x, IrBuilder::constant(1.0));
  mul(y, y);
  randLike(x);
  fusion.addOutput(y);
  EXPECT_EQ(after(removeDeadCode), "T1 = BinaryOp(T0, 1)\nout T1");
  EXPECT_EQ(fusion.allExprs().size(), 1u);
  EXPECT_TRUE(y->uses().empty());
}

TEST_F(DeadCode, DomainsAndSizesOfLiveTensorsStay) {
  TensorView* x = input({-1, 6});
  TensorView* y = reshape(x, {index(3), IrBuilder::mulExpr(size(x, 0), index(2))});
  fusion.addOutput(y);
  const std::string python = fusion.toPython();
  after(removeDeadCode);
  EXPECT_NE(y->getLogicalDomain()[0]->definition(), nullptr);
  EXPECT_NE(y->shape()[1]->definition(), nullptr);
  EXPECT_EQ(fusion.toPython(), python);
}

TEST_F(DeadCode, SchedulesStay) {
  TensorView* y = add(input({8}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  y->split(0, 4);
  removeDeadCode(fusion);
  EXPECT_NE(y->axis(0)->definition(), nullptr);
}

TEST_F(DeadCode, TransformsOfDeadTensorsGo) {
  TensorView* x = input({4, 6});
  reshape(x, indices({24}));
  fusion.addOutput(add(x, x));
  after(removeDeadCode);
  EXPECT_EQ(fusion.allExprs().size(), 1u);
}

TEST_F(DeadCode, InputsAndAliasesStay) {
  TensorView* x = input({4});
  input({5});
  fusion.addAliasOutput(add(x, x), x);
  EXPECT_EQ(after(removeDeadCode), "T2 = BinaryOp(T0, T0)\nout T2");
  EXPECT_EQ(fusion.inputs().size(), 2u);
}

} // namespace nvfuser
