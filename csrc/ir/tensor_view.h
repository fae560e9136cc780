// TensorView: a tensor in the IR, and the schedule primitives on its loop domain.
#pragma once

#include <ir/iter_domain.h>

#include <unordered_map>

namespace nvfuser {

class TensorView : public Val {
 public:
  TensorView(
      IrBuilderPasskey key,
      TensorDomain* domain,
      DataType dtype,
      MemoryType memory_type = MemoryType::Local);

  TensorDomain* domain() const {
    return domain_;
  }
  const std::vector<IterDomain*>& getRootDomain() const {
    return domain_->root();
  }
  const std::vector<IterDomain*>& getMaybeRootDomain() const {
    return domain_->maybeRoot();
  }
  const std::vector<IterDomain*>& getLogicalDomain() const {
    return domain_->logical();
  }
  const std::vector<IterDomain*>& getMaybeAllocationDomain() const {
    return domain_->maybeAllocation();
  }
  const std::vector<IterDomain*>& getLoopDomain() const {
    return domain_->loop();
  }
  bool hasRoot() const {
    return domain_->hasRoot();
  }
  bool hasReduction() const;
  bool hasAllocation() const {
    return domain_->hasAllocation();
  }
  /// Rank as a user sees it: the logical domain without reductions.
  int64_t nDims() const;
  /// Number of loop axes.
  int64_t nLoopDims() const {
    return static_cast<int64_t>(getLoopDomain().size());
  }
  /// Loop axis; negative counts from the end. RuntimeError when out of range.
  IterDomain* axis(int64_t position) const;
  /// Extents (expanded ones where expanded) of the logical domain without reductions.
  std::vector<Val*> shape() const;

  MemoryType memoryType() const {
    return memory_type_;
  }
  void setMemoryType(MemoryType type);
  /// A 0-dim tensor that stays on the CPU while the fusion runs on a GPU.
  bool isCpuScalar() const {
    return cpu_scalar_;
  }
  void setCpuScalar(bool value) {
    cpu_scalar_ = value;
  }
  /// Loops left of this position are shared with the consumers (inline_at).
  int64_t computeAtPosition() const {
    return compute_at_position_;
  }
  /// Computed again wherever its value is used: it has no loops and no memory of its own.
  bool isInlined() const {
    return inlined_;
  }
  void setInlined(bool value) {
    inlined_ = value;
  }
  /// Loops left of this position are shared with a consumer or a producer and must not change.
  int64_t sharedPosition() const;

  // --- schedule primitives: they change the loop domain only, except where said ---

  /// See IterDomain::split. RuntimeError when the axis is out of range or inlined, or factor < 1.
  TensorView* split(int64_t axis, Val* factor, bool inner_split = true);
  TensorView* split(int64_t axis, int64_t factor, bool inner_split = true);
  /// Merges two axes, wherever they stand; the result stands at the place of the left one.
  TensorView* merge(int64_t outer, int64_t inner);
  /// old position -> new position; axes not named keep their order in the free places.
  TensorView* reorder(const std::unordered_map<int64_t, int64_t>& old_to_new);
  /// Swizzles two loop axes in place.
  TensorView* swizzle(int64_t x, int64_t y);
  /// Computes this tensor inside its consumers' loops left of `position`.
  TensorView* inlineAt(int64_t position);
  /// A copy of this tensor that takes over all its uses (or the listed ones); returns the copy.
  TensorView* cacheAfter(
      LoadStoreOpType type = LoadStoreOpType::Set,
      CacheOp cache_op = CacheOp::Unspecified,
      bool propagate_allocation_domain = true,
      const std::vector<Expr*>& cached_uses = {});
  /// A tensor that takes over this one's definition; this one becomes its copy. Returns the new
  /// one.
  TensorView* cacheBefore(LoadStoreOpType type = LoadStoreOpType::Set);
  /// Splits a reduction in two: the returned producer reduces `axes`, this tensor the remaining
  /// ones. The shape of this tensor and the schedule of its other axes stay as they were.
  /// RuntimeError unless this is a reduction, `axes` are reduction axes, and some remain.
  TensorView* rfactor(const std::vector<int64_t>& axes);
  void setLoopDomain(std::vector<IterDomain*> loop);
  void setAllocationDomain(
      std::vector<IterDomain*> allocation,
      std::vector<std::optional<bool>> contiguity);
  void setAllocationDomain(std::vector<IterDomain*> allocation, bool contiguity);
  void setContiguity(std::vector<std::optional<bool>> contiguity) {
    domain_->setContiguity(std::move(contiguity));
  }
  void setDomain(TensorDomain* domain) {
    domain_ = domain;
  }

  std::string toString() const override;
  std::string toInlineString() const override {
    return toString();
  }

 private:
  friend class IrCloner;
  int64_t checkAxis(int64_t axis, const char* what) const;
  void checkNotInlined(const char* what) const;

  TensorDomain* domain_;
  MemoryType memory_type_;
  bool cpu_scalar_ = false;
  int64_t compute_at_position_ = 0;
  bool inlined_ = false;
};

/// Makes a TensorView with a builder's few lines; extents are constants, symbolic Vals or given
/// Vals.
class TensorViewBuilder {
 public:
  TensorViewBuilder& dtype(DataType dtype);
  /// -1 symbolic, 1 broadcast, 0 or more than 1 static.
  TensorViewBuilder& shape(const std::vector<int64_t>& shape);
  TensorViewBuilder& shape(std::vector<Val*> shape);
  /// One entry per dim in allocation order. nullopt on a dim that is not of size 1: expanded.
  TensorViewBuilder& contiguity(std::vector<std::optional<bool>> contiguity);
  TensorViewBuilder& contiguity(bool value);
  /// strideOrder[i]: rank of dim i in memory, 0 = fastest; negatives count from the end.
  TensorViewBuilder& strideOrder(std::vector<int64_t> order);
  /// A dim is expanded (stride 0) where true.
  TensorViewBuilder& expanded(std::vector<bool> expanded);
  TensorView* build();

 private:
  DataType dtype_ = DataType::Float;
  std::vector<Val*> shape_;
  std::vector<std::optional<bool>> contiguity_;
  std::optional<bool> uniform_contiguity_;
  std::vector<int64_t> stride_order_;
  std::vector<bool> expanded_;
};

/// A stride order with negatives resolved; empty for the descending order.
/// RuntimeError for a wrong length, an entry out of range or a duplicate.
std::vector<int64_t> normalizeStrideOrder(const std::vector<int64_t>& order, int64_t rank);

/// Ranks for a message: "T0 [2, 8, i3]".
std::string shapeText(const TensorView* tv);

} // namespace nvfuser
