// Split, merge and resize keep what their comments promise, for all small sizes.
#include "../ir_test.h"

#include <set>

namespace nvfuser {

class IterDomainAlgebra : public IrTest {};

TEST_F(IterDomainAlgebra, SplitReachesEveryIndexOnce) {
  for (int64_t n = 0; n <= 20; ++n) {
    for (int64_t factor = 1; factor <= 8; ++factor) {
      for (bool inner_split : {true, false}) {
        SCOPED_TRACE(testing::Message() << n << " by " << factor << " inner " << inner_split);
        IterDomain* in = domain(n);
        const auto [outer, inner] = IterDomain::split(in, index(factor), inner_split);
        const int64_t o = outer->extent()->constInt();
        const int64_t i = inner->extent()->constInt();
        EXPECT_EQ(inner_split ? i : o, factor);
        EXPECT_GE(o * i, n);
        EXPECT_LT(o * i - n, factor); // no whole row or column is superfluous
        std::multiset<int64_t> reached;
        for (int64_t a = 0; a < o; ++a) {
          for (int64_t b = 0; b < i; ++b) {
            if (a * i + b < n) {
              reached.insert(a * i + b);
            }
          }
        }
        EXPECT_EQ(static_cast<int64_t>(reached.size()), n);
        EXPECT_EQ(static_cast<int64_t>(std::set(reached.begin(), reached.end()).size()), n);
        const auto* split = outer->definition()->as<Split>();
        EXPECT_EQ(split->in(), in);
        EXPECT_EQ(inner->definition(), split);
        EXPECT_EQ(split->isDivisible(), n % factor == 0);
      }
    }
  }
}

TEST_F(IterDomainAlgebra, MergeIsABijection) {
  for (int64_t a = 0; a <= 6; ++a) {
    for (int64_t b = 0; b <= 6; ++b) {
      IterDomain* out = IterDomain::merge(domain(a), domain(b));
      EXPECT_EQ(out->extent()->constInt(), a * b);
      std::set<int64_t> reached;
      for (int64_t i = 0; i < a; ++i) {
        for (int64_t j = 0; j < b; ++j) {
          reached.insert(i * b + j);
        }
      }
      EXPECT_EQ(static_cast<int64_t>(reached.size()), out->extent()->constInt());
    }
  }
}

TEST_F(IterDomainAlgebra, SplitUndoesMerge) {
  for (int64_t a = 1; a <= 6; ++a) {
    for (int64_t b = 1; b <= 6; ++b) {
      IterDomain* merged = IterDomain::merge(domain(a), domain(b));
      const auto [outer, inner] = IterDomain::split(merged, index(b), true);
      EXPECT_EQ(outer->extent()->constInt(), a);
      EXPECT_EQ(inner->extent()->constInt(), b);
    }
  }
}

TEST_F(IterDomainAlgebra, ResizeAddsBothWidths) {
  for (int64_t n = 2; n <= 6; ++n) {
    for (int64_t left = -2; left <= 3; ++left) {
      for (int64_t right = -2; right <= 3; ++right) {
        if (n + left + right < 0) {
          continue;
        }
        IterDomain* out = IterDomain::resize(domain(n), index(left), index(right));
        EXPECT_EQ(out->extent()->constInt(), n + left + right);
        EXPECT_EQ(out->isBroadcast(), n + left + right == 1);
      }
    }
  }
}

TEST_F(IterDomainAlgebra, ResizeOfSymbolicSizeIsSymbolic) {
  IterDomain* in = IrBuilder::create<IterDomain>(
      IterDomain::Parts{.extent = IrBuilder::create<Val>(DataType::Index)});
  EXPECT_TRUE(IterDomain::resize(in, index(-1), index(0))->isSymbolic());
  EXPECT_TRUE(IterDomain::resize(in, index(0), index(0))->isIteration());
}

TEST_F(IterDomainAlgebra, KindsOfTheResults) {
  IterDomain* reduction = domain(8)->cloneAs(IterType::Reduction);
  const auto [outer, inner] = IterDomain::split(reduction, index(2), true);
  EXPECT_TRUE(outer->isReduction() && inner->isReduction());
  IterDomain* broadcast = domain(1)->cloneAs(IterType::Broadcast);
  EXPECT_TRUE(IterDomain::merge(broadcast, domain(4))->isIteration());
  EXPECT_TRUE(IterDomain::merge(broadcast, reduction)->isReduction());
  EXPECT_TRUE(IterDomain::merge(broadcast, broadcast)->isBroadcast());
  expectUserErrorWith([&] { IterDomain::merge(reduction, domain(4)); }, "reduction domain cannot");
  expectUserErrorWith([&] { IterDomain::split(domain(4), index(0), true); }, "must be positive");
}

TEST_F(IterDomainAlgebra, ExpandedBroadcastKeepsItsSizeInView) {
  auto* id = IrBuilder::create<IterDomain>(IterDomain::Parts{
      .extent = index(1), .expanded_extent = index(12), .iter_type = IterType::Broadcast});
  const auto [outer, inner] = IterDomain::split(id, index(4), true);
  EXPECT_EQ(extents({outer, inner}), (Dims{3, 4}));
  EXPECT_TRUE(outer->isBroadcast() && outer->extent()->isOneInt());
  IterDomain* merged = IterDomain::merge(outer, inner);
  EXPECT_TRUE(merged->isBroadcast());
  EXPECT_EQ(extents({merged}), (Dims{12}));
  EXPECT_EQ(extents({IterDomain::merge(id, domain(5))}), (Dims{60}));
}

TEST_F(IterDomainAlgebra, SwizzleKeepsExtents) {
  const auto [x, y] = IterDomain::swizzle(domain(8), domain(8));
  EXPECT_EQ(extents({x, y}), (Dims{8, 8}));
  EXPECT_EQ(x->definition(), y->definition());
}

TEST_F(IterDomainAlgebra, LoopsOfAReshapedDimAreNoPartOfTheDefinition) {
  IterDomain::Parts parts{.extent = index(8), .is_rfactor = true};
  auto* id = IrBuilder::create<IterDomain>(parts);
  const auto [outer, inner] = IterDomain::split(id, index(2), true);
  EXPECT_FALSE(outer->isRFactorProduct());
  EXPECT_FALSE(inner->isRFactorProduct());
}

} // namespace nvfuser
