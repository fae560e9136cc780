// topk, argsort, cumsum, cumprod, cummin, cummax, triu.
#include <ops/factory.h>
#include <ops/indexing.h>

#include "op_test.h"

#include <limits>

namespace nvfuser {

class SearchAndScan : public OpTest {
 protected:
  const at::Tensor x =
      at::tensor(std::vector<float>{3, -1, 4, 1, -5, 9, 2, 6, 5.5, -3, 7, 8}).reshape({3, 4});
};

TEST_F(SearchAndScan, TopKReplacesTheSize) {
  TensorView* tv = input({-1, 4});
  Val* k = inputScalar();
  const TopK symbolic = topk(tv, k, -1, true, true);
  const TopK one = topk(tv, constant(int64_t{1}), 0, false, true);
  EXPECT_EQ(shapeOf(symbolic.values), (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(symbolic.values->shape()[1], k);
  EXPECT_EQ(symbolic.indices->dtype(), DataType::Int);
  EXPECT_TRUE(one.values->getLogicalDomain()[0]->isBroadcast());
  const std::vector<EvalValue> values = {x, ScalarValue(int64_t{2})};
  const auto [v, i] = at::topk(x, 2, 1);
  expectEqual(run(symbolic.values, values), v);
  expectEqual(run(symbolic.indices, values), i);
  expectEqual(run(one.indices, values), std::get<1>(at::topk(x, 1, 0, false)));
}

TEST_F(SearchAndScan, TopKErrors) {
  TensorView* tv = input({-1, 4});
  Val* k = inputScalar();
  const TopK symbolic = topk(tv, k, 1, true, false);
  expectUserError([&] { topk(tv, k, 2, true, false); }, "Tried to access out of boundary index 2");
  expectUserError([&] { topk(tv, constant(2.5), 1, true, false); }, "k must be an integer");
  expectUserError([&] { topk(tv, constant(int64_t{5}), 1, true, false); }, "out of range");
  expectUserError([&] { topk(tv, constant(int64_t{-1}), 0, true, false); }, "out of range");
  for (int64_t bad : {-1, 5}) {
    expectUserError([&] { run(symbolic.values, {x, ScalarValue(bad)}); }, "topk: k is");
  }
}

TEST_F(SearchAndScan, ArgsortIsIntOfTheSameShape) {
  TensorView* tv = input({-1, 4});
  TensorView* zero_dim = input({});
  TensorView* out = argsort(tv, 1, true, true);
  TensorView* none = argsort(zero_dim, 0, false, false);
  EXPECT_EQ(out->dtype(), DataType::Int);
  EXPECT_EQ(shapeOf(out), (std::vector<int64_t>{-1, 4}));
  const std::vector<EvalValue> values = {x, at::scalar_tensor(2.0f)};
  expectEqual(run(out, values), at::argsort(x, /*stable=*/true, 1, true));
  expectEqual(run(none, values), at::zeros({}, at::kLong));
  expectUserError([&] { argsort(tv, -3, false, false); }, "out of boundary index -3");
}

TEST_F(SearchAndScan, ScansKeepTheDtype) {
  TensorView* tv = input({-1, 4});
  TensorView* ints = input({-1}, DataType::Int32);
  const std::vector<EvalValue> values = {x, at::full({3}, 1 << 30, at::kInt)};
  expectClose(run(scan(ScanType::Sum, tv, 1), values), x.cumsum(1));
  expectClose(run(scan(ScanType::Prod, tv, 0), values), x.cumprod(0));
  expectEqual(run(scan(ScanType::Min, tv, -1), values), std::get<0>(x.cummin(1)));
  expectEqual(run(scan(ScanType::Max, tv, -1), values), std::get<0>(x.cummax(1)));
  expectEqual(
      run(scan(ScanType::Sum, ints, 0), values),
      at::tensor(std::vector<int64_t>{1 << 30, -(int64_t{1} << 31), -(1 << 30)}).to(at::kInt));
}

TEST_F(SearchAndScan, ScanFromAnInitialValue) {
  TensorView* tv = input({-1, 4});
  expectClose(run(scan(ScanType::Sum, tv, 1, constant(10.0)), {x}), x.cumsum(1) + 10);
  expectClose(run(scan(ScanType::Prod, tv, 1, constant(2.0)), {x}), x.cumprod(1) * 2);
  expectEqual(
      run(scan(ScanType::Max, tv, 1, constant(5.0)), {x}), std::get<0>(x.cummax(1)).clamp_min(5));
  expectEqual(
      run(scan(ScanType::Min, tv, 1, constant(0.0)), {x}), std::get<0>(x.cummin(1)).clamp_max(0));
}

TEST_F(SearchAndScan, NanStaysOnceSeen) {
  TensorView* tv = input({-1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor values = at::tensor(std::vector<float>{3, nan, 5});
  for (ScanType type : {ScanType::Min, ScanType::Max}) {
    const at::Tensor result = run(scan(type, tv, 0, constant(4.0)), {values});
    EXPECT_TRUE(at::equal(result.isnan(), at::tensor(std::vector<int64_t>{0, 1, 1}).to(at::kBool)));
  }
}

TEST_F(SearchAndScan, ScanErrorsAndCopies) {
  TensorView* tv = input({-1, 1});
  EXPECT_EQ(scan(ScanType::Sum, tv, 1)->definition()->opName(), "LoadStoreOp");
  expectUserError(
      [&] { scan(ScanType::Sum, tv, 2); },
      "Tried to access out of boundary index 2. total index: 2");
  expectUserError([&] { scan(ScanType::Max, input({}), 0); }, "total index: 0");
  expectUserError([&] { scan(ScanType::Max, input({3}, DataType::ComplexFloat), 0); }, "cummax");
}

TEST_F(SearchAndScan, Triu) {
  TensorView* tv = input({-1, -1});
  Val* diagonal = inputScalar();
  TensorView* out = triu(tv, diagonal);
  EXPECT_EQ(out->dtype(), DataType::Float);
  for (int64_t d : {-3, -1, 0, 1, 4}) {
    expectEqual(run(out, {x, ScalarValue(d)}), at::triu(x, d));
  }
  expectUserError([&] { triu(input({3}), diagonal); }, "triu: needs");
  expectUserError([&] { triu(tv, constant(0.5)); }, "diagonal must be an integer");
}

} // namespace nvfuser
