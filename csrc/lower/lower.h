// Lowering: a scheduled segment becomes kernel IR.
#pragma once

#include <ir/fusion.h>
#include <lower/kernel.h>

#include <memory>

namespace nvfuser {

/// Lowers a fusion whose tensors carry their schedule:
///  * an inlined tensor (TensorView::isInlined) is computed wherever its value is used;
///  * every other one that has a definition is computed in its own loops, its loop domain. Loops of
///    two tensors become one where they are the same dimension (almost-exact ID graph), from the
///    outermost on, as far as what one needs of the other is complete by then;
///  * a loop of type BIDx that stands outermost becomes the range of a stage.
/// InternalError when the schedule cannot be carried out, with the reason.
std::unique_ptr<Kernel> lower(const Fusion& segment);

} // namespace nvfuser
