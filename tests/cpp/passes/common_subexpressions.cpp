// common_subexpressions computes equal tensors once.
#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/sdpa.h>
#include <ops/shape.h>
#include <passes/common_subexpressions.h>

#include "pass_test.h"

namespace nvfuser {

class CommonSubexpressions : public PassTest {
 protected:
  Val* one() {
    return IrBuilder::constant(1.0);
  }
  static int countOf(const std::string& text, const std::string& word) {
    int count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      ++count;
    }
    return count;
  }
  void expectUnchanged() {
    const std::string before = text();
    EXPECT_EQ(after(mergeCommonSubexpressions), before);
  }
};

TEST_F(CommonSubexpressions, EqualChainsBecomeOne) {
  TensorView* x = input({4});
  TensorView* a = mul(add(x, one()), IrBuilder::constant(2.0));
  TensorView* b = mul(add(x, one()), IrBuilder::constant(2.0));
  fusion.addOutput(add(a, b));
  EXPECT_EQ(
      after(mergeCommonSubexpressions),
      "T1 = BinaryOp(T0, 1)\nT2 = BinaryOp(T1, 2)\nT5 = BinaryOp(T2, T2)\nout T5");
}

TEST_F(CommonSubexpressions, RandomNumbersAreDrawnTwice) {
  TensorView* x = input({4});
  fusion.addOutput(sub(randLike(x), randLike(x)));
  expectUnchanged();
}

TEST_F(CommonSubexpressions, SeededRandomNumbersAreValues) {
  Val* seed = inputScalar();
  Val* offset = inputScalar();
  const auto draw = [&] {
    return uniform(indices({4}), IrBuilder::constant(0.0), one(), DataType::Float, seed, offset);
  };
  fusion.addOutput(add(draw(), draw()));
  EXPECT_EQ(countOf(after(mergeCommonSubexpressions), "RngOp"), 1);
}

TEST_F(CommonSubexpressions, PermutationsAxesAndTypesAreCompared) {
  TensorView* x = input({4, 4});
  fusion.addOutput(add(permute(x, {1, 0}), set(x)));
  fusion.addOutput(add(sum(x, {0}), sum(x, {1})));
  fusion.addOutput(
      add(castOp(DataType::Float, castOp(DataType::Half, x)),
          castOp(DataType::Float, castOp(DataType::BFloat16, x))));
  expectUnchanged();
}

TEST_F(CommonSubexpressions, ShapeNodesAreMerged) {
  TensorView* x = input({4, 6});
  const auto half = [&] { return slice(x, indices({0, 0}), indices({2, 6})); };
  fusion.addOutput(add(half(), half()));
  EXPECT_EQ(countOf(after(mergeCommonSubexpressions), "SliceOp"), 1);
}

TEST_F(CommonSubexpressions, TwoOutputsStayTwoTensors) {
  TensorView* x = input({4});
  fusion.addOutput(add(x, one()));
  fusion.addOutput(add(x, one()));
  expectUnchanged();
}

TEST_F(CommonSubexpressions, OneOutputTakesOver) {
  TensorView* x = input({4});
  TensorView* inner = add(x, one());
  TensorView* y = mul(inner, inner);
  TensorView* out = add(x, one());
  fusion.addOutput(y);
  fusion.addOutput(out);
  EXPECT_EQ(
      after(mergeCommonSubexpressions), "T1 = BinaryOp(T0, 1)\nT2 = BinaryOp(T1, T1)\nout T2 T1");
  EXPECT_TRUE(inner->isFusionOutput());
}

TEST_F(CommonSubexpressions, OnlyOneOfThreeEqualOutputsMayTakeOver) {
  TensorView* x = input({4});
  TensorView* inner = add(x, one());
  fusion.addOutput(mul(inner, inner));
  fusion.addOutput(add(x, one()));
  fusion.addOutput(add(x, one()));
  after(mergeCommonSubexpressions);
  EXPECT_NE(fusion.outputs()[1], fusion.outputs()[2]);
}

TEST_F(CommonSubexpressions, OutputsWrittenIntoInputsKeepTheirEntry) {
  TensorView* x = input({4});
  TensorView* inner = add(x, one());
  fusion.addOutput(mul(inner, inner));
  fusion.addAliasOutput(add(x, one()), x);
  after(mergeCommonSubexpressions);
  EXPECT_EQ(fusion.aliasOf(1)->input, x);
  EXPECT_EQ(fusion.outputs()[1], inner);
}

TEST_F(CommonSubexpressions, AttentionWithoutDropoutIsAValue) {
  TensorView* q = input({2, 8, 16, 64}, DataType::Half);
  for (const double p : {0.0, 0.1}) {
    const auto attention = [&] {
      return sdpaFwd({.query = q,
                      .key = q,
                      .value = q,
                      .dropout_p = IrBuilder::constant(p),
                      .is_causal = IrBuilder::constant(false)})
          .attn_out;
    };
    TensorView* y = add(attention(), attention());
    fusion.addOutput(y);
    mergeCommonSubexpressions(fusion);
    const auto& ins = y->definition()->inputs();
    const bool merged = ins[0]->definition()->input(0) == ins[1]->definition()->input(0);
    EXPECT_EQ(merged, p == 0.0) << text();
  }
}

} // namespace nvfuser
