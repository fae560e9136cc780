// mark_aliases and allocation_order: what happens to the layout of outputs.
#include <ops/pointwise.h>
#include <ops/shape.h>
#include <passes/allocation_order.h>
#include <passes/mark_aliases.h>

#include "pass_test.h"

namespace nvfuser {

class OutputLayouts : public PassTest {
 protected:
  inline static const Dims kChannelsLast = {3, 0, 2, 1};
};

TEST_F(OutputLayouts, ViewsAreMarked) {
  TensorView* x = input({4, 6});
  fusion.addOutput(permute(x, {1, 0}));
  fusion.addOutput(add(x, x));
  fusion.addOutput(x);
  after(markAliases);
  EXPECT_EQ(fusion.viewOf(0), x);
  EXPECT_EQ(fusion.viewOf(1), nullptr);
  EXPECT_EQ(fusion.viewOf(2), x);
  std::unordered_map<const Val*, Val*> map;
  const auto copy = fusion.clone(&map);
  EXPECT_EQ(copy->viewOf(0), map.at(x));
}

TEST_F(OutputLayouts, ViewsKeepTheirLayout) {
  TensorView* x = input({2, 3, 4, 5}, DataType::Float, kChannelsLast);
  TensorView* view = slice(x, indices({0, 0, 1, 0}), indices({2, 3, 3, 5}));
  TensorView* computed = mul(x, IrBuilder::constant(2.0));
  fusion.addOutput(view);
  fusion.addOutput(computed);
  markAliases(fusion);
  after(setAllocationOrders);
  EXPECT_FALSE(view->hasAllocation());
  EXPECT_EQ(computed->domain()->strideOrder(), kChannelsLast);
  EXPECT_EQ(computed->domain()->contiguity().size(), 4u);
}

TEST_F(OutputLayouts, AskedForOrdersAndAliasesStay) {
  TensorView* x = input({2, 3}, DataType::Float, {0, 1});
  TensorView* asked = strideOrder(x, {1, 0});
  TensorView* written = add(x, x);
  fusion.addOutput(asked);
  fusion.addAliasOutput(written, x);
  fusion.addOutput(x);
  markAliases(fusion);
  after(setAllocationOrders);
  EXPECT_TRUE(asked->domain()->strideOrder().empty());
  EXPECT_FALSE(written->hasAllocation());
}

TEST_F(OutputLayouts, RowMajorInputsChangeNothing) {
  TensorView* x = input({2, 3});
  TensorView* y = add(x, x);
  fusion.addOutput(y);
  after(setAllocationOrders);
  EXPECT_FALSE(y->hasAllocation());
}

} // namespace nvfuser
