#include <analysis/allocation_order.h>
#include <analysis/id_model.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace nvfuser {

namespace {

using Order = std::vector<IterDomain*>;

Order logicalOf(const TensorView* tv) {
  return noReductions(tv->getLogicalDomain());
}

// The order that `tv` itself declares.
Order declaredOrder(const TensorView* tv) {
  const Order logical = logicalOf(tv);
  const Order allocation = noReductions(tv->getMaybeAllocationDomain());
  const bool plain =
      std::is_permutation(logical.begin(), logical.end(), allocation.begin(), allocation.end());
  return plain ? allocation : logical;
}

// The order of `to` in which its dimensions stand as those of `from` do, position by position.
Order samePositions(const Order& from_order, const Order& from, const Order& to) {
  Order result;
  for (IterDomain* id : from_order) {
    result.push_back(to[std::find(from.begin(), from.end(), id) - from.begin()]);
  }
  return result;
}

class Inference {
 public:
  explicit Inference(const Fusion& fusion)
      : model_(&fusion), graph_(model_.maybeBuildGraph(IdMappingMode::Broadcast)) {}

  /// The order of `tv`; the logical order where nothing else follows.
  Order orderOf(const TensorView* tv) {
    if (const auto it = known_.find(tv); it != known_.end()) {
      return it->second;
    }
    return known_.emplace(tv, computeOrder(tv)).first->second;
  }

 private:
  struct Source {
    const TensorView* tensor;
    Order order;
  };

  Order computeOrder(const TensorView* tv) {
    size_t most = 0;
    std::vector<Source> deciding;
    for (Source& source : sourcesOf(tv)) {
      const size_t dims = noBroadcasts(source.order).size();
      if (dims > most) {
        deciding.clear();
        most = dims;
      }
      if (dims == most && dims > 0) {
        deciding.push_back(std::move(source));
      }
    }
    const Order logical = logicalOf(tv);
    std::optional<Order> agreed;
    for (const Source& source : deciding) {
      const auto order = carry(source, logical);
      if (!order.has_value() ||
          (agreed.has_value() && noBroadcasts(*agreed) != noBroadcasts(*order))) {
        return logical;
      }
      agreed = agreed.has_value() ? agreed : order;
    }
    return agreed.value_or(logical);
  }

  // Tensors with an order of their own that `tv` is computed from, nearest ones only.
  std::vector<Source> sourcesOf(const TensorView* tv) {
    std::vector<Source> sources;
    std::unordered_set<const Val*> seen = {tv};
    std::vector<const TensorView*> stack = {tv};
    while (!stack.empty()) {
      const TensorView* current = stack.back();
      stack.pop_back();
      if (auto order = ownOrder(current, current == tv)) {
        sources.push_back({current, std::move(*order)});
        continue;
      }
      if (current->definition() == nullptr) {
        continue;
      }
      for (const Val* in : current->definition()->inputs()) {
        if (in->isTensor() && seen.insert(in).second) {
          stack.push_back(static_cast<const TensorView*>(in));
        }
      }
    }
    return sources;
  }

  std::optional<Order> ownOrder(const TensorView* tv, bool is_asked_for) {
    if (tv->isFusionInput() || (tv->hasAllocation() && !is_asked_for)) {
      return declaredOrder(tv);
    }
    const Expr* definition = tv->definition();
    if (definition == nullptr) {
      return std::nullopt;
    }
    const auto& outs = definition->outputs();
    const size_t index = std::find(outs.begin(), outs.end(), tv) - outs.begin();
    if (const Val* operand = definition->layoutOperand(index)) {
      const auto* source = operand->as<TensorView>();
      const Order to = logicalOf(tv);
      const Order from = logicalOf(source);
      NVF_ERROR(
          from.size() == to.size(), definition->opName(), " names an operand of another rank");
      return samePositions(
          source->hasAllocation() ? declaredOrder(source) : orderOf(source), from, to);
    }
    if (definition->traits().opens_segment) {
      return logicalOf(tv); // library kernels write row-major
    }
    return std::nullopt;
  }

  // Where a domain lies in the order of a source: its place, then its place within what was split.
  using Key = std::vector<size_t>;

  std::optional<Key> keyOf(IterDomain* id, const Order& source) const {
    std::unordered_set<size_t> visited;
    return keyOf(id, source, visited);
  }

  // Each set is looked at once, however many ways lead back from it.
  std::optional<Key> keyOf(IterDomain* id, const Order& source, std::unordered_set<size_t>& visited)
      const {
    const auto& sets = graph_.disjointValSets();
    const auto it = std::find_if(
        source.begin(), source.end(), [&](IterDomain* s) { return sets.areMapped(s, id); });
    if (it != source.end()) {
      return Key{static_cast<size_t>(it - source.begin())};
    }
    constexpr size_t kMostSets = 1000;
    if (visited.size() >= kMostSets || !visited.insert(sets.idOf(id)).second) {
      return std::nullopt;
    }
    for (const Expr* transform : graph_.definitionsOf(sets.idOf(id))) {
      const auto ins = domainsOf(transform->inputs());
      const auto outs = domainsOf(transform->outputs());
      if (auto key = keyOf(ins.front(), source, visited)) {
        if (outs.size() > 1) {
          key->push_back(sets.areMapped(outs.front(), id) ? 0 : 1);
        }
        return key;
      }
    }
    return std::nullopt;
  }

  // The order of a source as an order of `logical`.
  std::optional<Order> carry(const Source& source, const Order& logical) const {
    std::vector<std::pair<Key, IterDomain*>> placed;
    bool all_placed = true;
    Order result;
    for (IterDomain* id : logical) {
      if (auto key = keyOf(id, source.order)) {
        placed.emplace_back(std::move(*key), id);
      } else {
        all_placed = all_placed && id->isBroadcast();
        result.push_back(id);
      }
    }
    if (all_placed) {
      std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
        return a.first < b.first;
      });
      for (const auto& [key, id] : placed) {
        result.push_back(id);
      }
      return result;
    }
    const auto& sets = graph_.disjointValSets();
    const Order from = logicalOf(source.tensor);
    bool by_position = from.size() == logical.size();
    bool any_mapped = false;
    for (size_t i = 0; i < from.size() && by_position; ++i) {
      const bool in_place = sets.areMapped(from[i], logical[i]);
      any_mapped = any_mapped || in_place;
      by_position = in_place || std::none_of(logical.begin(), logical.end(), [&](IterDomain* id) {
                      return sets.areMapped(from[i], id);
                    });
    }
    return by_position && any_mapped
        ? std::optional<Order>(samePositions(source.order, from, logical))
        : std::nullopt;
  }

  IdModel model_;
  const ValGraph& graph_;
  std::unordered_map<const TensorView*, Order> known_;
};

} // namespace

std::vector<std::optional<std::vector<IterDomain*>>> inferAllocationOrders(
    const Fusion& fusion,
    const std::vector<TensorView*>& tensors) {
  std::vector<std::optional<Order>> result;
  if (tensors.empty()) {
    return result;
  }
  Inference inference(fusion);
  for (const TensorView* tv : tensors) {
    Order order = inference.orderOf(tv);
    if (noBroadcasts(order) == noBroadcasts(logicalOf(tv))) {
      result.emplace_back();
      continue;
    }
    Order reductions = tv->getLogicalDomain();
    std::erase_if(reductions, [](const IterDomain* id) { return !id->isReduction(); });
    order.insert(order.begin(), reductions.begin(), reductions.end());
    result.emplace_back(std::move(order));
  }
  return result;
}

} // namespace nvfuser
