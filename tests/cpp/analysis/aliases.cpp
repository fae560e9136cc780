// Which outputs may be views of inputs, and with which layout.
#include <analysis/aliases.h>
#include <ops/pointwise.h>
#include <ops/shape.h>

#include "../ir_test.h"

#include <algorithm>

namespace nvfuser {

class Aliases : public IrTest {
 protected:
  using Flags = std::vector<std::optional<bool>>;

  std::optional<OutputView> viewOf(Val* output) {
    fusion.addOutput(output);
    return findOutputViews(fusion).back();
  }
  // Logical positions in memory order.
  static Dims order(const TensorView* tv, const OutputView& view) {
    Dims result;
    const auto& logical = tv->getLogicalDomain();
    for (IterDomain* id : view.layout.order) {
      result.push_back(std::find(logical.begin(), logical.end(), id) - logical.begin());
    }
    return result;
  }
};

TEST_F(Aliases, ReshapeOfAContiguousInput) {
  TensorView* x = input({2, 3, 4});
  TensorView* y = reshape(x, indices({2, 12}));
  const auto view = viewOf(y);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->input, x);
  EXPECT_EQ(order(y, *view), (Dims{0, 1}));
  EXPECT_EQ(view->layout.contiguity, (Flags{true, true}));
}

TEST_F(Aliases, ReshapeThatWouldHaveToCopy) {
  TensorView* gaps = input({2, 3, 4}, DataType::Float, {}, false);
  EXPECT_FALSE(viewOf(reshape(gaps, indices({2, 12}))).has_value());
  TensorView* transposed = permute(input({2, 3, 4}), {0, 2, 1});
  EXPECT_FALSE(viewOf(reshape(transposed, indices({2, 12}))).has_value());
  // Splitting needs no contiguity.
  EXPECT_TRUE(viewOf(reshape(gaps, indices({2, 3, 2, 2}))).has_value());
}

TEST_F(Aliases, PermuteKeepsTheMemoryOrder) {
  TensorView* x = input({2, 3, 4});
  TensorView* y = permute(x, {2, 0, 1});
  const auto view = viewOf(y);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(order(y, *view), (Dims{1, 2, 0}));
}

TEST_F(Aliases, ChainsOfViews) {
  TensorView* x = input({2, 3, 4});
  TensorView* y = permute(reshape(permute(x, {1, 2, 0}), indices({12, 2})), {1, 0});
  const auto view = viewOf(y);
  ASSERT_TRUE(view.has_value()); // dims 1 and 2 of x still lie side by side
  EXPECT_EQ(order(y, *view), (Dims{0, 1}));
}

TEST_F(Aliases, SlicesHaveGaps) {
  TensorView* x = input({8, 6, 4});
  TensorView* y = slice(x, indices({0, 1, 0}), indices({8, 5, 4}));
  const auto view = viewOf(y);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->layout.contiguity, (Flags{false, true, true}));
  EXPECT_FALSE(viewOf(reshape(y, indices({32, 4}))).has_value());
  EXPECT_TRUE(viewOf(reshape(y, indices({8, 16}))).has_value());
}

TEST_F(Aliases, BroadcastExpandAndSqueeze) {
  TensorView* x = input({4, 1});
  TensorView* e = expand(broadcast(x, {false, true, false}), indices({4, 5, 7}));
  ASSERT_TRUE(viewOf(e).has_value());
  EXPECT_TRUE(viewOf(squeeze(x, {1})).has_value());
  EXPECT_FALSE(viewOf(reshape(e, indices({140}))).has_value());
}

TEST_F(Aliases, ComputedAndCopiedValuesAreNoViews) {
  TensorView* x = input({4, 6});
  EXPECT_FALSE(viewOf(set(x)).has_value());
  EXPECT_FALSE(viewOf(permute(add(x, x), {1, 0})).has_value());
  EXPECT_FALSE(viewOf(pad(x, indices({1, 1}))).has_value());
  EXPECT_FALSE(viewOf(strideOrder(x, {0, 1})).has_value());
}

TEST_F(Aliases, AskedForOrderMustBeTheViewsOwn) {
  TensorView* x = input({4, 6});
  TensorView* y = permute(x, {1, 0});
  auto allocation = y->getLogicalDomain();
  y->setAllocationDomain(allocation, true);
  EXPECT_FALSE(viewOf(y).has_value());
  TensorView* z = permute(x, {1, 0});
  allocation = z->getLogicalDomain();
  std::swap(allocation[0], allocation[1]);
  z->setAllocationDomain(allocation, true);
  EXPECT_TRUE(viewOf(z).has_value());
}

TEST_F(Aliases, WrittenInputsAreNotViewed) {
  TensorView* x = input({4, 6});
  fusion.addAliasOutput(add(x, x), x);
  EXPECT_FALSE(viewOf(permute(x, {1, 0})).has_value());
  EXPECT_FALSE(findOutputViews(fusion).front().has_value());
}

TEST_F(Aliases, SymbolicReshapes) {
  TensorView* x = input({-1, 6, -1});
  TensorView* y = reshape(x, {size(x, 0), index(2), index(3), size(x, 2)});
  EXPECT_TRUE(viewOf(y).has_value());
  TensorView* z = reshape(x, {IrBuilder::mulExpr(size(x, 0), index(6)), size(x, 2)});
  const auto view = viewOf(z);
  EXPECT_TRUE(view.has_value());
}

TEST_F(Aliases, ChannelsLastInput) {
  TensorView* x = input({2, 3, 4, 5}, DataType::Float, {3, 0, 2, 1});
  EXPECT_FALSE(viewOf(reshape(x, indices({2, 60}))).has_value());
  EXPECT_TRUE(viewOf(reshape(permute(x, {0, 2, 3, 1}), indices({2, 60}))).has_value());
  EXPECT_TRUE(viewOf(reshape(x, indices({2, 3, 20}))).has_value()); // 4 and 5 lie side by side
}

} // namespace nvfuser
