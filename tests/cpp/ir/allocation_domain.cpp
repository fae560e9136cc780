// Allocation domains, contiguity and stride order.
#include <ops/reduction.h>

#include "../ir_test.h"

namespace nvfuser {

class AllocationDomain : public IrTest {
 protected:
  using Flags = std::vector<std::optional<bool>>;
};

TEST_F(AllocationDomain, StrideOrderRoundTrips) {
  for (const Dims& order :
       {Dims{2, 1, 0}, Dims{0, 1, 2}, Dims{1, 2, 0}, Dims{2, 0, 1}, Dims{0, 2, 1}, Dims{1, 0, 2}}) {
    TensorView* tv = input({2, 3, 4}, DataType::Float, order);
    const bool trivial = order == Dims{2, 1, 0};
    EXPECT_EQ(tv->domain()->strideOrder(), trivial ? Dims{} : order);
    EXPECT_EQ(tv->hasAllocation(), !trivial);
    const auto& allocation = tv->getMaybeAllocationDomain();
    for (int64_t dim = 0; dim < 3; ++dim) {
      EXPECT_EQ(allocation[2 - order[dim]], tv->getLogicalDomain()[dim]);
    }
  }
}

TEST_F(AllocationDomain, NegativeOrderEntriesCountFromTheEnd) {
  EXPECT_EQ(normalizeStrideOrder({-3, -1, -2}, 3), (Dims{0, 2, 1}));
  EXPECT_EQ(normalizeStrideOrder({-1, -2}, 2), Dims{});
  expectUserErrorWith([] { normalizeStrideOrder({0, 0}, 2); }, "twice");
  expectUserErrorWith([] { normalizeStrideOrder({0, 2}, 2); }, "out of range");
  expectUserErrorWith([] { normalizeStrideOrder({0, -3}, 2); }, "out of range");
  expectUserErrorWith([] { normalizeStrideOrder({0}, 2); }, "rank 2");
}

TEST_F(AllocationDomain, ContiguityIsListedInAllocationOrder) {
  TensorView* tv = TensorViewBuilder()
                       .shape(Dims{1, 3, 4})
                       .strideOrder({0, 2, 1})
                       .contiguity(Flags{true, false, std::nullopt})
                       .build();
  EXPECT_EQ(extents(tv->getMaybeAllocationDomain()), (Dims{3, 4, 1}));
  EXPECT_EQ(tv->domain()->contiguity(), (Flags{true, false, std::nullopt}));
}

TEST_F(AllocationDomain, NoneOnALongDimIsAnExpandedOne) {
  TensorView* tv =
      TensorViewBuilder().shape(Dims{-1, 4}).contiguity(Flags{std::nullopt, true}).build();
  const IterDomain* id = tv->getLogicalDomain()[0];
  EXPECT_TRUE(id->isBroadcast() && id->hasExpandedExtent());
  EXPECT_EQ(shapeOf(tv), (Dims{-1, 4}));
}

TEST_F(AllocationDomain, FlagsMustFitTheDomains) {
  TensorView* x = input({2, 1, 4});
  expectUserErrorWith([&] { x->setContiguity(Flags{true, true, true}); }, "must be None");
  expectUserErrorWith(
      [&] { x->setContiguity(Flags{true, std::nullopt, std::nullopt}); }, "must not be None");
  expectUserErrorWith([&] { x->setContiguity(Flags{true}); }, "1 entries");
  x->setContiguity(Flags{false, std::nullopt, true});
  EXPECT_EQ(x->domain()->contiguity(), (Flags{false, std::nullopt, true}));
}

TEST_F(AllocationDomain, ReductionsHaveNoContiguityAndNoStrideOrder) {
  TensorView* s = sum(input({2, 3, 4}), {1});
  EXPECT_EQ(s->domain()->contiguity(), (Flags{true, std::nullopt, true}));
  auto allocation = s->getLogicalDomain();
  std::swap(allocation[0], allocation[2]);
  s->setAllocationDomain(allocation, false);
  EXPECT_EQ(s->domain()->contiguity(), (Flags{false, std::nullopt, false}));
  EXPECT_EQ(s->domain()->strideOrder(), (Dims{0, 1}));
}

TEST_F(AllocationDomain, TransformedAllocationHasNoPlainOrder) {
  TensorView* tv = input({8, 4});
  const auto [outer, inner] = IterDomain::split(tv->getLogicalDomain()[0], index(2), true);
  tv->setAllocationDomain({inner, outer, tv->getLogicalDomain()[1]}, true);
  EXPECT_TRUE(tv->hasAllocation());
  EXPECT_TRUE(tv->domain()->strideOrder().empty());
}

TEST_F(AllocationDomain, BuilderChecksSizesAndLengths) {
  expectUserErrorWith([] { TensorViewBuilder().shape(Dims{2, -2}); }, "-2 at index 1");
  expectUserErrorWith(
      [] { TensorViewBuilder().shape(Dims{2}).contiguity(Flags{true, true}).build(); },
      "contiguity has 2 entries");
  expectUserErrorWith(
      [] { TensorViewBuilder().shape(Dims{1}).contiguity(Flags{true}).build(); }, "broadcast");
}

} // namespace nvfuser
