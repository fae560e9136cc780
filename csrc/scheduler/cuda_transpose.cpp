// Transpose on a GPU: an operand's innermost dimension is not the output's. A block takes a tile of
// both: it copies the operand's to shared memory along the operand's rows, and reads it along the
// output's.
#include <scheduler/cuda_common.h>

#include <ir/builder.h>

#include <algorithm>
#include <set>

namespace nvfuser::cuda {

namespace {

constexpr int64_t kThreads = 32;
constexpr int64_t kRowsAtOnce = 8;
constexpr int64_t kBytesOfThread = 4; // side by side: narrow types go in pairs

// [tiles | rows of the tile, threads along y | threads along x, pair], `along` the dimension of the
// latter.
void setTile(
    TensorView* tv,
    const std::vector<IterDomain*>& dims,
    IterDomain* along,
    IterDomain* across,
    int64_t vector) {
  Val* tile = IrBuilder::constInt(kThreads * vector);
  auto [along_tile, x] = IterDomain::split(along, tile, true);
  const auto [across_tile, rows] = IterDomain::split(across, tile, true);
  const auto [round, y] = IterDomain::split(rows, IrBuilder::constInt(kRowsAtOnce), true);
  std::vector<IterDomain*> blocks;
  for (IterDomain* id : dims) {
    blocks.push_back(id == along ? along_tile : id == across ? across_tile : id);
  }
  IterDomain* block = mergeAll(blocks);
  block->parallelize(ParallelType::BIDx);
  IterDomain* pair = nullptr;
  if (vector > 1) {
    std::tie(x, pair) = IterDomain::split(x, IrBuilder::constInt(vector), true);
    pair->parallelize(ParallelType::Vectorize);
  }
  x->parallelize(ParallelType::TIDx);
  y->parallelize(ParallelType::TIDy);
  setLoops(tv, {block, round, y, x, pair});
}

} // namespace

CudaParams chooseTranspose(const Fusion& segment, const CudaLimits& limits) {
  CudaParams params;
  params.scheduler = CudaScheduler::Transpose;
  const int64_t narrowest = limits.vector_bytes / widestVector(segment, limits);
  params.vector =
      std::clamp<int64_t>(std::min(kBytesOfThread, limits.vector_bytes) / narrowest, 1, 2);
  return params;
}

void scheduleTranspose(
    Fusion& segment,
    const SegmentShape& shape,
    const CudaParams& params,
    CudaSchedule& /*schedule*/) {
  std::set<const Val*> copied;
  std::set<const Val*> done;
  for (Val* out : segment.outputs()) {
    auto* tv = out->as<TensorView>();
    if (!done.insert(out).second) {
      continue;
    }
    size_t reduced = 0;
    const std::vector<IterDomain*> dims = shape.orderedDims(tv, reduced);
    IterDomain* other = transposedDim(segment, shape, tv);
    setTile(tv, dims, dims.back(), other, params.vector);
    for (const auto& [tile, tile_dims] :
         copyTransposedOperands(segment, shape, dims, other, copied)) {
      IterDomain* across = tile_dims[std::find(dims.begin(), dims.end(), other) - dims.begin()];
      tile->setMemoryType(MemoryType::Shared);
      setTile(tile, tile_dims, across, tile_dims.back(), params.vector);
    }
  }
}

} // namespace nvfuser::cuda
