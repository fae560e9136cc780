// Which outputs of a fusion only rename the elements of an input, and how these then lie in memory.
#pragma once

#include <ir/iter_domain.h>

#include <optional>
#include <vector>

namespace nvfuser {

class TensorView;

/// Order of a tensor's logical domains in memory, outermost first, and what is known of the strides
/// (see TensorDomain).
struct MemoryLayout {
  std::vector<IterDomain*> order;
  std::vector<std::optional<bool>> contiguity;
};

struct OutputView {
  TensorView* input;
  MemoryLayout layout; ///< of the output, as a view
};

/// One entry per fusion output: the input that it may be a view of. None when a node on the way
/// computes or copies, when a reshape cannot keep the strides, when an asked-for memory order
/// differs from the view's, when the output is written into an input, or when the viewed input is
/// written by this fusion.
std::vector<std::optional<OutputView>> findOutputViews(const Fusion& fusion);

} // namespace nvfuser
