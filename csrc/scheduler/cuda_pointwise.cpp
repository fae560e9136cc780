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
constexpr int64_t kMostReads = 8;           // of one thread at a time
constexpr int64_t kUnroll = 4;              // vectors of one thread, at most
constexpr int64_t kBlocksPerProcessor = 16; // before threads take more than one vector
constexpr int64_t kMostWaste = 10;          // idle threads of a row, in percent

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
  const int64_t vectors = most / params.vector;
  const auto fits = [&](int64_t tile) {
    return vectors >= tile * kBlocksPerProcessor * limits.multiprocessors;
  };
  // As many reads at a time as registers hold.
  int64_t reads = 0;
  for (const Val* in : segment.inputs()) {
    reads += in->isTensor() ? static_cast<int64_t>(in->uses().size()) : 0;
  }
  while (params.unroll < kUnroll && 2 * params.unroll * reads <= kMostReads &&
         fits(2 * params.unroll * params.threads)) {
    params.unroll *= 2;
  }
  if (params.flat) {
    return params;
  }
  // Blocks that leave few threads of the shortest row idle, the largest first.
  params.flat = true;
  const CudaParams one_row = params;
  for (int64_t unroll = params.unroll; unroll > 0; unroll /= 2) {
    int64_t best = kMostWaste;
    for (int64_t threads : {128L, 256L, 192L, 160L, 224L, 96L, 64L}) {
      int64_t worst = 0;
      for (TensorView* tv : outputsOf(segment)) {
        size_t reduced = 0;
        const auto groups = grouped(shape, shape.orderedDims(tv, reduced));
        if (!groups.empty()) {
          const int64_t length = lengthOf(context, groups.back()) / params.vector;
          worst = std::max(worst, waste(length, unroll * threads));
        }
      }
      if (worst < best) {
        best = worst;
        params.threads = threads;
        params.unroll = unroll;
        params.flat = false;
      }
    }
    if (!params.flat) {
      return params;
    }
  }
  return one_row;
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
    IterDomain* tile = nullptr;
    IterDomain* round = nullptr;
    Val* size = IrBuilder::constInt(params.threads * params.unroll);
    if (params.flat) {
      outer.push_back(inner);
      std::tie(block, tile) = IterDomain::split(mergeAll(outer), size, true);
    } else {
      std::tie(block, tile) = IterDomain::split(inner, size, true);
      outer.push_back(block);
      block = mergeAll(outer);
    }
    std::tie(round, thread) = IterDomain::split(tile, IrBuilder::constInt(params.threads), true);
    block->parallelize(ParallelType::BIDx);
    round->parallelize(ParallelType::Unroll);
    thread->parallelize(ParallelType::TIDx);
    setLoops(tv, {block, round, thread, vector});
  }
}

} // namespace nvfuser::cuda
