// Lowering: a scheduled segment becomes kernel IR.
#pragma once

#include <ir/fusion.h>
#include <lower/kernel.h>

#include <memory>
#include <utility>
#include <vector>

namespace nvfuser {

struct LowerOptions {
  KernelTarget target = KernelTarget::Cpu;
  /// Sizes that the launcher promises to be multiples of a number: a split of such a dimension by
  /// such a factor leaves no remainder. Kept in Kernel::multiples.
  std::vector<std::pair<const Val*, int64_t>> multiples = {};
};

/// Lowers a fusion whose tensors carry their schedule:
///  * an inlined tensor (TensorView::isInlined) is computed wherever its value is used;
///  * every other one that has a definition is computed in its own loops, its loop domain. Loops of
///    two tensors become one where they are the same dimension (almost-exact ID graph), from the
///    outermost on, as far as what one needs of the other is complete by then;
///  * for a CPU a loop of type BIDx that stands outermost becomes the range of a stage, other types
///    are ignored. For a GPU loops of the types BIDx to TIDz are no loops but the numbers of blocks
///    and threads; a tensor whose reader does not find the element in its own thread (registers) or
///    block (MemoryType::Shared) is handed on through memory to a later stage. What a reduction
///    adds up along TIDx and TIDy is reduced over the block.
/// InternalError when the schedule cannot be carried out, with the reason.
std::unique_ptr<Kernel> lower(const Fusion& segment, const LowerOptions& options = {});

} // namespace nvfuser
