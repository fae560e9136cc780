// Logical domain maps of the attention nodes: the table of the specification.
#include <ops/sdpa.h>

#include "domain_map_test.h"

namespace nvfuser {

class LogicalMapAttention : public DomainMapTest {
 protected:
  struct Problem {
    TensorView* q;
    TensorView* k;
    TensorView* v;
    SdpaFwdOp::Outputs out;
  };

  Problem forward(const Dims& q, const Dims& k, const Dims& v, const SdpaOptions& options = {}) {
    Problem p{input(q, DataType::Half), input(k, DataType::Half), input(v, DataType::Half), {}};
    p.out = sdpaFwd(
        {.query = p.q,
         .key = p.k,
         .value = p.v,
         .dropout_p = IrBuilder::constant(0.0),
         .is_causal = IrBuilder::constant(false)},
        options);
    return p;
  }
};

TEST_F(LogicalMapAttention, ForwardWithEqualHeads) {
  const Problem p = forward({2, 8, 10, 64}, {2, 8, 12, 64}, {2, 8, 12, 32});
  EXPECT_EQ(shapeOf(p.out.attn_out), (Dims{2, 8, 10, 32}));
  EXPECT_EQ(mapText(p.q, p.out.attn_out), "0>0 1>1 2>2");
  EXPECT_EQ(mapText(p.k, p.out.attn_out), "0>0 1>1");
  EXPECT_EQ(mapText(p.v, p.out.attn_out), "0>0 1>1 3>3");
  EXPECT_EQ(mapText(p.q, p.out.logsumexp), "0>0 1>1 2>2");
  EXPECT_EQ(mapText(p.k, p.out.logsumexp), "0>0 1>1");
  EXPECT_EQ(mapText(p.v, p.out.logsumexp), "0>0 1>1");
  for (const TensorView* in : {p.q, p.k, p.v}) {
    EXPECT_EQ(mapText(in, p.out.philox_seed), "");
    EXPECT_EQ(mapText(in, p.out.philox_offset), "");
  }
}

TEST_F(LogicalMapAttention, ForwardWithGroupedHeads) {
  const Problem p = forward({2, 8, 10, 64}, {2, 2, 12, 64}, {2, 2, 12, 64});
  EXPECT_EQ(mapText(p.q, p.out.attn_out), "0>0 1>1 2>2");
  EXPECT_EQ(mapText(p.k, p.out.attn_out), "0>0");
  EXPECT_EQ(mapText(p.v, p.out.attn_out), "0>0 3>3");
  EXPECT_EQ(mapText(p.k, p.out.logsumexp), "0>0");
}

TEST_F(LogicalMapAttention, SymbolicHeadsOfUnknownEqualityAreNotMapped) {
  const Problem p = forward({-1, -1, -1, 64}, {-1, -1, -1, 64}, {-1, -1, -1, 64});
  EXPECT_EQ(mapText(p.q, p.out.attn_out), "0>0 1>1 2>2");
  EXPECT_EQ(mapText(p.k, p.out.attn_out), "0>0");
}

TEST_F(LogicalMapAttention, LeadingDeviceDim) {
  const Problem p = forward({3, 2, 8, 10, 64}, {3, 2, 8, 12, 64}, {3, 2, 8, 12, 64});
  EXPECT_EQ(mapText(p.q, p.out.attn_out), "0>0 1>1 2>2 3>3");
  EXPECT_EQ(mapText(p.k, p.out.attn_out), "0>0 1>1 2>2");
  EXPECT_EQ(mapText(p.v, p.out.attn_out), "0>0 1>1 2>2 4>4");
  EXPECT_EQ(mapText(p.q, p.out.logsumexp), "0>0 1>1 2>2 3>3");
}

TEST_F(LogicalMapAttention, InferenceForm) {
  const Problem p = forward({2, 8, 10, 64}, {2, 8, 12, 64}, {2, 8, 12, 64}, {.inference = true});
  EXPECT_EQ(p.out.logsumexp, nullptr);
  EXPECT_EQ(mapText(p.q, p.out.attn_out), "0>0 1>1 2>2");
}

TEST_F(LogicalMapAttention, Backward) {
  for (const int64_t key_heads : {8, 2}) {
    const bool grouped = key_heads != 8;
    const Problem p = forward({2, 8, 10, 64}, {2, key_heads, 12, 64}, {2, key_heads, 12, 32});
    TensorView* grad = input({2, 8, 10, 32}, DataType::Half);
    const auto grads = sdpaBwd(
        {.grad_out = grad,
         .query = p.q,
         .key = p.k,
         .value = p.v,
         .attn_out = p.out.attn_out,
         .logsumexp = p.out.logsumexp,
         .dropout_p = IrBuilder::constant(0.0),
         .is_causal = IrBuilder::constant(false),
         .philox_seed = p.out.philox_seed,
         .philox_offset = p.out.philox_offset,
         .scale = nullptr,
         .bias = nullptr,
         .mask = nullptr});
    const std::string across = grouped ? "0>0" : "0>0 1>1"; // between query and key side
    EXPECT_EQ(mapText(p.q, grads.grad_query), "0>0 1>1 2>2 3>3");
    EXPECT_EQ(mapText(p.k, grads.grad_key), "0>0 1>1 2>2 3>3");
    EXPECT_EQ(mapText(p.v, grads.grad_value), "0>0 1>1 2>2 3>3");
    EXPECT_EQ(mapText(p.k, grads.grad_value), "0>0 1>1 2>2");
    EXPECT_EQ(mapText(p.v, grads.grad_key), "0>0 1>1 2>2");
    EXPECT_EQ(mapText(p.q, grads.grad_key), across + " 3>3");
    EXPECT_EQ(mapText(p.k, grads.grad_query), across + " 3>3");
    EXPECT_EQ(mapText(p.v, grads.grad_query), across);
    EXPECT_EQ(mapText(grad, grads.grad_query), "0>0 1>1 2>2");
    EXPECT_EQ(mapText(grad, grads.grad_value), across + " 3>3");
    EXPECT_EQ(mapText(p.out.attn_out, grads.grad_value), across + " 3>3");
    EXPECT_EQ(mapText(p.out.logsumexp, grads.grad_query), "0>0 1>1 2>2");
    EXPECT_EQ(mapText(p.out.logsumexp, grads.grad_key), across);
    EXPECT_EQ(mapText(p.out.philox_seed, grads.grad_query), "");
  }
}

TEST_F(LogicalMapAttention, BiasAndMaskMapOnlyToTheGradientOfBias) {
  TensorView* q = input({2, 8, 10, 64}, DataType::Half);
  TensorView* bias = input({1, 8, 10, 12}, DataType::Half);
  TensorView* mask = input({2, 1, 1, 12}, DataType::Bool);
  TensorView* k = input({2, 8, 12, 64}, DataType::Half);
  const auto out = sdpaFwd(
      {.query = q,
       .key = k,
       .value = k,
       .bias = bias,
       .mask = mask,
       .dropout_p = IrBuilder::constant(0.0),
       .is_causal = IrBuilder::constant(false)});
  EXPECT_EQ(mapText(bias, out.attn_out), "");
  EXPECT_EQ(mapText(mask, out.attn_out), "");
  const auto grads = sdpaBwd(
      {.grad_out = q,
       .query = q,
       .key = k,
       .value = k,
       .attn_out = out.attn_out,
       .logsumexp = out.logsumexp,
       .dropout_p = IrBuilder::constant(0.0),
       .is_causal = IrBuilder::constant(false),
       .philox_seed = out.philox_seed,
       .philox_offset = out.philox_offset,
       .scale = nullptr,
       .bias = bias,
       .mask = mask},
      {.bias_grad = true});
  EXPECT_EQ(mapText(bias, grads.grad_bias), "0>0 1>1 2>2 3>3");
  EXPECT_EQ(mapText(q, grads.grad_bias), "");
  EXPECT_EQ(mapText(bias, grads.grad_query), "");
}

} // namespace nvfuser
