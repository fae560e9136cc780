// Computes equal tensors once.
#pragma once

namespace nvfuser {

class Fusion;

/// Afterwards no two pure tensor expressions have the same class, attributes and operands and give
/// tensors with the same dtype and domains, unless both results are outputs of the fusion: two
/// outputs stay two tensors. Random nodes are never merged. Stands after fold_scalars, which makes
/// equal constants equal.
void mergeCommonSubexpressions(Fusion& fusion);

} // namespace nvfuser
