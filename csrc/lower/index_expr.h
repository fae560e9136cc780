// Index expressions: integers over loop variables, parameters and loaded values.
//
// Folder csrc/lower: scheduled segment -> kernel IR, as a list of passes. It may include csrc/ir,
// ops, analysis, passes and scheduler.
#pragma once

#include <ir/statement.h>

#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace nvfuser {

enum class IndexOp {
  Constant,
  Loop,
  Thread,
  Param,
  Value,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Min,
  Max,
  Lt,
  And
};

/// One node, interned: two equal expressions are the same pointer. Values of Lt and And are 0 or 1.
struct IndexExpr {
  IndexOp op;
  /// The constant; the number of the loop, parameter or register; the ParallelType of a thread.
  int64_t number;
  const IndexExpr* a;
  const IndexExpr* b;
  /// The innermost loop that the value changes with: 0 none, n the loop that was the n-th opened on
  /// the way from outside.
  int depth;
  int size; ///< nodes of the tree, shared ones as often as they occur
};
using Index = const IndexExpr*;

/// What a kernel is told at launch: the value of a scalar, or the stride of a tensor's dimension.
struct KernelParam {
  const Val* scalar = nullptr;
  const Val* tensor = nullptr; ///< with `dim`: its stride there, in elements
  int64_t dim = -1;            ///< logical, without reductions
};

/// Makes index expressions, folding and simplifying. All values are non-negative unless said
/// otherwise; division and remainder are those of non-negative numbers.
class IndexContext {
 public:
  Index constant(int64_t value);
  /// A new loop variable that runs from 0 to below `extent`.
  Index loop(Index extent, int depth);
  /// The number of the block or thread along a parallel type (BIDx to TIDz), below `extent`: one
  /// node for each type and extent, known everywhere in a stage.
  Index thread(ParallelType type, Index extent);
  /// The value of a scalar of the fusion; constants and sums, products, quotients of others are
  /// taken apart.
  Index scalar(const Val* val);
  /// States that a scalar is no negative number, before it is first asked for.
  void setSize(const Val* val);
  /// States that a scalar has the value `index`, before it is first asked for.
  void setScalar(const Val* val, Index index);
  Index stride(const Val* tensor, int64_t dim);
  /// An integer held by a register that is set at `depth`; `bound` may be nullptr.
  Index value(int register_number, int depth, Index bound);

  Index add(Index a, Index b);
  Index sub(Index a, Index b);
  Index mul(Index a, Index b);
  Index div(Index a, Index b);
  Index mod(Index a, Index b);
  Index min(Index a, Index b);
  Index max(Index a, Index b);
  Index ceilDiv(Index a, Index b);
  /// Conditions; nullptr stands for true.
  Index lt(Index a, Index b);
  /// The same without regard to what is known of `a`.
  Index ltUnbounded(Index a, Index b);
  Index both(Index a, Index b);

  /// States that `index` < `bound` wherever it is used.
  void setBound(Index index, Index bound);
  /// The same until forgetAssumptions(), for an index without a known bound: threads that others
  /// guard otherwise have the same indices.
  void assumeBound(Index index, Index bound);
  void forgetAssumptions();
  /// States that `index` is a multiple of `factor`.
  void setMultiple(Index index, int64_t factor);
  bool isKnownMultiple(Index index, int64_t factor) const;
  /// What is known: `index` < result; nullptr when nothing is.
  Index boundOf(Index index) const;
  bool isBelow(Index index, Index bound) const;

  const std::vector<KernelParam>& params() const {
    return params_;
  }

 private:
  Index make(IndexOp op, int64_t number, Index a, Index b, int depth);
  Index param(const KernelParam& param);
  std::optional<Index> without(Index sum, Index term);
  bool isSize(const Val* val) const;

  std::deque<IndexExpr> nodes_;
  std::map<std::tuple<IndexOp, int64_t, Index, Index>, Index> interned_;
  std::unordered_map<Index, Index> bounds_;
  std::vector<Index> assumed_;
  std::vector<std::pair<Index, int64_t>> multiples_;
  std::unordered_map<const Val*, Index> scalars_;
  std::unordered_set<const Val*> sizes_;
  std::map<std::pair<const Val*, int64_t>, Index> strides_;
  std::map<std::pair<ParallelType, Index>, Index> threads_;
  std::vector<KernelParam> params_;
  int64_t loops_ = 0;
};

inline bool isConstant(Index index) {
  return index->op == IndexOp::Constant;
}
inline bool isConstant(Index index, int64_t value) {
  return isConstant(index) && index->number == value;
}

} // namespace nvfuser
