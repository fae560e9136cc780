// Pointwise on a GPU: vectors of the innermost dimensions for each thread. Where the inner
// dimensions, as far as they lie together in every tensor, fill blocks, the outer ones only count
// blocks: what a broadcast needs of an index is found once a block. Otherwise threads run over all
// dimensions as if they were one.
#include <scheduler/cuda_common.h>

#include <ir/builder.h>

#include <algorithm>
#include <set>

namespace nvfuser::cuda {

namespace {

constexpr int64_t kThreads = 128;
constexpr int64_t kMostThreads = 512;

std::vector<TensorView*> outputsOf(const Fusion& segment) {
  std::vector<TensorView*> result;
  for (Val* out : segment.outputs()) {
    auto* tv = out->as<TensorView>();
    if (std::find(result.begin(), result.end(), tv) == result.end()) {
      result.push_back(tv);
    }
  }
  return result;
}

// Idle threads of a row that is cut into blocks, in percent of the row.
int64_t waste(int64_t length, int64_t threads) {
  return (((length + threads - 1) / threads * threads) - length) * 100 /
      std::max<int64_t>(length, 1);
}

} // namespace

CudaParams choosePointwise(
    const Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context,
    const CudaLimits& limits) {
  CudaParams params;
  params.vector = widestVector(segment, limits);
  int64_t most = 0;
  for (TensorView* tv : outputsOf(segment)) {
    size_t reduced = 0;
    const auto groups = grouped(shape, shape.orderedDims(tv, reduced));
    if (groups.empty()) {
      continue;
    }
    const int64_t inner = lengthOf(context, groups.back());
    params.vector = vectorFor(inner, params.vector);
    int64_t total = 1;
    for (const auto& group : groups) {
      total *= lengthOf(context, group);
    }
    most = std::max(most, total);
    params.flat = params.flat && groups.size() == 1;
  }
  // Small tensors: rather all multiprocessors than wide accesses.
  while (params.vector > 1 &&
         most / params.vector < limits.multiprocessors * limits.threads_per_multiprocessor / 8) {
    params.vector /= 2;
  }
  params.threads = kThreads;
  if (params.flat) {
    return params;
  }
  // The size of a block that leaves the fewest threads of the shortest row idle.
  params.flat = true;
  int64_t best = 20;
  for (int64_t threads : {256L, 128L, 192L, 320L, 384L, 512L, 96L, 64L}) {
    int64_t worst = 0;
    for (TensorView* tv : outputsOf(segment)) {
      size_t reduced = 0;
      const auto groups = grouped(shape, shape.orderedDims(tv, reduced));
      if (!groups.empty()) {
        worst = std::max(worst, waste(lengthOf(context, groups.back()) / params.vector, threads));
      }
    }
    if (threads <= kMostThreads && worst < best) {
      best = worst;
      params.threads = threads;
      params.flat = false;
    }
  }
  return params;
}

void schedulePointwise(
    Fusion& segment,
    const SegmentShape& shape,
    const CudaParams& params,
    CudaSchedule& schedule) {
  for (TensorView* tv : outputsOf(segment)) {
    size_t reduced = 0;
    auto groups = grouped(shape, shape.orderedDims(tv, reduced));
    if (groups.empty()) {
      continue;
    }
    const auto [inner, vector] = splitVector(mergeAll(groups.back()), params.vector, schedule);
    groups.pop_back();
    std::vector<IterDomain*> outer;
    for (const auto& group : groups) {
      outer.push_back(mergeAll(group));
    }
    IterDomain* block = nullptr;
    IterDomain* thread = nullptr;
    Val* threads = IrBuilder::constInt(params.threads);
    if (params.flat) {
      outer.push_back(inner);
      std::tie(block, thread) = IterDomain::split(mergeAll(outer), threads, true);
    } else {
      std::tie(block, thread) = IterDomain::split(inner, threads, true);
      outer.push_back(block);
      block = mergeAll(outer);
    }
    block->parallelize(ParallelType::BIDx);
    thread->parallelize(ParallelType::TIDx);
    setLoops(tv, {block, thread, vector});
  }
}

} // namespace nvfuser::cuda
