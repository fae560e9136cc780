// Indices of dimensions from those of loops, on domains made by hand.
#include <ops/pointwise.h>
#include <ops/shape.h>

#include <ir/traversal.h>

#include "index_test.h"

#include <set>

namespace nvfuser {

class DomainIndices : public IndexTest {
 protected:
  TensorView* output(const Dims& shape) {
    TensorView* tv = neg(input(shape));
    fusion.addOutput(tv);
    return tv;
  }

  // The loops of `tv` reach every element of its logical domain once; `outside` rounds reach none.
  void expectEachElementOnce(const TensorView* tv, int64_t outside = 0) {
    std::vector<Index> loops;
    IndexMap known = loopsOver(tv->getLoopDomain(), loops);
    indicesBackward(indices, transformsBetween(tv->getLogicalDomain(), tv->getLoopDomain()), known);
    std::set<Dims> seen;
    int64_t elements = 1;
    for (const IterDomain* id : tv->getLogicalDomain()) {
      elements *= id->extent()->constInt();
    }
    forEachRound(loops, [&](const auto& at) {
      Dims place;
      bool inside = true;
      for (const IterDomain* id : tv->getLogicalDomain()) {
        place.push_back(valueOf(known.at(id), at));
        inside = inside && place.back() < id->extent()->constInt();
      }
      outside -= inside ? 0 : 1;
      EXPECT_TRUE(!inside || seen.insert(place).second);
    });
    EXPECT_EQ(static_cast<int64_t>(seen.size()), elements);
    EXPECT_EQ(outside, 0);
  }
};

TEST_F(DomainIndices, MergedAndSplit) {
  TensorView* tv = output({8, 6, 5});
  tv->merge(0, 1)->split(0, 4)->split(2, 5);
  expectEachElementOnce(tv);
}

TEST_F(DomainIndices, ASplitThatDoesNotDivide) {
  TensorView* tv = output({7, 3});
  tv->split(0, 4);
  expectEachElementOnce(tv, 3);
}

TEST_F(DomainIndices, MergesOfSplits) {
  TensorView* tv = output({6, 8});
  tv->split(1, 2)->split(0, 3); // [2, 3, 4, 2]
  tv->merge(1, 2);              // [2, 12, 2]
  tv->merge(0, 1);
  expectEachElementOnce(tv);
}

TEST_F(DomainIndices, BroadcastsHaveIndexZero) {
  TensorView* tv = output({4, 1, 3});
  tv->merge(0, 1)->merge(0, 1);
  std::vector<Index> loops;
  IndexMap known = loopsOver(tv->getLoopDomain(), loops);
  indicesBackward(indices, transformsBetween(tv->getLogicalDomain(), tv->getLoopDomain()), known);
  EXPECT_EQ(loops.size(), 1u);
  EXPECT_EQ(known.at(tv->getLogicalDomain()[1]), indices.constant(0));
  EXPECT_EQ(known.at(tv->getLogicalDomain()[2]), indices.mod(loops[0], indices.constant(3)));
}

TEST_F(DomainIndices, ForwardIsTheInverseOfBackward) {
  TensorView* tv = output({8, 6, 5});
  tv->merge(1, 2)->split(1, 6)->split(0, 2);
  std::vector<Index> loops;
  const auto transforms = transformsBetween(tv->getLogicalDomain(), tv->getLoopDomain());
  IndexMap back = loopsOver(tv->getLoopDomain(), loops);
  indicesBackward(indices, transforms, back);
  IndexMap forth;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    forth[id] = back.at(id);
  }
  indicesForward(indices, transforms, forth);
  forEachRound(loops, [&](const auto& at) {
    for (const IterDomain* id : tv->getLoopDomain()) {
      EXPECT_EQ(valueOf(forth.at(id), at), valueOf(back.at(id), at));
    }
  });
}

TEST_F(DomainIndices, AnExpandedDimensionCountsAsLongAsItIsSeen) {
  TensorView* x = input({2, 1, 3});
  TensorView* flat = reshape(expand(x, vals({2, 5, 3})), vals({10, 3}));
  fusion.addOutput(flat);
  std::vector<Index> loops;
  loopsOver(flat->getLogicalDomain(), loops);
  const auto root = rootIndices(indices, flat, loops);
  forEachRound(loops, [&](const auto& at) {
    EXPECT_EQ(valueOf(root[0], at), at.at(loops[0]) / 5);
    EXPECT_EQ(root[1], indices.constant(0));
    EXPECT_EQ(valueOf(root[2], at), at.at(loops[1]));
  });
}

TEST_F(DomainIndices, ASliceIsOffset) {
  TensorView* x = input({10});
  TensorView* part = slice(x, vals({3}), vals({8}));
  fusion.addOutput(part);
  std::vector<Index> loops;
  loopsOver(part->getLogicalDomain(), loops);
  const auto root = rootIndices(indices, part, loops);
  EXPECT_EQ(root[0], indices.add(loops[0], indices.constant(3)));
}

// The index of a padded operand lies outside of it at the edges, and so do those made from it.
TEST_F(DomainIndices, NothingIsPromisedOfAPaddedIndex) {
  TensorView* x = input({2, 3});
  TensorView* flat = reshape(x, vals({6}));
  TensorView* wide = pad(flat, vals({1, 5}));
  fusion.addOutput(wide);
  std::vector<Index> loops;
  loopsOver(wide->getLogicalDomain(), loops);
  const auto outside = rootIndices(indices, wide, loops);
  EXPECT_EQ(indices.boundOf(outside[0]), nullptr);
  const auto inner = rootIndices(indices, flat, outside);
  EXPECT_EQ(indices.boundOf(inner[0]), nullptr);
  EXPECT_NE(indices.lt(outside[0], indices.constant(6)), nullptr);
}

TEST_F(DomainIndices, ContiguousMemoryNeedsNoStrides) {
  TensorView* x = input({-1, -1, 4});
  std::vector<Index> loops;
  loopsOver(x->getLogicalDomain(), loops);
  addressOf(indices, x, loops, false);
  for (const KernelParam& param : indices.params()) {
    EXPECT_EQ(param.tensor, nullptr);
  }
}

TEST_F(DomainIndices, GapsHaveStrides) {
  TensorView* x = input({4, 3}, DataType::Float, {}, false);
  std::vector<Index> loops;
  loopsOver(x->getLogicalDomain(), loops);
  Index address = addressOf(indices, x, loops, false);
  ASSERT_EQ(indices.params().size(), 2u);
  forEachRound(loops, [&](auto at) {
    const int64_t expected = at.at(loops[0]) * 100 + at.at(loops[1]) * 7;
    at[indices.stride(x, 0)] = 100;
    at[indices.stride(x, 1)] = 7;
    EXPECT_EQ(valueOf(address, at), expected);
  });
}

TEST_F(DomainIndices, AddressesFollowTheOrderOfMemory) {
  TensorView* x = input({4, 3}, DataType::Float, {0, 1});
  std::vector<Index> loops;
  loopsOver(x->getLogicalDomain(), loops);
  Index address = addressOf(indices, x, loops, true);
  forEachRound(loops, [&](const auto& at) {
    EXPECT_EQ(valueOf(address, at), at.at(loops[1]) * 4 + at.at(loops[0]));
  });
}

} // namespace nvfuser
