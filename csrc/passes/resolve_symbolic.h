// A fusion for given sizes: what is symbolic becomes constant.
#pragma once

#include <ir/scalar_value.h>

#include <memory>
#include <unordered_map>

namespace nvfuser {

class Fusion;
class Val;

/// A copy of `fusion` for these values of its symbolic scalars: extents of input tensors, and
/// scalar inputs as far as sizes depend on them (scalar inputs stay inputs of the copy, sizes no
/// longer depend on them). Afterwards every extent whose value follows is a constant, a symbolic
/// domain is a broadcast when its size is 1 and an iteration otherwise, and the transforms of a
/// reshape are the finest that its sizes allow. RuntimeError when the element counts of a reshape
/// differ, or a size is negative. `map`, if given, receives original -> copy. Not part of the
/// pipeline, because it needs sizes; runs before it.
std::unique_ptr<Fusion> resolveSymbolic(
    const Fusion& fusion,
    const std::unordered_map<const Val*, ScalarValue>& known,
    std::unordered_map<const Val*, Val*>* map = nullptr);

} // namespace nvfuser
