// rfactor splits a reduction in two and changes neither the result's shape nor the rest of its
// schedule.
#include <ops/pointwise.h>
#include <ops/reduction.h>

#include "../ir_test.h"

#include <algorithm>

namespace nvfuser {

class RFactor : public IrTest {
 protected:
  static std::string kinds(const std::vector<IterDomain*>& domains) {
    std::string text;
    for (const IterDomain* id : domains) {
      text += id->isReduction() ? 'r' : id->isBroadcast() ? 'b' : 'i';
    }
    return text;
  }
};

TEST_F(RFactor, InnerHalfOfASplitReduction) {
  TensorView* x = input({4, 12});
  TensorView* s = sum(x, {1});
  fusion.addOutput(s);
  s->split(1, 3); // [i4, r4, r3]
  TensorView* producer = s->rfactor({2});
  EXPECT_EQ(kinds(producer->getRootDomain()), "ir");
  EXPECT_EQ(kinds(producer->getLogicalDomain()), "iir");
  EXPECT_EQ(extents(producer->getLogicalDomain()), (Dims{4, 4, 3}));
  EXPECT_EQ(kinds(s->getLogicalDomain()), "ir");
  EXPECT_EQ(extents(s->getLogicalDomain()), (Dims{4, 4}));
  EXPECT_FALSE(s->hasRoot());
  EXPECT_EQ(shapeOf(s), (Dims{4}));
  EXPECT_EQ(s->definition()->input(0), producer);
  EXPECT_EQ(producer->definition()->input(0), x);
}

TEST_F(RFactor, ScheduleOfTheOtherAxesStays) {
  TensorView* s = sum(input({8, 12}), {1});
  fusion.addOutput(s);
  s->split(0, 2);
  s->split(2, 3);       // [i4, i2, r4, r3]
  s->reorder({{3, 0}}); // [r3, i4, i2, r4]
  TensorView* producer = s->rfactor({0});
  EXPECT_EQ(shapeOf(s), (Dims{8}));
  EXPECT_EQ(loopExtents(s), (Dims{4, 2, 4}));
  EXPECT_EQ(kinds(s->getLoopDomain()), "iir");
  EXPECT_EQ(loopExtents(producer), (Dims{3, 4, 2, 4}));
  EXPECT_EQ(kinds(producer->getLoopDomain()), "riii");
  EXPECT_EQ(shapeOf(producer), (Dims{8, 4}));
}

TEST_F(RFactor, OneOfTwoReducedDims) {
  TensorView* s = sum(input({4, 5, 6}), {0, 2});
  fusion.addOutput(s);
  TensorView* producer = s->rfactor({-1});
  EXPECT_EQ(kinds(producer->getLogicalDomain()), "iir");
  EXPECT_FALSE(producer->hasRoot());
  EXPECT_EQ(kinds(s->getLogicalDomain()), "ri");
  EXPECT_EQ(shapeOf(s), (Dims{5}));
}

TEST_F(RFactor, MergedAndSplitReduction) {
  TensorView* s = sum(input({4, 6}), {0, 1});
  fusion.addOutput(s);
  s->merge(0, 1);
  s->split(0, 8); // [r3, r8]
  s->split(0, 2); // [r2, r2, r8]
  TensorView* producer = s->rfactor({2});
  EXPECT_EQ(kinds(producer->getRootDomain()), "rr");
  EXPECT_EQ(extents(producer->getLogicalDomain()), (Dims{3, 8}));
  EXPECT_EQ(loopExtents(producer), (Dims{2, 2, 8}));
  EXPECT_EQ(kinds(producer->getLoopDomain()), "iir");
  EXPECT_EQ(extents(s->getLogicalDomain()), (Dims{3}));
  EXPECT_EQ(loopExtents(s), (Dims{2, 2}));
  EXPECT_EQ(kinds(s->getLoopDomain()), "rr");
  EXPECT_EQ(shapeOf(s), Dims{});
}

TEST_F(RFactor, SecondRFactorOfTheProducer) {
  TensorView* s = sum(input({4, 64}), {1});
  fusion.addOutput(s);
  s->split(1, 8);
  TensorView* first = s->rfactor({2});
  first->split(2, 2);
  expectUserErrorWith([&] { first->rfactor({3}); }, "rfactor already");
  s->split(1, 4);
  TensorView* second = s->rfactor({1});
  EXPECT_EQ(shapeOf(second), (Dims{4, 4}));
  EXPECT_EQ(s->definition()->input(0), second);
  EXPECT_EQ(second->definition()->input(0), first);
}

TEST_F(RFactor, AllocationOrderOfTheResultStays) {
  TensorView* s = sum(input({4, 5, 6}), {1});
  auto allocation = s->getLogicalDomain(); // i4 r5 i6
  std::swap(allocation[0], allocation[2]);
  s->setAllocationDomain(allocation, true);
  fusion.addOutput(s);
  s->split(1, 2);
  s->rfactor({2});
  EXPECT_EQ(s->domain()->strideOrder(), (Dims{0, 1}));
}

TEST_F(RFactor, Refusals) {
  TensorView* x = input({4, 6});
  TensorView* y = add(x, IrBuilder::constant(1.0));
  TensorView* s = sum(y, {1});
  fusion.addOutput(s);
  expectUserErrorWith([&] { y->rfactor({0}); }, "not the result of a reduction");
  expectUserErrorWith([&] { s->rfactor({0}); }, "not a reduction axis");
  expectUserErrorWith([&] { s->rfactor({1}); }, "no reduction axis left");
  expectUserErrorWith([&] { s->rfactor({}); }, "no axes");
  expectUserErrorWith([&] { s->rfactor({5}); }, "out of range");
}

} // namespace nvfuser
