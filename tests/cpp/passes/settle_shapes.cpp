// settle_shapes: a fusion for a class of sizes.
#include <analysis/scalar_values.h>
#include <ops/pointwise.h>
#include <ops/shape.h>
#include <passes/settle_shapes.h>

#include "pass_test.h"

namespace nvfuser {

// x[a, b, c] seen as [a, b, n, m] and permuted, with symbolic sizes.
class SettleShapes : public PassTest {
 protected:
  TensorView* x = input({-1, -1, -1});
  Val* n = inputScalar();
  Val* m = inputScalar();

  void SetUp() override {
    const auto shape = x->shape();
    fusion.addOutput(permute(reshape(x, {shape[0], shape[1], n, m}), {0, 2, 1, 3}));
  }

  std::unordered_map<const Val*, ScalarValue> known(std::vector<int64_t> sizes) const {
    const auto shape = x->shape();
    return {
        {shape[0], sizes[0]},
        {shape[1], sizes[1]},
        {shape[2], sizes[2]},
        {n, sizes[3]},
        {m, sizes[4]}};
  }
  bool hold(const SettledShapes& settled, std::vector<int64_t> sizes) const {
    ScalarValues values(known(std::move(sizes)));
    return guardsHold(settled.guards, values);
  }
};

TEST_F(SettleShapes, OneSettlementServesOtherSizes) {
  const auto settled = settleShapes(fusion, known({2, 3, 20, 4, 5}));
  ASSERT_TRUE(settled.has_value());
  EXPECT_TRUE(brokenRules(*settled->fusion).empty());
  for (const Expr* expr : settled->fusion->exprs()) {
    for (const IterDomain* id : expr->output(0)->as<TensorView>()->getLogicalDomain()) {
      EXPECT_TRUE(id->isIteration()) << expr->toString();
      EXPECT_FALSE(id->extent()->isConst()) << expr->toString();
    }
  }
  EXPECT_TRUE(hold(*settled, {2, 3, 20, 4, 5}));
  EXPECT_TRUE(hold(*settled, {7, 9, 64, 8, 8}));
  EXPECT_FALSE(hold(*settled, {7, 9, 64, 8, 9})) << "the counts differ";
  EXPECT_FALSE(hold(*settled, {7, 9, 64, 1, 64})) << "a dimension broadcasts";
  EXPECT_FALSE(hold(*settled, {7, 9, 0, 0, 8})) << "no elements";
}

TEST_F(SettleShapes, ASizeOfOneIsABroadcast) {
  const auto settled = settleShapes(fusion, known({2, 3, 20, 1, 20}));
  ASSERT_TRUE(settled.has_value());
  const auto* out = settled->fusion->outputs()[0]->as<TensorView>();
  EXPECT_TRUE(out->getLogicalDomain()[1]->isBroadcast());
  EXPECT_TRUE(hold(*settled, {4, 5, 6, 1, 6}));
  EXPECT_FALSE(hold(*settled, {4, 5, 6, 2, 3}));
}

TEST_F(SettleShapes, WhatCannotBeSettled) {
  EXPECT_FALSE(settleShapes(fusion, known({2, 3, 0, 4, 0})).has_value());
  auto sizes = known({2, 3, 20, 4, 5});
  sizes.erase(m);
  EXPECT_FALSE(settleShapes(fusion, sizes).has_value());
  expectUserErrorWith(
      [&] { settleShapes(fusion, known({2, 3, 20, 4, 6})); }, "the element counts differ");
}

} // namespace nvfuser
