// What the contiguity flags of a tensor say about its memory.
#pragma once

#include <ir/iter_domain.h>

#include <vector>

namespace nvfuser {

class TensorView;

/// Runs of allocation domains, outermost first, that can be walked with one stride each: within a
/// run every domain's stride is the next one's stride times its size. Broadcasts and reductions are
/// in no run.
std::vector<std::vector<IterDomain*>> contiguousRuns(const TensorView* tv);

/// No gaps: one run (or none), whose innermost stride is 1.
bool isDense(const TensorView* tv);

/// Strides of a dense tensor with these sizes and the memory order of `tv`; `sizes` and the result
/// are in logical order without reductions. Expanded dimensions get stride 0, as do none else.
std::vector<int64_t> denseStrides(const TensorView* tv, const std::vector<int64_t>& sizes);

} // namespace nvfuser
