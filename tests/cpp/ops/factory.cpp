// full, iota, uniform, normal, rand_like: domains, errors, values.
#include <ops/factory.h>

#include "op_test.h"

#include <limits>

namespace nvfuser {

class Factory : public OpTest {};

TEST_F(Factory, FullHasTheShapeAndCastsTheValue) {
  Val* n = inputScalar();
  TensorView* out = full({n, constant(int64_t{1})}, constant(2.75), DataType::Int);
  EXPECT_EQ(shapeOf(out), (std::vector<int64_t>{-1, 1}));
  EXPECT_TRUE(out->getLogicalDomain()[1]->isBroadcast());
  expectEqual(run(out, {ScalarValue(int64_t{3})}), at::full({3, 1}, 2, at::kLong));
  expectUserError([&] { run(out, {ScalarValue(int64_t{-3})}); }, "-3");
}

TEST_F(Factory, FullErrors) {
  expectUserError(
      [&] { full({constant(int64_t{-2})}, constant(1.0), DataType::Float); }, "full: size -2");
  expectUserError([&] { full({constant(2.5)}, constant(1.0), DataType::Float); }, "full");
  expectUserError(
      [&] { full({}, IrBuilder::constant(std::complex<double>(1, 2)), DataType::Float); },
      "complex fill_value");
}

TEST_F(Factory, IotaOfIntegersAndFloats) {
  Val* n = inputScalar();
  TensorView* ints = iota(n, constant(int64_t{3}), constant(int64_t{-2}), DataType::Int32);
  TensorView* floats = iota(constant(int64_t{4}), nullptr, constant(0.25), DataType::Float);
  const std::vector<EvalValue> values = {ScalarValue(int64_t{3})};
  expectEqual(run(ints, values), at::tensor(std::vector<int64_t>{3, 1, -1}).to(at::kInt));
  expectEqual(run(floats, values), at::tensor(std::vector<float>{0, 0.25, 0.5, 0.75}));
  expectEqual(run(iota(n, nullptr, nullptr, DataType::Int), values), at::arange(3));
}

TEST_F(Factory, IotaErrors) {
  Val* n = constant(int64_t{5});
  Val* one = constant(int64_t{1});
  const auto build = [](Val* length, Val* start, Val* step, DataType dtype) {
    return [=] { iota(length, start, step, dtype); };
  };
  expectUserError(build(constant(2.5), nullptr, nullptr, DataType::Int), "iota");
  expectUserError(build(constant(int64_t{-1}), nullptr, nullptr, DataType::Int), "iota: size -1");
  expectUserError(build(n, constant(1.5), one, DataType::Int), "iota: start");
  expectUserError(build(n, one, one, DataType::Float), "iota: start");
  expectUserError(build(n, one, constant(int64_t{0}), DataType::Int), "step must not be zero");
  expectUserError(
      build(n, constant(std::numeric_limits<double>::infinity()), constant(1.0), DataType::Float),
      "must be finite");
  expectUserError(build(n, nullptr, nullptr, DataType::Bool), "iota: dtype");
}

TEST_F(Factory, RandomNodesTakeASlotOfTheGeneratorUnlessSeeded) {
  Val* zero = constant(0.0);
  Val* one = constant(1.0);
  TensorView* a = uniform({constant(int64_t{4})}, zero, one, DataType::Half);
  TensorView* b = normal(
      {constant(int64_t{4})},
      zero,
      one,
      DataType::Float,
      constant(int64_t{3}),
      constant(int64_t{1}));
  TensorView* c = randLike(a);
  EXPECT_EQ(a->definition()->attribute<int64_t>("rng_id"), 0);
  EXPECT_EQ(c->definition()->attribute<int64_t>("rng_id"), 1);
  EXPECT_TRUE(a->definition()->traits().random);
  EXPECT_FALSE(b->definition()->traits().random);
  EXPECT_EQ(c->dtype(), DataType::Half);
  EXPECT_EQ(shapeOf(c), (std::vector<int64_t>{4}));
}

TEST_F(Factory, RandomErrors) {
  Val* zero = constant(0.0);
  Val* one = constant(1.0);
  for (DataType dtype : {DataType::Int, DataType::Bool, DataType::ComplexFloat}) {
    expectUserError(
        [&] { uniform({constant(int64_t{2})}, zero, one, dtype); },
        "Random distributions only create floating point types!");
  }
  expectUserError(
      [&] { normal({}, zero, one, DataType::Float, constant(int64_t{1})); },
      "must be given together");
  expectUserError(
      [&] { uniform({constant(int64_t{-3})}, zero, one, DataType::Float); }, "uniform: size -3");
  expectUserError(
      [&] { randLike(input({3}, DataType::Int)); }, "rand_like: needs a floating-point tensor");
}

TEST_F(Factory, ReversedRangeIsRefusedAtRunTime) {
  Val* high = inputScalar(DataType::Double);
  TensorView* out = uniform({constant(int64_t{4})}, constant(1.0), high, DataType::Float);
  expectUserError([&] { run(out, {ScalarValue(0.5)}); }, "uniform: the range");
  expectEqual(run(out, {ScalarValue(1.0)}), at::ones({4}));
}

} // namespace nvfuser
