// Which loops a kernel has: the loops of the tensors that are computed in loops, shared where they
// can be.
#pragma once

#include <ir/fusion.h>
#include <ir/tensor_view.h>
#include <lower/domain_index.h>
#include <lower/lower.h>

#include <memory>
#include <set>
#include <vector>

namespace nvfuser {

/// A tensor that is computed in loops of its own: an output, a reduction, or one that is stored on
/// purpose.
struct NestRoot {
  const TensorView* tv;
  std::vector<IterDomain*> loops;         ///< without those that run once
  std::vector<Expr*> transforms;          ///< from the logical to the loop domain
  std::vector<const IterDomain*> guarded; ///< split, and not cut to size by a loop's stop
  /// Splits of one element into several (on a GPU): all but the first of each part are beyond it.
  std::vector<const Split*> beyond;
  /// Loop dimensions that blocks and threads run over (on a GPU), and their index.
  std::vector<std::pair<IterDomain*, Index>> threads;
  size_t first_reduction = 0; ///< position in `loops`; loops.size() when there is none
  bool is_output = false;
  /// Loops that every user in the kernel shares, at most first_reduction.
  size_t shared = 0;
  bool leaves_stage = false; ///< has a user in a later stage
  std::vector<NestRoot*> needs;

  bool reducesOverThreads() const;
  bool isStored() const {
    return is_output || leaves_stage || shared < first_reduction;
  }
  /// Where the loop `id` ends, given the indices of loops outside of it: its extent, or less in the
  /// last round of a split.
  Index stopOf(IndexContext& indices, const IterDomain* id, const IndexMap& outer) const;
};

struct NestLoop {
  Index variable = nullptr; ///< nullptr: the body of a stage without a parallel loop
  Index stop = nullptr;
  ParallelType type = ParallelType::Serial;
  size_t id_set = 0;
  Index extent = nullptr;

  struct Child {
    std::unique_ptr<NestLoop> loop;   ///< or
    NestRoot* root = nullptr;         ///< whose innermost loop this is
    std::vector<NestRoot*> completes; ///< reductions that are complete after `loop`
  };
  std::vector<Child> children;
  /// Of a stage on a GPU: the extents along each type.
  std::map<ParallelType, std::vector<Index>> threads = {};
};

class LoopNest {
 public:
  /// `apart`: tensors whose users share no loops with them.
  LoopNest(
      const Fusion& segment,
      IndexContext& indices,
      const std::set<const TensorView*>& apart = {},
      const LowerOptions& options = {});

  /// In order; each is one top loop, or a body without one.
  const std::vector<std::unique_ptr<NestLoop>>& stages() const {
    return stages_;
  }

 private:
  void collectRoots(const Fusion& segment);
  void describe(NestRoot& root);
  void arrange(const Fusion& segment);
  void findSharing();
  struct Placed {
    size_t stage;
    std::vector<const NestLoop*> path;
  };
  size_t shareable(const NestRoot& root) const;
  bool fitsStage(const NestRoot& root) const;
  bool isExact(const Split* split);
  void placeRoot(NestRoot& root, size_t shared);

  IndexContext& indices_;
  const std::set<const TensorView*> apart_;
  const LowerOptions& options_;
  std::vector<std::unique_ptr<NestRoot>> roots_;
  std::vector<std::unique_ptr<NestLoop>> stages_;
  std::unordered_map<const NestRoot*, Placed> placed_;
  std::vector<NestLoop*> path_; ///< the loops that are open, without a body that is no loop
  std::unordered_map<const IterDomain*, size_t> sets_;
};

} // namespace nvfuser
