// Logical domain maps of pointwise nodes, copies, reductions and scans.
#include <ops/indexing.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>

#include "domain_map_test.h"

namespace nvfuser {

class LogicalMapPointwise : public DomainMapTest {};

TEST_F(LogicalMapPointwise, PositionByPosition) {
  TensorView* x = input({-1, 4, 5});
  TensorView* y = input({-1, 4, 5});
  TensorView* z = add(x, y);
  EXPECT_EQ(mapText(x, z), "0>0 1>1 2>2");
  EXPECT_EQ(mapText(y, z), "0>0 1>1 2>2");
  TensorView* w = where(input({-1, 4, 5}, DataType::Bool), x, y)->as<TensorView>();
  EXPECT_EQ(mapText(w->definition()->input(0)->as<TensorView>(), w), "0>0 1>1 2>2");
  TensorView* copy = segmentSet(x)->as<TensorView>();
  EXPECT_EQ(mapText(x, copy), "0>0 1>1 2>2");
}

TEST_F(LogicalMapPointwise, BroadcastsOnlyWhenAskedFor) {
  TensorView* x = input({4, 1});
  TensorView* y = input({4, 6});
  TensorView* z = add(x, y);
  EXPECT_EQ(mapText(x, z), "0>0 1>1");
  EXPECT_EQ(mapText(x, z, BroadcastMapping::Separate), "0>0");
  EXPECT_EQ(mapText(y, z, BroadcastMapping::Separate), "0>0 1>1");
}

TEST_F(LogicalMapPointwise, ZeroDimensionalOperands) {
  TensorView* x = input({});
  TensorView* y = mul(x, IrBuilder::constant(2.0));
  EXPECT_EQ(mapText(x, y), "");
}

TEST_F(LogicalMapPointwise, ReductionsMapReducedDimsToo) {
  TensorView* x = input({2, 3, 4});
  TensorView* s = sum(x, {1});
  EXPECT_EQ(mapText(x, s), "0>0 1>1 2>2");
  TensorView* y = mul(s, IrBuilder::constant(2.0));
  // The reduced dimension of s is no dimension for its consumers.
  EXPECT_EQ(mapText(s, y), "0>0 1>1");
  EXPECT_EQ(PairwiseLogicalDomainMap(s, y).pairs()[1].first, s->getLogicalDomain()[2]);
}

TEST_F(LogicalMapPointwise, AllResultsOfWelford) {
  TensorView* x = input({2, 3});
  const auto result = welford(x, {1});
  for (TensorView* out : {result.avg, result.var_sum, result.n}) {
    EXPECT_EQ(mapText(x, out), "0>0 1>1");
  }
}

TEST_F(LogicalMapPointwise, RFactoredReduction) {
  TensorView* x = input({4, 12});
  TensorView* s = sum(x, {1});
  fusion.addOutput(s);
  s->split(1, 3);
  TensorView* producer = s->rfactor({2});
  EXPECT_EQ(mapText(x, producer), "0>0 1>1");
  EXPECT_EQ(mapText(producer, s), "0>0 1>1");
}

TEST_F(LogicalMapPointwise, ScansAndSorts) {
  TensorView* x = input({4, 6});
  EXPECT_EQ(mapText(x, scan(ScanType::Sum, x, 1)), "0>0 1>1");
  EXPECT_EQ(mapText(x, argsort(x, 0, false, false)), "0>0 1>1");
}

TEST_F(LogicalMapPointwise, NotAnOperand) {
  TensorView* x = input({4});
  TensorView* y = add(x, x);
  TensorView* z = add(y, y);
  EXPECT_THROW(PairwiseLogicalDomainMap(x, z), InternalError);
  EXPECT_THROW(PairwiseLogicalDomainMap(y, x), InternalError);
}

TEST_F(LogicalMapPointwise, BothDirectionsAgree) {
  TensorView* x = input({2, 3});
  TensorView* y = sum(x, {0});
  const PairwiseLogicalDomainMap map(x, y);
  const auto forward = map.producerToConsumer();
  const auto backward = map.consumerToProducer();
  EXPECT_EQ(forward.size(), 2u);
  for (const auto& [p, c] : forward) {
    EXPECT_EQ(backward.at(c), p);
  }
}

} // namespace nvfuser
