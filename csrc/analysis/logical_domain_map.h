// Which dimensions of two tensors, or of all tensors of a fusion, are the same dimension.
//
// The nodes say it themselves (Expr::mapDomains); nothing here knows a node class.
#pragma once

#include <analysis/disjoint_sets.h>
#include <ir/iter_domain.h>

#include <unordered_map>
#include <utility>
#include <vector>

namespace nvfuser {

class TensorView;

/// How a broadcast domain and the domain it is broadcast to are taken.
enum class BroadcastMapping {
  Separate, ///< two dimensions: indices of one say nothing about the other
  Together, ///< one dimension
};

/// Dimensions of a tensor's logical domain (without reductions) and of the root domain of a tensor
/// that is computed from it.
class PairwiseLogicalDomainMap {
 public:
  /// InternalError unless `producer` is an operand of the definition of `consumer`.
  PairwiseLogicalDomainMap(
      const TensorView* producer,
      const TensorView* consumer,
      BroadcastMapping broadcasts = BroadcastMapping::Together);

  /// In the order of the producer's dimensions. A domain of either side stands in one pair at most.
  const std::vector<std::pair<IterDomain*, IterDomain*>>& pairs() const& {
    return pairs_;
  }
  std::vector<std::pair<IterDomain*, IterDomain*>> pairs() && {
    return std::move(pairs_);
  }
  std::unordered_map<IterDomain*, IterDomain*> producerToConsumer() const;
  std::unordered_map<IterDomain*, IterDomain*> consumerToProducer() const;

 private:
  std::vector<std::pair<IterDomain*, IterDomain*>> pairs_;
};

/// The same for all tensors of a fusion at once: the closure of the pairwise maps. Transforms
/// between root and logical domain of a tensor are not followed; see id_graph.h for that.
class LogicalDomainMap {
 public:
  explicit LogicalDomainMap(
      const Fusion& fusion,
      BroadcastMapping broadcasts = BroadcastMapping::Together);

  bool areMapped(IterDomain* a, IterDomain* b) const {
    return sets_.areMapped(a, b);
  }
  const DisjointSets<IterDomain*>& sets() const {
    return sets_;
  }

 private:
  DisjointSets<IterDomain*> sets_;
};

} // namespace nvfuser
