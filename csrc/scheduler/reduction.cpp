// Reductions and what is computed from their results (normalization).
//
// Inner: the innermost dimension is reduced. Rows are the tasks; each pass over a row is a loop of
// its own, cut into chunks so that sums are added up in lanes, chunk by chunk. Few long rows are
// cut into parts that are tasks too, whose results a second stage reduces. Outer: the innermost
// dimension is kept. Blocks of rows and columns are the tasks, and a second stage adds up the
// blocks of rows.
#include <scheduler/schedule.h>

#include <ir/builder.h>
#include <ir/nodes.h>
#include <ir/random_nodes.h>

#include <algorithm>
#include <set>

namespace nvfuser {

namespace {

constexpr int64_t kChunk = 1024;       // elements summed up before a partial sum is added
constexpr int64_t kPart = 16 * kChunk; // of a long row, when there are too few rows
constexpr int64_t kFewRows = 8;
constexpr int64_t kRowsPerBlock = 64;
constexpr int64_t kColumnsPerBlock = 512;
constexpr int64_t kRowBufferBytes = 256 << 10;

// No reduction keeps a dimension that another one reduces, or this is no segment for us.
bool reduceTheSame(const SegmentShape& shape) {
  for (const TensorView* tv : shape.reductions()) {
    for (IterDomain* id : tv->getLogicalDomain()) {
      if (!id->isReduction() && !id->isBroadcast() && shape.isReduced(id)) {
        return false;
      }
    }
  }
  return true;
}

IterDomain* mergeAll(const std::vector<IterDomain*>& dims) {
  IterDomain* result = nullptr;
  for (IterDomain* id : dims) {
    result = result == nullptr ? id : IterDomain::merge(result, id);
  }
  return result;
}

class ReductionScheduler {
 public:
  ReductionScheduler(Fusion& segment, const SegmentShape& shape, const ScheduleContext& context)
      : segment_(segment), shape_(shape), context_(context) {}

  ScheduleResult run() {
    const TensorView* reference = nullptr;
    for (const TensorView* tv : shape_.reductions()) {
      if (reference == nullptr ||
          tv->getLogicalDomain().size() > reference->getLogicalDomain().size()) {
        reference = tv;
      }
    }
    rows_ = 1;
    length_ = 1;
    for (IterDomain* id : reference->getLogicalDomain()) {
      (id->isReduction() ? length_ : rows_) *= context_.hint(id->getMaybeExpandedExtent());
    }
    const bool inner = isInner(reference);
    if (inner) {
      cuts_rows_ = rows_ < kFewRows && length_ >= 2 * kPart;
      if (!cuts_rows_) {
        keepExpensiveRows();
      }
    }
    // Reductions first: rfactor makes new tensors.
    std::vector<TensorView*> tensors;
    for (TensorView* tv : segment_.tensorViews()) {
      if (tv->definition() != nullptr && !tv->isInlined()) {
        tensors.push_back(tv);
      }
    }
    for (TensorView* tv : tensors) {
      inner ? scheduleInner(tv) : scheduleOuter(tv);
    }
    return {
        inner ? "inner reduction" : "outer reduction",
        detail::concat(
            "rows ",
            rows_,
            ", length ",
            length_,
            cuts_rows_ ? ", rows cut into parts" : "",
            kept_.empty() ? "" : detail::concat(", ", kept_.size(), " row buffers"))};
  }

 private:
  // The innermost dimension in memory of the largest operand.
  bool isInner(const TensorView* reference) const {
    const Fusion& segment = segment_;
    IterDomain* innermost = nullptr;
    size_t most = 0;
    for (const Val* in : segment.inputs()) {
      if (!in->isTensor()) {
        continue;
      }
      const auto* tv = in->as<TensorView>();
      std::vector<IterDomain*> dims;
      for (IterDomain* id : noReductions(tv->getMaybeAllocationDomain())) {
        if (!id->isBroadcast() && !id->extent()->isOneInt()) {
          dims.push_back(id);
        }
      }
      if (dims.size() > most) {
        most = dims.size();
        innermost = dims.back();
      }
    }
    if (innermost == nullptr) {
      innermost = reference->getLogicalDomain().back();
    }
    return shape_.isReduced(innermost);
  }

