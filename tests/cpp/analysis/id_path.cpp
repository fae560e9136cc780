// Paths through the ID graph: every step can be taken, nothing superfluous is on the way.
#include <analysis/id_model.h>
#include <ops/pointwise.h>
#include <ops/shape.h>

#include "../ir_test.h"

#include <optional>

#include <unordered_set>

namespace nvfuser {

class IdPathSearch : public IrTest {
 protected:
  ValGraph& exact() {
    model.emplace(&fusion);
    return model->maybeBuildGraph(IdMappingMode::Exact);
  }

  // Walks the path and checks that each step finds what it needs.
  static void expectWalkable(
      const ValGraph& graph,
      const IdPath& path,
      const std::vector<IterDomain*>& from,
      const std::vector<IterDomain*>& to) {
    const auto& sets = graph.disjointValSets();
    std::unordered_set<size_t> at;
    for (IterDomain* id : from) {
      at.insert(sets.idOf(id));
    }
    for (const IdStep& step : path.steps) {
      const auto needs =
          domainsOf(step.forward ? step.transform->inputs() : step.transform->outputs());
      const auto gives =
          domainsOf(step.forward ? step.transform->outputs() : step.transform->inputs());
      for (IterDomain* id : needs) {
        EXPECT_TRUE(at.contains(sets.idOf(id))) << step.transform->toString();
      }
      for (IterDomain* id : gives) {
        at.insert(sets.idOf(id));
      }
    }
    for (IterDomain* id : to) {
      EXPECT_TRUE(at.contains(sets.idOf(id))) << id->toString();
    }
  }

  std::optional<IdModel> model;
};

TEST_F(IdPathSearch, FromLoopsBackToDimensions) {
  TensorView* y = add(input({8, 6, 5}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  y->merge(0, 1)->split(0, 4)->split(2, 2);
  const ValGraph& graph = exact();
  const auto path = findIdPath(graph, y->getLoopDomain(), y->getLogicalDomain());
  EXPECT_TRUE(path.unreached.empty());
  EXPECT_EQ(path.steps.size(), 3u);
  for (const IdStep& step : path.steps) {
    EXPECT_FALSE(step.forward);
  }
  expectWalkable(graph, path, y->getLoopDomain(), y->getLogicalDomain());
}

TEST_F(IdPathSearch, AcrossAReshape) {
  TensorView* x = input({4, 6});
  TensorView* y = reshape(x, indices({3, 8}));
  TensorView* z = add(y, IrBuilder::constant(1.0));
  fusion.addOutput(z);
  z->merge(0, 1);
  const ValGraph& graph = exact();
  const auto path = findIdPath(graph, z->getLoopDomain(), x->getLogicalDomain());
  EXPECT_TRUE(path.unreached.empty());
  expectWalkable(graph, path, z->getLoopDomain(), x->getLogicalDomain());
}

TEST_F(IdPathSearch, OnlyStepsThatLeadThere) {
  TensorView* y = add(input({8, 6}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  y->split(0, 2);
  y->split(2, 3);
  const auto path = findIdPath(exact(), y->getLoopDomain(), {y->getLogicalDomain()[1]});
  ASSERT_EQ(path.steps.size(), 1u);
  EXPECT_EQ(path.steps[0].transform->as<Split>()->in(), y->getLogicalDomain()[1]);
}

TEST_F(IdPathSearch, TheShortestOfTwoWays) {
  // From x to the result directly, or through the split and merged copy.
  TensorView* x = input({12});
  TensorView* a = reshape(x, indices({3, 4}));
  TensorView* b = reshape(a, indices({12}));
  fusion.addOutput(b);
  const ValGraph& graph = exact();
  const auto path = findIdPath(graph, x->getLogicalDomain(), b->getLogicalDomain());
  EXPECT_EQ(path.steps.size(), 2u);
  expectWalkable(graph, path, x->getLogicalDomain(), b->getLogicalDomain());
  EXPECT_TRUE(findIdPath(graph, x->getLogicalDomain(), x->getLogicalDomain()).steps.empty());
}

TEST_F(IdPathSearch, HalfOfASplitIsNotEnough) {
  TensorView* y = add(input({8}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  y->split(0, 2);
  const auto path = findIdPath(exact(), {y->axis(0)}, y->getLogicalDomain());
  EXPECT_TRUE(path.steps.empty());
  EXPECT_EQ(path.unreached, y->getLogicalDomain());
}

TEST_F(IdPathSearch, ThroughAResize) {
  TensorView* x = input({8, 6});
  TensorView* y = slice(x, indices({2, 0}), indices({7, 6}));
  TensorView* z = permute(y, {1, 0});
  fusion.addOutput(z);
  const ValGraph& graph = exact();
  const auto path = findIdPath(graph, z->getLoopDomain(), x->getLogicalDomain());
  ASSERT_EQ(path.steps.size(), 1u);
  EXPECT_TRUE(path.steps[0].transform->isA<Resize>());
  EXPECT_FALSE(path.steps[0].forward);
}

TEST_F(IdPathSearch, RandomSchedulesAlwaysLeadBack) {
  for (int seed = 0; seed < 40; ++seed) {
    Fusion local;
    FusionGuard inner(&local);
    TensorView* x = TensorViewBuilder().shape(Dims{6, 4, 10}).build();
    local.addInput(x);
    TensorView* y = add(x, IrBuilder::constant(1.0));
    local.addOutput(y);
    unsigned state = 7u + static_cast<unsigned>(seed);
    const auto random = [&](int64_t n) {
      state = state * 1664525u + 1013904223u;
      return static_cast<int64_t>((state >> 16) % static_cast<unsigned>(n));
    };
    for (int step = 0; step < 6; ++step) {
      const int64_t n = y->nLoopDims();
      if (random(2) == 0 || n < 2) {
        y->split(random(n), 1 + random(5), random(2) == 0);
      } else {
        const int64_t a = random(n);
        y->merge(a, (a + 1 + random(n - 1)) % n);
      }
    }
    IdModel local_model(&local);
    const ValGraph& graph = local_model.maybeBuildGraph(IdMappingMode::Exact);
    const auto path = findIdPath(graph, y->getLoopDomain(), x->getLogicalDomain());
    EXPECT_TRUE(path.unreached.empty());
    expectWalkable(graph, path, y->getLoopDomain(), x->getLogicalDomain());
  }
}

} // namespace nvfuser
