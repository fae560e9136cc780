// A fusion for a class of sizes: which dimensions broadcast and how reshapes split and merge is
// settled, the sizes themselves stay symbolic.
#pragma once

#include <ir/scalar_value.h>

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace nvfuser {

class Fusion;
class ScalarValues;
class Val;

/// product(a) == number * product(b), or != if not `equal`; the product of nothing is 1.
struct ShapeGuard {
  std::vector<const Val*> a;
  std::vector<const Val*> b;
  bool equal = true;
  int64_t number = 1;
};

struct SettledShapes {
  std::unique_ptr<Fusion> fusion;
  std::vector<ShapeGuard> guards; ///< over scalars of the original fusion
};

/// The copy of `fusion` for all sizes that are alike `known` (as for resolveSymbolic): it is right
/// wherever the guards hold. A symbolic domain becomes a broadcast or an iteration, a reshape gets
/// the finest transforms that the known sizes allow. None when a size does not follow from those
/// known, or a reshape is of no elements. RuntimeError when the element counts of a reshape differ,
/// or a size is negative. Dead code does not count.
std::optional<SettledShapes> settleShapes(
    const Fusion& fusion,
    const std::unordered_map<const Val*, ScalarValue>& known);

/// Whether all hold for these values; a guard over something unknown does not.
bool guardsHold(const std::vector<ShapeGuard>& guards, ScalarValues& values);

} // namespace nvfuser
