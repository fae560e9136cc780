// Computes scalar expressions of constants.
#pragma once

namespace nvfuser {

class Fusion;

/// Afterwards no pure scalar expression has constant operands only, unless its result is a fusion
/// output or its operator does not fold (half types, integer division by zero). Operands, extents
/// and starts hold the constants. Stands before common_subexpressions, which compares constants by
/// value.
void foldScalars(Fusion& fusion);

} // namespace nvfuser
