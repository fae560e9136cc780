// Gives tensors the loop domain of a reference tensor.
//
// Folder csrc/scheduler: how segments become kernels. It may include csrc/ir, ops, analysis and
// passes.
#pragma once

#include <ir/tensor_view.h>

#include <unordered_set>

namespace nvfuser {

/// Repeats the transforms that lead to the first `position` loops of `reference` (negative: counted
/// from the end, -1 is all of them) on each target, through the dimensions that the permissive ID
/// graph takes as one. Loops of the reference that a target does not have are left out; dimensions
/// of a target that no loop uses stand last. RuntimeError when the position is out of range.
void transformLike(
    const TensorView* reference,
    int64_t position,
    const std::vector<TensorView*>& targets);

/// Gives the loops of each target the parallel type of the reference's loop (left of `position`,
/// see transformLike) that is the same dimension. Empty `types`: every type but Serial.
void parallelizeLike(
    const TensorView* reference,
    int64_t position,
    const std::vector<TensorView*>& targets,
    const std::unordered_set<ParallelType>& types);

/// The tensors of the fusion that lie between a tensor of `to` and its user `from`. A tensor of
/// `to` is not among them, unless it lies itself between another one of `to` and `from`.
std::vector<TensorView*> producersBetween(const std::vector<TensorView*>& to, TensorView* from);

} // namespace nvfuser
