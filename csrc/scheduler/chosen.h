// Schedulers by name: a whole fusion as one kernel, by the scheduler that a user has chosen.
#pragma once

#include <scheduler/schedule.h>
#include <scheduler/segmenter.h>

#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

enum class SchedulerType {
  None,
  NoOp,
  PointWise,
  Matmul,
  Reduction,
  InnerPersistent,
  InnerOuterPersistent,
  OuterPersistent,
  Transpose,
  ExprEval,
  Resize
};

/// "pointwise", "inner_persistent", ...
std::string_view schedulerName(SchedulerType type);

/// Why the scheduler does not take the fusion as one kernel; empty: it does. Reduction is for
/// reductions at the end of a fusion, the persistent ones for those whose results meet the reduced
/// dimension again (normalization), inner or outer by the innermost dimension in memory. ExprEval
/// takes what a library evaluates, NoOp views.
std::string whyNotScheduler(
    const Fusion& fusion,
    SchedulerType type,
    const ScheduleContext& context,
    const WhyNotInKernel& why_not);

/// Those that take the fusion, the one that automatic scheduling prefers first.
std::vector<SchedulerType> compatibleSchedulers(
    const Fusion& fusion,
    const ScheduleContext& context,
    const WhyNotInKernel& why_not);

/// Changes the tensors of the fusion to the scheduler's choice. RuntimeError with
/// whyNotScheduler's reason.
ScheduleResult scheduleBy(
    Fusion& fusion,
    SchedulerType type,
    const ScheduleContext& context,
    const WhyNotInKernel& why_not);

} // namespace nvfuser
