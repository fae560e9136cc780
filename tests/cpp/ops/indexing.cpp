// select, index_select, gather, take_along_axis, scatter, embedding: domains, errors, values.
#include <ops/indexing.h>

#include "op_test.h"

namespace nvfuser {

class Indexing : public OpTest {
 protected:
  const at::Tensor x = at::arange(12, at::kFloat).reshape({4, 3});
};

at::Tensor longs(std::vector<int64_t> values) {
  return at::tensor(values, at::kLong);
}

TEST_F(Indexing, SelectDropsTheDim) {
  TensorView* tv = input({-1, 3});
  Val* index = inputScalar();
  TensorView* row = select(tv, index, 0);
  TensorView* column = select(tv, constant(int64_t{2}), -1);
  EXPECT_EQ(shapeOf(row), (std::vector<int64_t>{3}));
  EXPECT_EQ(shapeOf(column), (std::vector<int64_t>{-1}));
  expectEqual(run(row, {x, ScalarValue(int64_t{2})}), x.select(0, 2));
  expectEqual(run(column, {x, ScalarValue(int64_t{2})}), x.select(1, 2));
}

TEST_F(Indexing, SelectErrors) {
  TensorView* tv = input({-1, 3});
  Val* index = inputScalar();
  TensorView* row = select(tv, index, 0);
  expectUserError([&] { select(tv, index, 2); }, "out of boundary index 2. total index: 2");
  expectUserError([&] { select(tv, constant(1.5), 0); }, "select");
  expectUserError([&] { select(tv, constant(int64_t{3}), 1); }, "index 3", ErrorKind::Index);
  expectUserError([&] { run(row, {x, ScalarValue(int64_t{4})}); }, "select", ErrorKind::Index);
}

TEST_F(Indexing, IndexSelectReplacesTheDim) {
  TensorView* tv = input({-1, 3});
  TensorView* index = input({-1}, DataType::Int);
  TensorView* one = input({}, DataType::Int);
  TensorView* rows = indexSelect(tv, index, 0);
  TensorView* column = indexSelect(tv, one, 1);
  EXPECT_EQ(shapeOf(rows), (std::vector<int64_t>{-1, 3}));
  EXPECT_EQ(rows->shape()[0], index->shape()[0]);
  EXPECT_EQ(shapeOf(column), (std::vector<int64_t>{-1, 1}));
  EXPECT_TRUE(column->getLogicalDomain()[1]->isBroadcast());
  const std::vector<EvalValue> values = {x, longs({3, 0, 3}), at::scalar_tensor(1, at::kLong)};
  expectEqual(run(rows, values), x.index_select(0, longs({3, 0, 3})));
  expectEqual(run(column, values), x.narrow(1, 1, 1));
}

TEST_F(Indexing, IndexSelectRefusesWhatEagerRefuses) {
  TensorView* tv = input({-1, 3});
  TensorView* index = input({-1}, DataType::Int);
  TensorView* rows = indexSelect(tv, index, 0);
  for (int64_t bad : {-1, 4, 100}) {
    expectUserError([&] { run(rows, {x, longs({bad})}); }, "index_select", ErrorKind::Index);
  }
  expectUserError([&] { indexSelect(tv, tv, 0); }, "index_select: the index must");
  expectUserError([&] { indexSelect(tv, input({2, 2}, DataType::Int), 0); }, "one dimension");
}

TEST_F(Indexing, GatherHasTheShapeOfTheIndex) {
  TensorView* tv = input({-1, 3});
  TensorView* index = input({2, -1}, DataType::Int32);
  TensorView* out = gather(tv, index, 0);
  EXPECT_EQ(shapeOf(out), (std::vector<int64_t>{2, -1}));
  const at::Tensor at_index = longs({3, 0, 1, 2}).reshape({2, 2});
  expectEqual(run(out, {x, at_index.to(at::kInt)}), x.gather(0, at_index));
  expectUserError(
      [&] { gather(tv, input({2}, DataType::Int), 0); }, "Tensor arguments have dimension");
  expectUserError([&] { gather(tv, input({2, 4}, DataType::Int), 0); }, "longer");
  expectUserError([&] { run(out, {x, at::full({2, 2}, 4, at::kInt)}); }, "gather");
  expectUserError([&] { run(out, {x, at::full({2, 4}, 1, at::kInt)}); }, "gather");
}

TEST_F(Indexing, TakeAlongAxisStretchesStaticOnesOnly) {
  TensorView* tv = input({-1, -1});
  TensorView* row = input({1, -1}, DataType::Int);
  TensorView* full = input({-1, -1}, DataType::Int);
  TensorView* along_rows = takeAlongAxis(tv, row, 1);
  TensorView* down = takeAlongAxis(tv, full, 0);
  const at::Tensor pick = longs({2, 0, 1, 1, 2}).reshape({1, 5});
  const at::Tensor rows = longs({3, 1, 0, 0, 2, 2}).reshape({2, 3});
  expectEqual(run(along_rows, {x, pick, rows}), x.gather(1, pick.expand({4, 5})));
  expectEqual(run(down, {x, pick, rows}), x.gather(0, rows));
  expectUserError(
      [&] { run(down, {x, pick, rows.narrow(1, 0, 1)}); }, "take_along_axis: sizes differ");
}

TEST_F(Indexing, ScatterOfTensorAndScalar) {
  TensorView* tv = input({-1, 3});
  TensorView* index = input({-1, 3}, DataType::Int);
  TensorView* src = input({-1, 3});
  TensorView* from_tensor = scatter(tv, index, src, 0);
  TensorView* from_scalar = scatter(tv, index, constant(2.5), 0);
  const at::Tensor places = longs({3, 1, 0}).reshape({1, 3});
  const at::Tensor values = at::full({1, 3}, -1.0f);
  const at::Tensor before = x.clone();
  expectEqual(run(from_tensor, {x, places, values}), x.scatter(0, places, values));
  expectEqual(run(from_scalar, {x, places, values}), x.scatter(0, places, 2.5));
  expectEqual(x, before);
  for (int64_t bad : {-5, 4}) {
    expectUserError(
        [&] { run(from_tensor, {x, at::full({1, 3}, bad, at::kLong), values}); }, "scatter");
  }
  expectUserError([&] { scatter(tv, index, input({-1, 3}, DataType::Double), 0); }, "dtype");
  expectUserError(
      [&] { scatter(tv, input({2}, DataType::Int), src, 0); }, "Tensor arguments have dimension");
  expectUserError([&] { scatter(tv, index, input({3}), 0); }, "Tensor arguments have dimension");
}

TEST_F(Indexing, EmbeddingAddsTheWidth) {
  TensorView* ids = input({-1, 2}, DataType::Int);
  TensorView* weight = input({-1, 3});
  TensorView* out = embeddingFwd(ids, weight);
  EXPECT_EQ(shapeOf(out), (std::vector<int64_t>{-1, 2, 3}));
  const at::Tensor index = longs({0, 3, 3, 1}).reshape({2, 2});
  expectEqual(run(out, {index, x}), at::embedding(x, index));
  for (int64_t bad : {-1, 4}) {
    expectUserError(
        [&] { run(out, {at::full({1, 2}, bad, at::kLong), x}); },
        "embedding_fwd",
        ErrorKind::Index);
  }
  expectUserError([&] { embeddingFwd(ids, input({3})); }, "two dimensions");
  expectUserError([&] { embeddingFwd(weight, weight); }, "embedding_fwd: the index");
  expectUserError([&] { embeddingFwd(ids, input({5, 3}), constant(int64_t{5})); }, "padding_idx 5");
}

TEST_F(Indexing, EmbeddingWithMaxNormLeavesTheWeightAlone) {
  TensorView* ids = input({-1}, DataType::Int);
  TensorView* weight = input({-1, 3});
  TensorView* out = embeddingFwd(ids, weight, nullptr, constant(1.0));
  const at::Tensor before = x.clone();
  const at::Tensor result = run(out, {longs({3, 0}), x});
  expectEqual(x, before);
  at::Tensor renormalized = x.clone();
  at::embedding_renorm_(renormalized, longs({3, 0}), 1.0, 2.0);
  expectEqual(result, renormalized.index_select(0, longs({3, 0})));
  for (int64_t bad : {-1, 4}) {
    expectUserError([&] { run(out, {longs({bad}), x}); }, "embedding_fwd", ErrorKind::Index);
  }
}

TEST_F(Indexing, MetaTensorsGetShapesOnly) {
  TensorView* tv = input({-1, 3});
  TensorView* index = input({-1, 3}, DataType::Int);
  TensorView* flat = input({-1}, DataType::Int);
  const auto meta = at::TensorOptions().device(at::kMeta);
  const std::vector<EvalValue> values = {
      x.to(meta), at::empty({2, 3}, meta.dtype(at::kLong)), at::empty({5}, meta.dtype(at::kLong))};
  EXPECT_EQ(run(gather(tv, index, 0), values).sizes(), (at::IntArrayRef{2, 3}));
  EXPECT_EQ(run(indexSelect(tv, flat, 0), values).sizes(), (at::IntArrayRef{5, 3}));
  EXPECT_EQ(run(embeddingFwd(index, tv), values).sizes(), (at::IntArrayRef{2, 3, 3}));
  EXPECT_TRUE(run(scatter(tv, index, constant(1.0), 0), values).is_meta());
}

} // namespace nvfuser
