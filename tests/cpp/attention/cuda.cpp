// The fused CUDA kernels behind the nodes; skipped where torch sees no device.
#include <attention/attention_test.h>

#include <runtime/attention/backend.h>
#include <runtime/rng_state.h>

#include <ATen/Context.h>

namespace nvfuser {

namespace {

constexpr double kTolerance = 5e-2; // bfloat16 on both sides of a product

class AttentionCuda : public AttentionTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) {
      GTEST_SKIP() << "no CUDA device";
    }
    at::manual_seed(7);
  }

  AttentionCase cudaCase(
      int64_t heads,
      int64_t kv_heads,
      int64_t length,
      int64_t keys,
      int64_t size) {
    AttentionCase c = makeCase(
        heads,
        kv_heads,
        length,
        keys,
        size,
        at::TensorOptions().dtype(at::kBFloat16).device(at::kCUDA));
    c.options.backend = GetParam();
    return c;
  }
};

} // namespace

TEST_P(AttentionCuda, ForwardAndBackward) {
  const AttentionCase c = cudaCase(4, 4, 33, 65, 64);
  const at::Tensor grad = at::randn_like(c.query);
  const auto results = forwardAndBackward(c, grad, false);
  EXPECT_EQ(lastSdpaBackend(), GetParam());
  expectNear(results[0], expectedOut(c), kTolerance);
  const auto expected = expectedGrads(c, grad);
  for (size_t i = 0; i < 3; ++i) {
    expectNear(results[i + 1], expected[i], kTolerance);
  }
}

TEST_P(AttentionCuda, GroupedHeadsAndOddHeadSize) {
  const AttentionCase c = cudaCase(4, 2, 17, 40, 44);
  const at::Tensor grad = at::randn_like(c.query);
  const auto results = forwardAndBackward(c, grad, false);
  expectNear(results[0], expectedOut(c), kTolerance);
  const auto expected = expectedGrads(c, grad);
  for (size_t i = 0; i < 3; ++i) {
    expectNear(results[i + 1], expected[i], kTolerance);
  }
}

TEST_P(AttentionCuda, RngStateHasTheFormOfThisTorch) {
  AttentionCase c = cudaCase(2, 2, 16, 16, 32);
  c.dropout_p = 0.25;
  const auto results = forward(c, false);
  const bool is_vector = rngStateFormOfThisTorch().is_vector;
  EXPECT_EQ(results[2].dim(), is_vector ? 1 : 0);
  EXPECT_EQ(results[2].scalar_type(), is_vector ? at::kUInt64 : at::kLong);
  EXPECT_EQ(results[2].is_cuda(), is_vector);
}

INSTANTIATE_TEST_SUITE_P(
    Backends,
    AttentionCuda,
    ::testing::Values("flash", "efficient", "cudnn", "math"),
    [](const auto& info) { return std::string(info.param); });

} // namespace nvfuser
