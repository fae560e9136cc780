// Reductions, and what is computed from their results, on a GPU.
//
// Inner: the innermost dimension is reduced. A block computes one row (several, when they are
// short); what several passes over a row need stays in registers as long as it fits. Few long rows
// are cut into parts, each for another block, whose results a second stage reduces. Outer: the
// innermost dimension is kept. Threads along x take columns, threads along y rows; parts of the
// rows are blocks of their own.
#include <scheduler/cuda_common.h>

#include <ir/builder.h>
#include <ir/nodes.h>
#include <ir/random_nodes.h>

#include <algorithm>
#include <set>

namespace nvfuser::cuda {

namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kThreads = 128; // along a row, where it is long enough
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kRegisterBytes = 192; // that one thread may keep of its row
constexpr int64_t kMostBatches = 32;

struct Dims {
  std::vector<IterDomain*> kept;
  std::vector<std::vector<IterDomain*>> reduced; ///< groups that are one loop each
};

Dims dimsOf(const SegmentShape& shape, const TensorView* tv) {
  size_t reduced = 0;
  const auto dims = shape.orderedDims(tv, reduced);
  const auto middle = dims.end() - static_cast<int64_t>(reduced);
  return {{dims.begin(), middle}, grouped(shape, {middle, dims.end()})};
}

const TensorView* referenceOf(const SegmentShape& shape) {
  const TensorView* reference = nullptr;
  for (const TensorView* tv : shape.reductions()) {
    const bool is_larger = reference == nullptr ||
        tv->getLogicalDomain().size() > reference->getLogicalDomain().size();
    reference = is_larger ? tv : reference;
  }
  return reference;
}

std::vector<IterDomain*> dimsInMemory(const TensorView* tv) {
  std::vector<IterDomain*> dims;
  for (IterDomain* id : tv->getMaybeAllocationDomain()) {
    if (!id->isReduction() && runs(id)) {
      dims.push_back(id);
    }
  }
  return dims;
}

// The innermost dimension in memory of the largest operand is reduced.
bool isInner(const Fusion& segment, const SegmentShape& shape, const TensorView* reference) {
  std::vector<IterDomain*> largest;
  for (const Val* in : segment.inputs()) {
    if (const auto* tv = dynamic_cast<const TensorView*>(in)) {
      const auto dims = dimsInMemory(tv);
      largest = dims.size() > largest.size() ? dims : largest;
    }
  }
  return shape.isReduced(largest.empty() ? reference->getLogicalDomain().back() : largest.back());
}

bool isReduction(const TensorView* tv) {
  return tv->definition() != nullptr && tv->definition()->traits().reduction;
}

// Worth a register rather than a second computation.
bool isDear(const Expr* expr) {
  if (const auto* unary = dynamic_cast<const UnaryOp*>(expr)) {
    return pointwiseRow(unary->type()).cost == OpCost::Dear;
  }
  const auto* binary = dynamic_cast<const BinaryOp*>(expr);
  return (binary != nullptr && pointwiseRow(binary->type()).cost == OpCost::Dear) ||
      dynamic_cast<const RngOp*>(expr) != nullptr;
}

bool coversRow(const SegmentShape& shape, const TensorView* tv) {
  size_t reduced = 0;
  const auto dims = shape.orderedDims(tv, reduced);
  return reduced > 0 && reduced < dims.size() && !tv->hasRoot();
}

// What is as long as the rows and needed in more than one pass over them.
struct RowValues {
  std::vector<TensorView*> inputs;
  std::vector<TensorView*> computed; ///< that are dear
  int64_t bytes_per_element = 0;
};

RowValues valuesOfSeveralPasses(const Fusion& segment, const SegmentShape& shape) {
  const auto exprs = segment.exprs();
  std::unordered_map<const Val*, int> pass;
  for (const Expr* expr : exprs) {
    int latest = 0;
    for (const Val* in : expr->inputs()) {
      latest = std::max(latest, pass[in]);
    }
    for (const Val* out : expr->outputs()) {
      pass[out] = latest + (expr->traits().reduction ? 1 : 0);
    }
  }
  RowValues result;
  const auto add = [&](std::vector<TensorView*>& list, TensorView* tv) {
    list.push_back(tv);
    result.bytes_per_element += dataTypeSizeBits(tv->dtype()) / 8;
  };
  std::unordered_map<const Val*, std::set<int>> needed;
  for (auto it = exprs.rbegin(); it != exprs.rend(); ++it) {
    const Expr* expr = *it;
    std::set<int> passes;
    for (const Val* out : expr->outputs()) {
      if (expr->traits().reduction) {
        passes.insert(pass[out] - 1);
        continue;
      }
      passes.insert(needed[out].begin(), needed[out].end());
      if (out->isFusionOutput()) {
        passes.insert(pass[out]);
      }
    }
    auto* tv = dynamic_cast<TensorView*>(expr->output(0));
    if (tv != nullptr && passes.size() > 1 && isDear(expr) && !tv->isFusionOutput() &&
        coversRow(shape, tv)) {
      add(result.computed, tv);
      passes = {*passes.begin()};
    }
    for (const Val* in : expr->inputs()) {
      needed[in].insert(passes.begin(), passes.end());
    }
  }
  for (Val* in : segment.inputs()) {
    auto* tv = dynamic_cast<TensorView*>(in);
    if (tv != nullptr && needed[in].size() > 1 && coversRow(shape, tv)) {
      add(result.inputs, tv);
    }
  }
  return result;
}

// Neighbours that divide the innermost loop of every tensor that has loops.
int64_t vectorOf(
    const Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context,
    int64_t widest,
    bool inner) {
  std::vector<const TensorView*> tensors(shape.reductions().begin(), shape.reductions().end());
  for (const Val* out : segment.outputs()) {
    tensors.push_back(out->as<TensorView>());
  }
  for (const TensorView* tv : tensors) {
    const Dims dims = dimsOf(shape, tv);
    const auto groups = inner ? dims.reduced : grouped(shape, dims.kept);
    if (!groups.empty()) {
      widest = vectorFor(lengthOf(context, groups.back()), widest);
    }
  }
  return widest;
}

int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// The threads of a block that takes this many: few different numbers, so that many sizes share a
// kernel. Parts of a warp that a reduction can halve, or whole warps.
int64_t roundedThreads(int64_t count) {
  int64_t threads = 1;
  while (threads < count) {
    threads *= 2;
  }
  const int64_t three_quarters = threads / 4 * 3;
  const bool is_enough = three_quarters >= std::max<int64_t>(count, kWarp);
  return is_enough && three_quarters % kWarp == 0 ? three_quarters : threads;
}

} // namespace

