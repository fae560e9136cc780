// The checker accepts what builders make and names each broken rule.
#include <ops/factory.h>
#include <ops/indexing.h>
#include <ops/matmul.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/sdpa.h>
#include <ops/shape.h>

#include "pass_test.h"

namespace nvfuser {

class CheckFusion : public PassTest {
 protected:
  void expectBroken(const std::string& part) {
    const auto rules = brokenRules(fusion);
    ASSERT_FALSE(rules.empty()) << "expected: " << part;
    std::string all;
    for (const std::string& rule : rules) {
      all += rule + "\n";
    }
    EXPECT_NE(all.find(part), std::string::npos) << all;
    EXPECT_THROW(checkFusion(fusion, "after pass \"x\""), InternalError);
  }
};

TEST_F(CheckFusion, EveryKindOfNodeIsSound) {
  TensorView* x = input({-1, 6});
  TensorView* i = input({3}, DataType::Int);
  TensorView* h = input({2, 8, 16, 64}, DataType::Half);
  fusion.addOutput(sum(add(x, x), {0}, true));
  fusion.addOutput(reshape(x, {index(3), IrBuilder::mulExpr(size(x, 0), index(2))}));
  fusion.addOutput(permute(x, {1, 0}));
  fusion.addOutput(slice(x, indices({0, 1}), indices({2, 3})));
  fusion.addOutput(pad(x, indices({1, 2})));
  fusion.addOutput(cat({x, x}, 0));
  fusion.addOutput(expand(broadcast(x, {true, false, false}), {index(4), index(-1), index(-1)}));
  fusion.addOutput(select(x, inputScalar(), 0));
  fusion.addOutput(indexSelect(x, i, 0));
  fusion.addOutput(embeddingFwd(i, input({10, 4})));
  fusion.addOutput(topk(x, inputScalar(), 1, true, false).values);
  fusion.addOutput(scan(ScanType::Sum, x, 0));
  fusion.addOutput(matmul(h, permute(h, {0, 1, 3, 2})));
  fusion.addOutput(varianceMean(x, {1}, 1, true).var);
  fusion.addOutput(full({inputScalar()}, IrBuilder::constant(1.0), DataType::Float));
  fusion.addOutput(randnLike(x));
  fusion.addOutput(sdpaFwd({.query = h,
                            .key = h,
                            .value = h,
                            .dropout_p = IrBuilder::constant(0.5),
                            .is_causal = IrBuilder::constant(true)})
                       .attn_out);
  for (const std::string& rule : brokenRules(fusion)) {
    ADD_FAILURE() << rule;
  }
}

TEST_F(CheckFusion, SchedulesAreNotExpected) {
  TensorView* y = add(input({8}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  EXPECT_FALSE(isScheduled(fusion));
  y->split(0, 2);
  expectBroken("is scheduled");
  EXPECT_TRUE(isScheduled(fusion));
  EXPECT_TRUE(brokenRules(fusion, true).empty());
}

TEST_F(CheckFusion, ParallelTypesAreNotExpected) {
  TensorView* y = add(input({8}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  y->axis(0)->parallelize(ParallelType::TIDx);
  expectBroken("is parallelized");
}

TEST_F(CheckFusion, SizesFromNowhere) {
  Val* n = IrBuilder::create<Val>(DataType::Index);
  fusion.addOutput(full({n}, IrBuilder::constant(1.0), DataType::Float));
  expectBroken("neither a constant, an input nor the size of an input");
}

TEST_F(CheckFusion, OutputsFromNowhere) {
  fusion.addOutput(TensorViewBuilder().shape(Dims{4}).build());
  expectBroken("has no definition");
}

TEST_F(CheckFusion, TransformedAllocation) {
  TensorView* y = add(input({8}), IrBuilder::constant(1.0));
  fusion.addOutput(y);
  const auto [outer, inner] = IterDomain::split(y->axis(0), index(2), true);
  y->setAllocationDomain({outer, inner}, true);
  expectBroken("is no permutation");
}

TEST_F(CheckFusion, LogicalDomainFromNowhere) {
  TensorView* x = input({8});
  auto* out = IrBuilder::create<TensorView>(
      IrBuilder::create<TensorDomain>(TensorDomain::Parts{
          .root = {domain(8)},
          .logical = {domain(8)},
          .allocation = {},
          .loop = {},
          .contiguity = {}}),
      DataType::Float);
  IrBuilder::create<LoadStoreOp>(out, x);
  fusion.addOutput(out);
  expectBroken("comes from nowhere");
}

TEST_F(CheckFusion, MessageNamesThePass) {
  fusion.addOutput(TensorViewBuilder().shape(Dims{4}).build());
  try {
    checkFusion(fusion, "after pass \"dead_code\"");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("after pass \"dead_code\":"), std::string::npos);
  }
}

} // namespace nvfuser
