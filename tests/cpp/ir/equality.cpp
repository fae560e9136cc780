// Two fusions are equal when the same calls in the same order built them, and only then.
#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>

#include "../ir_test.h"

#include <functional>

namespace nvfuser {

class Equality : public ::testing::Test {
 protected:
  using Dims = std::vector<int64_t>;
  using Define = std::function<void(Fusion&)>;

  static TensorView* in(Fusion& f, const Dims& shape, const Dims& order = {}) {
    TensorView* tv = TensorViewBuilder().shape(shape).strideOrder(order).contiguity(true).build();
    f.addInput(tv);
    return tv;
  }
  static std::unique_ptr<Fusion> build(const Define& define) {
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    define(*fusion);
    return fusion;
  }
  static void expectDiffer(const Define& a, const Define& b) {
    const auto fa = build(a);
    const auto fb = build(b);
    EXPECT_FALSE(fa->equals(*fb)) << fa->canonicalText();
    EXPECT_TRUE(fa->equals(*build(a)));
    EXPECT_EQ(fb->hash(), build(b)->hash());
  }
};

TEST_F(Equality, SizesAndKindsCount) {
  const auto with = [](const Dims& shape) {
    return [shape](Fusion& f) { f.addOutput(add(in(f, shape), IrBuilder::constant(1.0))); };
  };
  expectDiffer(with({-1, 4}), with({3, 4}));
  expectDiffer(with({-1, 4}), with({1, 4}));
  expectDiffer(with({4}), with({4, 4}));
}

TEST_F(Equality, SharedSizesCount) {
  const auto shared = [](bool same) {
    return [same](Fusion& f) {
      TensorView* x = in(f, {-1, -1});
      f.addOutput(
          full({size(x, 0), size(x, same ? 0 : 1)}, IrBuilder::constant(1.0), DataType::Float));
    };
  };
  expectDiffer(shared(true), shared(false));
}

TEST_F(Equality, OperatorsConstantsAndDtypesCount) {
  const auto op = [](BinaryOpType type, double value) {
    return [=](Fusion& f) { f.addOutput(binaryOp(type, in(f, {4}), IrBuilder::constant(value))); };
  };
  expectDiffer(op(BinaryOpType::Add, 1.0), op(BinaryOpType::Sub, 1.0));
  expectDiffer(op(BinaryOpType::Add, 1.0), op(BinaryOpType::Add, 1.5));
  expectDiffer(op(BinaryOpType::Add, 0.0), op(BinaryOpType::Add, -0.0));
  const auto to = [](DataType dtype) {
    return [=](Fusion& f) { f.addOutput(castOp(dtype, in(f, {4}))); };
  };
  expectDiffer(to(DataType::Half), to(DataType::BFloat16));
}

TEST_F(Equality, PermutationsOfEqualSizesDiffer) {
  const auto with = [](const Dims& order) {
    return [order](Fusion& f) { f.addOutput(permute(in(f, {4, 4, 4}), order)); };
  };
  expectDiffer(with({1, 0, 2}), with({2, 1, 0}));
  expectDiffer(with({1, 0, 2}), [](Fusion& f) { f.addOutput(set(in(f, {4, 4, 4}))); });
  expectDiffer(with({1, 2, 0}), with({2, 0, 1}));
}

TEST_F(Equality, ReducedAxesCount) {
  const auto with = [](const Dims& dims) {
    return [dims](Fusion& f) { f.addOutput(sum(in(f, {4, 4}), dims)); };
  };
  expectDiffer(with({0}), with({1}));
  expectDiffer(with({0}), with({0, 1}));
}

TEST_F(Equality, MemoryOrderAndContiguityCount) {
  const auto with = [](const Dims& order) {
    return [order](Fusion& f) { f.addOutput(set(in(f, {4, 4}, order))); };
  };
  expectDiffer(with({1, 0}), with({0, 1}));
  EXPECT_TRUE(build(with({1, 0}))->equals(*build(with({}))));
}

TEST_F(Equality, OrderOfInputsOutputsAndAliasesCounts) {
  const auto outputs = [](bool swap) {
    return [swap](Fusion& f) {
      TensorView* x = in(f, {4});
      Val* a = add(x, IrBuilder::constant(1.0));
      Val* b = mul(x, IrBuilder::constant(2.0));
      f.addOutput(swap ? b : a);
      f.addOutput(swap ? a : b);
    };
  };
  expectDiffer(outputs(false), outputs(true));
  const auto alias = [](bool hidden) {
    return [hidden](Fusion& f) {
      TensorView* x = in(f, {4});
      TensorView* y = add(x, IrBuilder::constant(1.0));
      hidden ? f.addAliasOutput(y, x) : f.addOutput(y);
    };
  };
  expectDiffer(alias(true), alias(false));
}

TEST_F(Equality, DeadCodeAndNamesDoNotCount) {
  const auto plain =
      build([](Fusion& f) { f.addOutput(add(in(f, {4}), IrBuilder::constant(1.0))); });
  const auto with_dead = build([](Fusion& f) {
    TensorView* x = in(f, {4});
    mul(x, x);
    f.addOutput(add(x, IrBuilder::constant(1.0)));
  });
  EXPECT_TRUE(plain->equals(*with_dead));
  EXPECT_EQ(plain->hash(), with_dead->hash());
}

TEST_F(Equality, ReusedAndRepeatedValuesDiffer) {
  expectDiffer(
      [](Fusion& f) {
        TensorView* y = add(in(f, {4}), IrBuilder::constant(1.0));
        f.addOutput(mul(y, y));
      },
      [](Fusion& f) {
        TensorView* x = in(f, {4});
        f.addOutput(mul(add(x, IrBuilder::constant(1.0)), add(x, IrBuilder::constant(1.0))));
      });
}

TEST_F(Equality, LongChainsAreCompared) {
  const auto chain = [](int n) {
    return [n](Fusion& f) {
      TensorView* x = in(f, {4});
      for (int i = 0; i < n; ++i) {
        x = add(x, x);
      }
      f.addOutput(x);
    };
  };
  expectDiffer(chain(3000), chain(3001));
}

} // namespace nvfuser
