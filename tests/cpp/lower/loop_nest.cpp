// Loop nests: which tensors share loops, and that the rounds reach every element once.
#include <lower/loop_nest.h>

#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>

#include "index_test.h"

#include <set>

namespace nvfuser {

class LoopNests : public IndexTest {
 protected:
  using Values = std::map<Index, int64_t>;

  // Everything that is no output and no reduction is computed where it is needed.
  void inlineIntermediates() {
    for (TensorView* tv : fusion.tensorViews()) {
      tv->setInlined(
          tv->definition() != nullptr && !tv->isFusionOutput() &&
          !tv->definition()->traits().reduction);
    }
  }

  // The rounds in which each root computes an element, as the element's place in the root domain.
  void walk(const NestLoop& loop, Values at) {
    const int64_t stop = loop.variable == nullptr ? 1 : valueOf(loop.stop, at);
    for (int64_t i = 0; i < stop; ++i) {
      if (loop.variable != nullptr) {
        at[loop.variable] = i;
        path_.push_back(&loop);
      }
      for (const NestLoop::Child& child : loop.children) {
        if (child.root != nullptr) {
          visit(*child.root, at);
        } else {
          walk(*child.loop, at);
        }
      }
      if (loop.variable != nullptr) {
        path_.pop_back();
      }
    }
  }

  void visit(const NestRoot& root, const Values& at) {
    IndexMap known;
    for (const IterDomain* id : root.tv->getLoopDomain()) {
      known[id] = indices.constant(0);
    }
    ASSERT_EQ(path_.size(), root.loops.size());
    for (size_t i = 0; i < root.loops.size(); ++i) {
      known[root.loops[i]] = path_[i]->variable;
    }
    indicesBackward(indices, root.transforms, known);
    for (const IterDomain* id : root.guarded) {
      if (valueOf(known.at(id), at) >= id->extent()->constInt()) {
        return;
      }
    }
    Dims place;
    for (const IterDomain* id : root.tv->getMaybeRootDomain()) {
      place.push_back(valueOf(known.at(id), at));
      ASSERT_LT(place.back(), id->extent()->constInt());
    }
    EXPECT_TRUE(seen_[root.tv].insert(place).second) << root.tv->toString();
  }

  void expectEachElementOnce(const LoopNest& nest, const std::vector<const TensorView*>& tensors) {
    seen_.clear();
    for (const auto& stage : nest.stages()) {
      walk(*stage, {});
    }
    for (const TensorView* tv : tensors) {
      int64_t elements = 1;
      for (const IterDomain* id : tv->getMaybeRootDomain()) {
        elements *= id->extent()->constInt();
      }
      EXPECT_EQ(static_cast<int64_t>(seen_[tv].size()), elements) << tv->toString();
    }
  }

