#include <ir/builder.h>
#include <ir/iter_domain.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>

#include <algorithm>

namespace nvfuser {

namespace {

// What must be known before `val`: its definition, or for a tensor input nothing.
const Expr* definitionOf(const Val* val, const std::unordered_set<const Val*>& stops) {
  return stops.contains(val) || val->isFusionInput() ? nullptr : val->definition();
}

} // namespace

std::vector<Expr*> exprsTo(const std::vector<Val*>& to, const std::vector<Val*>& from) {
  const std::unordered_set<const Val*> stops(from.begin(), from.end());
  std::vector<Expr*> order;
  std::unordered_set<const Expr*> done;
  struct Frame {
    Expr* expr;
    size_t next_input;
  };
  std::vector<Frame> stack;
  std::unordered_set<const Expr*> on_stack;
  const auto push = [&](const Val* val) {
    auto* definition = const_cast<Expr*>(definitionOf(val, stops));
    if (definition != nullptr && !done.contains(definition)) {
      NVF_ERROR(on_stack.insert(definition).second, "the graph has a cycle at ", val->toString());
      stack.push_back({definition, 0});
    }
  };
  for (const Val* target : to) {
    push(target);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next_input < frame.expr->inputs().size()) {
        push(frame.expr->inputs()[frame.next_input++]);
        continue;
      }
      on_stack.erase(frame.expr);
      if (done.insert(frame.expr).second) {
        order.push_back(frame.expr);
      }
      stack.pop_back();
    }
  }
  return order;
}

std::vector<Val*> dependenciesOf(const std::vector<Val*>& to) {
  std::vector<Val*> result;
  std::unordered_set<const Val*> seen;
  const auto add = [&](Val* val) {
    if (seen.insert(val).second) {
      result.push_back(val);
    }
  };
  for (Expr* expr : exprsTo(to)) {
    for (Val* in : expr->inputs()) {
      add(in);
    }
    for (Val* out : expr->outputs()) {
      add(out);
    }
  }
  for (Val* val : to) {
    add(val);
  }
  return result;
}

std::unordered_set<Val*> valsBetween(const std::vector<Val*>& from, const std::vector<Val*>& to) {
  std::unordered_set<Val*> reached(from.begin(), from.end());
  for (Expr* expr : exprsTo(to)) {
    const bool depends = std::any_of(
        expr->inputs().begin(), expr->inputs().end(), [&](Val* v) { return reached.contains(v); });
    if (depends) {
      reached.insert(expr->outputs().begin(), expr->outputs().end());
    }
  }
  std::unordered_set<Val*> needed;
  for (Val* val : dependenciesOf(to)) {
    if (reached.contains(val)) {
      needed.insert(val);
    }
  }
  return needed;
}

std::vector<Expr*> transformsBetween(
    const std::vector<IterDomain*>& from,
    const std::vector<IterDomain*>& to) {
  auto exprs = exprsTo({to.begin(), to.end()}, {from.begin(), from.end()});
  // Factors and widths may be computed; their scalar expressions are no transforms.
  std::erase_if(
      exprs, [](const Expr* e) { return e->outputs().front()->kind() != ValKind::IterDomain; });
  return exprs;
}

void replayTransforms(
    const std::vector<Expr*>& transforms,
    std::unordered_map<IterDomain*, IterDomain*>& map) {
  const auto at = [&](IterDomain* id) {
    const auto it = map.find(id);
    NVF_ERROR(it != map.end(), "no replacement of ", id->toString());
    return it->second;
  };
  for (Expr* expr : transforms) {
    const auto out = [&](size_t i) { return expr->output(i)->as<IterDomain>(); };
    if (auto* split = dynamic_cast<Split*>(expr)) {
      const auto [outer, inner] =
          IterDomain::split(at(split->in()), split->factor(), split->innerSplit());
      map[out(0)] = outer;
      map[out(1)] = inner;
    } else if (auto* merge = dynamic_cast<Merge*>(expr)) {
      map[out(0)] = IterDomain::merge(at(merge->outer()), at(merge->inner()));
    } else if (auto* resize = dynamic_cast<Resize*>(expr)) {
      map[out(0)] = IterDomain::resize(
          at(resize->in()),
          resize->leftExpand(),
          resize->rightExpand(),
          false,
          resize->out()->iterType());
    } else if (expr->isA<Swizzle>()) {
      const auto [x, y] = IterDomain::swizzle(
          at(expr->input(0)->as<IterDomain>()), at(expr->input(1)->as<IterDomain>()));
      map[out(0)] = x;
      map[out(1)] = y;
    } else {
      NVF_ERROR(false, "not a transform: ", expr->toString());
    }
  }
}

void forEachExpr(const Fusion& fusion, const std::function<void(Expr*)>& visit) {
  for (Expr* expr : fusion.exprs()) {
    visit(expr);
  }
}

} // namespace nvfuser
