// ExpressionEvaluator: binding, sizes, meta tensors, and what it says of contradictions.
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>
#include <runtime/expression_evaluator.h>

#include "../ops/op_test.h"

#include <ATen/ATen.h>

namespace nvfuser {

namespace {

TensorView* floatInput(Fusion& fusion, const std::vector<int64_t>& shape) {
  auto* tv = TensorViewBuilder().shape(shape).contiguity(true).build();
  fusion.addInput(tv);
  return tv;
}

} // namespace

TEST(ExpressionEvaluator, SizesComeWithTheTensors) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = floatInput(fusion, {-1, -1});
  TensorView* flat = reshape(x, {IrBuilder::constInt(-1)});
  for (int64_t rows : {0, 1, 3}) {
    ExpressionEvaluator evaluator;
    const at::Tensor value = at::randn({rows, 5});
    evaluator.bind(x, value);
    EXPECT_EQ(toInt(evaluator.evaluate(flat->shape()[0]).scalar()), rows * 5);
    EXPECT_TRUE(at::equal(evaluator.evaluate(flat).tensor(), value.reshape({-1})));
  }
}

TEST(ExpressionEvaluator, MetaTensorsGiveShapesStridesAndTypes) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = floatInput(fusion, {-1, -1});
  TensorView* y =
      castOp(DataType::Half, permute(sum(broadcast(x, {false, false, true}), {0}), {1, 0}));
  ExpressionEvaluator evaluator({.device = at::kMeta, .philox = std::nullopt});
  evaluator.bind(x, at::empty({4, 7}, at::TensorOptions(at::kMeta)));
  const at::Tensor result = evaluator.evaluate(y).tensor();
  EXPECT_TRUE(result.is_meta());
  EXPECT_EQ(result.scalar_type(), at::kHalf);
  EXPECT_EQ(result.sizes(), (at::IntArrayRef{1, 7}));
}

TEST(ExpressionEvaluator, ContradictionsAreNamed) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = floatInput(fusion, {-1, 4});
  Val* y = add(x, IrBuilder::constant(1.0));
  ExpressionEvaluator evaluator;
  EXPECT_THROW(evaluator.evaluate(y), UserError);
  EXPECT_THROW(evaluator.bind(x, at::randn({4})), UserError);
  EXPECT_THROW(evaluator.bind(x, at::randn({2, 5})), UserError);
  EXPECT_THROW(evaluator.bind(x, at::randn({2, 4}, at::kDouble)), UserError);
  EXPECT_THROW(evaluator.bind(x, ScalarValue(1.0)), UserError);
  evaluator.bind(x, at::randn({2, 4}));
  EXPECT_EQ(evaluator.evaluate(y).tensor().size(0), 2);
}

TEST(ExpressionEvaluator, DeepGraphsNeedNoDeepStack) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  Val* scalar = IrBuilder::create<Val>(DataType::Int);
  fusion.addInput(scalar);
  Val* sum_of_ones = scalar;
  for (int64_t i = 0; i < 50000; ++i) {
    sum_of_ones = add(sum_of_ones, IrBuilder::constant(int64_t{1}));
  }
  ExpressionEvaluator evaluator;
  evaluator.bind(scalar, ScalarValue(int64_t{7}));
  EXPECT_EQ(toInt(evaluator.evaluate(sum_of_ones).scalar()), 50007);
}

} // namespace nvfuser
