// The segmenter: cuts a fusion into groups of nodes that become one kernel each, and nodes that a
// library evaluates.
#pragma once

#include <ir/fusion.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace nvfuser {

/// Why the target cannot compute a node inside a generated kernel; empty: it can.
using WhyNotInKernel = std::function<std::string(const Expr*)>;

struct SegmentedGroup {
  std::vector<Expr*> exprs;  ///< of the whole fusion, producers first
  std::vector<Val*> inputs;  ///< tensors only
  std::vector<Val*> outputs; ///< tensors that others, or the caller, need
  bool is_kernel = false;
  std::string reason; ///< why this is no kernel
  /// Why a kernel does not take in the kernels that some of its operands come from.
  std::vector<std::string> apart;
};

/// Groups in an order in which they can run. Nodes whose outputs are scalars are in no group. Views
/// of other tensors are computed inside each kernel that reads them; those that a library or the
/// caller needs as well form groups of their own.
std::vector<SegmentedGroup> segmentFusion(const Fusion& fusion, const WhyNotInKernel& why_not);

/// A group as a fusion of its own: its inputs and outputs are the group's, in order. Sizes and
/// other scalars that the group computes with are symbols; `scalars` says which scalar of the whole
/// fusion each stands for.
std::unique_ptr<Fusion> extractGroup(
    const SegmentedGroup& group,
    std::unordered_map<const Val*, const Val*>& scalars);

} // namespace nvfuser
