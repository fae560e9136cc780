// SdpaBwdOp evaluated behind SdpaFwdOp in one fusion: gradients against the formula in float64.
#include <attention/attention_test.h>

namespace nvfuser {

namespace {

constexpr double kTolerance = 5e-5;

class AttentionBackward : public AttentionTest, public ::testing::WithParamInterface<bool> {
 protected:
  std::vector<at::Tensor> expectBackward(const AttentionCase& c, double tolerance = kTolerance) {
    const at::Tensor grad = at::randn_like(c.query);
    auto results = forwardAndBackward(c, grad, GetParam());
    const auto expected = expectedGrads(c, grad);
    for (size_t i = 0; i < 3; ++i) {
      SCOPED_TRACE(i);
      expectNear(results[i + 1], expected[i], tolerance);
    }
    if (results.size() == 5) {
      expectNear(results[4], expected[3].sum_to_size(c.bias.sizes()), tolerance);
    }
    return results;
  }
};

} // namespace

TEST_P(AttentionBackward, Plain) {
  expectBackward(makeCase(4, 4, 7, 9, 16));
}

TEST_P(AttentionBackward, CausalTopLeft) {
  AttentionCase c = makeCase(2, 2, 4, 6, 8);
  c.is_causal = true;
  expectBackward(c);
}

TEST_P(AttentionBackward, CausalBottomRightWithEmptyRows) {
  AttentionCase c = makeCase(2, 2, 6, 4, 8);
  c.is_causal = true;
  c.options.alignment = CausalAlignment::BottomRight;
  expectBackward(c);
}

TEST_P(AttentionBackward, GroupedHeads) {
  expectBackward(makeCase(6, 2, 5, 7, 8));
}

TEST_P(AttentionBackward, MaskWithAnEmptyRow) {
  AttentionCase c = makeCase(4, 4, 6, 8, 16);
  c.mask = at::rand({2, 1, 6, 8}).gt(0.4);
  c.mask.select(2, 3).fill_(false);
  const auto results = expectBackward(c);
  EXPECT_FALSE(results[1].select(2, 3).any().item<bool>());
}

TEST_P(AttentionBackward, BiasGradientHasTheBiasShape) {
  AttentionCase c = makeCase(4, 2, 6, 8, 16);
  c.bias = at::randn({1, 4, 1, 8});
  c.options.bias_grad = true;
  EXPECT_EQ(expectBackward(c)[4].sizes(), c.bias.sizes());
}

TEST_P(AttentionBackward, MathInDoubleIsExact) {
  AttentionCase c = makeCase(2, 1, 5, 6, 4, at::kDouble);
  c.options.backend = "math";
  expectBackward(c, 1e-11);
}

TEST_P(AttentionBackward, DropoutUsesTheForwardsMask) {
  AttentionCase c = makeCase(2, 2, 6, 6, 6);
  c.dropout_p = 0.5;
  // With the identity as values the output shows the dropped probabilities.
  c.value = at::eye(6).expand({2, 2, 6, 6}).contiguous();
  const at::Tensor grad = at::randn_like(c.query);
  const auto results = forwardAndBackward(c, grad, GetParam());
  expectNear(results[3], at::matmul(results[0].mT(), grad), kTolerance);
}

TEST_P(AttentionBackward, GradientsFollowTheirOperandsMemoryOrder) {
  AttentionCase c = makeCase(4, 4, 6, 6, 16);
  c.query = at::randn({2, 6, 4, 16}).transpose(1, 2);
  const auto results = expectBackward(c);
  EXPECT_EQ(results[1].strides(), c.query.strides());
  EXPECT_EQ(results[2].strides(), c.key.strides());
}

INSTANTIATE_TEST_SUITE_P(SymbolicAndConcrete, AttentionBackward, ::testing::Bool());

} // namespace nvfuser
