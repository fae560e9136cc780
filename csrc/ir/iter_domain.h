// IterDomain: one dimension of a tensor or one loop. TensorDomain: the domains of one tensor.
// Split, Merge, Resize and Swizzle relate IterDomains.
#pragma once

#include <ir/statement.h>

#include <optional>
#include <unordered_map>

namespace nvfuser {

/// A dimension or loop: extent, kind (iteration, reduction, broadcast, symbolic), parallel type.
/// A broadcast domain has extent 1; with an expanded extent it is seen as that long without being
/// stored. Symbolic: whether it is a broadcast is known only when the sizes are.
class IterDomain : public Val {
 public:
  struct Parts {
    Val* start = nullptr; ///< nullptr: 0
    Val* extent = nullptr;
    Val* expanded_extent = nullptr;
    IterType iter_type = IterType::Iteration;
    ParallelType parallel_type = ParallelType::Serial;
    bool is_rfactor = false;
  };
  IterDomain(IrBuilderPasskey key, const Parts& parts);

  Val* start() const {
    return parts_.start;
  }
  Val* extent() const {
    return parts_.extent;
  }
  bool hasExpandedExtent() const {
    return parts_.expanded_extent != nullptr;
  }
  Val* expandedExtent() const {
    return parts_.expanded_extent;
  }
  Val* getMaybeExpandedExtent() const {
    return hasExpandedExtent() ? expandedExtent() : extent();
  }
  IterType iterType() const {
    return parts_.iter_type;
  }
  ParallelType parallelType() const {
    return parts_.parallel_type;
  }
  bool isIteration() const {
    return iterType() == IterType::Iteration;
  }
  bool isReduction() const {
    return iterType() == IterType::Reduction;
  }
  bool isBroadcast() const {
    return iterType() == IterType::Broadcast;
  }
  bool isSymbolic() const {
    return iterType() == IterType::Symbolic;
  }
  /// Made by a transform between root and logical domain.
  bool isRFactorProduct() const {
    return parts_.is_rfactor;
  }
  const Parts& parts() const {
    return parts_;
  }

  void parallelize(ParallelType type);

  /// Start and extents that are a key of the map become its value.
  void replaceScalars(const std::unordered_map<const Val*, Val*>& replacements);

  /// A new domain with the same parts and no definition, serial.
  IterDomain* cloneWithoutRFactor() const;
  IterDomain* cloneAs(IterType type) const;

  /// Splits `in` by `factor`. After: outer * inner >= extent; every index of `in` is reached
  /// exactly once; the inner extent is `factor` when inner_split, else the outer one is.
  static std::pair<IterDomain*, IterDomain*> split(IterDomain* in, Val* factor, bool inner_split);
  /// Merges outer and inner. After: extent == outer * inner; index == outer_index * inner +
  /// inner_index.
  static IterDomain* merge(IterDomain* outer, IterDomain* inner, bool is_rfactor = false);
  /// Widens by `left` and `right` (negative: narrows). After: extent == left + extent + right.
  static IterDomain* resize(
      IterDomain* in,
      Val* left,
      Val* right,
      bool is_rfactor = false,
      std::optional<IterType> type = std::nullopt);
  /// XOR-swizzles two loops of one size; both extents are kept.
  static std::pair<IterDomain*, IterDomain*> swizzle(IterDomain* x, IterDomain* y);

  bool sameAs(const Val* other) const override;
  std::string toString() const override;
  std::string toInlineString() const override {
    return toString();
  }

