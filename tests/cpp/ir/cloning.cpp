// A cloned fusion is equal, has the same text and names, and shares no node with the original.
#include <ir/cloner.h>
#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/sdpa.h>
#include <ops/shape.h>

#include "../ir_test.h"

#include <unordered_set>

namespace nvfuser {

class Cloning : public IrTest {
 protected:
  // A bit of everything: shapes, attention, random numbers, aliases, a schedule.
  void defineMuch() {
    TensorView* q = input({2, 8, -1, 64}, DataType::Half, {3, 1, 2, 0});
    TensorView* k = input({2, 8, -1, 64}, DataType::Half);
    Val* s = inputScalar(DataType::Double);
    auto attention = sdpaFwd(
        {.query = q,
         .key = k,
         .value = k,
         .dropout_p = IrBuilder::constant(0.0),
         .is_causal = IrBuilder::constant(true)});
    TensorView* y = mul(attention.attn_out, s);
    TensorView* z = reshape(permute(y, {0, 2, 1, 3}), {size(y, 0), size(y, 2), index(512)});
    TensorView* r = sum(z, {2}, true);
    fusion.addOutput(z);
    fusion.addOutput(r);
    fusion.addAliasOutput(set(q)->as<TensorView>(), q);
    fusion.addOutput(randLike(r));
    TensorView* cached = y->cacheAfter();
    cached->split(3, 16);
    cached->inlineAt(2);
  }
};

TEST_F(Cloning, SameTextAndEqual) {
  defineMuch();
  std::unordered_map<const Val*, Val*> map;
  const auto copy = fusion.clone(&map);
  EXPECT_EQ(copy->printMath(false), fusion.printMath(false));
  EXPECT_TRUE(copy->equals(fusion));
  EXPECT_EQ(copy->hash(), fusion.hash());
  EXPECT_EQ(copy->vals().size(), fusion.vals().size());
  EXPECT_EQ(copy->toPython(), fusion.toPython());
  for (size_t i = 0; i < fusion.inputs().size(); ++i) {
    EXPECT_EQ(map.at(fusion.inputs()[i]), copy->inputs()[i]);
  }
}

TEST_F(Cloning, NothingIsShared) {
  defineMuch();
  const auto copy = fusion.clone();
  std::unordered_set<const void*> originals(fusion.vals().begin(), fusion.vals().end());
  for (const Val* val : copy->vals()) {
    EXPECT_EQ(val->fusion(), copy.get());
    EXPECT_FALSE(originals.contains(val));
    if (const auto* id = dynamic_cast<const IterDomain*>(val)) {
      EXPECT_EQ(id->extent()->fusion(), copy.get());
    }
  }
  for (const Expr* expr : copy->allExprs()) {
    EXPECT_EQ(expr->fusion(), copy.get());
    for (const Val* in : expr->inputs()) {
      EXPECT_EQ(in->fusion(), copy.get());
    }
    for (const Val* out : expr->outputs()) {
      EXPECT_EQ(out->definition(), expr);
    }
  }
}

TEST_F(Cloning, ScheduleAndUsesAreCopied) {
  defineMuch();
  std::unordered_map<const Val*, Val*> map;
  const auto copy = fusion.clone(&map);
  for (const Val* val : fusion.vals()) {
    const Val* other = map.at(val);
    EXPECT_EQ(val->name(), other->name());
    ASSERT_EQ(val->uses().size(), other->uses().size());
    for (size_t i = 0; i < val->uses().size(); ++i) {
      EXPECT_EQ(val->uses()[i]->opName(), other->uses()[i]->opName());
    }
    if (const auto* tv = dynamic_cast<const TensorView*>(val)) {
      const auto* tv_copy = other->as<TensorView>();
      EXPECT_EQ(tv->toString(), tv_copy->toString());
      EXPECT_EQ(tv->domain()->contiguity(), tv_copy->domain()->contiguity());
      EXPECT_EQ(tv->domain()->strideOrder(), tv_copy->domain()->strideOrder());
    }
  }
}

TEST_F(Cloning, CopyOutlivesAndIgnoresChangesOfTheOriginal) {
  auto original = std::make_unique<Fusion>();
  std::unique_ptr<Fusion> copy;
  {
    FusionGuard inner(original.get());
    TensorView* x = TensorViewBuilder().shape(Dims{4}).build();
    original->addInput(x);
    original->addOutput(add(x, IrBuilder::constant(1.0)));
    copy = original->clone();
    original->addOutput(mul(x, x));
  }
  EXPECT_EQ(copy->outputs().size(), 1u);
  original.reset();
  EXPECT_NE(copy->printMath().find("+"), std::string::npos);
  // New nodes of the copy get fresh names.
  FusionGuard inner(copy.get());
  TensorView* more = mul(copy->inputs()[0]->as<TensorView>(), IrBuilder::constant(2.0));
  EXPECT_EQ(more->name(), 2);
}

TEST_F(Cloning, SeededValuesStandForTheOriginal) {
  TensorView* x = input({-1, 4});
  fusion.addOutput(add(x, IrBuilder::constant(1.0)));
  Fusion copy;
  {
    FusionGuard inner(&copy);
    IrCloner cloner(&copy);
    cloner.seed(x->getLogicalDomain()[0]->extent(), IrBuilder::constInt(7));
    fusion.cloneInto(copy, cloner);
  }
  EXPECT_EQ(shapeOf(copy.outputs()[0]->as<TensorView>()), (Dims{7, 4}));
}

TEST_F(Cloning, OtherFusionsValuesAreRefused) {
  TensorView* x = input({4});
  Fusion other;
  FusionGuard inner(&other);
  expectUserErrorWith([&] { add(x, IrBuilder::constant(1.0)); }, "another Fusion");
  expectUserErrorWith([&] { other.addOutput(x); }, "another Fusion");
  expectUserErrorWith([&] { other.addInput(x); }, "another Fusion");
}

} // namespace nvfuser
