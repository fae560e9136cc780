// Fixture of the tests of lower: index expressions as numbers, loops walked one round at a time.
#pragma once

#include <lower/domain_index.h>
#include <lower/index_expr.h>
#include <ops/pointwise.h>

#include "../ir_test.h"

#include <algorithm>
#include <functional>
#include <map>

namespace nvfuser {

class IndexTest : public IrTest {
 protected:
  /// The value of `index`, given those of the loops and parameters in it.
  static int64_t valueOf(Index index, const std::map<Index, int64_t>& known) {
    const auto it = known.find(index);
    if (it != known.end()) {
      return it->second;
    }
    if (index->op == IndexOp::Constant) {
      return index->number;
    }
    NVF_ERROR(index->a != nullptr, "a leaf without a value");
    const int64_t a = valueOf(index->a, known);
    const int64_t b = valueOf(index->b, known);
    switch (index->op) {
      case IndexOp::Add:
        return a + b;
      case IndexOp::Sub:
        return a - b;
      case IndexOp::Mul:
        return a * b;
      case IndexOp::Div:
        return a / b;
      case IndexOp::Mod:
        return a % b;
      case IndexOp::Min:
        return std::min(a, b);
      case IndexOp::Max:
        return std::max(a, b);
      case IndexOp::Lt:
        return a < b ? 1 : 0;
      case IndexOp::And:
        return a & b;
      default:
        NVF_ERROR(false, "no value");
        return 0;
    }
  }
  static bool holds(Index condition, const std::map<Index, int64_t>& known) {
    return condition == nullptr || valueOf(condition, known) != 0;
  }

  /// A loop over every dimension that is not trivial, outermost first; 0 for the others.
  IndexMap loopsOver(const std::vector<IterDomain*>& domain, std::vector<Index>& loops) {
    IndexMap known;
    for (const IterDomain* id : domain) {
      known[id] = indices.constant(0);
      if (!isTrivial(id)) {
        loops.push_back(indices.loop(extentOf(indices, id), static_cast<int>(loops.size()) + 1));
        known[id] = loops.back();
      }
    }
    return known;
  }

  /// Calls `f` for each round of the loops, whose extents are constants.
  void forEachRound(
      const std::vector<Index>& loops,
      const std::function<void(const std::map<Index, int64_t>&)>& f) const {
    std::map<Index, int64_t> values;
    const std::function<void(size_t)> open = [&](size_t depth) {
      if (depth == loops.size()) {
        f(values);
        return;
      }
      const int64_t extent = indices.boundOf(loops[depth])->number;
      for (int64_t i = 0; i < extent; ++i) {
        values[loops[depth]] = i;
        open(depth + 1);
      }
    };
    open(0);
  }

  static TensorView* neg(TensorView* x) {
    return unaryOp(UnaryOpType::Neg, x)->as<TensorView>();
  }
  static TensorView* abs(TensorView* x) {
    return unaryOp(UnaryOpType::Abs, x)->as<TensorView>();
  }
  static std::vector<Val*> vals(const Dims& values) {
    return IrTest::indices(values);
  }

  IndexContext indices;
};

} // namespace nvfuser
