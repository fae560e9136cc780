// The memory order that outputs take from the inputs.
#pragma once

#include <ir/iter_domain.h>

#include <optional>
#include <vector>

namespace nvfuser {

class TensorView;

/// For each of `tensors` its logical domains (reductions included), outermost in memory first; none
/// when that is the logical order or when the inputs do not agree.
///
/// Asked are the inputs that the tensor is computed from; a tensor with an order of its own on the
/// way (one that was asked for, one that a node copies from an operand, the result of a library
/// kernel) stands for the inputs behind it. The one with the most dimensions that are no broadcasts
/// decides; several decide when they agree. Dimensions are found again through the ID graph; the
/// parts of a split lie where the whole lay, a merged one lies where its outer part lay. New
/// broadcasts go outermost; where other dimensions are new, the order is taken over by position if
/// the ranks agree and is lost otherwise.
std::vector<std::optional<std::vector<IterDomain*>>> inferAllocationOrders(
    const Fusion& fusion,
    const std::vector<TensorView*>& tensors);

} // namespace nvfuser
