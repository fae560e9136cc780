// Cuts innermost loops where a condition on their variable changes, so that no round tests it.
#pragma once

#include <lower/kernel.h>

namespace nvfuser {

/// An innermost loop of constant length whose conditions compare its variable with constants
/// (halves that are joined, padding) becomes one loop for each range in which they do not change.
void splitLoopsAtConditions(Kernel& kernel);

} // namespace nvfuser
