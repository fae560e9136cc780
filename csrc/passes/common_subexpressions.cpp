#include <analysis/same_domains.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>
#include <passes/common_subexpressions.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace nvfuser {

namespace {

class Merger {
 public:
  explicit Merger(Fusion& fusion) : fusion_(fusion) {}

  void run() {
    for (Expr* expr : fusion_.exprs()) {
      if (!isCandidate(expr)) {
        continue;
      }
      auto& bucket = seen_[keyOf(expr)];
      const auto it = std::find_if(bucket.begin(), bucket.end(), [&](const Expr* earlier) {
        return isSame(earlier, expr) && mayReplace(earlier, expr);
      });
      if (it == bucket.end()) {
        bucket.push_back(expr);
        continue;
      }
      for (size_t i = 0; i < expr->outputs().size(); ++i) {
        Val* kept = (*it)->output(i);
        replacement_.emplace(expr->output(i), kept);
        order_.emplace_back(expr->output(i), kept);
        if (isOutput(expr->output(i))) {
          becomes_output_.insert(kept);
        }
      }
    }
    for (const auto& [from, to] : order_) {
      fusion_.replaceAllUses(from, to);
      if (from->definition() != nullptr) {
        fusion_.removeExpr(from->definition());
      }
    }
  }

 private:
  static bool isCandidate(const Expr* expr) {
    const NodeTraits traits = expr->traits();
    const auto& outs = expr->outputs();
    return traits.pure && !traits.random &&
        std::all_of(outs.begin(), outs.end(), [](const Val* v) { return v->isTensor(); });
  }

  Val* resolved(Val* val) const {
    const auto it = replacement_.find(val);
    return it == replacement_.end() ? val : it->second;
  }

  std::string keyOf(const Expr* expr) const {
    std::string key(expr->opName());
    for (const Operand& operand : expr->operands()) {
      key += operand.val == nullptr ? " -"
          : operand.val->isTensor() ? " T" + std::to_string(resolved(operand.val)->name())
          : operand.val->isConst()  ? " " + scalarText(operand.val->value())
                                    : " s";
    }
    for (const NamedAttribute& attribute : expr->attributes()) {
      key += " " + attributeText(attribute.value);
    }
    return key;
  }

  bool isSame(const Expr* a, const Expr* b) const {
    if (a->outputs().size() != b->outputs().size() ||
        a->operands().size() != b->operands().size()) {
      return false;
    }
    for (size_t i = 0; i < a->operands().size(); ++i) {
      Val* x = a->operands()[i].val;
      Val* y = b->operands()[i].val;
      if ((x == nullptr) != (y == nullptr) || (x != nullptr && !resolved(x)->sameAs(resolved(y)))) {
        return false;
      }
    }
    for (size_t i = 0; i < a->attributes().size(); ++i) {
      if (a->attributes()[i].value != b->attributes()[i].value) {
        return false;
      }
    }
    for (size_t i = 0; i < a->outputs().size(); ++i) {
      if (!haveSameDomains(a->output(i)->as<TensorView>(), b->output(i)->as<TensorView>())) {
        return false;
      }
    }
    return true;
  }

  bool isOutput(const Val* val) const {
    return val->isFusionOutput() || becomes_output_.contains(val);
  }

  bool mayReplace(const Expr* kept, const Expr* removed) const {
    for (size_t i = 0; i < kept->outputs().size(); ++i) {
      if (isOutput(kept->output(i)) && isOutput(removed->output(i))) {
        return false;
      }
    }
    return true;
  }

  Fusion& fusion_;
  std::unordered_map<std::string, std::vector<Expr*>> seen_;
  std::unordered_map<Val*, Val*> replacement_;
  std::vector<std::pair<Val*, Val*>> order_;
  std::unordered_set<const Val*> becomes_output_;
};

} // namespace

void mergeCommonSubexpressions(Fusion& fusion) {
  FusionGuard guard(&fusion);
  Merger(fusion).run();
}

} // namespace nvfuser
