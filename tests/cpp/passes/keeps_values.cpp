// Random programs give the same numbers before and after the pipeline, and after their sizes are
// resolved.
#include <ops/indexing.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>
#include <passes/check_fusion.h>
#include <passes/pipeline.h>
#include <passes/resolve_symbolic.h>

#include "../ops/op_test.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace nvfuser {

class KeepsValues : public OpTest {
 protected:
  using Dims = std::vector<int64_t>;

  int64_t below(int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  }
  TensorView* any() {
    return made[below(static_cast<int64_t>(made.size()))];
  }

  // The sizes of a value at run time; the IR may hold symbols.
  Dims sizesOf(TensorView* tv) {
    return run(tv, values).sizes().vec();
  }

  TensorView* permuted(TensorView* x) {
    Dims order(static_cast<size_t>(x->nDims()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return permute(x, order);
  }

  TensorView* reshaped(TensorView* x) {
    const Dims sizes = sizesOf(x);
    if (sizes.size() < 2) {
      return x;
    }
    // Merges two neighbours, or splits the last dim off in another way.
    const auto at = below(static_cast<int64_t>(sizes.size()) - 1);
    std::vector<Val*> shape;
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      if (d == at) {
        shape.push_back(IrBuilder::mulExpr(size(x, d), size(x, d + 1)));
        ++d;
      } else {
        shape.push_back(size(x, d));
      }
    }
    TensorView* merged = reshape(x, shape);
    const int64_t length = sizes[at] * sizes[at + 1];
    if (below(2) == 0 || length % 2 != 0 || length == 0) {
      return merged;
    }
    shape[at] = constant(int64_t{2});
    shape.insert(shape.begin() + at, IrBuilder::divExpr(size(merged, at), constant(int64_t{2})));
    return reshape(merged, shape);
  }

  TensorView* sliced(TensorView* x) {
    const Dims sizes = sizesOf(x);
    std::vector<Val*> starts;
    std::vector<Val*> stops;
    for (int64_t n : sizes) {
      const int64_t start = below(n + 1);
      starts.push_back(IrBuilder::constInt(start));
      stops.push_back(IrBuilder::constInt(start + below(n - start + 1)));
    }
    return slice(x, starts, stops);
  }

  TensorView* next() {
    TensorView* x = any();
    const int64_t rank = x->nDims();
    switch (below(9)) {
      case 0:
        return add(x, constant(1.5));
      case 1:
        return mul(x, unaryOp(UnaryOpType::Sin, x));
      case 2:
        return rank > 1 ? permuted(x) : x;
      case 3:
        return reshaped(x);
      case 4:
        return rank > 0 ? sliced(x) : x;
      case 5:
        return rank > 0 ? sum(x, {below(rank)}, below(2) == 0) : x;
      case 6:
        return rank > 0 ? pad(x, {IrBuilder::constInt(below(3)), IrBuilder::constInt(below(3))})
                        : x;
      case 7:
        return rank > 0 ? cat({x, x}, below(rank)) : x;
      default: {
        std::vector<bool> flags(static_cast<size_t>(rank) + 1, false);
        flags[below(rank + 1)] = true;
        return rank < 5 ? broadcast(x, flags) : x;
      }
    }
  }

  void define(unsigned seed) {
    random.seed(seed);
    const Dims sizes = {1 + below(4), 2 + below(4), below(8) == 0 ? 0 : 2 + 2 * below(3)};
    Dims shape = sizes;
    for (int64_t& n : shape) {
      n = n != 1 && below(2) == 0 ? -1 : n;
    }
    made = {input(shape)};
    values = {at::arange(sizes[0] * sizes[1] * sizes[2], at::kFloat).reshape(sizes) / 7};
    for (int i = 0; i < 8; ++i) {
      made.push_back(next());
    }
    for (int i = 0; i < 3; ++i) {
      fusion.addOutput(made[made.size() - 1 - i]);
    }
  }

  std::vector<at::Tensor> evaluate(const Fusion& f) {
    ExpressionEvaluator evaluator;
    evaluator.bind(f.inputs()[0], values[0]);
    std::vector<at::Tensor> results;
    for (const Val* out : f.outputs()) {
      results.push_back(evaluator.evaluate(out).tensor());
    }
    return results;
  }

  static void expectSound(const Fusion& f) {
    for (const std::string& rule : brokenRules(f)) {
      ADD_FAILURE() << rule;
    }
  }

  std::mt19937 random;
  std::vector<TensorView*> made;
  std::vector<EvalValue> values;
};

class KeepsValuesOf : public KeepsValues, public ::testing::WithParamInterface<unsigned> {};

TEST_P(KeepsValuesOf, PipelineAndResolution) {
  define(GetParam());
  SCOPED_TRACE(fusion.printMath());
  expectSound(fusion);
  const auto expected = evaluate(fusion);

  const auto passed = fusion.clone();
  runPipeline(*passed);
  expectSound(*passed);
  const auto after_passes = evaluate(*passed);

  std::unordered_map<const Val*, ScalarValue> known;
  const auto shape = made.front()->shape();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (!shape[dim]->isConst()) {
      known[shape[dim]] = values[0].tensor().size(static_cast<int64_t>(dim));
    }
  }
  const auto resolved = resolveSymbolic(fusion, known);
  expectSound(*resolved);
  const auto after_resolution = evaluate(*resolved);
  for (size_t i = 0; i < expected.size(); ++i) {
    expectEqual(after_passes[i], expected[i]);
    expectEqual(after_resolution[i], expected[i]);
    EXPECT_EQ(shapeOf(resolved->outputs()[i]->as<TensorView>()), expected[i].sizes().vec());
  }
}

INSTANTIATE_TEST_SUITE_P(RandomPrograms, KeepsValuesOf, ::testing::Range(0u, 400u));

} // namespace nvfuser