CudaParams chooseReduction(
    const Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context,
    const CudaLimits& limits) {
  const TensorView* reference = referenceOf(shape);
  const Dims dims = dimsOf(shape, reference);
  CudaParams params;
  const int64_t kept = lengthOf(context, dims.kept);
  int64_t length = 1;
  for (const auto& group : dims.reduced) {
    length *= lengthOf(context, group);
  }
  const int64_t widest = widestVector(segment, limits);
  const int64_t wanted_blocks = 4 * limits.multiprocessors;
  if (!dims.kept.empty() && !isInner(segment, shape, reference)) {
    params.scheduler = CudaScheduler::OuterReduction;
    params.vector = vectorOf(segment, shape, context, widest, false);
    params.threads = kWarp;
    const auto blocks = [&] { return ceilDiv(kept / params.vector, params.threads); };
    while (params.vector > 2 && blocks() < 4) {
      params.vector /= 2;
    }
    params.rows = std::clamp<int64_t>(length / 4, 1, 8);
    // Powers of two: few different kernels for many sizes.
    while ((params.rows & (params.rows - 1)) != 0) {
      --params.rows;
    }
    // A second stage has one thread along y for each.
    while (params.parts < kMostThreads / kWarp && blocks() * params.parts < wanted_blocks &&
           length >= params.parts * 2 * params.rows * 8) {
      params.parts *= 2;
    }
    return params;
  }
  params.scheduler = CudaScheduler::InnerReduction;
  // Dimensions of one element are no loops.
  const auto innermost = dims.reduced.empty() ? std::vector<IterDomain*>() : dims.reduced.back();
  params.vector = vectorOf(segment, shape, context, widest, true);
  const int64_t vectors = lengthOf(context, innermost) / params.vector;
  const RowValues values = valuesOfSeveralPasses(segment, shape);
  // Rows that a block's threads hold.
  const int64_t most_batches = std::min(
      kMostBatches,
      std::max<int64_t>(
          1, kRegisterBytes / (params.vector * std::max<int64_t>(values.bytes_per_element, 2))));
  if (dims.reduced.size() <= 1 && ceilDiv(vectors, most_batches) <= kMostThreads) {
    params.threads = 0;
    params.batches = 1;
    while (params.batches < most_batches && ceilDiv(vectors, params.batches) > kThreads) {
      params.batches *= 2;
    }
    params.batches = std::min(params.batches, most_batches);
    const int64_t along_row = ceilDiv(vectors, params.batches);
    params.keeps_rows = values.bytes_per_element > 0;
    params.block_x = roundedThreads(along_row);
    if (along_row <= kWarp) {
      params.rows = std::max<int64_t>(1, std::min(kThreads / params.block_x, kept));
      while ((params.rows & (params.rows - 1)) != 0) {
        --params.rows;
      }
    }
    const bool is_long =
        !params.keeps_rows && kept < limits.multiprocessors && vectors > 8 * kThreads;
    if (!is_long) {
      return params;
    }
    const int64_t vector = params.vector;
    params = CudaParams{};
    params.scheduler = CudaScheduler::InnerReduction;
    params.vector = vector;
  }
  params.threads = kWarp;
  while (params.threads < kThreads && params.threads < vectors) {
    params.threads *= 2;
  }
  while (params.threads < kMostThreads && kept < limits.multiprocessors &&
         vectors > 8 * params.threads) {
    params.threads *= 2;
  }
  const int64_t outermost = lengthOf(context, dims.reduced.front()) /
      (dims.reduced.size() == 1 ? params.vector * params.threads : 1);
  while (params.parts < 512 && kept * params.parts < wanted_blocks &&
         kept < limits.multiprocessors && outermost >= params.parts * 4) {
    params.parts *= 2;
  }
  return params;
}

