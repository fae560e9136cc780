#include <scheduler/cuda_common.h>

#include <ir/builder.h>
#include <ir/nodes.h>

#include <algorithm>

namespace nvfuser {

std::string CudaParams::toString() const {
  std::string text;
  const auto add = [&](const auto&... parts) {
    text += detail::concat(text.empty() ? "" : ", ", parts...);
  };
  if (vector > 1) {
    add("vectors of ", vector);
  }
  if (scheduler == CudaScheduler::Pointwise) {
    add(flat ? "one row of blocks" : "rows of blocks", " of ", threads, " threads");
    if (unroll > 1) {
      add(unroll, " in each thread");
    }
    return text;
  }
  if (scheduler == CudaScheduler::Transpose) {
    add("tiles in shared memory");
    return text;
  }
  if (batches > 0) {
    add(block_x, " threads along a row, ", batches, " in each");
  } else {
    add(threads, " threads along a row");
  }
  if (rows > 1) {
    add(rows, scheduler == CudaScheduler::OuterReduction ? " rows of threads" : " rows of a block");
  }
  if (parts > 1) {
    add("cut into ", parts, " parts");
  }
  if (keeps_rows) {
    add("rows kept in registers");
  }
  return text;
}

namespace cuda {

bool runs(const IterDomain* id) {
  return !id->isBroadcast() && !id->extent()->isOneInt();
}

IterDomain* mergeAll(const std::vector<IterDomain*>& dims) {
  IterDomain* result = nullptr;
  for (IterDomain* id : dims) {
    result = result == nullptr ? id : IterDomain::merge(result, id);
  }
  return result;
}

std::vector<std::vector<IterDomain*>> grouped(
    const SegmentShape& shape,
    const std::vector<IterDomain*>& dims) {
  std::vector<std::vector<IterDomain*>> groups;
  for (IterDomain* id : dims) {
    if (!groups.empty() && shape.mayMerge(groups.back().back(), id)) {
      groups.back().push_back(id);
    } else {
      groups.push_back({id});
    }
  }
  return groups;
}

int64_t lengthOf(const ScheduleContext& context, const std::vector<IterDomain*>& dims) {
  int64_t length = 1;
  for (const IterDomain* id : dims) {
    length *= context.hint(id->getMaybeExpandedExtent());
  }
  return length;
}

int64_t widestVector(const Fusion& segment, const CudaLimits& limits) {
  int64_t narrowest = limits.vector_bytes;
  for (const auto* list : {&segment.inputs(), &segment.outputs()}) {
    for (const Val* val : *list) {
      const auto* tv = dynamic_cast<const TensorView*>(val);
      if (tv != nullptr &&
          std::any_of(tv->getLogicalDomain().begin(), tv->getLogicalDomain().end(), runs)) {
        narrowest = std::min(narrowest, dataTypeSizeBits(tv->dtype()) / 8);
      }
    }
  }
  return limits.vector_bytes / narrowest;
}

int64_t vectorFor(int64_t length, int64_t widest) {
  int64_t vector = 1;
  while (vector * 2 <= widest && length % (vector * 2) == 0) {
    vector *= 2;
  }
  return vector;
}

std::pair<IterDomain*, IterDomain*> splitVector(
    IterDomain* id,
    int64_t vector,
    CudaSchedule& schedule) {
  if (vector == 1) {
    return {id, nullptr};
  }
  schedule.multiples.emplace_back(id->extent(), vector);
  const auto [outer, inner] = IterDomain::split(id, IrBuilder::constInt(vector), true);
  inner->parallelize(ParallelType::Vectorize);
  return {outer, inner};
}

void setLoops(TensorView* tv, std::vector<IterDomain*> loops) {
  std::erase(loops, nullptr);
  // Dims that take part in no loop have one element.
  for (IterDomain* id : tv->getLogicalDomain()) {
    if (!runs(id)) {
      loops.push_back(id);
    }
  }
  tv->setLoopDomain(std::move(loops));
}

} // namespace cuda

CudaParams chooseCudaParams(
    const Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context,
    const CudaLimits& limits) {
  if (shape.reductions().empty()) {
    if (whyNotTranspose(segment, shape).empty()) {
      return cuda::chooseTranspose(segment, limits);
    }
    return cuda::choosePointwise(segment, shape, context, limits);
  }
  const std::string reason = whyNotReduction(shape);
  NVF_CHECK(reason.empty(), "no scheduler takes the segment; reduction: ", reason);
  return cuda::chooseReduction(segment, shape, context, limits);
}

CudaSchedule scheduleForCuda(Fusion& segment, const CudaParams& params) {
  FusionGuard guard(&segment);
  inlineWhatNeedsNoLoops(segment);
  const SegmentShape shape(segment);
  CudaSchedule schedule;
  schedule.result.heuristics = params.toString();
  switch (params.scheduler) {
    case CudaScheduler::Pointwise:
      schedule.result.scheduler = "pointwise";
      cuda::schedulePointwise(segment, shape, params, schedule);
      break;
    case CudaScheduler::Transpose:
      schedule.result.scheduler = "transpose";
      cuda::scheduleTranspose(segment, shape, params, schedule);
      break;
    case CudaScheduler::InnerReduction:
    case CudaScheduler::OuterReduction:
      schedule.result.scheduler =
          params.scheduler == CudaScheduler::InnerReduction ? "inner reduction" : "outer reduction";
      cuda::scheduleReduction(segment, shape, params, schedule);
      break;
  }
  return schedule;
}

} // namespace nvfuser
