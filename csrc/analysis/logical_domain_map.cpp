#include <analysis/logical_domain_map.h>
#include <ir/domain_mapper.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

namespace {

// Collects the position pairs that a node reports for one of its operands and one of its outputs.
class PairCollector : public DomainMapper {
 public:
  PairCollector(const TensorView* producer, const TensorView* consumer)
      : producer_(producer), consumer_(consumer) {}

  void same(const Val* producer, int64_t producer_dim, const Val* consumer, int64_t consumer_dim)
      override {
    if (producer == producer_ && consumer == consumer_) {
      pairs_.emplace_back(producer_dim, consumer_dim);
    }
  }

  std::vector<std::pair<int64_t, int64_t>> take() {
    // Stable: where an operand stands in two slots, what the first slot says comes first.
    std::stable_sort(pairs_.begin(), pairs_.end(), [](const auto& a, const auto& b) {
      return a.first < b.first;
    });
    return std::move(pairs_);
  }

 private:
  const TensorView* producer_;
  const TensorView* consumer_;
  std::vector<std::pair<int64_t, int64_t>> pairs_;
};

} // namespace

PairwiseLogicalDomainMap::PairwiseLogicalDomainMap(
    const TensorView* producer,
    const TensorView* consumer,
    BroadcastMapping broadcasts) {
  const Expr* definition = consumer->definition();
  NVF_ERROR(
      definition != nullptr &&
          std::find(definition->inputs().begin(), definition->inputs().end(), producer) !=
              definition->inputs().end(),
      producer->toString(),
      " is no operand of the definition of ",
      consumer->toString());
  PairCollector collector(producer, consumer);
  definition->mapDomains(collector);
  const auto producer_domain = noReductions(producer->getLogicalDomain());
  const auto& consumer_domain = consumer->getMaybeRootDomain();
  std::unordered_set<const IterDomain*> taken;
  for (const auto& [p, c] : collector.take()) {
    NVF_ERROR(
        p >= 0 && p < static_cast<int64_t>(producer_domain.size()) && c >= 0 &&
            c < static_cast<int64_t>(consumer_domain.size()),
        definition->opName(),
        " maps dimension ",
        p,
        " of ",
        producer->toString(),
        " to dimension ",
        c,
        " of ",
        consumer->toString());
    IterDomain* from = producer_domain[p];
    IterDomain* to = consumer_domain[c];
    if (broadcasts == BroadcastMapping::Separate && from->isBroadcast() != to->isBroadcast()) {
      continue;
    }
    if (!taken.contains(from) && !taken.contains(to)) {
      taken.insert({from, to});
      pairs_.emplace_back(from, to);
    }
  }
}

std::unordered_map<IterDomain*, IterDomain*> PairwiseLogicalDomainMap::producerToConsumer() const {
  return {pairs_.begin(), pairs_.end()};
}

std::unordered_map<IterDomain*, IterDomain*> PairwiseLogicalDomainMap::consumerToProducer() const {
  std::unordered_map<IterDomain*, IterDomain*> map;
  for (const auto& [producer, consumer] : pairs_) {
    map.emplace(consumer, producer);
  }
  return map;
}

LogicalDomainMap::LogicalDomainMap(const Fusion& fusion, BroadcastMapping broadcasts) {
  for (const TensorView* tv : fusion.tensorViews()) {
    for (const auto* domain : {&tv->getRootDomain(), &tv->getLogicalDomain()}) {
      for (IterDomain* id : *domain) {
        sets_.add(id);
      }
    }
  }
  for (const Expr* expr : fusion.exprs()) {
    for (const Val* in : expr->inputs()) {
      for (const Val* out : expr->outputs()) {
        if (!in->isTensor() || !out->isTensor()) {
          continue;
        }
        const PairwiseLogicalDomainMap map(
            static_cast<const TensorView*>(in), static_cast<const TensorView*>(out), broadcasts);
        for (const auto& [producer, consumer] : map.pairs()) {
          sets_.join(producer, consumer);
        }
      }
    }
  }
}

} // namespace nvfuser
