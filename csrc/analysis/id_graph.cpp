#include <analysis/id_graph.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>

#include <algorithm>
#include <deque>
#include <unordered_set>

namespace nvfuser {

std::vector<IterDomain*> domainsOf(const std::vector<Val*>& vals) {
  std::vector<IterDomain*> result;
  for (Val* val : vals) {
    if (val->kind() == ValKind::IterDomain) {
      result.push_back(static_cast<IterDomain*>(val));
    }
  }
  return result;
}

namespace {

// What makes two transforms of the same domains equal: class, flags and sizes.
std::string parametersOf(const Expr* transform) {
  std::string text(transform->opName());
  for (const NamedAttribute& attribute : transform->attributes()) {
    text += " " + attributeText(attribute.value);
  }
  for (const Val* in : transform->inputs()) {
    if (in->isScalar()) {
      text += " " + in->toInlineString();
    }
  }
  return text;
}

std::string setsOf(const DisjointSets<IterDomain*>& ids, const std::vector<IterDomain*>& domains) {
  std::string text;
  for (IterDomain* id : domains) {
    text += " #" + std::to_string(ids.idOf(id));
  }
  return text;
}

// Inputs are determined by the outputs only together with their extents: 2 x 6 and 3 x 4 merge
// alike.
std::string extentsOf(const std::vector<IterDomain*>& domains) {
  std::string text;
  for (const IterDomain* id : domains) {
    text += " " + id->getMaybeExpandedExtent()->toInlineString();
  }
  return text;
}

bool hasSizeOne(const IterDomain* id) {
  return id->getMaybeExpandedExtent()->isOneInt();
}

// The pair of domains that a transform leaves alike.
std::pair<IterDomain*, IterDomain*> trivialPair(Expr* transform) {
  if (auto* merge = dynamic_cast<Merge*>(transform)) {
    if (hasSizeOne(merge->outer())) {
      return {merge->inner(), merge->out()};
    }
    if (hasSizeOne(merge->inner())) {
      return {merge->outer(), merge->out()};
    }
  }
  if (auto* split = dynamic_cast<Split*>(transform)) {
    IterDomain* by_factor = split->innerSplit() ? split->inner() : split->outer();
    IterDomain* remainder = split->innerSplit() ? split->outer() : split->inner();
    if (split->factor()->isOneInt()) {
      return {split->in(), remainder};
    }
    if (split->factor()->sameAs(split->in()->getMaybeExpandedExtent())) {
      return {split->in(), by_factor};
    }
  }
  if (auto* resize = dynamic_cast<Resize*>(transform)) {
    if (resize->leftExpand()->isZeroInt() && resize->rightExpand()->isZeroInt()) {
      return {resize->in(), resize->out()};
    }
  }
  return {nullptr, nullptr};
}

} // namespace

void ValGraph::addTransform(Expr* transform) {
  for (const auto* side : {&transform->inputs(), &transform->outputs()}) {
    for (IterDomain* id : domainsOf(*side)) {
      addId(id);
    }
  }
  transforms_.add(transform);
}

void ValGraph::addTensor(const TensorView* tv) {
  std::vector<Val*> ends;
  for (const auto* domain :
       {&tv->getRootDomain(),
        &tv->getLogicalDomain(),
        &tv->getMaybeAllocationDomain(),
        &tv->getLoopDomain()}) {
    for (IterDomain* id : *domain) {
      addId(id);
      ends.push_back(id);
    }
  }
  for (Expr* expr : exprsTo(ends)) {
    if (expr->output(0)->kind() == ValKind::IterDomain) {
      addTransform(expr);
    }
  }
}

void ValGraph::propagate() {
  struct Edge {
    Expr* expr;
    std::vector<IterDomain*> ins;
    std::vector<IterDomain*> outs;
    std::string parameters;
    std::string extents;
  };
  std::vector<Edge> edges;
  for (Expr* expr : transforms_.items()) {
    auto ins = domainsOf(expr->inputs());
    auto extents = extentsOf(ins);
    edges.push_back(
        {expr, std::move(ins), domainsOf(expr->outputs()), parametersOf(expr), std::move(extents)});
    if (trivial_transforms_) {
      const auto [in, out] = trivialPair(expr);
      if (in != nullptr) {
        ids_.join(in, out);
      }
    }
  }
  bool changed = true;
  const auto joinAll = [&](const auto& a, const auto& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      changed = ids_.join(a[i], b[i]) || changed;
    }
  };
  while (changed) {
    changed = false;
    std::unordered_map<std::string, const Edge*> by_inputs;
    std::unordered_map<std::string, const Edge*> by_outputs;
    for (const Edge& edge : edges) {
      const auto [forward, is_first] =
          by_inputs.emplace(edge.parameters + setsOf(ids_, edge.ins), &edge);
      if (!is_first) {
        transforms_.join(forward->second->expr, edge.expr);
        joinAll(forward->second->outs, edge.outs);
      }
      const auto [backward, is_only] =
          by_outputs.emplace(edge.parameters + edge.extents + setsOf(ids_, edge.outs), &edge);
      if (!is_only) {
        transforms_.join(backward->second->expr, edge.expr);
        joinAll(backward->second->ins, edge.ins);
      }
    }
  }
  rebuildEdges();
}

