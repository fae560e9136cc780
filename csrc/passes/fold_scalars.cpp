#include <analysis/scalar_values.h>
#include <ir/builder.h>
#include <ir/fusion.h>
#include <ir/iter_domain.h>
#include <passes/fold_scalars.h>

namespace nvfuser {

void foldScalars(Fusion& fusion) {
  FusionGuard guard(&fusion);
  ScalarValues values;
  std::vector<std::pair<Val*, Val*>> folded;
  std::unordered_map<const Val*, Val*> replacements;
  for (const Expr* expr : fusion.allExprs()) {
    Val* out = expr->outputs().front();
    if (!out->isScalar() || out->isFusionOutput()) {
      continue;
    }
    const ScalarValue value = values.evaluate(out);
    if (hasValue(value)) {
      Val* constant = out->dtype() == DataType::Index ? IrBuilder::constInt(toInt(value))
                                                      : IrBuilder::constant(value, out->dtype());
      folded.emplace_back(out, constant);
      replacements.emplace(out, constant);
    }
  }
  if (folded.empty()) {
    return;
  }
  for (const auto& [from, to] : folded) {
    fusion.removeExpr(from->definition());
  }
  for (const auto& [from, to] : folded) {
    fusion.replaceAllUses(from, to);
  }
  for (Val* val : fusion.vals()) {
    if (auto* id = dynamic_cast<IterDomain*>(val)) {
      id->replaceScalars(replacements);
    }
  }
}

} // namespace nvfuser
