// The ID graph: what the five modes map, and what follows from equal transforms.
#include <analysis/id_model.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>

#include "../ir_test.h"

namespace nvfuser {

class IdGraph : public IrTest {
 protected:
  bool mapped(IdMappingMode mode, IterDomain* a, IterDomain* b) {
    IdModel model(&fusion);
    return model.maybeBuildGraph(mode).disjointValSets().strictAreMapped(a, b);
  }
  bool exact(IterDomain* a, IterDomain* b) {
    return mapped(IdMappingMode::Exact, a, b);
  }
};

TEST_F(IdGraph, EqualTransformsOfMappedDomainsAreMapped) {
  TensorView* x = input({8, 6});
  TensorView* y = add(x, IrBuilder::constant(1.0));
  TensorView* z = mul(y, IrBuilder::constant(2.0));
  fusion.addOutput(z);
  y->merge(0, 1)->split(0, 4);
  z->merge(0, 1)->split(0, 4);
  EXPECT_TRUE(exact(y->axis(0), z->axis(0)));
  EXPECT_TRUE(exact(y->axis(1), z->axis(1)));
  EXPECT_FALSE(exact(y->axis(0), y->axis(1)));
}

TEST_F(IdGraph, OtherFactorsOrSidesAreNotMapped) {
  TensorView* x = input({8, 6});
  TensorView* y = add(x, IrBuilder::constant(1.0));
  TensorView* z = mul(y, IrBuilder::constant(2.0));
  TensorView* w = mul(z, IrBuilder::constant(3.0));
  fusion.addOutput(w);
  y->split(0, 4);
  z->split(0, 2);
  w->split(0, 4, false);
  EXPECT_FALSE(exact(y->axis(0), z->axis(0)));
  EXPECT_FALSE(exact(y->axis(1), w->axis(1)));
  EXPECT_FALSE(exact(y->axis(1), w->axis(0)));
}

TEST_F(IdGraph, ReshapesOfOneShapeMeetAgain) {
  // Both operands are merged in the same way, so the merged dims are one dim.
  TensorView* x = input({4, 6});
  TensorView* y = input({4, 6});
  TensorView* a = reshape(add(x, y), indices({24}));
  TensorView* b = reshape(x, indices({24}));
  fusion.addOutput(add(a, b));
  EXPECT_TRUE(exact(a->getLogicalDomain()[0], b->getLogicalDomain()[0]));
}

TEST_F(IdGraph, MappedResultsMapInputsOfEqualExtents) {
  TensorView* x = input({4, 6});
  TensorView* y = input({4, 6});
  TensorView* z = input({6, 4});
  TensorView* a = reshape(x, indices({24}));
  TensorView* b = reshape(y, indices({24}));
  TensorView* c = reshape(z, indices({24}));
  fusion.addOutput(add(add(a, b), c));
  EXPECT_TRUE(exact(x->getLogicalDomain()[0], y->getLogicalDomain()[0]));
  EXPECT_TRUE(exact(x->getLogicalDomain()[1], y->getLogicalDomain()[1]));
  EXPECT_FALSE(exact(x->getLogicalDomain()[0], z->getLogicalDomain()[0]));
  EXPECT_FALSE(exact(x->getLogicalDomain()[0], z->getLogicalDomain()[1]));
}

TEST_F(IdGraph, BroadcastsByMode) {
  TensorView* x = input({4});
  TensorView* y = input({4, 6});
  TensorView* b = broadcast(x, {false, true});
  TensorView* z = add(b, y);
  fusion.addOutput(z);
  IterDomain* broadcast_id = b->getLogicalDomain()[1];
  IterDomain* concrete = z->getLogicalDomain()[1];
  EXPECT_FALSE(mapped(IdMappingMode::Exact, broadcast_id, concrete));
  EXPECT_FALSE(mapped(IdMappingMode::AlmostExact, broadcast_id, concrete));
  EXPECT_TRUE(mapped(IdMappingMode::Broadcast, broadcast_id, concrete));
  EXPECT_TRUE(mapped(IdMappingMode::Permissive, broadcast_id, concrete));
}

TEST_F(IdGraph, TrivialTransformsByMode) {
  TensorView* x = input({4, 1, 8});
  TensorView* y = add(x, IrBuilder::constant(1.0));
  fusion.addOutput(y);
  IterDomain* i0 = y->axis(0);
  IterDomain* i2 = y->axis(2);
  y->merge(0, 1);        // 4 x 1
  y->split(1, 1);        // 8 / 1, 1
  y->split(2, 1, false); // 1, 1
  EXPECT_FALSE(mapped(IdMappingMode::Exact, i0, y->axis(0)));
  EXPECT_TRUE(mapped(IdMappingMode::AlmostExact, i0, y->axis(0)));
  EXPECT_TRUE(mapped(IdMappingMode::AlmostExact, i2, y->axis(1)));
  EXPECT_FALSE(mapped(IdMappingMode::AlmostExact, i2, y->axis(2)));
  EXPECT_TRUE(mapped(IdMappingMode::Permissive, i0, y->axis(0)));
  EXPECT_FALSE(mapped(IdMappingMode::Broadcast, i0, y->axis(0)));
}

TEST_F(IdGraph, SplitByTheWholeExtentIsTrivial) {
  TensorView* y = add(input({8}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  IterDomain* id = y->axis(0);
  y->split(0, 8);
  EXPECT_TRUE(mapped(IdMappingMode::AlmostExact, id, y->axis(1)));
  EXPECT_FALSE(mapped(IdMappingMode::AlmostExact, id, y->axis(0)));
}

TEST_F(IdGraph, LoopsAreSharedWhereInlined) {
  TensorView* x = input({4, 6});
  TensorView* y = add(x, IrBuilder::constant(1.0));
  TensorView* z = mul(y, IrBuilder::constant(2.0));
  fusion.addOutput(z);
  y->inlineAt(1);
  EXPECT_TRUE(mapped(IdMappingMode::Loop, y->axis(0), z->axis(0)));
  EXPECT_FALSE(mapped(IdMappingMode::Loop, y->axis(1), z->axis(1)));
  EXPECT_FALSE(mapped(IdMappingMode::Loop, x->axis(0), y->axis(0)));
}

TEST_F(IdGraph, ReductionsMapTheirRoot) {
  TensorView* x = input({4, 6});
  TensorView* s = sum(x, {1});
  fusion.addOutput(s);
  EXPECT_TRUE(exact(x->getLogicalDomain()[1], s->getLogicalDomain()[1]));
}

TEST_F(IdGraph, MapValsDrawsConclusions) {
  TensorView* x = input({8});
  TensorView* y = input({8});
  TensorView* a = add(x, IrBuilder::constant(1.0));
  TensorView* b = add(y, IrBuilder::constant(1.0));
  fusion.addOutput(a);
  fusion.addOutput(b);
  a->split(0, 2);
  b->split(0, 2);
  IdModel model(&fusion);
  ValGraph& graph = model.maybeBuildGraph(IdMappingMode::Exact);
  EXPECT_FALSE(graph.disjointValSets().strictAreMapped(a->axis(0), b->axis(0)));
  graph.mapVals(x->axis(0), y->axis(0));
  EXPECT_TRUE(graph.disjointValSets().strictAreMapped(a->axis(0), b->axis(0)));
  EXPECT_EQ(&graph, &model.maybeBuildGraph(IdMappingMode::Exact));
  expectUserErrorWith(
      [&] { graph.disjointValSets().strictAreMapped(a->axis(0), domain(3)); }, "in no set");
}

TEST_F(IdGraph, SelfMappingIsFoundWhereRefused) {
  TensorView* x = input({8, 8});
  fusion.addOutput(add(x, permute(x, {1, 0})));
  IdModel allowed(&fusion, true);
  expectUserErrorWith([&] { IdModel(&fusion, false, false); }, "are the same dimension");
}

TEST_F(IdGraph, ValidationComparesSizes) {
  TensorView* x = input({8, 6});
  fusion.addOutput(add(x, input({8, 6})));
  IdModel model(&fusion, true, true, true);
  EXPECT_FALSE(model.maybeBuildGraph(IdMappingMode::Exact).toString().empty());
}

} // namespace nvfuser
