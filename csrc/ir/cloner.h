// IrCloner: copies nodes from one fusion to another, once each.
#pragma once

#include <ir/fusion.h>
#include <ir/iter_domain.h>

#include <unordered_map>

namespace nvfuser {

class IrCloner {
 public:
  explicit IrCloner(Fusion* target) : target_(target) {}
  virtual ~IrCloner() = default;

  /// Says in advance what stands for `val` in the copy, for example a constant for a symbolic size.
  void seed(const Val* val, Val* replacement) {
    map_[val] = replacement;
  }

  /// The copy of `val` (made on first use, without its definition); nullptr for nullptr.
  Val* clone(const Val* val);
  template <typename T>
  T* cloneAs(const T* val) {
    return static_cast<T*>(clone(val));
  }
  template <typename T>
  std::vector<T*> cloneAll(const std::vector<T*>& vals) {
    std::vector<T*> result;
    for (const T* val : vals) {
      result.push_back(cloneAs(val));
    }
    return result;
  }
  /// The copy of an expression, whose operands and outputs are copied as needed.
  Expr* clone(const Expr* expr);

  std::unordered_map<const Val*, Val*>& map() {
    return map_;
  }

 protected:
  /// A subclass may change what a domain becomes in the copy; `parts` hold nodes of the copy
  /// already.
  virtual IterDomain::Parts adjust(const IterDomain& original, IterDomain::Parts parts) {
    static_cast<void>(original);
    return parts;
  }

 private:
  Fusion* target_;
  std::unordered_map<const Val*, Val*> map_;
};

} // namespace nvfuser
