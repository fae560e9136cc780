// Schedulers: give the tensors of a segment their loops.
#pragma once

#include <ir/fusion.h>
#include <ir/tensor_view.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace nvfuser {

/// What a schedule may assume. Sizes are hints: a schedule is right for all sizes, and good for
/// these.
struct ScheduleContext {
  /// The size that a scalar has in the call that asks for the schedule.
  std::function<int64_t(const Val*)> hint;
};

/// What a scheduler chose, for people.
struct ScheduleResult {
  std::string scheduler;
  std::string heuristics;
  /// Schedulers that were asked first, each with its reason to refuse.
  std::vector<std::pair<std::string, std::string>> refused = {};
};

/// Schedules a segment: picks the scheduler that takes it and changes the tensors of `segment`.
/// RuntimeError with the schedulers' reasons when none does.
ScheduleResult scheduleSegment(Fusion& segment, const ScheduleContext& context);

/// Makes what the tensors carry already the schedule: one that is inlined, or computed at its
/// users' innermost loops (inline_at), is computed again wherever it is used, every other one in
/// its own loops. A loop of type BIDx over a reduced dimension becomes serial.
ScheduleResult keepSchedule(Fusion& segment);

/// Every tensor but inputs, outputs and reductions is computed where its value is used.
void inlineWhatNeedsNoLoops(Fusion& segment);

/// The reductions of a segment, their dimensions, and the tensors that need loops.
class SegmentShape {
 public:
  explicit SegmentShape(Fusion& segment);

  const std::vector<TensorView*>& reductions() const {
    return reductions_;
  }
  /// Whether the dimension is, in one of the segment's reductions, reduced.
  bool isReduced(IterDomain* id) const;
  /// Whether a reshape made the dimension of dimensions that a reduction reduces, and of no others.
  bool comesFromReduced(IterDomain* id) const {
    return !isReduced(id) && from_reduced_[setOf(id)];
  }
  /// Whether the largest reduction has the dimension.
  bool isInReference(IterDomain* id) const {
    return rank_.contains(setOf(id));
  }
  /// A number that equal dimensions share.
  size_t setOf(IterDomain* id) const;
  /// The dimensions of `tv` that loops run over, kept ones first, each in the order of the
  /// reference; `reduced` says how many stand at the end.
  std::vector<IterDomain*> orderedDims(const TensorView* tv, size_t& reduced) const;
  /// Its elements come from other places of the operand (slice, padding, joining, lookup).
  bool isMoved(IterDomain* id) const;
  /// Neighbours in memory wherever both occur, and both or neither in every input and output.
  bool mayMerge(IterDomain* outer, IterDomain* inner) const;

 private:
  Fusion& segment_;
  std::vector<TensorView*> reductions_;
  std::unordered_map<const IterDomain*, size_t> sets_;
  void findMoved();
  void findReshapedReduced();

  struct MemoryDim {
    size_t set;
    bool joined; ///< contiguous with the next
  };
  /// Dims of each tensor in memory, outermost first; taken before a schedule replaces them.
  std::vector<std::vector<MemoryDim>> memory_;
  std::vector<bool> reduced_sets_;
  std::vector<bool> from_reduced_;
  std::vector<bool> moved_sets_;
  std::unordered_map<size_t, size_t> rank_; ///< of a set: its place in the reference
};

std::string whyNotPointwise(const SegmentShape& shape);
ScheduleResult schedulePointwise(
    Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context);

/// The dimension of `out` that lies innermost in an input of the same rank at least 2, and not in
/// `out` itself; nullptr: there is none.
IterDomain* transposedDim(const Fusion& segment, const SegmentShape& shape, const TensorView* out);

/// A copy of an operand that a transpose makes tile by tile, and its dimensions in the order of the
/// output's.
struct TransposedCopy {
  TensorView* tensor;
  std::vector<IterDomain*> dims;
};
/// Copies the inputs whose innermost dimension is the output's dimension `other`, one of the
/// output's `dims`, and that are not in `done` yet. The copies have no schedule.
std::vector<TransposedCopy> copyTransposedOperands(
    Fusion& segment,
    const SegmentShape& shape,
    const std::vector<IterDomain*>& dims,
    const IterDomain* other,
    std::set<const Val*>& done);

std::string whyNotTranspose(const Fusion& segment, const SegmentShape& shape);
ScheduleResult scheduleTranspose(Fusion& segment, const SegmentShape& shape);

std::string whyNotReduction(const SegmentShape& shape);
ScheduleResult scheduleReduction(
    Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context);

} // namespace nvfuser
