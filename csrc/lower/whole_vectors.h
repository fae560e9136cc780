// Runs innermost loops in whole vectors to their very end.
#pragma once

#include <lower/kernel.h>

namespace nvfuser {

/// An innermost loop whose length is a constant, at least one vector and not a multiple of it, ends
/// with a loop over the last vector of elements. Some of them are computed twice, which costs less
/// than one by one; accumulations skip those. Loops that read what they write stay as they are.
void completeVectors(Kernel& kernel);

} // namespace nvfuser
