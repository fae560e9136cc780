// Logical domain maps of matrix products.
#include <ops/matmul.h>

#include "domain_map_test.h"

namespace nvfuser {

class LogicalMapMatmul : public DomainMapTest {
 protected:
  void expectMaps(const Dims& a, const Dims& b, const std::string& of_a, const std::string& of_b) {
    TensorView* ta = input(a, DataType::Half);
    TensorView* tb = input(b, DataType::Half);
    TensorView* out = matmul(ta, tb);
    EXPECT_EQ(mapText(ta, out), of_a);
    EXPECT_EQ(mapText(tb, out), of_b);
  }
};

TEST_F(LogicalMapMatmul, RowsColumnsAndBatches) {
  expectMaps({4, 8}, {8, 6}, "0>0", "1>1");
  expectMaps({3, 4, 8}, {3, 8, 6}, "0>0 1>1", "0>0 2>2");
  expectMaps({2, 3, 4, 8}, {3, 8, 6}, "0>0 1>1 2>2", "0>1 2>3");
  expectMaps({3, 4, 8}, {8, 6}, "0>0 1>1", "1>2");
}

TEST_F(LogicalMapMatmul, Vectors) {
  expectMaps({8}, {8}, "", "");
  expectMaps({8}, {8, 6}, "", "1>0");
  expectMaps({4, 8}, {8}, "0>0", "");
  expectMaps({8}, {3, 8, 6}, "", "0>0 2>1");
  expectMaps({3, 4, 8}, {8}, "0>0 1>1", "");
}

TEST_F(LogicalMapMatmul, Linear) {
  TensorView* x = input({2, 5, 8}, DataType::Half);
  TensorView* w = input({6, 8}, DataType::Half);
  TensorView* bias = input({6}, DataType::Half);
  TensorView* out = linear(x, w, bias);
  EXPECT_EQ(mapText(x, out), "0>0 1>1");
  EXPECT_EQ(mapText(w, out), "0>2");
  EXPECT_EQ(mapText(bias, out), "0>2");
}

TEST_F(LogicalMapMatmul, OneTensorInTwoPlaces) {
  TensorView* x = input({8, 8}, DataType::Half);
  TensorView* out = linear(x, x);
  // The first place decides; a dimension stands in one pair only.
  EXPECT_EQ(mapText(x, out), "0>0");
}

TEST_F(LogicalMapMatmul, GroupedRowsAndColumns) {
  // Offsets cut the rows of mat1; mat2 has one matrix for each group.
  TensorView* a = input({32, 16}, DataType::BFloat16);
  TensorView* b = input({4, 16, 8}, DataType::BFloat16);
  TensorView* offsets = input({4}, DataType::Int32);
  TensorView* out = scaledMatmul({.mat1 = a, .mat2 = b, .offsets = offsets}, DataType::BFloat16);
  EXPECT_EQ(mapText(a, out), "0>0");
  EXPECT_EQ(mapText(b, out), "2>1");
  EXPECT_EQ(mapText(offsets, out), "");
}

} // namespace nvfuser