  struct Dims {
    std::vector<IterDomain*> kept;
    std::vector<IterDomain*> reduced;
    std::vector<IterDomain*> trivial;
  };

  Dims dimsOf(const TensorView* tv) const {
    size_t reduced = 0;
    const auto dims = shape_.orderedDims(tv, reduced);
    Dims result;
    const auto first_reduced = dims.end() - static_cast<int64_t>(reduced);
    for (auto it = dims.begin(); it != first_reduced; ++it) {
      (shape_.comesFromReduced(*it) ? result.reduced : result.kept).push_back(*it);
    }
    result.reduced.insert(result.reduced.end(), first_reduced, dims.end());
    for (IterDomain* id : tv->getLogicalDomain()) {
      if (std::find(dims.begin(), dims.end(), id) == dims.end()) {
        result.trivial.push_back(id);
      }
    }
    return result;
  }

  // Neighbours that may be one loop become one.
  std::vector<IterDomain*> collapsed(const std::vector<IterDomain*>& dims) const {
    std::vector<IterDomain*> result;
    IterDomain* previous = nullptr;
    for (IterDomain* id : dims) {
      if (previous != nullptr && shape_.mayMerge(previous, id)) {
        result.back() = IterDomain::merge(result.back(), id);
      } else {
        result.push_back(id);
      }
      previous = id;
    }
    return result;
  }

  static bool sumsFloats(const TensorView* tv) {
    const auto* reduction = dynamic_cast<const ReductionOp*>(tv->definition());
    return reduction != nullptr && reduction->type() == ReductionType::Sum &&
        (isFloatingPointType(tv->dtype()) || isComplexType(tv->dtype()));
  }

  static bool isReduction(const TensorView* tv) {
    return tv->definition()->traits().reduction;
  }

  static int64_t positionOf(const TensorView* tv, const IterDomain* id) {
    const auto& loop = tv->getLoopDomain();
    return std::find(loop.begin(), loop.end(), id) - loop.begin();
  }

  static void setLoops(
      TensorView* tv,
      std::vector<IterDomain*> loop,
      const std::vector<IterDomain*>& trivial) {
    loop.insert(loop.end(), trivial.begin(), trivial.end());
    tv->setLoopDomain(std::move(loop));
  }

  // A reshape made its dimensions of reduced and kept ones together: its loops are not those of the
  // rows. The innermost dimension is the loop of a task.
  bool isApart(const Dims& dims) const {
    return dims.reduced.empty() &&
        !std::all_of(dims.kept.begin(), dims.kept.end(), [&](IterDomain* id) {
             return shape_.isInReference(id);
           });
  }

