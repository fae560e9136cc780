// Logical domain maps of nodes that index, search and look up.
#include <ops/indexing.h>

#include "domain_map_test.h"

namespace nvfuser {

class LogicalMapIndexing : public DomainMapTest {
 protected:
  TensorView* ints(const Dims& shape) {
    return input(shape, DataType::Int);
  }
};

TEST_F(LogicalMapIndexing, SelectDropsItsDim) {
  TensorView* x = input({4, 5, 6});
  EXPECT_EQ(mapText(x, select(x, inputScalar(), 1)), "0>0 2>1");
  EXPECT_EQ(mapText(x, select(x, index(0), 0)), "1>0 2>1");
  EXPECT_EQ(mapText(x, select(x, index(0), 2)), "0>0 1>1");
}

TEST_F(LogicalMapIndexing, IndexSelectTakesItsDimFromTheIndex) {
  TensorView* x = input({4, 5, 6});
  TensorView* i = ints({7});
  TensorView* y = indexSelect(x, i, 1);
  EXPECT_EQ(mapText(x, y), "0>0 2>2");
  EXPECT_EQ(mapText(i, y), "0>1");
}

TEST_F(LogicalMapIndexing, GatherFollowsTheIndex) {
  TensorView* x = input({4, 5});
  TensorView* i = ints({4, 3});
  TensorView* y = gather(x, i, 1);
  EXPECT_EQ(mapText(i, y), "0>0 1>1");
  EXPECT_EQ(mapText(x, y), ""); // the index may be shorter in every dimension
  TensorView* z = takeAlongAxis(x, i, 1);
  EXPECT_EQ(mapText(i, z), "0>0 1>1");
  EXPECT_EQ(mapText(x, z), "0>0");
}

TEST_F(LogicalMapIndexing, ScatterFollowsTheOperandWrittenTo) {
  TensorView* x = input({4, 5});
  TensorView* i = ints({4, 3});
  TensorView* src = input({4, 3});
  TensorView* y = scatter(x, i, src, 1);
  EXPECT_EQ(mapText(x, y), "0>0 1>1");
  EXPECT_EQ(mapText(i, y), "");
  EXPECT_EQ(mapText(src, y), "");
}

TEST_F(LogicalMapIndexing, EmbeddingAppendsTheRow) {
  TensorView* i = ints({3, 7});
  TensorView* w = input({100, 16});
  TensorView* y = embeddingFwd(i, w);
  EXPECT_EQ(mapText(i, y), "0>0 1>1");
  EXPECT_EQ(mapText(w, y), "1>2");
}

TEST_F(LogicalMapIndexing, TopKKeepsTheOtherDims) {
  TensorView* x = input({4, 5, 6});
  const auto result = topk(x, index(2), 1, true, true);
  EXPECT_EQ(mapText(x, result.values), "0>0 2>2");
  EXPECT_EQ(mapText(x, result.indices), "0>0 2>2");
}

} // namespace nvfuser
