// Schedulers for GPUs: which blocks and threads compute the elements of a segment.
//
// What depends on sizes is decided first (chooseCudaParams, cheap), so that all sizes with the same
// decision share one kernel; then a copy of the segment gets its loops (scheduleForCuda).
#pragma once

#include <scheduler/schedule.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nvfuser {

/// What a schedule asks of a device.
struct CudaLimits {
  int64_t multiprocessors = 1;
  int64_t threads_per_multiprocessor = 1024;
  int64_t vector_bytes = 16; ///< of one access at most
};

enum class CudaScheduler { Pointwise, Transpose, InnerReduction, OuterReduction };

/// Equal parameters make equal kernels.
struct CudaParams {
  CudaScheduler scheduler = CudaScheduler::Pointwise;
  int64_t vector = 1;    ///< elements side by side that one thread takes at a time
  int64_t threads = 128; ///< of a block along x; 0: as many as a row needs
  int64_t unroll = 1;    ///< pointwise: vectors of one thread
  int64_t rows = 1;      ///< of a block: threads along y
  int64_t batches = 0;   ///< vectors of a row that one thread holds; 0: a loop over the row
  int64_t parts = 1;     ///< that a reduction is cut into, each for other blocks
  int64_t block_x =
      0; ///< threads that a block has along x, when the schedule does not say; 0: as needed
  bool keeps_rows = false; ///< inputs that several passes need stay in registers
  bool flat = true;        ///< pointwise: threads run over all dimensions as if they were one

  auto operator<=>(const CudaParams&) const = default;
  /// For people: "vectors of 8, 256 threads, ...".
  std::string toString() const;
};

struct CudaSchedule {
  ScheduleResult result;
  /// Sizes that are multiples of a number in every launch with these parameters.
  std::vector<std::pair<const Val*, int64_t>> multiples;
};

/// The parameters for the sizes that `context` hints at. `segment` is not scheduled yet, `shape`
/// its shape. RuntimeError with the schedulers' reasons when none takes the segment.
CudaParams chooseCudaParams(
    const Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context,
    const CudaLimits& limits);

/// Gives the tensors of a copy of that segment their loops.
CudaSchedule scheduleForCuda(Fusion& segment, const CudaParams& params);

} // namespace nvfuser
