#include <analysis/logical_domain_map.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>
#include <passes/check_fusion.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

namespace {

bool contains(const std::vector<Expr*>& exprs, const Expr* expr) {
  return std::find(exprs.begin(), exprs.end(), expr) != exprs.end();
}

class FusionChecker {
 public:
  FusionChecker(const Fusion& fusion, bool may_be_scheduled)
      : fusion_(fusion), may_be_scheduled_(may_be_scheduled) {}

  bool findsSchedule() {
    for (const TensorView* tv : fusion_.tensorViews()) {
      checkUnscheduled(tv);
    }
    return !broken_.empty();
  }

  std::vector<std::string> run() {
    checkEnds();
    collectKnownSizes();
    for (const Expr* expr : fusion_.exprs()) {
      checkLinks(expr);
      checkDomainMap(expr);
      for (const Val* in : expr->inputs()) {
        checkKnown(in, expr);
      }
    }
    for (const TensorView* tv : fusion_.tensorViews()) {
      if (!may_be_scheduled_) {
        checkUnscheduled(tv);
      }
      checkDomains(tv);
    }
    return std::move(broken_);
  }

 private:
  template <typename... Args>
  void require(bool holds, const Args&... message) {
    if (!holds) {
      broken_.push_back(detail::concat(message...));
    }
  }

  void checkEnds() {
    for (const Val* in : fusion_.inputs()) {
      require(in->definition() == nullptr, "input ", in->toString(), " has a definition");
      require(in->isFusionInput(), "input ", in->toString(), " is not marked as one");
      checkGlobal(in);
    }
    for (size_t i = 0; i < fusion_.outputs().size(); ++i) {
      const Val* out = fusion_.outputs()[i];
      require(out->isFusionOutput(), "output ", out->toString(), " is not marked as one");
      require(
          out->isFusionInput() || out->definition() != nullptr || out->isConst(),
          "output ",
          out->toString(),
          " has no definition");
      checkGlobal(out);
      const auto& alias = fusion_.aliasOf(i);
      if (alias.has_value()) {
        require(
            alias->input->isFusionInput() && alias->input->dtype() == out->dtype(),
            "output ",
            out->toString(),
            " cannot be written into ",
            alias->input->toString());
      }
    }
  }

  void checkGlobal(const Val* val) {
    const auto* tv = dynamic_cast<const TensorView*>(val);
    require(
        tv == nullptr || tv->memoryType() == MemoryType::Global,
        val->toString(),
        " is an input or output but does not lie in global memory");
  }

  void checkLinks(const Expr* expr) {
    for (const Val* in : expr->inputs()) {
      require(
          in->fusion() == &fusion_ && contains(in->uses(), expr),
          in->toString(),
          " does not know its use ",
          expr->toString());
    }
    for (const Val* out : expr->outputs()) {
      require(
          out->fusion() == &fusion_ && out->definition() == expr,
          out->toString(),
          " does not know its definition ",
          expr->toString());
    }
  }

  void checkDomainMap(const Expr* expr) {
    for (const Val* in : expr->inputs()) {
      for (const Val* out : expr->outputs()) {
        if (!in->isTensor() || !out->isTensor()) {
          continue;
        }
        try {
          PairwiseLogicalDomainMap(
              static_cast<const TensorView*>(in), static_cast<const TensorView*>(out));
        } catch (const InternalError& error) {
          broken_.emplace_back(error.what());
        }
      }
    }
  }

  void collectKnownSizes() {
    for (const Val* in : fusion_.inputs()) {
      known_.insert(in);
      if (const auto* tv = dynamic_cast<const TensorView*>(in)) {
        for (const Val* extent : tv->shape()) {
          known_.insert(extent);
        }
      }
    }
  }

  // Every scalar that `scalar` is computed from is known.
  void checkKnown(const Val* scalar, const Statement* user) {
    if (scalar == nullptr || !scalar->isScalar() || !checked_.insert(scalar).second) {
      return;
    }
    for (const Val* val : dependenciesOf({const_cast<Val*>(scalar)})) {
      require(
          !val->isScalar() || val->isConst() || known_.contains(val) ||
              val->definition() != nullptr,
          "the scalar ",
          val->toString(),
          " in ",
          user->toString(),
          " is neither a constant, an input nor the size of an input");
    }
  }

