// Removes expressions that no output depends on.
#pragma once

namespace nvfuser {

class Fusion;

/// Afterwards every expression leads to an output, to a domain of a tensor that does, or to the
/// size of such a domain. Inputs stay. Stands first, so that no other pass works on what is thrown
/// away.
void removeDeadCode(Fusion& fusion);

} // namespace nvfuser
