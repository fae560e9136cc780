// Logical domain maps of shape nodes and factories.
#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/shape.h>

#include "domain_map_test.h"

namespace nvfuser {

class LogicalMapShape : public DomainMapTest {};

TEST_F(LogicalMapShape, BroadcastAndSqueeze) {
  TensorView* x = input({4, 6});
  TensorView* b = broadcast(x, {true, false, true, false});
  EXPECT_EQ(mapText(x, b), "0>1 1>3");
  TensorView* s = squeeze(b, {0, 2});
  EXPECT_EQ(mapText(b, s), "1>0 3>1");
}

TEST_F(LogicalMapShape, ExpandKeepsBroadcastsTogether) {
  TensorView* x = input({1, 6});
  TensorView* e = expand(x, {index(5), index(-1)});
  EXPECT_EQ(mapText(x, e), "0>0 1>1");
  EXPECT_EQ(mapText(x, e, BroadcastMapping::Separate), "0>0 1>1"); // both are broadcasts
}

TEST_F(LogicalMapShape, PermuteGoesThroughTheRoot) {
  TensorView* x = input({2, 3, 4});
  TensorView* y = permute(x, {2, 0, 1});
  EXPECT_EQ(mapText(x, y), "0>0 1>1 2>2");
  const auto map = PairwiseLogicalDomainMap(x, y).producerToConsumer();
  EXPECT_EQ(map.at(x->getLogicalDomain()[2]), y->getLogicalDomain()[0]);
  EXPECT_EQ(map.at(x->getLogicalDomain()[0]), y->getLogicalDomain()[1]);
}

TEST_F(LogicalMapShape, ReshapeMapsTheRoot) {
  TensorView* x = input({4, 6, 5});
  TensorView* y = reshape(x, indices({24, 5}));
  EXPECT_EQ(mapText(x, y), "0>0 1>1 2>2");
  EXPECT_EQ(y->getRootDomain()[2], y->getLogicalDomain()[1]);
  EXPECT_TRUE(y->getLogicalDomain()[0]->definition()->isA<Merge>());
}

TEST_F(LogicalMapShape, SliceAndPadMapBeforeTheResize) {
  TensorView* x = input({8, 6});
  TensorView* s = slice(x, indices({2, 0}), indices({5, 6}));
  EXPECT_EQ(mapText(x, s), "0>0 1>1");
  EXPECT_NE(s->getRootDomain()[0], s->getLogicalDomain()[0]);
  EXPECT_EQ(s->getRootDomain()[1], s->getLogicalDomain()[1]);
  TensorView* p = pad(x, indices({1, 1}));
  EXPECT_EQ(mapText(x, p), "0>0 1>1");
  EXPECT_EQ(shapeOf(p), (Dims{8, 8}));
}

TEST_F(LogicalMapShape, CatMapsAllButItsDim) {
  TensorView* a = input({4, 2, 5});
  TensorView* b = input({4, 3, 5});
  TensorView* c = cat({a, b}, 1);
  EXPECT_EQ(mapText(a, c), "0>0 2>2");
  EXPECT_EQ(mapText(b, c), "0>0 2>2");
}

TEST_F(LogicalMapShape, FactoriesHaveNoProducers) {
  for (TensorView* tv :
       {full(indices({4}), IrBuilder::constant(1.0), DataType::Float),
        iota(index(4), nullptr, nullptr, DataType::Int),
        uniform(
            indices({4}), IrBuilder::constant(0.0), IrBuilder::constant(1.0), DataType::Float)}) {
    EXPECT_TRUE(tv->definition()->traits().factory);
    for (const Val* in : tv->definition()->inputs()) {
      EXPECT_FALSE(in->isTensor());
    }
  }
}

TEST_F(LogicalMapShape, StrideOrderMapsPositions) {
  TensorView* x = input({2, 3});
  EXPECT_EQ(mapText(x, strideOrder(x, {0, 1})), "0>0 1>1");
}

TEST_F(LogicalMapShape, FusionWideSets) {
  TensorView* x = input({4, 1});
  TensorView* y = input({4, 6});
  TensorView* z = permute(add(x, y), {1, 0});
  fusion.addOutput(z);
  const LogicalDomainMap together(fusion);
  const LogicalDomainMap separate(fusion, BroadcastMapping::Separate);
  const auto& xd = x->getLogicalDomain();
  const auto& yd = y->getLogicalDomain();
  const auto& zd = z->getLogicalDomain();
  EXPECT_TRUE(together.areMapped(xd[0], zd[1]));
  EXPECT_TRUE(together.areMapped(xd[1], zd[0]));
  EXPECT_TRUE(separate.areMapped(yd[1], zd[0]));
  EXPECT_FALSE(separate.areMapped(xd[1], zd[0]));
  EXPECT_FALSE(together.areMapped(xd[0], zd[0]));
}

} // namespace nvfuser
