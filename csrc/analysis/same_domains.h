// Whether two tensors have the same dimensions made in the same way.
#pragma once

namespace nvfuser {

class TensorView;

/// Same dtype, and root, logical, allocation and loop domain with equal extents, kinds and
/// transforms. Operands are not looked at.
bool haveSameDomains(const TensorView* a, const TensorView* b);

} // namespace nvfuser