  // [rows | outer reduced dims | chunk, element of the chunk]
  void scheduleInner(TensorView* tv) {
    Dims dims = dimsOf(tv);
    if (isApart(dims)) {
      dims.reduced = {dims.kept.back()};
      dims.kept.pop_back();
    }
    IterDomain* rows = mergeAll(dims.kept);
    std::vector<IterDomain*> reduced = collapsed(dims.reduced);
    std::vector<IterDomain*> loop;
    IterDomain* part = nullptr;
    IterDomain* chunk = nullptr;
    IterDomain* element = nullptr;
    if (!reduced.empty()) {
      IterDomain* innermost = reduced.back();
      reduced.pop_back();
      if (cuts_rows_) {
        std::tie(part, innermost) = IterDomain::split(innermost, IrBuilder::constInt(kPart), true);
      }
      Val* extent = innermost->extent();
      if (extent->isConstInt() && extent->constInt() <= kChunk) {
        element = innermost;
      } else {
        std::tie(chunk, element) = IterDomain::split(innermost, IrBuilder::constInt(kChunk), true);
      }
    }
    if (!isReduction(tv) && part != nullptr) {
      rows = rows == nullptr ? part : IterDomain::merge(rows, part);
    }
    if (rows != nullptr) {
      rows->parallelize(ParallelType::BIDx);
      loop.push_back(rows);
    }
    if (isReduction(tv) && part != nullptr) {
      loop.push_back(part);
    }
    loop.insert(loop.end(), reduced.begin(), reduced.end());
    if (chunk != nullptr) {
      loop.push_back(chunk);
    }
    if (element != nullptr) {
      loop.push_back(element);
    }
    setLoops(tv, std::move(loop), dims.trivial);
    if (!isReduction(tv)) {
      return;
    }
    // What a chunk sums up is a partial result, and what the chunks of a part sum up another one:
    // a part of a row is a task, and a second stage reduces the parts.
    if (chunk != nullptr && sumsFloats(tv)) {
      const auto place = positionOf(tv, element);
      element = nullptr;
      mergeTasks(addPartial(tv, {place}), part != nullptr);
    }
    if (part != nullptr) {
      std::vector<int64_t> inside;
      for (int64_t i = 0; i < tv->nLoopDims(); ++i) {
        if (tv->axis(i)->isReduction()) {
          inside.push_back(i);
        }
      }
      inside.erase(inside.begin()); // the part itself stands first
      mergeTasks(addPartial(tv, inside), true);
    }
  }

  static TensorView* addPartial(TensorView* tv, const std::vector<int64_t>& axes) {
    TensorView* partial = tv->rfactor(axes);
    partial->setInlined(false);
    return partial;
  }

  // [rows, part | ...] becomes [rows * part | ...].
  static void mergeTasks(TensorView* partial, bool has_parts) {
    std::vector<IterDomain*> loop = partial->getLoopDomain();
    const bool has_rows = loop[0]->parallelType() == ParallelType::BIDx;
    if (!has_parts) {
      return;
    }
    IterDomain* tasks = has_rows ? IterDomain::merge(loop[0], loop[1]) : loop[0];
    tasks->parallelize(ParallelType::BIDx);
    loop.erase(loop.begin(), loop.begin() + (has_rows ? 2 : 1));
    loop.insert(loop.begin(), tasks);
    partial->setLoopDomain(std::move(loop));
  }

  // [row block * column block | row | column]
  void scheduleOuter(TensorView* tv) {
    const Dims dims = dimsOf(tv);
    // Kept dimensions inside of the last reduced one are the columns.
    std::vector<IterDomain*> outer_kept;
    std::vector<IterDomain*> columns = collapsed(dims.kept);
    while (columns.size() > 1) {
      outer_kept.push_back(columns.front());
      columns.erase(columns.begin());
    }
    IterDomain* tasks = mergeAll(outer_kept);
    IterDomain* column = columns.empty() ? nullptr : columns.front();
    IterDomain* row = mergeAll(dims.reduced);
    std::vector<IterDomain*> loop;
    if (column != nullptr) {
      const auto [block, rest] =
          IterDomain::split(column, IrBuilder::constInt(kColumnsPerBlock), true);
      tasks = tasks == nullptr ? block : IterDomain::merge(tasks, block);
      column = rest;
    }
    const bool cuts = row != nullptr && length_ >= 2 * kRowsPerBlock;
    IterDomain* row_block = nullptr;
    if (cuts) {
      const int64_t rows = std::max<int64_t>(kRowsPerBlock, length_ / 512);
      std::tie(row_block, row) = IterDomain::split(row, IrBuilder::constInt(rows), true);
    }
    if (!isReduction(tv) && row_block != nullptr) {
      tasks = tasks == nullptr ? row_block : IterDomain::merge(row_block, tasks);
    }
    if (tasks != nullptr) {
      tasks->parallelize(ParallelType::BIDx);
      loop.push_back(tasks);
    }
    if (isReduction(tv) && row_block != nullptr) {
      loop.push_back(row_block);
    }
    if (row != nullptr) {
      loop.push_back(row);
    }
    if (column != nullptr) {
      loop.push_back(column);
    }
    setLoops(tv, std::move(loop), dims.trivial);
    if (isReduction(tv) && row_block != nullptr) {
      TensorView* partial = addPartial(tv, {positionOf(tv, row)});
      // [tasks, row block | row | column] becomes [row block * tasks | row | column].
      std::vector<IterDomain*> loops = partial->getLoopDomain();
      IterDomain* all = IterDomain::merge(loops[1], loops[0]);
      all->parallelize(ParallelType::BIDx);
      loops.erase(loops.begin(), loops.begin() + 2);
      loops.insert(loops.begin(), all);
      partial->setLoopDomain(std::move(loops));
    }
  }

