// SdpaFwdOp evaluated on real tensors: values, logsumexp, causal rule, bias, mask, head groups.
#include <attention/attention_test.h>

#include <runtime/attention/backend.h>

namespace nvfuser {

namespace {

constexpr double kTolerance = 2e-5;

class AttentionForward : public AttentionTest, public ::testing::WithParamInterface<bool> {
 protected:
  void expectForward(const AttentionCase& c) {
    const auto results = forward(c, GetParam());
    expectNear(results[0], expectedOut(c), kTolerance);
    EXPECT_EQ(results[0].scalar_type(), c.query.scalar_type());
    EXPECT_EQ(results[1].scalar_type(), at::kFloat);
    const at::Tensor lse = scores(c).logsumexp(-1);
    EXPECT_TRUE(at::allclose(results[1].to(at::kDouble), lse, 0.0, kTolerance));
  }
};

} // namespace

TEST_P(AttentionForward, Plain) {
  expectForward(makeCase(4, 4, 7, 9, 16));
}

TEST_P(AttentionForward, CausalOfEitherAlignment) {
  for (const auto alignment : {CausalAlignment::TopLeft, CausalAlignment::BottomRight}) {
    for (const auto& [length, keys] : {std::pair{4, 6}, {6, 4}, {5, 5}}) {
      Fusion fresh;
      FusionGuard inner(&fresh);
      AttentionCase c = makeCase(2, 2, length, keys, 8);
      c.is_causal = true;
      c.options.alignment = alignment;
      const auto out = sdpaFwd(
          {.query = TensorViewBuilder().shape({-1, -1, -1, -1}).build(),
           .key = TensorViewBuilder().shape({-1, -1, -1, -1}).build(),
           .value = TensorViewBuilder().shape({-1, -1, -1, -1}).build(),
           .is_causal = IrBuilder::constant(true)},
          c.options);
      ExpressionEvaluator evaluator;
      const auto* node = out.attn_out->definition()->as<SdpaFwdOp>();
      evaluator.bind(node->query(), c.query);
      evaluator.bind(node->key(), c.key);
      evaluator.bind(node->value(), c.value);
      expectNear(evaluator.evaluate(out.attn_out).tensor(), expectedOut(c), kTolerance);
    }
  }
}

TEST_P(AttentionForward, BiasAndMask) {
  AttentionCase c = makeCase(4, 4, 6, 8, 16);
  c.bias = at::randn({1, 4, 1, 8});
  c.mask = at::rand({2, 1, 6, 8}).gt(0.4);
  c.mask.select(2, 3).fill_(false); // a row without a key
  expectForward(c);
}

TEST_P(AttentionForward, GroupedHeads) {
  expectForward(makeCase(6, 2, 5, 7, 8));
  EXPECT_EQ(lastSdpaBackend(), "cpu_flash");
}

TEST_P(AttentionForward, ExplicitBackendAndScale) {
  AttentionCase c = makeCase(2, 2, 5, 5, 8);
  c.scale = 0.3;
  c.options.backend = "math";
  expectForward(c);
  EXPECT_EQ(lastSdpaBackend(), "math");
}

TEST_P(AttentionForward, HalfTypes) {
  AttentionCase c = makeCase(2, 2, 5, 7, 8, at::kBFloat16);
  const auto results = forward(c, GetParam());
  EXPECT_EQ(results[0].scalar_type(), at::kBFloat16);
  expectNear(results[0], expectedOut(c), 2e-2);
}

TEST_P(AttentionForward, EmptySizes) {
  AttentionCase c = makeCase(2, 2, 3, 0, 8);
  const auto results = forward(c, GetParam());
  EXPECT_TRUE(at::equal(results[0], at::zeros_like(c.query)));
  EXPECT_TRUE(results[1].isneginf().all().item<bool>());
}

TEST_P(AttentionForward, InferenceFormHasOneOutput) {
  AttentionCase c = makeCase(2, 2, 3, 4, 8);
  c.options.inference = true;
  const auto out = buildForward(c, GetParam());
  EXPECT_EQ(out.logsumexp, nullptr);
  EXPECT_EQ(out.attn_out->definition()->outputs().size(), 1);
  expectNear(evaluateAll({out.attn_out})[0], expectedOut(c), kTolerance);
}

TEST_P(AttentionForward, OutputFollowsTheQuerysMemoryOrder) {
  AttentionCase c = makeCase(4, 4, 6, 8, 16);
  c.query = at::randn({2, 6, 4, 16}).transpose(1, 2);
  EXPECT_EQ(forward(c, GetParam())[0].strides(), c.query.strides());
}

INSTANTIATE_TEST_SUITE_P(SymbolicAndConcrete, AttentionForward, ::testing::Bool());

using AttentionBuilder = AttentionTest;

TEST_F(AttentionBuilder, OutputTypesAndShapes) {
  setRngStateForm({.is_vector = true});
  const auto out = buildForward(makeCase(4, 2, 6, 8, 16), true);
  EXPECT_EQ(shapeOf(out.attn_out), (std::vector<int64_t>{2, 4, 6, 16}));
  EXPECT_EQ(shapeOf(out.logsumexp), (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(out.logsumexp->dtype(), DataType::Float);
  EXPECT_EQ(shapeOf(out.philox_seed), (std::vector<int64_t>{2}));
  EXPECT_EQ(out.philox_seed->dtype(), DataType::UInt64);
  EXPECT_EQ(out.philox_offset->dtype(), DataType::UInt64);
  EXPECT_FALSE(out.philox_seed->isCpuScalar());
}

TEST_F(AttentionBuilder, DeclaresTheQuerysStrideOrder) {
  const auto make = [&](std::vector<int64_t> order) {
    return TensorViewBuilder()
        .shape({2, 4, 6, 16})
        .strideOrder(std::move(order))
        .contiguity(true)
        .build();
  };
  TensorView* query = make({3, 1, 2, 0});
  TensorView* key = make({});
  const auto out = sdpaFwd({.query = query, .key = key, .value = key});
  EXPECT_EQ(out.attn_out->domain()->strideOrder(), (std::vector<int64_t>{3, 1, 2, 0}));
  EXPECT_FALSE(sdpaFwd({.query = key, .key = key, .value = key}).attn_out->hasAllocation());
}

TEST_F(AttentionBuilder, Errors) {
  const auto tv = [&](std::vector<int64_t> shape, DataType dtype = DataType::Half) {
    return TensorViewBuilder().shape(shape).dtype(dtype).build();
  };
  TensorView* q = tv({2, 4, 6, 16});
  expectUserError(
      [&] { sdpaFwd({.query = q, .key = tv({2, 3, 8, 16}), .value = tv({2, 3, 8, 16})}); },
      "sdpa_fwd: query has 4 heads, key has 3");
  expectUserError(
      [&] { sdpaFwd({.query = q, .key = tv({2, 4, 8, 16}, DataType::Float), .value = q}); },
      "need the same dtype, not Half, Float and Half");
  expectUserError(
      [&] { sdpaFwd({.query = q, .key = q, .value = q, .mask = q}); }, "mask must be Bool");
  expectUserError(
      [&] { sdpfaFwd({.query = q, .key = q, .value = q, .dropout_p = constant(2.0)}); },
      "sdpfa_fwd: dropout_p must lie between 0 and 1, not 2");
}

} // namespace nvfuser
