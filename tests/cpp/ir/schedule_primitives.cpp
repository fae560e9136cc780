// split, merge, reorder, swizzle, inline_at: the loop domain after each, and what they refuse.
#include <ops/pointwise.h>
#include <ops/reduction.h>

#include "../ir_test.h"

#include <algorithm>

namespace nvfuser {

class SchedulePrimitives : public IrTest {
 protected:
  TensorView* middle(const Dims& shape) {
    TensorView* x = input(shape);
    return add(x, IrBuilder::constant(1.0));
  }
};

TEST_F(SchedulePrimitives, SplitTakesThePlaceOfTheAxis) {
  TensorView* tv = middle({4, 10, 3});
  tv->split(1, 4);
  EXPECT_EQ(loopExtents(tv), (Dims{4, 3, 4, 3}));
  tv->split(-1, 2, false);
  EXPECT_EQ(loopExtents(tv), (Dims{4, 3, 4, 2, 2}));
  EXPECT_EQ(shapeOf(tv), (Dims{4, 10, 3}));
  tv->split(0, IrBuilder::create<Val>(DataType::Index));
  EXPECT_EQ(tv->nLoopDims(), 6);
}

TEST_F(SchedulePrimitives, MergeStandsAtTheLeftOne) {
  TensorView* tv = middle({2, 3, 5});
  tv->merge(0, 2);
  EXPECT_EQ(loopExtents(tv), (Dims{10, 3}));
  const auto* merge = tv->axis(0)->definition()->as<Merge>();
  EXPECT_EQ(extents({merge->outer(), merge->inner()}), (Dims{2, 5}));
  TensorView* other = middle({2, 3, 5});
  other->merge(2, 0);
  EXPECT_EQ(loopExtents(other), (Dims{10, 3}));
  EXPECT_EQ(other->axis(0)->definition()->as<Merge>()->outer(), other->getLogicalDomain()[2]);
}

TEST_F(SchedulePrimitives, ReorderMovesNamedAxesAndKeepsTheOthersInOrder) {
  TensorView* tv = middle({2, 3, 5, 7});
  tv->reorder({{-1, 0}});
  EXPECT_EQ(loopExtents(tv), (Dims{7, 2, 3, 5}));
  tv->reorder({{0, 1}, {1, 0}});
  EXPECT_EQ(loopExtents(tv), (Dims{2, 7, 3, 5}));
  tv->reorder({});
  EXPECT_EQ(loopExtents(tv), (Dims{2, 7, 3, 5}));
}

TEST_F(SchedulePrimitives, EveryPermutationIsReachedByReorder) {
  Dims order = {0, 1, 2, 3};
  do {
    TensorView* tv = middle({2, 3, 5, 7});
    const auto before = tv->getLoopDomain();
    std::unordered_map<int64_t, int64_t> map;
    for (int64_t i = 0; i < 4; ++i) {
      map[i] = order[i];
    }
    tv->reorder(map);
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(tv->axis(order[i]), before[i]);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(SchedulePrimitives, WrongAxesAreRefused) {
  TensorView* tv = middle({2, 3});
  expectUserErrorWith([&] { tv->split(2, 2); }, "split: axis 2 is out of range");
  expectUserErrorWith([&] { tv->split(-3, 2); }, "split: axis -3");
  expectUserErrorWith([&] { tv->split(0, int64_t{0}); }, "factor must be positive");
  expectUserErrorWith([&] { tv->merge(1, 1); }, "cannot be merged with itself");
  expectUserErrorWith([&] { tv->merge(0, 5); }, "merge: axis 5");
  expectUserErrorWith([&] { tv->reorder({{0, 1}, {-2, 0}}); }, "named twice");
  expectUserErrorWith([&] { tv->reorder({{0, 1}, {1, -1}}); }, "named twice");
  expectUserErrorWith([&] { tv->reorder({{0, 2}}); }, "out of range");
  expectUserErrorWith([&] { tv->swizzle(1, 1); }, "twice");
  expectUserErrorWith([&] { tv->axis(7); }, "axis 7 is out of range");
  EXPECT_EQ(loopExtents(tv), (Dims{2, 3}));
}

TEST_F(SchedulePrimitives, ZeroDimensionalTensorHasNoAxes) {
  TensorView* tv = middle({});
  EXPECT_EQ(tv->nLoopDims(), 0);
  expectUserErrorWith([&] { tv->split(0, 2); }, "has 0 axes");
  EXPECT_EQ(tv->inlineAt(-1)->computeAtPosition(), 0);
}

TEST_F(SchedulePrimitives, InlineSharesLoopsAndFreezesThem) {
  TensorView* tv = middle({4, 6, 8});
  TensorView* consumer = mul(tv, IrBuilder::constant(2.0));
  fusion.addOutput(consumer);
  tv->inlineAt(2);
  EXPECT_EQ(tv->computeAtPosition(), 2);
  EXPECT_EQ(consumer->sharedPosition(), 2);
  for (TensorView* t : {tv, consumer}) {
    expectUserErrorWith([&] { t->split(1, 2); }, "inline_at");
    expectUserErrorWith([&] { t->merge(1, 2); }, "inline_at");
    expectUserErrorWith([&] { t->reorder({{0, 2}}); }, "inline_at");
    t->split(2, 4);
    t->reorder({{2, 3}});
  }
  expectUserErrorWith([&] { tv->cacheAfter(); }, "before inlining");
  tv->inlineAt(-1);
  EXPECT_EQ(tv->computeAtPosition(), 4);
  tv->inlineAt(1); // never gives loops back
  EXPECT_EQ(tv->computeAtPosition(), 4);
}

TEST_F(SchedulePrimitives, InlineIsRefusedWhereNothingCanBeShared) {
  TensorView* x = input({4, 6});
  TensorView* s = sum(x, {1});
  TensorView* y = mul(s, IrBuilder::constant(2.0));
  fusion.addOutput(y);
  expectUserErrorWith([&] { x->inlineAt(1); }, "input or output");
  expectUserErrorWith([&] { y->inlineAt(1); }, "input or output");
  expectUserErrorWith([&] { s->inlineAt(2); }, "reduction axis");
  expectUserErrorWith([&] { s->inlineAt(3); }, "out of range");
  EXPECT_EQ(s->inlineAt(1)->computeAtPosition(), 1);
}

TEST_F(SchedulePrimitives, MemoryTypeOfInputsAndOutputsIsGlobal) {
  TensorView* tv = middle({4});
  EXPECT_EQ(tv->memoryType(), MemoryType::Local);
  tv->setMemoryType(MemoryType::Shared);
  TensorView* out = mul(tv, IrBuilder::constant(2.0));
  fusion.addOutput(out);
  EXPECT_EQ(out->memoryType(), MemoryType::Global);
  expectUserErrorWith([&] { out->setMemoryType(MemoryType::Local); }, "set_memory_type");
}

TEST_F(SchedulePrimitives, ParallelTypesArePartOfTheText) {
  TensorView* tv = middle({4, 6});
  tv->axis(0)->parallelize(ParallelType::BIDx);
  tv->split(1, 2);
  tv->axis(-1)->parallelize(ParallelType::Vectorize);
  EXPECT_NE(tv->toString().find("iblockIdx.x"), std::string::npos) << tv->toString();
  EXPECT_NE(tv->toString().find("iV"), std::string::npos) << tv->toString();
  TensorView* symbolic = middle({-1});
  expectUserErrorWith(
      [&] { symbolic->axis(0)->parallelize(ParallelType::Vectorize); }, "needs a constant extent");
}

} // namespace nvfuser