  std::vector<const NestLoop*> path_;
  std::map<const TensorView*, std::set<Dims>> seen_;
};

TEST_F(LoopNests, OneOutput) {
  TensorView* y = neg(input({5, 7}));
  fusion.addOutput(y);
  inlineIntermediates();
  const LoopNest nest(fusion, indices);
  ASSERT_EQ(nest.stages().size(), 1u);
  EXPECT_EQ(nest.stages()[0]->variable, nullptr);
  expectEachElementOnce(nest, {y});
}

TEST_F(LoopNests, OutputsOfEqualLoopsShareThem) {
  TensorView* x = input({5, 7});
  TensorView* y = neg(x);
  TensorView* z = abs(y);
  fusion.addOutput(y);
  fusion.addOutput(z);
  inlineIntermediates();
  for (TensorView* tv : {y, z}) {
    tv->merge(0, 1)->split(0, 7);
    tv->axis(0)->parallelize(ParallelType::BIDx);
  }
  const LoopNest nest(fusion, indices);
  ASSERT_EQ(nest.stages().size(), 1u);
  const NestLoop& top = *nest.stages()[0];
  ASSERT_EQ(top.children.size(), 1u);
  EXPECT_EQ(top.children[0].loop->children.size(), 2u);
  expectEachElementOnce(nest, {y, z});
}

TEST_F(LoopNests, OtherTasksAreAnotherStage) {
  TensorView* x = input({6, 7});
  TensorView* y = neg(x);
  TensorView* z = abs(x);
  fusion.addOutput(y);
  fusion.addOutput(z);
  inlineIntermediates();
  y->axis(0)->parallelize(ParallelType::BIDx);
  z->merge(0, 1);
  z->axis(0)->parallelize(ParallelType::BIDx);
  const LoopNest nest(fusion, indices);
  EXPECT_EQ(nest.stages().size(), 2u);
  expectEachElementOnce(nest, {y, z});
}

TEST_F(LoopNests, ASplitEndsInTime) {
  TensorView* y = neg(input({23}));
  fusion.addOutput(y);
  inlineIntermediates();
  y->split(0, 5);
  const LoopNest nest(fusion, indices);
  expectEachElementOnce(nest, {y});
  // The last round is short; no element is guarded.
  const NestLoop* loop = nest.stages()[0].get();
  while (loop->children[0].root == nullptr) {
    loop = loop->children[0].loop.get();
  }
  EXPECT_TRUE(loop->children[0].root->guarded.empty());
}

TEST_F(LoopNests, AMergeOfASplitIsGuarded) {
  TensorView* y = neg(input({23, 3}));
  fusion.addOutput(y);
  inlineIntermediates();
  y->split(0, 5)->merge(1, 2); // [5, 5 * 3]
  const LoopNest nest(fusion, indices);
  expectEachElementOnce(nest, {y});
}

TEST_F(LoopNests, TheInnerPartFirst) {
  TensorView* y = neg(input({23}));
  fusion.addOutput(y);
  inlineIntermediates();
  y->split(0, 5)->reorder({{0, 1}});
  const LoopNest nest(fusion, indices);
  expectEachElementOnce(nest, {y});
}

TEST_F(LoopNests, ARowIsReducedBeforeItIsNormalized) {
  TensorView* x = input({6, 9});
  TensorView* total = sum(x, {1}, true);
  auto* y = div(x, total)->as<TensorView>();
  fusion.addOutput(y);
  inlineIntermediates();
  TensorView* reduction = nullptr;
  for (TensorView* tv : fusion.tensorViews()) {
    if (tv->definition() != nullptr && tv->definition()->traits().reduction) {
      reduction = tv;
    }
  }
  ASSERT_NE(reduction, nullptr);
  for (TensorView* tv : {reduction, y}) {
    tv->axis(0)->parallelize(ParallelType::BIDx);
  }
  const LoopNest nest(fusion, indices);
  ASSERT_EQ(nest.stages().size(), 1u);
  const NestLoop& rows = *nest.stages()[0];
  ASSERT_EQ(rows.children.size(), 2u);
  ASSERT_EQ(rows.children[0].completes.size(), 1u);
  EXPECT_EQ(rows.children[0].completes[0]->tv, reduction);
  EXPECT_FALSE(rows.children[0].completes[0]->leaves_stage);
  EXPECT_TRUE(rows.children[1].completes.empty());
  expectEachElementOnce(nest, {reduction, y});
}

TEST_F(LoopNests, AResultOfAllTasksLeavesItsStage) {
  TensorView* x = input({6, 9});
  TensorView* total = sum(x, {0}, true);
  auto* y = div(x, total)->as<TensorView>();
  fusion.addOutput(y);
  inlineIntermediates();
  TensorView* reduction = nullptr;
  for (TensorView* tv : fusion.tensorViews()) {
    if (tv->definition() != nullptr && tv->definition()->traits().reduction) {
      reduction = tv;
    }
  }
  reduction->reorder({{1, 0}});
  reduction->axis(0)->parallelize(ParallelType::BIDx);
  y->axis(0)->parallelize(ParallelType::BIDx);
  const LoopNest nest(fusion, indices);
  ASSERT_EQ(nest.stages().size(), 2u);
  expectEachElementOnce(nest, {reduction, y});
}

} // namespace nvfuser
