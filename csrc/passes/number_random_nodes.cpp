#include <ir/fusion.h>
#include <passes/number_random_nodes.h>

namespace nvfuser {

void numberRandomNodes(Fusion& fusion) {
  int64_t next = 0;
  for (Expr* expr : fusion.exprs()) {
    if (!expr->traits().random || !expr->hasAttribute("rng_id")) {
      continue;
    }
    const int64_t id = next++;
    if (expr->attribute<int64_t>("rng_id") == id) {
      continue;
    }
    ExprParts parts{expr->operands(), expr->outputs(), expr->attributes()};
    for (NamedAttribute& attribute : parts.attributes) {
      if (attribute.name == "rng_id") {
        attribute.value = id;
      }
    }
    fusion.removeExpr(expr);
    expr->newLike(&fusion, std::move(parts));
  }
}

} // namespace nvfuser
