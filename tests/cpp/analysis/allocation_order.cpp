// The memory order that outputs take from inputs.
#include <analysis/allocation_order.h>
#include <ops/matmul.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/sdpa.h>
#include <ops/shape.h>

#include "../ir_test.h"

#include <algorithm>

namespace nvfuser {

class AllocationOrder : public IrTest {
 protected:
  inline static const Dims kChannelsLast = {3, 0, 2, 1};
  inline static const Dims kHeadsInside = {3, 1, 2, 0}; // N, L, H, E in memory

  // Logical positions outermost first; empty where the logical order stays.
  Dims orderOf(Val* val) {
    TensorView* tv = val->as<TensorView>();
    fusion.addOutput(tv);
    const auto order = inferAllocationOrders(fusion, {tv}).front();
    Dims result;
    const auto& logical = tv->getLogicalDomain();
    if (order.has_value()) {
      for (IterDomain* id : *order) {
        result.push_back(std::find(logical.begin(), logical.end(), id) - logical.begin());
      }
    }
    return result;
  }
};

TEST_F(AllocationOrder, PointwiseFollowsTheLargestInput) {
  TensorView* x = input({2, 3, 4, 5}, DataType::Float, kChannelsLast);
  TensorView* w = input({1, 3, 1, 1});
  EXPECT_EQ(orderOf(add(x, w)), (Dims{0, 2, 3, 1}));
  EXPECT_EQ(orderOf(add(w, x)), (Dims{0, 2, 3, 1}));
  EXPECT_EQ(orderOf(mul(x, IrBuilder::constant(2.0))), (Dims{0, 2, 3, 1}));
}

TEST_F(AllocationOrder, DisagreementGivesTheLogicalOrder) {
  TensorView* x = input({2, 3, 4, 5}, DataType::Float, kChannelsLast);
  TensorView* y = input({2, 3, 4, 5});
  TensorView* z = input({2, 3, 4, 5}, DataType::Float, kChannelsLast);
  EXPECT_EQ(orderOf(add(x, y)), Dims{});
  EXPECT_EQ(orderOf(add(x, z)), (Dims{0, 2, 3, 1}));
  EXPECT_EQ(orderOf(add(y, y)), Dims{});
}

TEST_F(AllocationOrder, PermutationsCarryTheOrder) {
  TensorView* x = input({2, 3, 4});
  EXPECT_EQ(orderOf(mul(permute(x, {2, 0, 1}), IrBuilder::constant(2.0))), (Dims{1, 2, 0}));
  TensorView* t = input({2, 3}, DataType::Float, {0, 1});
  EXPECT_EQ(orderOf(mul(permute(t, {1, 0}), IrBuilder::constant(2.0))), Dims{});
}

TEST_F(AllocationOrder, ReductionsKeepTheRest) {
  TensorView* x = input({2, 3, 4, 5}, DataType::Float, kChannelsLast);
  TensorView* s = sum(x, {2});
  const Dims order = orderOf(s); // the reduced domain stands first
  EXPECT_EQ(order, (Dims{2, 0, 3, 1}));
  EXPECT_EQ(orderOf(sum(x, {2}, true)), (Dims{2, 0, 3, 1})); // so does the broadcast
}

TEST_F(AllocationOrder, NewBroadcastsGoOutermost) {
  TensorView* t = input({2, 3}, DataType::Float, {0, 1});
  EXPECT_EQ(orderOf(broadcast(t, {false, true, false})), (Dims{1, 2, 0}));
}

TEST_F(AllocationOrder, ReshapeCarriesTheParts) {
  TensorView* x = input({2, 12, 5}, DataType::Float, {1, 0, 2}); // in memory 5, 2, 12
  TensorView* y = mul(reshape(x, indices({2, 3, 4, 5})), IrBuilder::constant(2.0));
  EXPECT_EQ(orderOf(y), (Dims{3, 0, 1, 2}));
}

TEST_F(AllocationOrder, CatSliceAndPadGoByPosition) {
  TensorView* x = input({2, 3, 4, 5}, DataType::Float, kChannelsLast);
  EXPECT_EQ(orderOf(cat({x, x}, 1)), (Dims{0, 2, 3, 1}));
  EXPECT_EQ(orderOf(pad(x, indices({1, 1}))), (Dims{0, 2, 3, 1}));
  TensorView* s = slice(x, indices({0, 0, 1, 0}), indices({2, 3, 3, 5}));
  EXPECT_EQ(orderOf(mul(s, IrBuilder::constant(2.0))), (Dims{0, 2, 3, 1}));
}

TEST_F(AllocationOrder, LibraryKernelsWriteRowMajor) {
  TensorView* a = input({4, 8}, DataType::Half, {0, 1});
  TensorView* b = input({6, 8}, DataType::Half, {0, 1});
  EXPECT_EQ(orderOf(linear(a, b)), Dims{});
  EXPECT_EQ(orderOf(mul(linear(a, b), IrBuilder::constant(2.0))), Dims{});
}

TEST_F(AllocationOrder, AttentionTakesTheOrderOfQuery) {
  const auto out = [&](const Dims& q_order, const Dims& kv_order) {
    TensorView* q = input({2, 8, 16, 64}, DataType::Half, q_order);
    TensorView* k = input({2, 8, 12, 64}, DataType::Half, kv_order);
    return sdpaFwd(
        {.query = q,
         .key = k,
         .value = k,
         .dropout_p = IrBuilder::constant(0.0),
         .is_causal = IrBuilder::constant(false)});
  };
  EXPECT_EQ(orderOf(out(kHeadsInside, kHeadsInside).attn_out), (Dims{0, 2, 1, 3}));
  EXPECT_EQ(orderOf(out(kHeadsInside, {}).attn_out), (Dims{0, 2, 1, 3}));
  EXPECT_EQ(orderOf(out({}, kHeadsInside).attn_out), Dims{});
  EXPECT_EQ(
      orderOf(mul(out(kHeadsInside, {}).attn_out, IrBuilder::constant(2.0))), (Dims{0, 2, 1, 3}));
  EXPECT_EQ(orderOf(out(kHeadsInside, {}).logsumexp), Dims{});
}

TEST_F(AllocationOrder, AttentionOfATransposedProjection) {
  TensorView* x = input({2, 16, 512}, DataType::Half);
  TensorView* q = permute(reshape(x, indices({2, 16, 8, 64})), {0, 2, 1, 3});
  const auto out = sdpaFwd(
      {.query = q,
       .key = q,
       .value = q,
       .dropout_p = IrBuilder::constant(0.0),
       .is_causal = IrBuilder::constant(false)});
  EXPECT_EQ(orderOf(out.attn_out), (Dims{0, 2, 1, 3}));
  // Back in the projection's order it is row-major.
  EXPECT_EQ(orderOf(reshape(permute(out.attn_out, {0, 2, 1, 3}), indices({2, 16, 512}))), Dims{});
}

TEST_F(AllocationOrder, GradientsTakeTheOrderOfTheirTensors) {
  TensorView* q = input({2, 8, 16, 64}, DataType::Half, kHeadsInside);
  TensorView* k = input({2, 8, 12, 64}, DataType::Half);
  const auto fwd = sdpaFwd(
      {.query = q,
       .key = k,
       .value = k,
       .dropout_p = IrBuilder::constant(0.0),
       .is_causal = IrBuilder::constant(false)});
  const auto grads = sdpaBwd(
      {.grad_out = fwd.attn_out,
       .query = q,
       .key = k,
       .value = k,
       .attn_out = fwd.attn_out,
       .logsumexp = fwd.logsumexp,
       .dropout_p = IrBuilder::constant(0.0),
       .is_causal = IrBuilder::constant(false),
       .philox_seed = fwd.philox_seed,
       .philox_offset = fwd.philox_offset,
       .scale = nullptr,
       .bias = nullptr,
       .mask = nullptr});
  EXPECT_EQ(orderOf(grads.grad_query), (Dims{0, 2, 1, 3}));
  EXPECT_EQ(orderOf(grads.grad_key), Dims{});
}

TEST_F(AllocationOrder, AskedForOrdersStandForWhatIsBehind) {
  TensorView* x = input({2, 3, 4});
  TensorView* y = strideOrder(x, {0, 1, 2});
  EXPECT_EQ(orderOf(mul(y, IrBuilder::constant(2.0))), (Dims{2, 1, 0}));
}

} // namespace nvfuser