void ValGraph::rebuildEdges() {
  uses_.clear();
  definitions_.clear();
  for (size_t set : transforms_.ids()) {
    Expr* expr = transforms_.members(set).front();
    const auto addTo = [&](auto& table, const std::vector<Val*>& vals) {
      std::unordered_set<size_t> done;
      for (IterDomain* id : domainsOf(vals)) {
        if (done.insert(ids_.idOf(id)).second) {
          table[ids_.idOf(id)].push_back(expr);
        }
      }
    };
    addTo(uses_, expr->inputs());
    addTo(definitions_, expr->outputs());
  }
}

namespace {

const std::vector<Expr*>& edgesAt(
    const std::unordered_map<size_t, std::vector<Expr*>>& table,
    size_t set) {
  static const std::vector<Expr*> kNone;
  const auto it = table.find(set);
  return it == table.end() ? kNone : it->second;
}

} // namespace

const std::vector<Expr*>& ValGraph::usesOf(size_t id_set) const {
  return edgesAt(uses_, id_set);
}

const std::vector<Expr*>& ValGraph::definitionsOf(size_t id_set) const {
  return edgesAt(definitions_, id_set);
}

std::string ValGraph::toString() const {
  std::string text;
  for (size_t set : ids_.ids()) {
    if (ids_.members(set).size() > 1) {
      text += "{" + domainText(ids_.members(set)) + "}\n";
    }
  }
  return text;
}

IdPath findIdPath(
    const ValGraph& graph,
    const std::vector<IterDomain*>& from,
    const std::vector<IterDomain*>& to) {
  const auto& ids = graph.disjointValSets();
  const auto setsOfDomains = [&](const std::vector<IterDomain*>& domains) {
    std::vector<size_t> result;
    for (IterDomain* id : domains) {
      NVF_ERROR(ids.contains(id), id->toString(), " is not in the graph");
      result.push_back(ids.idOf(id));
    }
    return result;
  };
  std::unordered_set<size_t> visited;
  std::deque<size_t> queue;
  const auto visit = [&](size_t set) {
    if (visited.insert(set).second) {
      queue.push_back(set);
    }
  };
  for (size_t set : setsOfDomains(from)) {
    visit(set);
  }
  // Every step taken, with what it needs and what it was the first to reach.
  struct Taken {
    IdStep step;
    std::vector<size_t> needs;
    std::vector<size_t> gives;
  };
  std::vector<Taken> taken;
  const auto tryStep = [&](Expr* transform, bool forward) {
    const auto ins = setsOfDomains(domainsOf(transform->inputs()));
    const auto outs = setsOfDomains(domainsOf(transform->outputs()));
    const auto& needs = forward ? ins : outs;
    std::vector<size_t> gives = forward ? outs : ins;
    std::erase_if(gives, [&](size_t set) { return visited.contains(set); });
    const bool ready =
        std::all_of(needs.begin(), needs.end(), [&](size_t set) { return visited.contains(set); });
    if (ready && !gives.empty()) {
      for (size_t set : gives) {
        visit(set);
      }
      taken.push_back({{transform, forward}, needs, std::move(gives)});
    }
  };
  const auto targets = setsOfDomains(to);
  const auto allReached = [&] {
    return std::all_of(
        targets.begin(), targets.end(), [&](size_t set) { return visited.contains(set); });
  };
  while (!queue.empty() && !allReached()) {
    const size_t set = queue.front();
    queue.pop_front();
    for (Expr* transform : graph.usesOf(set)) {
      tryStep(transform, true);
    }
    for (Expr* transform : graph.definitionsOf(set)) {
      tryStep(transform, false);
    }
  }

  IdPath path;
  std::unordered_set<size_t> needed;
  for (size_t i = 0; i < to.size(); ++i) {
    if (visited.contains(targets[i])) {
      needed.insert(targets[i]);
    } else {
      path.unreached.push_back(to[i]);
    }
  }
  for (auto it = taken.rbegin(); it != taken.rend(); ++it) {
    const bool leads = std::any_of(
        it->gives.begin(), it->gives.end(), [&](size_t set) { return needed.contains(set); });
    if (leads) {
      needed.insert(it->needs.begin(), it->needs.end());
      path.steps.push_back(it->step);
    }
  }
  std::reverse(path.steps.begin(), path.steps.end());
  return path;
}

} // namespace nvfuser