  void checkUnscheduled(const TensorView* tv) {
    require(
        tv->getLoopDomain() == tv->getLogicalDomain(),
        tv->toString(),
        " is scheduled: its loop domain is not its logical domain");
    require(tv->computeAtPosition() == 0, tv->toString(), " is inlined");
    for (const IterDomain* id : tv->getLogicalDomain()) {
      require(
          id->parallelType() == ParallelType::Serial || isParallelTypeDeviceDim(id->parallelType()),
          tv->toString(),
          " is parallelized");
    }
    const auto& logical = tv->getLogicalDomain();
    const auto& allocation = tv->getMaybeAllocationDomain();
    require(
        std::is_permutation(logical.begin(), logical.end(), allocation.begin(), allocation.end()),
        "the allocation domain of ",
        tv->toString(),
        " is no permutation of its logical domain");
  }

  void checkDomains(const TensorView* tv) {
    const Expr* definition = tv->isFusionInput() ? nullptr : tv->definition();
    const bool may_reduce = definition != nullptr && definition->traits().reduction;
    const auto& allocation = tv->getMaybeAllocationDomain();
    const auto& contiguity = tv->domain()->contiguity();
    require(
        allocation.size() == contiguity.size(),
        tv->toString(),
        " has ",
        contiguity.size(),
        " contiguity flags for ",
        allocation.size(),
        " domains");
    for (size_t i = 0; i < std::min(allocation.size(), contiguity.size()); ++i) {
      require(
          contiguity[i].has_value() !=
              (allocation[i]->isBroadcast() || allocation[i]->isReduction()),
          "contiguity of ",
          allocation[i]->toString(),
          " in ",
          tv->toString());
    }
    for (const auto* domain : {&tv->getRootDomain(), &tv->getLogicalDomain()}) {
      for (const IterDomain* id : *domain) {
        require(may_reduce || !id->isReduction(), tv->toString(), " reduces without a reduction");
        checkKnown(id->extent(), tv);
        checkKnown(id->expandedExtent(), tv);
        checkKnown(id->start(), tv);
      }
    }
    checkDerivation(tv);
  }

  void checkDerivation(const TensorView* tv) {
    if (!tv->hasRoot()) {
      return;
    }
    const auto& root = tv->getRootDomain();
    const auto& logical = tv->getLogicalDomain();
    std::unordered_set<const Val*> made(root.begin(), root.end());
    for (const Expr* transform : transformsBetween(root, logical)) {
      for (const Val* in : transform->inputs()) {
        require(
            in->isScalar() || made.contains(in),
            in->toString(),
            " of ",
            tv->toString(),
            " does not come from the root domain");
      }
      made.insert(transform->outputs().begin(), transform->outputs().end());
    }
    const bool is_empty = std::any_of(logical.begin(), logical.end(), [](const IterDomain* id) {
      return id->extent()->isZeroInt();
    });
    for (const IterDomain* id : logical) {
      require(
          made.contains(id) || is_empty || id->isBroadcast() || id->isSymbolic(),
          id->toString(),
          " of ",
          tv->toString(),
          " comes from nowhere");
    }
  }

  const Fusion& fusion_;
  bool may_be_scheduled_;
  std::vector<std::string> broken_;
  std::unordered_set<const Val*> known_;
  std::unordered_set<const Val*> checked_;
};

} // namespace

std::vector<std::string> brokenRules(const Fusion& fusion, bool may_be_scheduled) {
  return FusionChecker(fusion, may_be_scheduled).run();
}

bool isScheduled(const Fusion& fusion) {
  return FusionChecker(fusion, false).findsSchedule();
}

void checkFusion(const Fusion& fusion, const std::string& when, bool may_be_scheduled) {
  const auto broken = brokenRules(fusion, may_be_scheduled);
  std::string text;
  for (const std::string& rule : broken) {
    text += "\n  " + rule;
  }
  NVF_ERROR(broken.empty(), when, ":", text, "\n", fusion.printMath());
}

} // namespace nvfuser
