#include <lower/domain_index.h>

#include <ir/traversal.h>

#include <algorithm>

namespace nvfuser {

bool isTrivial(const IterDomain* id) {
  return id->isBroadcast() || id->extent()->isOneInt();
}

Index extentOf(IndexContext& indices, const IterDomain* id) {
  return isTrivial(id) ? indices.constant(1) : indices.scalar(id->extent());
}

namespace {

Index find(const IndexMap& known, const IterDomain* id) {
  const auto it = known.find(id);
  return it == known.end() ? nullptr : it->second;
}

// The size of a dimension as an index counts it: a broadcast is as long as it is seen.
Index seenLength(IndexContext& indices, const IterDomain* id) {
  return indices.scalar(id->getMaybeExpandedExtent());
}

// The length of the inner part of a split.
Index innerLength(IndexContext& indices, const Split* split) {
  return split->innerSplit() && !isTrivial(split->in()) ? indices.scalar(split->factor())
                                                        : seenLength(indices, split->inner());
}

} // namespace

void indicesBackward(IndexContext& indices, const std::vector<Expr*>& transforms, IndexMap& known) {
  // An index that may lie outside of its dimension (a pad's, one that was looked up) passes that
  // on.
  const auto isInside = [&](Index index) {
    return isConstant(index) ? index->number >= 0 : indices.boundOf(index) != nullptr;
  };
  const auto set = [&](const IterDomain* id, Index index, bool inside) {
    if (known.contains(id)) {
      return;
    }
    if (isTrivial(id)) {
      index = indices.constant(0);
    } else if (inside && !isConstant(index) && indices.boundOf(index) == nullptr) {
      indices.assumeBound(index, extentOf(indices, id));
    }
    known[id] = index;
  };
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    if (const auto* split = dynamic_cast<const Split*>(*it)) {
      Index outer = find(known, split->outer());
      Index inner = find(known, split->inner());
      if (outer != nullptr && inner != nullptr) {
        set(split->in(),
            indices.add(indices.mul(outer, innerLength(indices, split)), inner),
            isInside(outer) && isInside(inner));
      }
    } else if (const auto* merge = dynamic_cast<const Merge*>(*it)) {
      if (Index out = find(known, merge->out())) {
        Index length = seenLength(indices, merge->inner());
        set(merge->outer(), indices.div(out, length), isInside(out));
        set(merge->inner(), indices.mod(out, length), isInside(out));
      }
    } else if (const auto* resize = dynamic_cast<const Resize*>(*it)) {
      // Outside of the operand the result is out of range, so nothing is said of its bound.
      if (Index out = find(known, resize->out()); out != nullptr && !known.contains(resize->in())) {
        Index left = indices.scalar(resize->leftExpand());
        known[resize->in()] = indices.sub(out, left);
      }
    }
  }
}

void indicesForward(IndexContext& indices, const std::vector<Expr*>& transforms, IndexMap& known) {
  for (const Expr* transform : transforms) {
    if (const auto* split = dynamic_cast<const Split*>(transform)) {
      if (Index in = find(known, split->in())) {
        Index length = innerLength(indices, split);
        known[split->outer()] = indices.div(in, length);
        known[split->inner()] = indices.mod(in, length);
      }
    } else if (const auto* merge = dynamic_cast<const Merge*>(transform)) {
      Index outer = find(known, merge->outer());
      Index inner = find(known, merge->inner());
      if (outer != nullptr && inner != nullptr) {
        known[merge->out()] =
            indices.add(indices.mul(outer, seenLength(indices, merge->inner())), inner);
      }
    } else if (const auto* resize = dynamic_cast<const Resize*>(transform)) {
      if (Index in = find(known, resize->in())) {
        known[resize->out()] = indices.add(in, indices.scalar(resize->leftExpand()));
      }
    }
  }
}

std::vector<Index> rootIndices(
    IndexContext& indices,
    const TensorView* tv,
    const std::vector<Index>& logical) {
  const auto& domain = tv->getLogicalDomain();
  NVF_ERROR(domain.size() == logical.size(), tv->toString());
  if (!tv->hasRoot()) {
    return logical;
  }
  IndexMap known;
  for (size_t i = 0; i < domain.size(); ++i) {
    known[domain[i]] = logical[i];
  }
  indicesBackward(indices, transformsBetween(tv->getRootDomain(), domain), known);
  // A reshape keeps all elements: a dimension that none of its results holds has one.
  const bool is_reshape = tv->definition() != nullptr && tv->definition()->traits().row_major_view;
  std::vector<Index> result;
  for (const IterDomain* id : tv->getRootDomain()) {
    Index index = find(known, id);
    if (index == nullptr && (isTrivial(id) || is_reshape)) {
      index = indices.constant(0);
    }
    NVF_ERROR(index != nullptr, "no index for ", id->toString(), " of ", tv->toString());
    result.push_back(index);
  }
  return result;
}

Index addressOf(
    IndexContext& indices,
    const TensorView* tv,
    const std::vector<Index>& logical,
    bool is_dense) {
  const auto domain = noReductions(tv->getLogicalDomain());
  const auto& allocation = tv->getMaybeAllocationDomain();
  const auto& contiguity = tv->domain()->contiguity();
  NVF_ERROR(domain.size() == logical.size(), tv->toString());
  Index total = indices.constant(0);
  // A run of contiguous dimensions, from outside to inside.
  Index run = nullptr;
  bool in_run = false;
  for (size_t i = 0; i < allocation.size(); ++i) {
    const IterDomain* id = allocation[i];
    if (id->isReduction() || isTrivial(id)) {
      continue;
    }
    const auto place = std::find(domain.begin(), domain.end(), id) - domain.begin();
    NVF_ERROR(place < static_cast<int64_t>(domain.size()), tv->toString());
    const bool contiguous = is_dense || contiguity[i].value_or(false);
    Index index = logical[place];
    run = in_run ? indices.add(indices.mul(run, extentOf(indices, id)), index) : index;
    in_run = contiguous;
    if (!contiguous) {
      total = indices.add(total, indices.mul(run, indices.stride(tv, place)));
      run = nullptr;
    }
  }
  return run == nullptr ? total : indices.add(total, run);
}

} // namespace nvfuser
