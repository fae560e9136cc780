// Marks outputs that may share the storage of an input.
#pragma once

namespace nvfuser {

class Fusion;

/// Afterwards Fusion::viewOf(i) names the input that output i is a view of, for every output for
/// which analysis/aliases.h finds one. Stands after the passes that change the graph, before
/// allocation_order, which leaves views alone.
void markAliases(Fusion& fusion);

} // namespace nvfuser