namespace {

class ReductionScheduler {
 public:
  ReductionScheduler(
      Fusion& segment,
      const SegmentShape& shape,
      const CudaParams& params,
      CudaSchedule& schedule)
      : segment_(segment), shape_(shape), params_(params), schedule_(schedule) {}

  void run() {
    RowValues values;
    if (params_.keeps_rows) {
      values = valuesOfSeveralPasses(segment_, shape_);
    }
    for (TensorView* tv : values.computed) {
      tv->setInlined(false);
    }
    std::vector<TensorView*> tensors;
    for (TensorView* tv : segment_.tensorViews()) {
      if (tv->definition() != nullptr && !tv->isInlined()) {
        tensors.push_back(tv);
      }
    }
    for (TensorView* in : values.inputs) {
      keepRow(in);
    }
    const bool inner = params_.scheduler == CudaScheduler::InnerReduction;
    for (TensorView* tv : tensors) {
      const Dims dims = dimsOf(shape_, tv);
      inner ? scheduleInner(tv, dims) : scheduleOuter(tv, dims);
    }
  }

 private:
  static IterDomain* as(IterDomain* id, ParallelType type) {
    if (id != nullptr) {
      id->parallelize(type);
    }
    return id;
  }

  // A copy of the input in the registers of the threads that need its elements.
  void keepRow(TensorView* in) {
    const auto domain = noReductions(in->getLogicalDomain());
    size_t reduced = 0;
    const auto dims = shape_.orderedDims(in, reduced);
    TensorView* copy = in->cacheAfter();
    std::vector<IterDomain*> mine;
    for (IterDomain* id : dims) {
      const auto place = std::find(domain.begin(), domain.end(), id) - domain.begin();
      mine.push_back(copy->getLogicalDomain()[place]);
    }
    const auto middle = mine.end() - static_cast<int64_t>(reduced);
    copy->setInlined(false);
    scheduleInner(copy, {{mine.begin(), middle}, {{middle, mine.end()}}});
  }

  // [rows | outer reduced dims | batch, thread, vector]
  void scheduleInner(TensorView* tv, const Dims& dims) {
    std::vector<IterDomain*> groups;
    for (const auto& group : dims.reduced) {
      groups.push_back(mergeAll(group));
    }
    IterDomain* part = nullptr;
    IterDomain* batch = nullptr;
    IterDomain* thread = nullptr;
    IterDomain* vector = nullptr;
    if (!groups.empty()) {
      IterDomain* innermost = groups.back();
      groups.pop_back();
      std::tie(innermost, vector) = splitVector(innermost, params_.vector, schedule_);
      IterDomain*& cut = groups.empty() ? innermost : groups.front();
      if (params_.parts > 1) {
        std::tie(part, cut) = IterDomain::split(cut, IrBuilder::constInt(params_.parts), false);
      }
      std::tie(batch, thread) = params_.batches > 0
          ? IterDomain::split(innermost, IrBuilder::constInt(params_.batches), false)
          : IterDomain::split(innermost, IrBuilder::constInt(params_.threads), true);
      as(thread, ParallelType::TIDx);
    }
    IterDomain* rows = mergeAll(dims.kept);
    IterDomain* row_of_block = nullptr;
    if (rows != nullptr && params_.rows > 1) {
      std::tie(rows, row_of_block) =
          IterDomain::split(rows, IrBuilder::constInt(params_.rows), true);
      as(row_of_block, ParallelType::TIDy);
    }
    std::vector<IterDomain*> inside = groups;
    inside.insert(inside.end(), {batch, thread, vector});
    if (!isReduction(tv)) {
      IterDomain* block = part == nullptr ? rows
          : rows == nullptr               ? part
                                          : IterDomain::merge(rows, part);
      std::vector<IterDomain*> loops = {as(block, ParallelType::BIDx), row_of_block};
      loops.insert(loops.end(), inside.begin(), inside.end());
      setLoops(tv, std::move(loops));
      return;
    }
    std::vector<IterDomain*> loops = {as(rows, ParallelType::BIDx), row_of_block, part};
    loops.insert(loops.end(), inside.begin(), inside.end());
    setLoops(tv, loops);
    if (part != nullptr) {
      reducePartsLater(tv, part, inside);
    }
  }