  // Values over a whole row that are dear to compute and needed in more than one pass over it.
  void keepExpensiveRows() {
    if (length_ * 4 > kRowBufferBytes) {
      return;
    }
    std::unordered_map<const Val*, int> phase;
    std::unordered_map<const Val*, bool> expensive;
    const auto exprs = segment_.exprs();
    for (const Expr* expr : exprs) {
      int most = 0;
      bool dear = isExpensive(expr);
      for (const Val* in : expr->inputs()) {
        most = std::max(most, phase[in]);
        dear = dear || expensive[in];
      }
      for (const Val* out : expr->outputs()) {
        phase[out] = most + (expr->traits().reduction ? 1 : 0);
        expensive[out] = dear && !expr->traits().reduction;
      }
    }
    // The passes in which a value is needed.
    std::unordered_map<const Val*, std::set<int>> needed;
    for (auto it = exprs.rbegin(); it != exprs.rend(); ++it) {
      Expr* expr = *it;
      std::set<int> passes;
      for (const Val* out : expr->outputs()) {
        passes.insert(needed[out].begin(), needed[out].end());
        if (out->isFusionOutput()) {
          passes.insert(phase[out]);
        }
        if (expr->traits().reduction) {
          passes = {phase[out] - 1};
        }
      }
      auto* tv = dynamic_cast<TensorView*>(expr->output(0));
      const bool is_candidate = tv != nullptr && passes.size() > 1 && expensive[tv] &&
          isExpensive(expr) && !tv->isFusionOutput() && coversRow(tv);
      if (is_candidate) {
        tv->setInlined(false);
        kept_.push_back(tv);
        passes = {*passes.begin()};
      }
      for (const Val* in : expr->inputs()) {
        needed[in].insert(passes.begin(), passes.end());
      }
    }
  }

  bool coversRow(const TensorView* tv) const {
    size_t reduced = 0;
    shape_.orderedDims(tv, reduced);
    return reduced > 0 && !tv->hasRoot();
  }

  static bool isExpensive(const Expr* expr) {
    if (const auto* unary = dynamic_cast<const UnaryOp*>(expr)) {
      // Rounding to a half type is half a dozen operations.
      return unary->type() == UnaryOpType::Cast ? isLowFloatType(expr->output(0)->dtype())
                                                : pointwiseRow(unary->type()).cost == OpCost::Dear;
    }
    if (const auto* binary = dynamic_cast<const BinaryOp*>(expr)) {
      return pointwiseRow(binary->type()).cost == OpCost::Dear;
    }
    return dynamic_cast<const RngOp*>(expr) != nullptr;
  }

  Fusion& segment_;
  const SegmentShape& shape_;
  const ScheduleContext& context_;
  int64_t rows_ = 1;
  int64_t length_ = 1;
  bool cuts_rows_ = false;
  std::vector<TensorView*> kept_;
};

} // namespace

std::string whyNotReduction(const SegmentShape& shape) {
  if (shape.reductions().empty()) {
    return "the segment has no reductions";
  }
  return reduceTheSame(shape) ? "" : "its reductions are over different dimensions";
}

ScheduleResult scheduleReduction(
    Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context) {
  return ReductionScheduler(segment, shape, context).run();
}

} // namespace nvfuser
