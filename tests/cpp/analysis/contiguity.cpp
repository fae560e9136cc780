// Contiguous runs, dense strides; values of sizes; equal domains; disjoint sets.
#include <analysis/contiguity.h>
#include <analysis/disjoint_sets.h>
#include <analysis/same_domains.h>
#include <analysis/scalar_values.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>

#include "../ir_test.h"

namespace nvfuser {

class Contiguity : public IrTest {
 protected:
  using Flags = std::vector<std::optional<bool>>;
};

TEST_F(Contiguity, RunsEndAtGapsAndSkipBroadcasts) {
  TensorView* tv = TensorViewBuilder()
                       .shape(Dims{2, 3, 1, 4, 5})
                       .contiguity(Flags{true, false, std::nullopt, true, true})
                       .build();
  const auto runs = contiguousRuns(tv);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(extents(runs[0]), (Dims{2, 3}));
  EXPECT_EQ(extents(runs[1]), (Dims{4, 5}));
  EXPECT_FALSE(isDense(tv));
  EXPECT_TRUE(isDense(input({2, 1, 3})));
  EXPECT_TRUE(contiguousRuns(input({1, 1})).empty());
}

TEST_F(Contiguity, DenseStridesFollowTheOrder) {
  EXPECT_EQ(denseStrides(input({2, 3, 4}), {2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(denseStrides(input({2, 3, 4}, DataType::Float, {0, 1, 2}), {2, 3, 4}), (Dims{1, 2, 6}));
  EXPECT_EQ(denseStrides(input({-1, 0}), {3, 0}), (Dims{1, 1}));
  TensorView* e = expand(input({1, 4}), indices({5, 4}));
  EXPECT_EQ(denseStrides(e, {5, 4}), (Dims{0, 1}));
  EXPECT_EQ(denseStrides(sum(input({2, 3, 4}), {1}), {2, 4}), (Dims{4, 1}));
}

TEST_F(Contiguity, SizesFollowFromKnownOnes) {
  Val* n = IrBuilder::create<Val>(DataType::Index);
  Val* m = IrBuilder::create<Val>(DataType::Index);
  Val* size = IrBuilder::ceilDivExpr(IrBuilder::mulExpr(n, index(6)), index(4));
  ScalarValues values({{n, ScalarValue(int64_t{5})}});
  EXPECT_EQ(toInt(values.evaluate(size)), 8);
  EXPECT_FALSE(hasValue(values.evaluate(IrBuilder::addExpr(size, m))));
  EXPECT_EQ(toInt(values.evaluate(index(3))), 3);
  EXPECT_FALSE(hasValue(ScalarValues().evaluate(size)));
}

TEST_F(Contiguity, KnownResultsAreNotComputedAgain) {
  Val* n = IrBuilder::create<Val>(DataType::Index);
  Val* twice = IrBuilder::mulExpr(n, index(2));
  ScalarValues values({{twice, ScalarValue(int64_t{10})}});
  EXPECT_EQ(toInt(values.evaluate(IrBuilder::addExpr(twice, index(1)))), 11);
  EXPECT_FALSE(hasValue(values.evaluate(n)));
}

TEST_F(Contiguity, EqualDomainsAreMadeInTheSameWay) {
  TensorView* x = input({4, 4});
  EXPECT_TRUE(haveSameDomains(permute(x, {1, 0}), permute(x, {1, 0})));
  EXPECT_FALSE(haveSameDomains(permute(x, {1, 0}), set(x)->as<TensorView>()));
  EXPECT_TRUE(haveSameDomains(sum(x, {0}), sum(x, {0})));
  EXPECT_FALSE(haveSameDomains(sum(x, {0}), sum(x, {1})));
  EXPECT_FALSE(haveSameDomains(castOp(DataType::Half, x), castOp(DataType::BFloat16, x)));
  EXPECT_TRUE(haveSameDomains(reshape(x, indices({2, 8})), reshape(x, indices({2, 8}))));
  EXPECT_FALSE(haveSameDomains(strideOrder(x, {0, 1}), set(x)->as<TensorView>()));
  TensorView* cube = input({4, 4, 4});
  EXPECT_FALSE(haveSameDomains(permute(cube, {1, 2, 0}), permute(cube, {2, 0, 1})));
  EXPECT_TRUE(haveSameDomains(
      slice(x, indices({1, 0}), indices({3, 4})), slice(x, indices({1, 0}), indices({3, 4}))));
  EXPECT_FALSE(haveSameDomains(
      slice(x, indices({1, 0}), indices({3, 4})), slice(x, indices({2, 0}), indices({4, 4}))));
}

TEST(DisjointSets, JoinsAndKeepsOrder) {
  DisjointSets<int> sets;
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(sets.add(i));
  }
  EXPECT_FALSE(sets.add(3));
  EXPECT_TRUE(sets.join(4, 1));
  EXPECT_TRUE(sets.join(1, 5));
  EXPECT_FALSE(sets.join(5, 4));
  EXPECT_TRUE(sets.areMapped(4, 5));
  EXPECT_FALSE(sets.areMapped(4, 0));
  EXPECT_FALSE(sets.areMapped(4, 77));
  EXPECT_EQ(sets.ids().size(), 4u);
  EXPECT_EQ(sets.membersOf(5).size(), 3u);
  EXPECT_EQ(sets.membersOf(5).front(), 1);
}

} // namespace nvfuser