  // The parts are blocks, which write what they have reduced; a later stage reduces that.
  static void reducePartsLater(
      TensorView* tv,
      IterDomain* part,
      const std::vector<IterDomain*>& inside) {
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < tv->nLoopDims(); ++i) {
      if (std::find(inside.begin(), inside.end(), tv->axis(i)) != inside.end()) {
        axes.push_back(i);
      }
    }
    const auto& loop = tv->getLoopDomain();
    const auto place = std::find(loop.begin(), loop.end(), part) - loop.begin();
    TensorView* partial = tv->rfactor(axes);
    partial->setInlined(false);
    std::vector<IterDomain*> loops = partial->getLoopDomain();
    IterDomain* block = loops[place];
    if (place > 0) {
      const bool has_rows = loops[place - 1]->parallelType() == ParallelType::BIDx;
      NVF_ERROR(has_rows, "parts of rows whose blocks take several");
      block = IterDomain::merge(loops[place - 1], block);
      loops.erase(loops.begin() + place - 1);
    }
    loops[place > 0 ? place - 1 : 0] = as(block, ParallelType::BIDx);
    partial->setLoopDomain(std::move(loops));
    for (IterDomain* id : tv->getLoopDomain()) {
      if (id->isReduction()) {
        id->parallelize(ParallelType::TIDx);
      }
    }
  }

  // [columns' blocks | part, row, thread's rows | vector]
  void scheduleOuter(TensorView* tv, const Dims& dims) {
    std::vector<IterDomain*> outer;
    IterDomain* thread = nullptr;
    IterDomain* vector = nullptr;
    if (!dims.kept.empty()) {
      auto groups = grouped(shape_, dims.kept);
      const auto [columns, side_by_side] =
          splitVector(mergeAll(groups.back()), params_.vector, schedule_);
      vector = side_by_side;
      groups.pop_back();
      for (const auto& group : groups) {
        outer.push_back(mergeAll(group));
      }
      const auto [block, x] =
          IterDomain::split(columns, IrBuilder::constInt(params_.threads), true);
      thread = as(x, ParallelType::TIDx);
      outer.push_back(block);
    }
    IterDomain* block = as(mergeAll(outer), ParallelType::BIDx);
    std::vector<IterDomain*> all;
    for (const auto& group : dims.reduced) {
      all.insert(all.end(), group.begin(), group.end());
    }
    IterDomain* rows = mergeAll(all);
    IterDomain* part = nullptr;
    IterDomain* row = nullptr;
    if (rows != nullptr) {
      if (params_.parts > 1) {
        std::tie(part, rows) = IterDomain::split(rows, IrBuilder::constInt(params_.parts), false);
      }
      std::tie(rows, row) = IterDomain::split(rows, IrBuilder::constInt(params_.rows), true);
      as(row, ParallelType::TIDy);
    }
    if (!isReduction(tv)) {
      as(part, ParallelType::BIDy);
      setLoops(tv, {block, thread, part, rows, row, vector});
      return;
    }
    setLoops(tv, {block, thread, part, rows, row, vector});
    if (part == nullptr) {
      return;
    }
    const auto& loop = tv->getLoopDomain();
    const auto placeOf = [&](const IterDomain* id) {
      return std::find(loop.begin(), loop.end(), id) - loop.begin();
    };
    const auto place = placeOf(part);
    TensorView* partial = tv->rfactor({placeOf(rows), placeOf(row)});
    partial->setInlined(false);
    partial->axis(place)->parallelize(ParallelType::BIDy);
    // Threads along y add up the parts.
    for (IterDomain* id : tv->getLoopDomain()) {
      if (id->isReduction()) {
        id->parallelize(ParallelType::TIDy);
      }
    }
  }

  Fusion& segment_;
  const SegmentShape& shape_;
  const CudaParams& params_;
  CudaSchedule& schedule_;
};

} // namespace

void scheduleReduction(
    Fusion& segment,
    const SegmentShape& shape,
    const CudaParams& params,
    CudaSchedule& schedule) {
  ReductionScheduler(segment, shape, params, schedule).run();
}

} // namespace nvfuser::cuda
