#include <ir/fusion.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>
#include <passes/dead_code.h>

#include <unordered_set>

namespace nvfuser {

namespace {

// Domains of the tensors that outputs depend on, whatever their role.
std::vector<Val*> liveDomains(const Fusion& fusion) {
  std::vector<Val*> domains;
  for (const TensorView* tv : fusion.tensorViews()) {
    for (const auto* domain :
         {&tv->getRootDomain(),
          &tv->getLogicalDomain(),
          &tv->getMaybeAllocationDomain(),
          &tv->getLoopDomain()}) {
      domains.insert(domains.end(), domain->begin(), domain->end());
    }
  }
  return domains;
}

void addScalarsOf(const Val* val, std::vector<Val*>& scalars) {
  const auto* id = dynamic_cast<const IterDomain*>(val);
  if (id == nullptr) {
    return;
  }
  for (Val* scalar : {id->start(), id->extent(), id->expandedExtent()}) {
    if (scalar != nullptr) {
      scalars.push_back(scalar);
    }
  }
}

} // namespace

void removeDeadCode(Fusion& fusion) {
  std::unordered_set<const Expr*> live;
  for (const Expr* expr : fusion.exprs()) {
    live.insert(expr);
  }
  std::vector<Val*> scalars;
  for (Val* val : dependenciesOf(liveDomains(fusion))) {
    if (val->definition() != nullptr) {
      live.insert(val->definition());
    }
    addScalarsOf(val, scalars);
  }
  for (const Expr* expr : exprsTo(scalars)) {
    live.insert(expr);
  }
  for (Expr* expr : fusion.allExprs()) {
    if (!live.contains(expr)) {
      fusion.removeExpr(expr);
    }
  }
}

} // namespace nvfuser
