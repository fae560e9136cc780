// Finds loops that copy a tile to the other memory order.
#pragma once

#include <lower/kernel.h>

namespace nvfuser {

/// Two nested loops that only copy elements, read consecutively by the inner and written
/// consecutively by the outer one, become one KernelTransposedCopy.
void findTransposedCopies(Kernel& kernel);

} // namespace nvfuser
