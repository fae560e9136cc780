// cache_after and cache_before put a copy between a tensor and its uses or its definition.
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>

#include "../ir_test.h"

#include <algorithm>

namespace nvfuser {

class Caching : public IrTest {};

TEST_F(Caching, AfterTakesOverAllUses) {
  TensorView* x = input({4, 6});
  TensorView* a = add(x, IrBuilder::constant(1.0));
  TensorView* b = mul(x, x);
  fusion.addOutput(a);
  fusion.addOutput(b);
  TensorView* copy = x->cacheAfter();
  ASSERT_EQ(x->uses().size(), 1u);
  EXPECT_EQ(x->uses()[0], copy->definition());
  EXPECT_EQ(a->definition()->input(0), copy);
  EXPECT_EQ(b->definition()->input(0), copy);
  EXPECT_EQ(b->definition()->input(1), copy);
  EXPECT_EQ(copy->uses().size(), 2u);
  EXPECT_EQ(shapeOf(copy), (Dims{4, 6}));
  EXPECT_EQ(copy->memoryType(), MemoryType::Local);
}

TEST_F(Caching, AfterOnlyForTheListedUses) {
  TensorView* x = input({4});
  TensorView* a = add(x, IrBuilder::constant(1.0));
  TensorView* b = mul(x, IrBuilder::constant(2.0));
  fusion.addOutput(a);
  fusion.addOutput(b);
  TensorView* copy =
      x->cacheAfter(LoadStoreOpType::Set, CacheOp::Unspecified, true, {a->definition()});
  EXPECT_EQ(a->definition()->input(0), copy);
  EXPECT_EQ(b->definition()->input(0), x);
  expectUserErrorWith([&] { b->cacheAfter(); }, "no uses");
  expectUserErrorWith(
      [&] { x->cacheAfter(LoadStoreOpType::Set, CacheOp::Unspecified, true, {a->definition()}); },
      "does not use");
}

TEST_F(Caching, AfterOfAReductionHasNoReductionDomain) {
  TensorView* s = sum(input({4, 6}), {1});
  TensorView* out = mul(s, IrBuilder::constant(2.0));
  fusion.addOutput(out);
  TensorView* copy = s->cacheAfter();
  EXPECT_EQ(loopExtents(copy), (Dims{4}));
  EXPECT_FALSE(copy->hasReduction());
}

TEST_F(Caching, AfterKeepsTheAllocationOrderUnlessToldNot) {
  TensorView* x = input({4, 6}, DataType::Float, {0, 1});
  fusion.addOutput(add(x, IrBuilder::constant(1.0)));
  TensorView* copy = x->cacheAfter();
  EXPECT_EQ(copy->domain()->strideOrder(), (Dims{0, 1}));
  TensorView* plain = copy->cacheAfter(LoadStoreOpType::Set, CacheOp::Unspecified, false);
  EXPECT_TRUE(plain->domain()->strideOrder().empty());
}

TEST_F(Caching, BeforeMovesTheDefinition) {
  TensorView* x = input({4, 6});
  TensorView* s = sum(x, {1});
  fusion.addOutput(s);
  TensorView* producer = s->cacheBefore();
  EXPECT_TRUE(producer->definition()->traits().reduction);
  EXPECT_EQ(producer->definition()->input(0), x);
  EXPECT_EQ(s->definition()->input(0), producer);
  EXPECT_TRUE(producer->hasReduction());
  EXPECT_FALSE(s->hasReduction());
  EXPECT_EQ(fusion.outputs()[0], s);
  EXPECT_EQ(producer->memoryType(), MemoryType::Local);
  EXPECT_EQ(fusion.exprs().size(), 2u);
}

TEST_F(Caching, BeforeKeepsTheOrderOfAnOutput) {
  TensorView* y = strideOrder(input({4, 6}), {0, 1});
  fusion.addOutput(y);
  y->cacheBefore();
  EXPECT_EQ(y->domain()->strideOrder(), (Dims{0, 1}));
}

TEST_F(Caching, BeforeOfOneOfSeveralResults) {
  const auto result = welford(input({4, 6}), {1});
  fusion.addOutput(result.avg);
  fusion.addOutput(result.var_sum);
  TensorView* producer = result.var_sum->cacheBefore();
  const Expr* definition = producer->definition();
  EXPECT_EQ(definition->outputs()[0], result.avg);
  EXPECT_EQ(definition->outputs()[1], producer);
  EXPECT_EQ(result.avg->definition(), definition);
}

TEST_F(Caching, BeforeOfAPermutationKeepsItsRoot) {
  TensorView* y = permute(input({4, 6}), {1, 0});
  fusion.addOutput(y);
  TensorView* producer = y->cacheBefore();
  EXPECT_TRUE(producer->hasRoot());
  EXPECT_FALSE(y->hasRoot());
  EXPECT_EQ(shapeOf(y), (Dims{6, 4}));
}

TEST_F(Caching, InputsHaveNothingBefore) {
  TensorView* x = input({4});
  expectUserErrorWith([&] { x->cacheBefore(); }, "no definition");
}

} // namespace nvfuser
