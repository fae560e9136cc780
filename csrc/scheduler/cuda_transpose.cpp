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

IterDomain* innermost(const TensorView* tv) {
  const auto& domain = tv->getMaybeAllocationDomain();
  for (auto it = domain.rbegin(); it != domain.rend(); ++it) {
    if (!(*it)->isReduction() && runs(*it)) {
      return *it;
    }
  }
  return nullptr;
}

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
  const std::vector<Val*> inputs = segment.inputs();
  std::set<const Val*> done;
  for (Val* out : segment.outputs()) {
    auto* tv = out->as<TensorView>();
    if (!done.insert(out).second) {
      continue;
    }
    size_t reduced = 0;
    const std::vector<IterDomain*> dims = shape.orderedDims(tv, reduced);
    IterDomain* last = dims.back();
    IterDomain* other = transposedDim(segment, shape, tv);
    setTile(tv, dims, last, other, params.vector);
    for (Val* in : inputs) {
      auto* operand = dynamic_cast<TensorView*>(in);
      IterDomain* inner = operand == nullptr ? nullptr : innermost(operand);
      if (inner == nullptr || shape.setOf(inner) != shape.setOf(other) || done.contains(in)) {
        continue;
      }
      // Its dimensions, in the order of the output's.
      const auto domain = noReductions(operand->getLogicalDomain());
      std::vector<size_t> places;
      for (IterDomain* id : dims) {
        const auto it = std::find_if(domain.begin(), domain.end(), [&](IterDomain* mine) {
          return runs(mine) && shape.setOf(mine) == shape.setOf(id);
        });
        // A place twice: two dimensions that count as one (x + x transposed).
        const auto place = static_cast<size_t>(it - domain.begin());
        if (it != domain.end() && std::find(places.begin(), places.end(), place) == places.end()) {
          places.push_back(place);
        }
      }
      if (places.size() != dims.size()) {
        continue;
      }
      done.insert(in);
      TensorView* tile = operand->cacheAfter();
      std::vector<IterDomain*> tile_dims;
      for (size_t place : places) {
        tile_dims.push_back(tile->getLogicalDomain()[place]);
      }
      const auto like = [&](IterDomain* id) {
        return tile_dims[std::find(dims.begin(), dims.end(), id) - dims.begin()];
      };
      tile->setMemoryType(MemoryType::Shared);
      tile->setInlined(false);
      setTile(tile, tile_dims, like(other), like(last), params.vector);
    }
  }
}

} // namespace nvfuser::cuda
