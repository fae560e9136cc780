// Lets several rows share one pass over an accumulated row.
#pragma once

#include <lower/kernel.h>

namespace nvfuser {

/// A loop over rows that does nothing but accumulate each row, element by element, takes four rows
/// in a round, so that an accumulated element is loaded and stored once for all of them; the rows
/// are added in the same order.
void joinRows(Kernel& kernel);

} // namespace nvfuser
