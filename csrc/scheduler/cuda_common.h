// What the schedulers for GPUs share.
#pragma once

#include <scheduler/cuda_schedule.h>

namespace nvfuser::cuda {

/// The dimension runs in a loop.
bool runs(const IterDomain* id);

/// All dims as one, outermost first; nullptr of none.
IterDomain* mergeAll(const std::vector<IterDomain*>& dims);

/// Neighbours that may be one loop become one.
std::vector<std::vector<IterDomain*>> grouped(
    const SegmentShape& shape,
    const std::vector<IterDomain*>& dims);

/// The product of the sizes.
int64_t lengthOf(const ScheduleContext& context, const std::vector<IterDomain*>& dims);

/// Elements that fit one access of the narrowest tensor among those in memory.
int64_t widestVector(const Fusion& segment, const CudaLimits& limits);
/// The largest power of two up to `widest` that divides the length.
int64_t vectorFor(int64_t length, int64_t widest);

/// Splits off `vector` neighbours; {what remains, nullptr} for 1. Notes that nothing is left over.
std::pair<IterDomain*, IterDomain*> splitVector(
    IterDomain* id,
    int64_t vector,
    CudaSchedule& schedule);

/// The loops, then what has none.
void setLoops(TensorView* tv, std::vector<IterDomain*> loops);

void schedulePointwise(
    Fusion& segment,
    const SegmentShape& shape,
    const CudaParams& params,
    CudaSchedule& schedule);
void scheduleTranspose(
    Fusion& segment,
    const SegmentShape& shape,
    const CudaParams& params,
    CudaSchedule& schedule);
void scheduleReduction(
    Fusion& segment,
    const SegmentShape& shape,
    const CudaParams& params,
    CudaSchedule& schedule);

CudaParams chooseTranspose(const Fusion& segment, const CudaLimits& limits);
CudaParams choosePointwise(
    const Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context,
    const CudaLimits& limits);
CudaParams chooseReduction(
    const Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context,
    const CudaLimits& limits);

} // namespace nvfuser::cuda
