// The nodes on meta tensors: shapes, strides, dtypes and devices, for both forms of the random
// state.
#include <attention/attention_test.h>

#include <runtime/rng_state.h>

namespace nvfuser {

namespace {

class AttentionMeta : public AttentionTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    setRngStateForm({.is_vector = GetParam()});
  }
  void TearDown() override {
    setRngStateForm(rngStateFormOfThisTorch());
  }

  static AttentionCase metaCase() {
    const auto options = at::TensorOptions().dtype(at::kBFloat16).device(at::kMeta);
    AttentionCase c;
    c.query = at::empty({2, 100, 8, 64}, options).transpose(1, 2);
    c.key = at::empty({2, 2, 256, 64}, options);
    c.value = at::empty({2, 2, 256, 32}, options);
    return c;
  }
};

} // namespace

TEST_P(AttentionMeta, Forward) {
  const auto results = forward(metaCase(), false);
  for (const at::Tensor& t : results) {
    EXPECT_TRUE(t.is_meta());
  }
  EXPECT_EQ(results[0].sizes(), (std::vector<int64_t>{2, 8, 100, 32}));
  EXPECT_EQ(results[0].strides(), (std::vector<int64_t>{25600, 32, 256, 1}));
  EXPECT_EQ(results[0].scalar_type(), at::kBFloat16);
  EXPECT_EQ(results[1].sizes(), (std::vector<int64_t>{2, 8, 100}));
  EXPECT_EQ(results[1].strides(), (std::vector<int64_t>{800, 100, 1}));
  EXPECT_EQ(results[1].scalar_type(), at::kFloat);
  const auto seed_shape = GetParam() ? std::vector<int64_t>{2} : std::vector<int64_t>{};
  EXPECT_EQ(results[2].sizes(), seed_shape);
  EXPECT_EQ(results[2].scalar_type(), GetParam() ? at::kUInt64 : at::kLong);
  EXPECT_EQ(results[3].dim(), 0);
  EXPECT_EQ(results[3].scalar_type(), GetParam() ? at::kUInt64 : at::kLong);
}

TEST_P(AttentionMeta, Backward) {
  AttentionCase c = metaCase();
  c.bias = at::empty({1, 8, 1, 256}, c.query.options());
  c.options.bias_grad = true;
  const at::Tensor grad = at::empty({2, 8, 100, 32}, c.query.options());
  const auto results = forwardAndBackward(c, grad, false);
  EXPECT_EQ(results[1].strides(), c.query.strides());
  EXPECT_EQ(results[2].strides(), c.key.strides());
  EXPECT_EQ(results[3].strides(), c.value.strides());
  EXPECT_EQ(results[4].sizes(), c.bias.sizes());
  for (const at::Tensor& t : results) {
    EXPECT_TRUE(t.is_meta());
    EXPECT_EQ(t.scalar_type(), at::kBFloat16);
  }
}

TEST_P(AttentionMeta, MoreLeadingDims) {
  AttentionCase c = metaCase();
  for (at::Tensor* t : {&c.query, &c.key, &c.value}) {
    *t = t->unsqueeze(0).expand({3, -1, -1, -1, -1});
  }
  EXPECT_EQ(forward(c, false)[0].sizes(), (std::vector<int64_t>{3, 2, 8, 100, 32}));
}

TEST_P(AttentionMeta, RealTensorsTakeTheSameForm) {
  AttentionCase c = makeCase(2, 2, 4, 4, 8);
  c.dropout_p = 0.5;
  const at::Tensor grad = at::randn_like(c.query);
  const auto results = forward(c, false);
  EXPECT_EQ(results[2].dim(), GetParam() ? 1 : 0);
  EXPECT_TRUE(results[2].is_cpu());
  EXPECT_EQ(results[2].scalar_type(), GetParam() ? at::kUInt64 : at::kLong);
}

TEST_P(AttentionMeta, BuilderGivesThatForm) {
  const auto out = buildForward(makeCase(2, 2, 4, 4, 8), true);
  EXPECT_EQ(out.philox_seed->nDims(), GetParam() ? 1 : 0);
  EXPECT_EQ(out.philox_seed->dtype(), GetParam() ? DataType::UInt64 : DataType::Int);
  EXPECT_EQ(out.philox_offset->isCpuScalar(), !GetParam());
}

INSTANTIATE_TEST_SUITE_P(RngForms, AttentionMeta, ::testing::Bool());

TEST(RngStateForm, IsAFunctionOfVersionAndRocm) {
  for (const char* version :
       {"2.7.0", "2.7.0a0+git1a2b", "2.7.0+cu126", "2.8.0.dev20250301", "2.13.0"}) {
    EXPECT_TRUE(rngStateFormOf(version, false).is_vector) << version;
    EXPECT_FALSE(rngStateFormOf(version, true).is_vector) << version;
  }
  for (const char* version : {"2.6.0", "2.6.1+cu124", "1.13"}) {
    EXPECT_FALSE(rngStateFormOf(version, false).is_vector) << version;
  }
  expectUserError([] { rngStateFormOf("git", false); }, "is not a version of torch");
}

} // namespace nvfuser
