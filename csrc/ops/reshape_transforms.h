// Which Merge and Split transforms turn one shape into another.
#pragma once

#include <ir/iter_domain.h>

namespace nvfuser::ops {

/// A run of dims of the old shape and the run of dims of the new shape that hold the same elements.
struct ReshapeGroup {
  std::vector<int64_t> from;
  std::vector<int64_t> to;
};

/// Cuts two shapes of equal element count into the finest runs whose counts are provably equal.
/// Sizes of 1 belong to no run. Without constants the equal extents at both ends are matched, and
/// what is left forms one run. Empty when one of the shapes has a zero size.
std::vector<ReshapeGroup> reshapeGroups(
    const std::vector<Val*>& old_shape,
    const std::vector<Val*>& new_shape);

/// The same for sizes that are all positive.
std::vector<ReshapeGroup> reshapeGroups(
    const std::vector<int64_t>& old_sizes,
    const std::vector<int64_t>& new_sizes);

/// Builds the logical domain from the root domain: in each run all root domains are merged, the
/// result is split into the new extents. New sizes of 1 are fresh broadcasts; `unknown` is the type
/// of domains whose size is no constant: Symbolic, as long as the size may turn out to be 1.
std::vector<IterDomain*> applyReshape(
    const std::vector<IterDomain*>& root,
    const std::vector<Val*>& new_shape,
    const std::vector<ReshapeGroup>& groups,
    IterType unknown = IterType::Symbolic);

} // namespace nvfuser::ops
