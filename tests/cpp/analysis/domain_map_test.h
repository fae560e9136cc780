// Writes a pairwise logical domain map as text: "0>0 1>2" for producer dims 0 and 1.
#pragma once

#include <analysis/logical_domain_map.h>

#include "../ir_test.h"

#include <algorithm>

namespace nvfuser {

class DomainMapTest : public IrTest {
 protected:
  static int64_t placeOf(const std::vector<IterDomain*>& domain, const IterDomain* id) {
    return std::find(domain.begin(), domain.end(), id) - domain.begin();
  }

  /// Positions: the producer's logical domain without reductions, the consumer's root domain.
  static std::string mapText(
      const TensorView* producer,
      const TensorView* consumer,
      BroadcastMapping broadcasts = BroadcastMapping::Together) {
    const auto from = noReductions(producer->getLogicalDomain());
    std::string text;
    const PairwiseLogicalDomainMap map(producer, consumer, broadcasts);
    for (const auto& [p, c] : map.pairs()) {
      text += (text.empty() ? "" : " ") + std::to_string(placeOf(from, p)) + ">" +
          std::to_string(placeOf(consumer->getMaybeRootDomain(), c));
    }
    return text;
  }
};

} // namespace nvfuser
