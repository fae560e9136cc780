// Transpose: an operand's innermost dimension is not the output's. Tiles of both dimensions are the
// tasks. A tile of such an operand is copied first, read along its own rows and written along the
// output's, so that every cache line is used up when it is read, however the rows lie in the cache.
#include <scheduler/schedule.h>

#include <ir/builder.h>

#include <algorithm>
#include <set>

namespace nvfuser {

namespace {

// Of a row of the output. More than a cache line: rows that lie a power of two apart share few
// places in the cache.
constexpr int64_t kTileBytes = 256;
constexpr int64_t kTileRows = 64; // along the operand's innermost dimension

bool runs(const IterDomain* id) {
  return !id->isReduction() && !id->isBroadcast() && !id->extent()->isOneInt();
}

// The innermost dimension in memory that is no broadcast.
IterDomain* innermost(const TensorView* tv) {
  for (auto it = tv->getMaybeAllocationDomain().rbegin();
       it != tv->getMaybeAllocationDomain().rend();
       ++it) {
    if (runs(*it)) {
      return *it;
    }
  }
  return nullptr;
}

} // namespace

IterDomain* transposedDim(const Fusion& segment, const SegmentShape& shape, const TensorView* out) {
  IterDomain* last = innermost(out);
  if (last == nullptr) {
    return nullptr;
  }
  for (const Val* in : segment.inputs()) {
    const auto* tv = in->as<TensorView>();
    IterDomain* inner = innermost(tv);
    if (inner == nullptr || shape.setOf(inner) == shape.setOf(last)) {
      continue;
    }
    // The operand must have the output's innermost dimension as well, or it is a broadcast.
    const auto& dims = tv->getLogicalDomain();
    const bool has_last = std::any_of(dims.begin(), dims.end(), [&](IterDomain* id) {
      return runs(id) && shape.setOf(id) == shape.setOf(last);
    });
    for (IterDomain* id : out->getLogicalDomain()) {
      if (has_last && runs(id) && shape.setOf(id) == shape.setOf(inner)) {
        return id;
      }
    }
  }
  return nullptr;
}

std::string whyNotTranspose(const Fusion& segment, const SegmentShape& shape) {
  if (!shape.reductions().empty()) {
    return "the segment has reductions";
  }
  for (const Val* out : segment.outputs()) {
    if (transposedDim(segment, shape, out->as<TensorView>()) == nullptr) {
      return "every operand's innermost dimension is the output's";
    }
  }
  return "";
}

namespace {

// [tiles | the two dimensions of a tile]
void setTileLoops(
    TensorView* tv,
    int64_t columns,
    const std::vector<IterDomain*>& dims,
    IterDomain* other,
    IterDomain* last,
    bool last_is_innermost) {
  const auto [last_tile, last_inner] = IterDomain::split(last, IrBuilder::constInt(columns), true);
  const auto [other_tile, other_inner] =
      IterDomain::split(other, IrBuilder::constInt(kTileRows), true);
  IterDomain* tasks = nullptr;
  for (IterDomain* id : dims) {
    IterDomain* part = id == other ? other_tile : id == last ? last_tile : id;
    tasks = tasks == nullptr ? part : IterDomain::merge(tasks, part);
  }
  tasks->parallelize(ParallelType::BIDx);
  std::vector<IterDomain*> loop = {tasks, other_inner, last_inner};
  if (!last_is_innermost) {
    std::swap(loop[1], loop[2]);
  }
  for (IterDomain* id : tv->getLogicalDomain()) {
    if (std::find(dims.begin(), dims.end(), id) == dims.end()) {
      loop.push_back(id);
    }
  }
  tv->setLoopDomain(std::move(loop));
}

} // namespace

std::vector<TransposedCopy> copyTransposedOperands(
    Fusion& segment,
    const SegmentShape& shape,
    const std::vector<IterDomain*>& dims,
    const IterDomain* other,
    std::set<const Val*>& done) {
  std::vector<TransposedCopy> result;
  const std::vector<Val*> inputs = segment.inputs();
  for (Val* in : inputs) {
    auto* operand = in->as<TensorView>();
    IterDomain* inner = innermost(operand);
    if (inner == nullptr || done.contains(in) ||
        shape.setOf(inner) != shape.setOf(const_cast<IterDomain*>(other))) {
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
    TransposedCopy copy{operand->cacheAfter(), {}};
    copy.tensor->setInlined(false);
    for (size_t place : places) {
      copy.dims.push_back(copy.tensor->getLogicalDomain()[place]);
    }
    result.push_back(std::move(copy));
  }
  return result;
}

ScheduleResult scheduleTranspose(Fusion& segment, const SegmentShape& shape) {
  size_t copies = 0;
  std::set<const Val*> done;
  for (Val* out : segment.outputs()) {
    auto* tv = out->as<TensorView>();
    size_t reduced = 0;
    const std::vector<IterDomain*> dims = shape.orderedDims(tv, reduced);
    IterDomain* other = transposedDim(segment, shape, tv);
    IterDomain* last = dims.back();
    const int64_t columns = kTileBytes * 8 / dataTypeSizeBits(tv->dtype());
    setTileLoops(tv, columns, dims, other, last, true);
    for (const auto& [tile, tile_dims] :
         copyTransposedOperands(segment, shape, dims, other, done)) {
      IterDomain* across = tile_dims[std::find(dims.begin(), dims.end(), other) - dims.begin()];
      IterDomain* along = tile_dims.back();
      std::vector<IterDomain*> order;
      for (IterDomain* id : tile->getLogicalDomain()) {
        if (id != along && id != across) {
          order.push_back(id);
        }
      }
      order.insert(order.end(), {across, along});
      tile->setAllocationDomain(order, true);
      setTileLoops(tile, columns, tile_dims, across, along, false);
      ++copies;
    }
  }
  return {"transpose", detail::concat("tiles of ", kTileRows, " rows, ", copies, " copied")};
}

} // namespace nvfuser
