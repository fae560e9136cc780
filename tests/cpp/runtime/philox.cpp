// Philox: known answers, distributions, the two forms, and how the state follows torch's generator.
#include <ops/factory.h>
#include <runtime/philox.h>

#include "../ops/op_test.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <limits>

namespace nvfuser {

using Words = std::array<uint32_t, 4>;

// The known answers that come with the reference implementation of the paper.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint64_t ones = ~uint64_t{0};
  EXPECT_EQ(philox4x32(ones, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
      (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ElementsTakeTheWordsInOrder) {
  const at::Tensor x = philoxTensor({RngType::Uniform, 0, 1, at::kFloat}, {6}, at::kCPU, 7, 3);
  for (int64_t e = 0; e < 6; ++e) {
    const double word = philox4x32(7, e / 4, 3)[e % 4];
    EXPECT_FLOAT_EQ(x[e].item<float>(), static_cast<float>((word + 0.5) / 4294967296.0));
  }
}

TEST(Philox, TensorFormGivesTheSameNumbers) {
  for (RngType type : {RngType::Uniform, RngType::Normal}) {
    for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      for (int64_t count : {0, 1, 5, 1000}) {
        const RandomSpec spec{type, -1.5, 2.5, dtype};
        const uint64_t seed = 0xfedcba9876543210;
        const at::Tensor plain = philoxTensor(spec, {count}, at::kCPU, seed, 1ull << 40);
        const at::Tensor key = at::full({}, static_cast<int64_t>(seed), at::kLong);
        const at::Tensor tensors = philoxTensor(spec, {count}, at::kCPU, key, 1ull << 40);
        // sin, cos and log of a vectorised kernel may differ in the last bit of a double.
        expectClose(tensors, plain, dtype == at::kDouble ? 1e-14 : 1e-6);
        if (type == RngType::Uniform) {
          expectEqual(tensors, plain);
        }
      }
    }
  }
}

TEST(Philox, UniformStaysBelowItsUpperEnd) {
  for (at::ScalarType dtype :
       {at::kFloat, at::kHalf, at::kBFloat16, at::kFloat8_e5m2, at::kFloat8_e4m3fn}) {
    for (const auto& [low, high] :
         std::vector<std::pair<double, double>>{{0, 1}, {-2, 3}, {-1, 0}, {-3, -2}}) {
      const at::Tensor x =
          philoxTensor({RngType::Uniform, low, high, dtype}, {200000}, at::kCPU, 1, 0)
              .to(at::kDouble);
      EXPECT_LT(x.max().item<double>(), high) << c10::toString(dtype);
      EXPECT_GE(x.min().item<double>(), low) << c10::toString(dtype);
    }
  }
}

TEST(Philox, NormalHasMeanAndDeviation) {
  const at::Tensor x =
      philoxTensor({RngType::Normal, 1.0, 2.0, at::kDouble}, {200000}, at::kCPU, 5, 0);
  EXPECT_TRUE(x.isfinite().all().item<bool>());
  EXPECT_NEAR(x.mean().item<double>(), 1.0, 0.02);
  EXPECT_NEAR(x.std().item<double>(), 2.0, 0.02);
}

TEST(Philox, StateFollowsTheCpuGenerator) {
  at::manual_seed(11);
  using State = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(nextPhiloxState(at::kCPU, 1), (State{11, 0}));
  EXPECT_EQ(nextPhiloxState(at::kCPU, 3), (State{11, 4}));
  EXPECT_EQ(nextPhiloxState(at::kCPU, 1), (State{11, 16}));
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor saved = generator.get_state();
  at::rand({1000}); // draws of torch move it on too, past a block of the twister
  const State later = nextPhiloxState(at::kCPU, 1);
  EXPECT_EQ(later.first, 11u);
  EXPECT_GE(later.second, 4u * 1005);
  generator.set_state(saved);
  EXPECT_EQ(nextPhiloxState(at::kCPU, 1), (State{11, 20}));
  at::manual_seed(11);
  EXPECT_EQ(nextPhiloxState(at::kCPU, 1), (State{11, 0}));
}

TEST(Philox, FarFromTheSeedTheStateIsDrawn) {
  at::manual_seed(12);
  at::rand({2000000});
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor saved = generator.get_state();
  const auto first = nextPhiloxState(at::kCPU, 2);
  const auto second = nextPhiloxState(at::kCPU, 2);
  EXPECT_NE(first, second);
  generator.set_state(saved);
  EXPECT_EQ(nextPhiloxState(at::kCPU, 2), first);
}

class RandomNodes : public OpTest {};

TEST_F(RandomNodes, RunIEqualsTheSeededRunWithOffsetI) {
  Val* offset = inputScalar();
  const std::vector<Val*> shape = {constant(int64_t{5}), constant(int64_t{3})};
  for (DataType dtype : {DataType::Float, DataType::Double, DataType::BFloat16}) {
    TensorView* from_state = normal(shape, constant(0.0), constant(1.0), dtype);
    TensorView* given =
        normal(shape, constant(0.0), constant(1.0), dtype, constant(int64_t{11}), offset);
    const int64_t id = from_state->definition()->attribute<int64_t>("rng_id");
    at::manual_seed(11);
    const std::vector<EvalValue> none = {ScalarValue(int64_t{0})};
    const at::Tensor first = run(from_state, none);
    const at::Tensor second = run(from_state, none);
    expectEqual(first, run(given, {ScalarValue(id)}));
    expectEqual(second, run(given, {ScalarValue(2 * id + 1)}));
    EXPECT_FALSE(at::equal(first, second));
  }
}

TEST_F(RandomNodes, NodesOfOneRunDifferAndMetaDrawsNothing) {
  const std::vector<Val*> shape = {constant(int64_t{50})};
  TensorView* a = uniform(shape, constant(0.0), constant(1.0), DataType::Float);
  TensorView* b = uniform(shape, constant(0.0), constant(1.0), DataType::Float);
  ExpressionEvaluator evaluator;
  EXPECT_FALSE(at::equal(evaluator.evaluate(a).tensor(), evaluator.evaluate(b).tensor()));
  const at::Tensor before = at::detail::getDefaultCPUGenerator().get_state();
  EvalContext context;
  context.device = at::kMeta;
  EXPECT_TRUE(run(a, {}, context).is_meta());
  expectEqual(at::detail::getDefaultCPUGenerator().get_state(), before);
}

} // namespace nvfuser
