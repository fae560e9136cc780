#include <analysis/aliases.h>
#include <analysis/logical_domain_map.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

namespace {

bool isPlainBroadcast(const IterDomain* id) {
  return id->isBroadcast() && !id->hasExpandedExtent();
}

// A layout that is carried from a tensor to its view, one change at a time. Every change says
// whether the result still is a view.
class LayoutWalker {
 public:
  /// False when the allocation domain is no permutation of the logical domain.
  bool start(const TensorView* input) {
    const auto& logical = input->getLogicalDomain();
    layout_ = {input->getMaybeAllocationDomain(), input->domain()->contiguity()};
    return std::is_permutation(
        logical.begin(), logical.end(), layout_.order.begin(), layout_.order.end());
  }

  bool step(const TensorView* from, const TensorView* to) {
    return rename(from, to) && transform(to) && finish(to);
  }

  const MemoryLayout& layout() const {
    return layout_;
  }

 private:
  size_t placeOf(const Val* id) const {
    return std::find(layout_.order.begin(), layout_.order.end(), id) - layout_.order.begin();
  }

  void erase(size_t place) {
    layout_.order.erase(layout_.order.begin() + place);
    layout_.contiguity.erase(layout_.contiguity.begin() + place);
  }

  void insert(size_t place, IterDomain* id, std::optional<bool> contiguity) {
    layout_.order.insert(layout_.order.begin() + place, id);
    layout_.contiguity.insert(layout_.contiguity.begin() + place, contiguity);
  }

  // From the domains of `from` to the root domains of `to`.
  bool rename(const TensorView* from, const TensorView* to) {
    const auto map = PairwiseLogicalDomainMap(from, to).producerToConsumer();
    for (size_t i = layout_.order.size(); i-- > 0;) {
      const auto it = map.find(layout_.order[i]);
      if (it == map.end()) {
        erase(i); // squeezed: its size is 1, or it is expanded and has stride 0
        continue;
      }
      layout_.order[i] = it->second;
      if (it->second->isBroadcast()) {
        layout_.contiguity[i] = std::nullopt;
      } else if (!layout_.contiguity[i].has_value()) {
        return false; // a stride of 0 under a domain that is no broadcast
      }
    }
    for (IterDomain* id : to->getMaybeRootDomain()) {
      if (placeOf(id) == layout_.order.size()) {
        if (!id->isBroadcast()) {
          return false;
        }
        insert(0, id, std::nullopt);
      }
    }
    return true;
  }

  // From the root to the logical domains of `to`.
  bool transform(const TensorView* to) {
    if (!to->hasRoot()) {
      return true;
    }
    for (Expr* expr : transformsBetween(to->getRootDomain(), to->getLogicalDomain())) {
      const bool is_view = expr->isA<Split>() ? split(expr->as<Split>())
          : expr->isA<Merge>()                ? merge(expr->as<Merge>())
          : expr->isA<Resize>()               ? resize(expr->as<Resize>())
                                              : false;
      if (!is_view) {
        return false;
      }
    }
    return true;
  }

  bool split(const Split* split) {
    const size_t place = placeOf(split->in());
    const auto contiguity = layout_.contiguity[place];
    if (!contiguity.has_value()) {
      return false;
    }
    erase(place);
    insert(place, split->inner(), contiguity);
    insert(place, split->outer(), true);
    return true;
  }

  bool merge(const Merge* merge) {
    const size_t outer = placeOf(merge->outer());
    const size_t inner = placeOf(merge->inner());
    if (outer > inner || layout_.contiguity[outer] != true ||
        !layout_.contiguity[inner].has_value()) {
      return false;
    }
    for (size_t i = outer + 1; i < inner; ++i) {
      if (!isPlainBroadcast(layout_.order[i])) {
        return false; // something else lies between the two
      }
    }
    layout_.order[inner] = merge->out();
    erase(outer);
    return true;
  }

  bool resize(const Resize* resize) {
    const size_t place = placeOf(resize->in());
    layout_.order[place] = resize->out();
    if (resize->out()->isBroadcast()) {
      layout_.contiguity[place] = std::nullopt;
    } else if (!layout_.contiguity[place].has_value()) {
      return false;
    }
    // Its stride stays; the next stride outside is no longer its stride times its size.
    for (size_t i = place; i-- > 0;) {
      if (layout_.contiguity[i].has_value()) {
        layout_.contiguity[i] = false;
        break;
      }
    }
    return true;
  }

  // Drops sizes of 1 that the view does not have, adds those that are new.
  bool finish(const TensorView* to) {
    const auto& logical = to->getLogicalDomain();
    const std::unordered_set<const IterDomain*> wanted(logical.begin(), logical.end());
    for (size_t i = layout_.order.size(); i-- > 0;) {
      if (!wanted.contains(layout_.order[i])) {
        if (!isPlainBroadcast(layout_.order[i])) {
          return false;
        }
        erase(i);
      }
    }
    for (IterDomain* id : logical) {
      if (placeOf(id) == layout_.order.size()) {
        if (!isPlainBroadcast(id)) {
          return false;
        }
        insert(0, id, std::nullopt);
      }
    }
    return true;
  }

  MemoryLayout layout_;
};

// What was asked for by an allocation domain agrees with what the view has.
bool agrees(const TensorView* tv, const MemoryLayout& layout) {
  if (!tv->hasAllocation()) {
    return true;
  }
  const bool dense = std::all_of(
      layout.contiguity.begin(), layout.contiguity.end(), [](auto c) { return c.value_or(true); });
  return dense && noBroadcasts(tv->getMaybeAllocationDomain()) == noBroadcasts(layout.order);
}

// The tensors from an input to `output`, when all nodes between are views; else empty.
std::vector<TensorView*> chainTo(TensorView* output) {
  std::vector<TensorView*> chain = {output};
  while (!chain.back()->isFusionInput()) {
    const Expr* definition = chain.back()->definition();
    if (definition == nullptr || !definition->traits().view || definition->inputs().empty() ||
        definition->output(0) != chain.back() || !definition->input(0)->isTensor()) {
      return {};
    }
    chain.push_back(definition->input(0)->as<TensorView>());
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

std::optional<OutputView> findView(TensorView* output) {
  const auto chain = chainTo(output);
  LayoutWalker walker;
  if (chain.empty() || !walker.start(chain.front())) {
    return std::nullopt;
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    if (!walker.step(chain[i - 1], chain[i]) || !agrees(chain[i], walker.layout())) {
      return std::nullopt;
    }
  }
  return OutputView{chain.front(), walker.layout()};
}

} // namespace

std::vector<std::optional<OutputView>> findOutputViews(const Fusion& fusion) {
  std::unordered_set<const Val*> written;
  for (size_t i = 0; i < fusion.outputs().size(); ++i) {
    if (fusion.aliasOf(i).has_value()) {
      written.insert(fusion.aliasOf(i)->input);
    }
  }
  std::vector<std::optional<OutputView>> views(fusion.outputs().size());
  for (size_t i = 0; i < views.size(); ++i) {
    Val* output = fusion.outputs()[i];
    if (!output->isTensor() || fusion.aliasOf(i).has_value()) {
      continue;
    }
    views[i] = findView(output->as<TensorView>());
    if (views[i].has_value() && written.contains(views[i]->input)) {
      views[i].reset();
    }
  }
  return views;
}

} // namespace nvfuser
