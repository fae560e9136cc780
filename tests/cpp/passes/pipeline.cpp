// The whole pipeline: names, order, and that it keeps what a fusion computes.
#include <ir/options.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>
#include <passes/pipeline.h>

#include "pass_test.h"

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

class Pipeline : public PassTest {};

TEST_F(Pipeline, EveryPassIsADumpOption) {
  std::unordered_set<std::string_view> names;
  for (const FusionPass& pass : fusionPasses()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    const auto& known = dumpOptionNames();
    EXPECT_NE(std::find(known.begin(), known.end(), pass.name), known.end()) << pass.name;
  }
  EXPECT_FALSE(isDumpEnabled("fusion_ir"));
}

TEST_F(Pipeline, CleansUpAndSetsOrders) {
  TensorView* x = input({-1, 3, 4, 5}, DataType::Float, {3, 0, 2, 1});
  Val* two = add(IrBuilder::constant(1.0), IrBuilder::constant(1.0));
  TensorView* a = mul(x, two);
  TensorView* b = mul(x, two);
  sum(a, {0});
  TensorView* y = add(a, b);
  fusion.addOutput(y);
  EXPECT_EQ(after(runPipeline), "T1 = BinaryOp(T0, 2)\nT4 = BinaryOp(T1, T1)\nout T4");
  EXPECT_EQ(y->domain()->strideOrder(), (Dims{3, 0, 2, 1}));
}

TEST_F(Pipeline, RunningTwiceChangesNothing) {
  TensorView* x = input({-1, 3, 4}, DataType::Float, {0, 2, 1});
  TensorView* y = add(permute(x, {2, 1, 0}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  fusion.addOutput(reshape(x, {size(x, 0), index(12)}));
  runPipeline(fusion);
  const std::string once = fusion.printMath(false);
  runPipeline(fusion);
  EXPECT_EQ(fusion.printMath(false), once);
}

TEST_F(Pipeline, EmptyAndTrivialFusions) {
  runPipeline(fusion);
  TensorView* x = input({4});
  fusion.addOutput(x);
  EXPECT_EQ(after(runPipeline), "out T0");
  EXPECT_EQ(fusion.viewOf(0), x);
}

TEST_F(Pipeline, LongChains) {
  TensorView* x = input({4});
  for (int i = 0; i < 5000; ++i) {
    x = add(x, x);
  }
  fusion.addOutput(x);
  runPipeline(fusion);
  EXPECT_EQ(fusion.exprs().size(), 5000u);
}

} // namespace nvfuser
