#include <ir/builder.h>
#include <ops/reshape_transforms.h>

#include <algorithm>

namespace nvfuser::ops {

namespace {

bool allConstant(const std::vector<Val*>& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Val* v) { return v->isConstInt(); });
}

bool isOne(const Val* extent) {
  return extent->isOneInt();
}
bool isOne(int64_t size) {
  return size == 1;
}

template <typename Size>
std::vector<int64_t> dimsNotOne(const std::vector<Size>& shape) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!isOne(shape[i])) {
      dims.push_back(static_cast<int64_t>(i));
    }
  }
  return dims;
}

std::vector<int64_t> constants(const std::vector<Val*>& shape) {
  std::vector<int64_t> sizes;
  for (const Val* extent : shape) {
    sizes.push_back(extent->constInt());
  }
  return sizes;
}

std::vector<ReshapeGroup> symbolicGroups(
    const std::vector<Val*>& old_shape,
    const std::vector<Val*>& new_shape) {
  auto from = dimsNotOne(old_shape);
  auto to = dimsNotOne(new_shape);
  std::vector<ReshapeGroup> front;
  std::vector<ReshapeGroup> back;
  const auto equal = [&](int64_t f, int64_t t) { return old_shape[f]->sameAs(new_shape[t]); };
  while (!from.empty() && !to.empty() && equal(from.front(), to.front())) {
    front.push_back({{from.front()}, {to.front()}});
    from.erase(from.begin());
    to.erase(to.begin());
  }
  while (!from.empty() && !to.empty() && equal(from.back(), to.back())) {
    back.push_back({{from.back()}, {to.back()}});
    from.pop_back();
    to.pop_back();
  }
  if (!from.empty() || !to.empty()) {
    front.push_back({from, to});
  }
  front.insert(front.end(), back.rbegin(), back.rend());
  return front;
}

// A domain that a reshape makes.
IterDomain* reshaped(Val* extent, IterType unknown) {
  return IrBuilder::create<IterDomain>(IterDomain::Parts{
      .extent = extent,
      .iter_type = extent->isConst() ? IterType::Iteration : unknown,
      .is_rfactor = true});
}

} // namespace

std::vector<ReshapeGroup> reshapeGroups(
    const std::vector<int64_t>& old_sizes,
    const std::vector<int64_t>& new_sizes) {
  const auto from = dimsNotOne(old_sizes);
  const auto to = dimsNotOne(new_sizes);
  std::vector<ReshapeGroup> groups;
  size_t f = 0;
  size_t t = 0;
  while (f < from.size() && t < to.size()) {
    ReshapeGroup group{{from[f]}, {to[t]}};
    int64_t from_count = old_sizes[from[f++]];
    int64_t to_count = new_sizes[to[t++]];
    while (from_count != to_count) {
      if (from_count < to_count) {
        NVF_ERROR(f < from.size());
        from_count *= old_sizes[from[f]];
        group.from.push_back(from[f++]);
      } else {
        NVF_ERROR(t < to.size());
        to_count *= new_sizes[to[t]];
        group.to.push_back(to[t++]);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<ReshapeGroup> reshapeGroups(
    const std::vector<Val*>& old_shape,
    const std::vector<Val*>& new_shape) {
  const auto is_zero = [](const Val* v) { return v->isZeroInt(); };
  if (std::any_of(old_shape.begin(), old_shape.end(), is_zero) ||
      std::any_of(new_shape.begin(), new_shape.end(), is_zero)) {
    return {};
  }
  return allConstant(old_shape) && allConstant(new_shape)
      ? reshapeGroups(constants(old_shape), constants(new_shape))
      : symbolicGroups(old_shape, new_shape);
}

std::vector<IterDomain*> applyReshape(
    const std::vector<IterDomain*>& root,
    const std::vector<Val*>& new_shape,
    const std::vector<ReshapeGroup>& groups,
    IterType unknown) {
  std::vector<IterDomain*> logical(new_shape.size(), nullptr);
  for (const ReshapeGroup& group : groups) {
    if (group.from.size() == 1 && group.to.size() == 1) {
      logical[group.to[0]] = root[group.from[0]];
      continue;
    }
    if (group.from.empty() || group.to.empty()) {
      continue; // only possible where every size involved is 1 at run time
    }
    IterDomain* rest = root[group.from[0]];
    for (size_t i = 1; i < group.from.size(); ++i) {
      IterDomain* next = root[group.from[i]];
      const bool last = i + 1 == group.from.size() && group.to.size() == 1;
      Val* extent = last
          ? new_shape[group.to[0]]
          : IrBuilder::mulExpr(rest->getMaybeExpandedExtent(), next->getMaybeExpandedExtent());
      auto* merged = reshaped(extent, unknown);
      IrBuilder::create<Merge>(merged, rest, next);
      rest = merged;
    }
    // The innermost extents are split off one by one; what remains is the outermost.
    for (size_t i = group.to.size(); i > 1; --i) {
      Val* factor = new_shape[group.to[i - 1]];
      auto* outer = reshaped(
          i == 2 ? new_shape[group.to[0]]
                 : IrBuilder::divExpr(rest->getMaybeExpandedExtent(), factor),
          unknown);
      auto* inner = reshaped(factor, unknown);
      IrBuilder::create<Split>(outer, inner, rest, factor, true);
      logical[group.to[i - 1]] = inner;
      rest = outer;
    }
    logical[group.to[0]] = rest;
  }
  for (size_t i = 0; i < logical.size(); ++i) {
    if (logical[i] == nullptr) {
      logical[i] = IrBuilder::create<IterDomain>(IterDomain::Parts{
          .extent = new_shape[i],
          .iter_type = new_shape[i]->isOneInt() ? IterType::Broadcast : unknown});
    }
  }
  return logical;
}

} // namespace nvfuser::ops