 private:
  Parts parts_;
};

class Split : public Expr {
 public:
  NVF_EXPR_COMMON(Split)
  Split(
      IrBuilderPasskey,
      IterDomain* outer,
      IterDomain* inner,
      IterDomain* in,
      Val* factor,
      bool inner_split);
  IterDomain* outer() const;
  IterDomain* inner() const;
  IterDomain* in() const;
  Val* factor() const {
    return operand("factor");
  }
  bool innerSplit() const {
    return attribute<bool>("inner_split");
  }
  /// Both sizes are constant and the factor divides the extent.
  bool isDivisible() const;
  std::string toString() const override;
};

class Merge : public Expr {
 public:
  NVF_EXPR_COMMON(Merge)
  Merge(IrBuilderPasskey, IterDomain* out, IterDomain* outer, IterDomain* inner);
  IterDomain* out() const;
  IterDomain* outer() const;
  IterDomain* inner() const;
  std::string toString() const override;
};

class Resize : public Expr {
 public:
  NVF_EXPR_COMMON(Resize)
  Resize(IrBuilderPasskey, IterDomain* out, IterDomain* in, Val* left, Val* right);
  IterDomain* out() const;
  IterDomain* in() const;
  Val* leftExpand() const {
    return operand("left");
  }
  Val* rightExpand() const {
    return operand("right");
  }
  std::string toString() const override;
};

class Swizzle : public Expr {
 public:
  NVF_EXPR_COMMON(Swizzle)
  Swizzle(
      IrBuilderPasskey,
      IterDomain* out_x,
      IterDomain* out_y,
      IterDomain* in_x,
      IterDomain* in_y);
  std::string toString() const override;
};

/// The domains of one tensor.
///  root: before a transform that belongs to the tensor's definition (reshape, slice, rfactor);
///  empty
///        when there is none, then the logical domain takes its place.
///  logical: the dimensions a user sees. allocation: the order in memory, empty when logical.
///  loop: what a schedule changes. contiguity: one entry per allocation dim (or logical when
///  empty):
///        nullopt for broadcast and reduction dims, true when the stride is the product of what
///        lies inside.
class TensorDomain : public Val {
 public:
  struct Parts {
    std::vector<IterDomain*> root;
    std::vector<IterDomain*> logical;
    std::vector<IterDomain*> allocation;
    std::vector<IterDomain*> loop;               ///< empty: the logical domain
    std::vector<std::optional<bool>> contiguity; ///< empty: all false
  };
  TensorDomain(IrBuilderPasskey key, Parts parts);

  bool hasRoot() const {
    return !parts_.root.empty();
  }
  bool hasAllocation() const {
    return !parts_.allocation.empty();
  }
  const std::vector<IterDomain*>& root() const {
    return parts_.root;
  }
  const std::vector<IterDomain*>& maybeRoot() const {
    return hasRoot() ? parts_.root : parts_.logical;
  }
  const std::vector<IterDomain*>& logical() const {
    return parts_.logical;
  }
  const std::vector<IterDomain*>& allocation() const {
    return parts_.allocation;
  }
  const std::vector<IterDomain*>& maybeAllocation() const {
    return hasAllocation() ? parts_.allocation : parts_.logical;
  }
  const std::vector<IterDomain*>& loop() const {
    return parts_.loop;
  }
  const std::vector<std::optional<bool>>& contiguity() const {
    return parts_.contiguity;
  }
  const Parts& parts() const {
    return parts_;
  }
  void setLoopDomain(std::vector<IterDomain*> loop);
  /// `contiguity` needs an entry per domain; nullopt exactly for broadcast and reduction domains.
  void setAllocationDomain(
      std::vector<IterDomain*> allocation,
      std::vector<std::optional<bool>> contiguity);
  void setContiguity(std::vector<std::optional<bool>> contiguity);
  /// stride_order[i]: rank of logical dim i in memory, 0 = fastest. Empty when in logical order.
  std::vector<int64_t> strideOrder() const;

  std::string toString() const override;
  std::string toInlineString() const override {
    return toString();
  }

 private:
  Parts parts_;
};

std::vector<IterDomain*> noReductions(const std::vector<IterDomain*>& domain);
std::vector<IterDomain*> noBroadcasts(const std::vector<IterDomain*>& domain);
/// `value` for each domain, nullopt where the domain is a broadcast or a reduction.
std::vector<std::optional<bool>> contiguityFilledWith(
    const std::vector<IterDomain*>& allocation,
    bool value);
std::string domainText(const std::vector<IterDomain*>& domain);

} // namespace nvfuser
