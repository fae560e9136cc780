#include <analysis/same_domains.h>
#include <ir/tensor_view.h>

#include <unordered_map>

namespace nvfuser {

namespace {

class DomainComparer {
 public:
  bool compare(const std::vector<IterDomain*>& a, const std::vector<IterDomain*>& b) {
    if (a.size() != b.size()) {
      return false;
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (!compare(a[i], b[i])) {
        return false;
      }
    }
    return true;
  }

 private:
  bool compare(const IterDomain* a, const IterDomain* b) {
    // A domain stands for one partner only: [i0, i1] and [i1, i0] of one root differ.
    if (const auto it = partner_.find(a); it != partner_.end()) {
      return it->second == b;
    }
    if (!a->sameAs(b) || a->isRFactorProduct() != b->isRFactorProduct()) {
      return false;
    }
    if (!compareDefinitions(a, b)) {
      return false;
    }
    const auto [it, is_new] = taken_.emplace(b, a);
    if (!is_new && it->second != a) {
      return false;
    }
    partner_.emplace(a, b);
    return true;
  }

  bool compareDefinitions(const IterDomain* a, const IterDomain* b) {
    const Expr* da = a->definition();
    const Expr* db = b->definition();
    if (da == nullptr || db == nullptr) {
      return da == db;
    }
    if (da->opName() != db->opName() || da->operands().size() != db->operands().size() ||
        (da->output(0) == a) != (db->output(0) == b)) {
      return false;
    }
    for (size_t i = 0; i < da->attributes().size(); ++i) {
      if (da->attributes()[i].value != db->attributes()[i].value) {
        return false;
      }
    }
    for (size_t i = 0; i < da->operands().size(); ++i) {
      const Val* oa = da->operands()[i].val;
      const Val* ob = db->operands()[i].val;
      const bool same = oa->isScalar()
          ? oa->sameAs(ob)
          : compare(static_cast<const IterDomain*>(oa), static_cast<const IterDomain*>(ob));
      if (!same) {
        return false;
      }
    }
    return true;
  }

  std::unordered_map<const IterDomain*, const IterDomain*> partner_;
  std::unordered_map<const IterDomain*, const IterDomain*> taken_;
};

} // namespace

bool haveSameDomains(const TensorView* a, const TensorView* b) {
  if (a->dtype() != b->dtype() || a->isCpuScalar() != b->isCpuScalar() ||
      a->hasRoot() != b->hasRoot() || a->hasAllocation() != b->hasAllocation() ||
      a->domain()->contiguity() != b->domain()->contiguity() ||
      a->computeAtPosition() != b->computeAtPosition()) {
    return false;
  }
  DomainComparer comparer;
  return comparer.compare(a->getRootDomain(), b->getRootDomain()) &&
      comparer.compare(a->getLogicalDomain(), b->getLogicalDomain()) &&
      comparer.compare(a->getMaybeAllocationDomain(), b->getMaybeAllocationDomain()) &&
      comparer.compare(a->getLoopDomain(), b->getLoopDomain());
}

} // namespace nvfuser
