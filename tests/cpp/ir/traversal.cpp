// Order of expressions, dependencies, transforms, and rewriting of uses.
#include <ir/nodes.h>
#include <ir/traversal.h>
#include <ops/pointwise.h>
#include <ops/shape.h>

#include "../ir_test.h"

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

class Traversal : public IrTest {};

TEST_F(Traversal, ProducersStandBeforeConsumersLeftOperandFirst) {
  TensorView* x = input({4});
  TensorView* b = mul(x, IrBuilder::constant(2.0));
  TensorView* a = add(x, IrBuilder::constant(1.0));
  TensorView* c = add(a, b);
  fusion.addOutput(c);
  const auto exprs = fusion.exprs();
  ASSERT_EQ(exprs.size(), 3u);
  EXPECT_EQ(exprs[0], a->definition());
  EXPECT_EQ(exprs[1], b->definition());
  EXPECT_EQ(exprs[2], c->definition());
  EXPECT_EQ(fusion.allExprs()[0], b->definition());
}

TEST_F(Traversal, DeepGraphsDoNotOverflowTheStack) {
  TensorView* x = input({4});
  for (int i = 0; i < 20000; ++i) {
    x = add(x, x);
  }
  fusion.addOutput(x);
  EXPECT_EQ(fusion.exprs().size(), 20000u);
  EXPECT_EQ(dependenciesOf({x}).size(), 20001u);
}

TEST_F(Traversal, WalksStopAtTheGivenValues) {
  TensorView* x = input({4});
  TensorView* a = add(x, IrBuilder::constant(1.0));
  TensorView* b = mul(a, a);
  TensorView* c = add(b, x);
  EXPECT_EQ(exprsTo({c}, {b}).size(), 1u);
  const auto between = valsBetween({a}, {c});
  EXPECT_EQ(between, (std::unordered_set<Val*>{a, b, c}));
}

TEST_F(Traversal, TransformsAreOnlyThoseOfDomains) {
  // The widths of this slice are computed: their expressions are no transforms.
  TensorView* x = input({-1, 8});
  Val* n = inputScalar();
  TensorView* y = slice(x, {n, index(0)}, {IrBuilder::addExpr(n, n), index(4)}, {}, true);
  const auto transforms = transformsBetween(y->getRootDomain(), y->getLogicalDomain());
  ASSERT_EQ(transforms.size(), 2u);
  for (const Expr* expr : transforms) {
    EXPECT_TRUE(expr->isA<Resize>()) << expr->toString();
  }
}

TEST_F(Traversal, ReplayRepeatsTransformsOnOtherDomains) {
  TensorView* a = add(input({6, 4}), IrBuilder::constant(1.0));
  TensorView* b = add(input({6, 4}), IrBuilder::constant(1.0));
  a->merge(0, 1)->split(0, 8)->split(1, 2, false);
  std::unordered_map<IterDomain*, IterDomain*> map;
  for (size_t i = 0; i < 2; ++i) {
    map[a->getLogicalDomain()[i]] = b->getLogicalDomain()[i];
  }
  replayTransforms(transformsBetween(a->getLogicalDomain(), a->getLoopDomain()), map);
  std::vector<IterDomain*> loop;
  for (IterDomain* id : a->getLoopDomain()) {
    loop.push_back(map.at(id));
  }
  b->setLoopDomain(loop);
  EXPECT_EQ(loopExtents(a), (Dims{3, 2, 4}));
  EXPECT_EQ(loopExtents(b), loopExtents(a));
}

TEST_F(Traversal, ReplaceOperandRelinksEverything) {
  TensorView* x = input({4});
  TensorView* y = input({4});
  TensorView* z = mul(x, x);
  fusion.addOutput(z);
  Expr* old = z->definition();
  Expr* expr = fusion.replaceOperand(old, x, y);
  EXPECT_EQ(z->definition(), expr);
  EXPECT_NE(expr, old);
  EXPECT_TRUE(x->uses().empty());
  EXPECT_EQ(y->uses(), (std::vector<Expr*>{expr}));
  EXPECT_EQ(fusion.allExprs().size(), 1u);
}

TEST_F(Traversal, ReplaceAllUsesMovesOutputsToo) {
  TensorView* x = input({4});
  TensorView* a = add(x, IrBuilder::constant(1.0));
  TensorView* b = mul(a, IrBuilder::constant(2.0));
  fusion.addOutput(a);
  fusion.addOutput(b);
  TensorView* copy = set(a)->as<TensorView>();
  fusion.replaceAllUses(a, copy);
  EXPECT_EQ(fusion.outputs()[0], copy);
  EXPECT_FALSE(a->isFusionOutput());
  EXPECT_TRUE(copy->isFusionOutput());
  EXPECT_EQ(copy->memoryType(), MemoryType::Global);
  EXPECT_EQ(b->definition()->input(0), copy);
  EXPECT_EQ(copy->definition()->input(0), a); // the copy itself keeps reading the original
}

TEST_F(Traversal, TensorViewsOfAFusion) {
  TensorView* unused = input({4});
  TensorView* x = input({4});
  TensorView* y = add(x, x);
  mul(x, x);
  fusion.addOutput(y);
  EXPECT_EQ(fusion.tensorViews(), (std::vector<TensorView*>{unused, x, y}));
}

TEST_F(Traversal, InputsAndOutputsOfAFusionAreChecked) {
  TensorView* x = input({4});
  TensorView* y = add(x, x);
  expectUserErrorWith([&] { fusion.addInput(x); }, "input already");
  expectUserErrorWith([&] { fusion.addInput(y); }, "with a definition");
  expectUserErrorWith([&] { fusion.addInput(IrBuilder::constant(1.0)); }, "constant");
  expectUserErrorWith([&] { fusion.addAliasOutput(y, y); }, "alias_input");
  expectUserErrorWith([&] { fusion.addAliasOutput(castOp(DataType::Half, x), x); }, "dtype");
  expectUserErrorWith([&] { fusion.addAliasOutput(input({4, 4}), x); }, "rank");
  EXPECT_TRUE(fusion.outputs().empty());
}

} // namespace nvfuser
