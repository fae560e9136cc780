// Gives the random nodes their slots of the generator in the order in which the fusion is read.
#pragma once

namespace nvfuser {

class Fusion;

/// Afterwards the attributes "rng_id" of the nodes that draw from the generator are 0, 1, 2, ... in
/// the order of Fusion::exprs(). So the numbers depend neither on the order in which a user made
/// the nodes nor on nodes that no output needs, and a printed fusion draws the same ones. After
/// dead_code.
void numberRandomNodes(Fusion& fusion);

} // namespace nvfuser
