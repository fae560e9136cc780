// resolve_symbolic: a fusion for given sizes.
#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>
#include <passes/resolve_symbolic.h>

#include "pass_test.h"

#include <utility>

namespace nvfuser {

class ResolveSymbolic : public PassTest {
 protected:
  // Extents of the inputs, dim by dim, where they are symbolic.
  std::unique_ptr<Fusion> resolve(const std::vector<Dims>& sizes) {
    std::unordered_map<const Val*, ScalarValue> known = extra;
    size_t next = 0;
    for (const Val* in : fusion.inputs()) {
      if (!in->isTensor()) {
        continue;
      }
      const auto shape = in->as<TensorView>()->shape();
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        if (!shape[dim]->isConst()) {
          known[shape[dim]] = sizes[next][dim];
        }
      }
      ++next;
    }
    auto copy = resolveSymbolic(fusion, known);
    for (const std::string& rule : brokenRules(*copy)) {
      ADD_FAILURE() << rule;
    }
    return copy;
  }
  static TensorView* out(const std::unique_ptr<Fusion>& f, size_t i = 0) {
    return f->outputs()[i]->as<TensorView>();
  }

  std::unordered_map<const Val*, ScalarValue> extra;
};

TEST_F(ResolveSymbolic, AllSizesBecomeConstant) {
  TensorView* x = input({-1, -1, 3});
  fusion.addOutput(sum(add(x, x), {1}));
  const auto copy = resolve({{4, 5, 3}});
  EXPECT_EQ(shapeOf(out(copy)), (Dims{4, 3}));
  EXPECT_EQ(extents(out(copy)->getLogicalDomain()), (Dims{4, 5, 3}));
  EXPECT_EQ(shapeOf(copy->inputs()[0]->as<TensorView>()), (Dims{4, 5, 3}));
  EXPECT_EQ(shapeOf(x), (Dims{-1, -1, 3})); // the original is as it was
}

TEST_F(ResolveSymbolic, ReshapeGetsTheFinestTransforms) {
  TensorView* x = input({-1, -1, -1});
  Val* rows = IrBuilder::mulExpr(size(x, 0), size(x, 1));
  fusion.addOutput(reshape(x, {rows, size(x, 2)}));
  const auto copy = resolve({{4, 6, 5}});
  TensorView* y = out(copy);
  EXPECT_EQ(shapeOf(y), (Dims{24, 5}));
  ASSERT_TRUE(y->getLogicalDomain()[0]->definition()->isA<Merge>());
  EXPECT_EQ(y->getLogicalDomain()[1], y->getRootDomain()[2]);
  EXPECT_TRUE(y->getLogicalDomain()[0]->isIteration());
}

TEST_F(ResolveSymbolic, ReshapeToUnrelatedSizes) {
  TensorView* x = input({-1, -1});
  Val* n = inputScalar();
  Val* m = inputScalar();
  fusion.addOutput(reshape(x, {n, m, index(2)}));
  extra = {{n, ScalarValue(int64_t{3})}, {m, ScalarValue(int64_t{4})}};
  const auto copy = resolve({{4, 6}});
  EXPECT_EQ(shapeOf(out(copy)), (Dims{3, 4, 2}));
  EXPECT_TRUE(copy->inputs()[1]->isFusionInput());
  extra = {{n, ScalarValue(int64_t{3})}, {m, ScalarValue(int64_t{5})}};
  expectUserErrorWith([&] { resolve({{4, 6}}); }, "element counts differ");
}

TEST_F(ResolveSymbolic, SymbolicDomainsBecomeIterationsOrBroadcasts) {
  TensorView* x = input({-1, 8});
  Val* n = inputScalar();
  TensorView* y = slice(x, {index(0), index(0)}, {n, index(8)}, {}, true);
  fusion.addOutput(mul(y, IrBuilder::constant(2.0)));
  EXPECT_TRUE(y->getLogicalDomain()[0]->isSymbolic());
  extra = {{n, ScalarValue(int64_t{1})}};
  EXPECT_TRUE(out(resolve({{5, 8}}))->getLogicalDomain()[0]->isBroadcast());
  extra = {{n, ScalarValue(int64_t{3})}};
  const auto copy = resolve({{5, 8}});
  EXPECT_TRUE(out(copy)->getLogicalDomain()[0]->isIteration());
  EXPECT_EQ(shapeOf(out(copy)), (Dims{3, 8}));
}

TEST_F(ResolveSymbolic, NegativeSizesAreRefused) {
  TensorView* x = input({-1});
  Val* n = inputScalar();
  fusion.addOutput(slice(x, {n}, {index(2)}, {}, true));
  extra = {{n, ScalarValue(int64_t{4})}};
  expectUserErrorWith([&] { resolve({{8}}); }, "is negative: -2");
}

TEST_F(ResolveSymbolic, EmptyTensors) {
  TensorView* x = input({-1, 4});
  fusion.addOutput(reshape(x, {IrBuilder::mulExpr(size(x, 0), index(4))}));
  EXPECT_EQ(shapeOf(out(resolve({{0, 4}}))), Dims{0});
  EXPECT_EQ(shapeOf(out(resolve({{3, 4}}))), Dims{12});
  EXPECT_EQ(shapeOf(out(resolve({{1, 4}}))), Dims{4});
}

TEST_F(ResolveSymbolic, SizesUsedAsValuesFold) {
  TensorView* x = input({-1}, DataType::Double);
  Val* count = castOp(DataType::Double, size(x, 0));
  fusion.addOutput(div(x, count));
  EXPECT_EQ(textOf(*resolve({{5}})), "T1 = BinaryOp(T0, 5)\nout T1");
}

TEST_F(ResolveSymbolic, ReductionOrderAndAliasesSurvive) {
  TensorView* x = input({-1, -1}, DataType::Float, {0, 1});
  fusion.addAliasOutput(mul(x, IrBuilder::constant(2.0)), x);
  fusion.addOutput(strideOrder(x, {0, 1}));
  const auto copy = resolve({{3, 1}});
  EXPECT_EQ(copy->aliasOf(0)->input, copy->inputs()[0]);
  EXPECT_EQ(out(copy, 1)->domain()->strideOrder(), (Dims{0, 1}));
}

TEST_F(ResolveSymbolic, ReshapedOutputKeepsItsOrder) {
  TensorView* x = input({-1, 6});
  TensorView* y = reshape(x, {size(x, 0), index(2), index(3)});
  auto allocation = y->getLogicalDomain();
  std::swap(allocation[1], allocation[2]);
  y->setAllocationDomain(allocation, true);
  fusion.addOutput(y);
  EXPECT_EQ(out(resolve({{4, 6}}))->domain()->strideOrder(), (Dims{2, 0, 1}));
}

} // namespace nvfuser
