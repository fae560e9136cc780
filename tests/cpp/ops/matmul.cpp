// matmul, linear, grouped and scaled products.
#include <ops/matmul.h>

#include "op_test.h"

namespace nvfuser {

class Matmul : public OpTest {
 protected:
  void SetUp() override {
    at::manual_seed(0);
  }
};

TEST_F(Matmul, ShapesAreThoseOfTorch) {
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> cases = {
      {{4}, {4}},
      {{4}, {4, 3}},
      {{2, 4}, {4}},
      {{2, 4}, {4, 3}},
      {{5, 2, 4}, {4, 3}},
      {{2, 4}, {5, 4, 3}},
      {{1, 2, 4}, {5, 4, 3}},
      {{6, 1, 2, 4}, {5, 4, 3}},
      {{2, 0}, {0, 3}},
      {{0, 4}, {4, 3}},
      {{1, 4}, {4, 1}}};
  for (const auto& [left, right] : cases) {
    Fusion local;
    FusionGuard local_guard(&local);
    TensorView* a = TensorViewBuilder().shape(left).build();
    TensorView* b = TensorViewBuilder().shape(right).build();
    local.addInput(a);
    local.addInput(b);
    TensorView* out = matmul(a, b);
    const at::Tensor x = at::randn(left);
    const at::Tensor y = at::randn(right);
    const at::Tensor expected = at::matmul(x, y);
    EXPECT_EQ(shapeOf(out), expected.sizes().vec());
    ExpressionEvaluator evaluator;
    evaluator.bind(a, x);
    evaluator.bind(b, y);
    const at::Tensor result = evaluator.evaluate(out).tensor();
    expectClose(result, expected);
    EXPECT_TRUE(result.is_contiguous());
  }
}

TEST_F(Matmul, ConstantSizeOneIsABroadcastDim) {
  TensorView* out = matmul(input({1, -1}), input({-1, -1}));
  EXPECT_TRUE(out->getLogicalDomain()[0]->isBroadcast());
  EXPECT_TRUE(out->getLogicalDomain()[1]->isIteration());
}

TEST_F(Matmul, Errors) {
  TensorView* a = input({-1, -1});
  TensorView* b = input({-1, -1});
  TensorView* out = matmul(a, b);
  expectUserError(
      [&] { run(out, {at::ones({2, 3}), at::ones({4, 2})}); },
      "matmul: the sizes to contract differ");
  expectUserError(
      [&] { matmul(input({2, 3}), input({4, 2})); }, "matmul: the sizes to contract differ");
  expectUserError([&] { matmul(input({}), a); }, "at least one dimension");
  expectUserError(
      [&] { matmul(a, input({-1, -1}, DataType::Half)); }, "same dtype, not Float and Half");
  expectUserError([&] { matmul(input({2, 2, 3}), input({5, 3, 2})); }, "batch sizes differ");
}

TEST_F(Matmul, SymbolicBatchSizesDoNotStretch) {
  TensorView* out = matmul(input({-1, -1, -1}), input({-1, -1, -1}));
  expectUserError(
      [&] { run(out, {at::ones({1, 2, 3}), at::ones({4, 3, 2})}); }, "batch sizes differ");
}

TEST_F(Matmul, LinearWithAndWithoutBias) {
  TensorView* x = input({-1, 2, 4});
  TensorView* w = input({5, 4});
  TensorView* b = input({5});
  TensorView* plain = linear(x, w);
  TensorView* biased = linear(x, w, b);
  EXPECT_EQ(shapeOf(plain), (std::vector<int64_t>{-1, 2, 5}));
  const std::vector<EvalValue> values = {at::randn({3, 2, 4}), at::randn({5, 4}), at::randn({5})};
  expectClose(run(plain, values), at::linear(values[0].tensor(), values[1].tensor()));
  expectClose(
      run(biased, values), at::linear(values[0].tensor(), values[1].tensor(), values[2].tensor()));
}

TEST_F(Matmul, LinearErrors) {
  TensorView* x = input({-1, -1});
  TensorView* w = input({5, -1});
  expectUserError([&] { linear(x, input({4})); }, "two dimensions");
  expectUserError([&] { linear(input({}), w); }, "at least one dimension");
  expectUserError([&] { linear(x, w, input({6})); }, "output features differ, 5 and 6");
  expectUserError([&] { linear(x, w, input({1, 5})); }, "bias must have one dimension");
  expectUserError([&] { linear(x, input({5, -1}, DataType::Double)); }, "same dtype");
  expectUserError([&] { linear(input({2, 3}), input({5, 4})); }, "input features differ");
}

class GroupedMm : public Matmul {
 protected:
  static at::Tensor ends(const std::vector<int64_t>& values) {
    return at::tensor(values).to(at::kInt);
  }
};

TEST_F(GroupedMm, KGrouped) {
  TensorView* out = scaledMatmul(
      {.mat1 = input({-1, -1}), .mat2 = input({-1, -1}), .offsets = input({3}, DataType::Int32)},
      DataType::Null);
  EXPECT_EQ(shapeOf(out), (std::vector<int64_t>{3, -1, -1}));
  const at::Tensor a = at::randn({3, 16});
  const at::Tensor b = at::randn({16, 5});
  expectClose(
      run(out, {a, b, ends({4, 4, 16})}),
      at::stack(
          {a.slice(1, 0, 4).mm(b.slice(0, 0, 4)),
           at::zeros({3, 5}),
           a.slice(1, 4).mm(b.slice(0, 4))}));
}

TEST_F(GroupedMm, RowsAndColumnsGrouped) {
  TensorView* offsets = input({-1}, DataType::Int32);
  TensorView* rows = scaledMatmul(
      {.mat1 = input({-1, -1}), .mat2 = input({-1, -1, -1}), .offsets = offsets}, DataType::Null);
  TensorView* columns = scaledMatmul(
      {.mat1 = input({-1, -1, -1}), .mat2 = input({-1, -1}), .offsets = offsets}, DataType::Null);
  EXPECT_EQ(rows->nDims(), 2);
  EXPECT_EQ(columns->nDims(), 2);
  const at::Tensor a = at::randn({6, 4});
  const at::Tensor b = at::randn({2, 4, 5});
  const at::Tensor c = at::randn({2, 3, 4});
  const at::Tensor d = at::randn({4, 6});
  const std::vector<EvalValue> values = {ends({2, 6}), a, b, c, d};
  expectClose(run(rows, values), at::cat({a.slice(0, 0, 2).mm(b[0]), a.slice(0, 2).mm(b[1])}));
  expectClose(
      run(columns, values), at::cat({c[0].mm(d.slice(1, 0, 2)), c[1].mm(d.slice(1, 2))}, 1));
  auto bad = values;
  bad[0] = ends({4, 2});
  expectUserError([&] { run(rows, bad); }, "cumulative ends");
  bad[0] = ends({4, 7});
  expectUserError([&] { run(rows, bad); }, "cumulative ends");
}

TEST_F(GroupedMm, Errors) {
  TensorView* a = input({-1, -1});
  TensorView* b = input({2, -1, -1});
  const auto build = [](TensorView* m, TensorView* n, TensorView* offsets) {
    return [=] { scaledMatmul({.mat1 = m, .mat2 = n, .offsets = offsets}, DataType::Null); };
  };
  expectUserError(build(a, b, input({2}, DataType::Int)), "grouped_mm: offsets");
  expectUserError(build(a, b, input({1, 2}, DataType::Int32)), "grouped_mm: offsets");
  expectUserError(build(b, b, input({2}, DataType::Int32)), "ranks must be");
  expectUserError(build(a, b, input({3}, DataType::Int32)), "numbers of groups differ");
  expectUserError(
      build(a, input({2, -1, -1}, DataType::Double), input({2}, DataType::Int32)), "same dtype");
}

TEST_F(GroupedMm, ScalesMultiplyTheirMatrix) {
  ScaledMmaOp::Operands o;
  o.mat1 = input({-1, -1}, DataType::Float8_e4m3fn);
  o.mat2 = input({-1, -1, -1}, DataType::Float8_e4m3fn);
  o.offsets = input({2}, DataType::Int32);
  o.scale1 = input({-1, 1});
  o.scale2 = input({2, 1, -1});
  o.alpha = input({});
  TensorView* out = scaledMatmul(o, DataType::Float);
  const at::Tensor a = at::randn({6, 4}).to(at::kFloat8_e4m3fn);
  const at::Tensor b = at::randn({2, 4, 5}).to(at::kFloat8_e4m3fn);
  const at::Tensor s = at::rand({6, 1});
  const at::Tensor t = at::rand({2, 1, 5});
  const at::Tensor fa = a.to(at::kFloat) * s;
  const at::Tensor fb = b.to(at::kFloat) * t;
  expectClose(
      run(out, {a, b, ends({2, 6}), s, t, at::scalar_tensor(0.5f)}),
      at::cat({fa.slice(0, 0, 2).mm(fb[0]), fa.slice(0, 2).mm(fb[1])}) * 0.5);
}

TEST_F(GroupedMm, ScaledMmWithBiasAndBeta) {
  ScaledMmaOp::Operands o;
  o.mat1 = input({-1, -1}, DataType::Float8_e4m3fn);
  o.mat2 = input({-1, -1}, DataType::Float8_e4m3fn);
  o.scale1 = input({});
  o.scale2 = input({1, -1});
  o.bias = input({-1});
  o.beta = input({});
  TensorView* out = scaledMatmul(o, DataType::BFloat16);
  EXPECT_EQ(out->dtype(), DataType::BFloat16);
  const at::Tensor a = at::randn({3, 4}).to(at::kFloat8_e4m3fn);
  const at::Tensor b = at::randn({4, 5}).to(at::kFloat8_e4m3fn);
  const at::Tensor s = at::scalar_tensor(2.0f);
  const at::Tensor t = at::rand({1, 5});
  const at::Tensor bias = at::randn({5});
  const at::Tensor expected = (a.to(at::kFloat) * s).mm(b.to(at::kFloat) * t) + bias * 3.0;
  expectClose(
      run(out, {a, b, s, t, bias, at::scalar_tensor(3.0f)}), expected.to(at::kBFloat16), 1e-2);
  o.bias = nullptr;
  expectUserError([&] { scaledMatmul(o, DataType::BFloat16); }, "scaled_mm: beta scales a bias");
}

TEST_F(GroupedMm, MetaShape) {
  TensorView* out = scaledMatmul(
      {.mat1 = input({-1, -1}),
       .mat2 = input({-1, -1, -1}),
       .offsets = input({-1}, DataType::Int32)},
      DataType::Null);
  const auto meta = at::TensorOptions().device(at::kMeta);
  const at::Tensor result = run(
      out,
      {at::empty({6, 4}, meta), at::empty({2, 4, 5}, meta), at::empty({2}, meta.dtype(at::kInt))});
  EXPECT_TRUE(result.is_meta());
  EXPECT_EQ(result.sizes(), (at::IntArrayRef{6, 5}));
}

} // namespace nvfuser
