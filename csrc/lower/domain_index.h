// Indices of one tensor's dimensions, by its own transforms.
#pragma once

#include <ir/tensor_view.h>
#include <lower/index_expr.h>

#include <unordered_map>
#include <vector>

namespace nvfuser {

using IndexMap = std::unordered_map<const IterDomain*, Index>;

/// A dimension that no loop runs over: size 1, or seen longer than it is stored.
bool isTrivial(const IterDomain* id);

/// The size of a dimension as its loop sees it; 1 for a trivial one.
Index extentOf(IndexContext& indices, const IterDomain* id);

/// Fills in the indices of the inputs of `transforms` from those of their outputs, last first.
/// Domains whose outputs are not all known stay unknown.
void indicesBackward(IndexContext& indices, const std::vector<Expr*>& transforms, IndexMap& known);

/// Fills in the indices of the outputs from those of the inputs, first to last.
void indicesForward(IndexContext& indices, const std::vector<Expr*>& transforms, IndexMap& known);

/// The indices of `tv`'s root domain from those of its logical domain.
std::vector<Index> rootIndices(
    IndexContext& indices,
    const TensorView* tv,
    const std::vector<Index>& logical);

/// The place in memory of an element: strides times indices of the allocation domain, contiguous
/// dimensions merged first. `logical` is in logical order without reductions. `is_dense`: whatever
/// the contiguity flags say, the memory has no gaps.
Index addressOf(
    IndexContext& indices,
    const TensorView* tv,
    const std::vector<Index>& logical,
    bool is_dense);

} // namespace nvfuser
