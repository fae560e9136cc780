#include <scheduler/chosen.h>

#include <ir/nodes.h>

#include <algorithm>
#include <set>

namespace nvfuser {

std::string_view schedulerName(SchedulerType type) {
  switch (type) {
    case SchedulerType::None:
      return "none";
    case SchedulerType::NoOp:
      return "no_op";
    case SchedulerType::PointWise:
      return "pointwise";
    case SchedulerType::Matmul:
      return "matmul";
    case SchedulerType::Reduction:
      return "reduction";
    case SchedulerType::InnerPersistent:
      return "inner_persistent";
    case SchedulerType::InnerOuterPersistent:
      return "inner_outer_persistent";
    case SchedulerType::OuterPersistent:
      return "outer_persistent";
    case SchedulerType::Transpose:
      return "transpose";
    case SchedulerType::ExprEval:
      return "expr_eval";
    case SchedulerType::Resize:
      return "resize";
  }
  return "";
}

namespace {

std::vector<const Expr*> tensorNodes(const Fusion& fusion) {
  std::vector<const Expr*> result;
  for (const Expr* expr : fusion.exprs()) {
    if (expr->output(0)->isTensor()) {
      result.push_back(expr);
    }
  }
  return result;
}

// A value of an output depends on a reduction and has the reduced dimension again.
bool isNormalization(const Fusion& fusion, const SegmentShape& shape) {
  std::set<const Val*> after;
  for (const Expr* expr : fusion.exprs()) {
    const auto& ins = expr->inputs();
    const bool depends = expr->traits().reduction ||
        std::any_of(ins.begin(), ins.end(), [&](const Val* in) { return after.contains(in); });
    if (depends) {
      after.insert(expr->outputs().begin(), expr->outputs().end());
    }
  }
  return std::any_of(fusion.outputs().begin(), fusion.outputs().end(), [&](const Val* out) {
    const auto* tv = out->as<TensorView>();
    size_t reduced = 0;
    shape.orderedDims(tv, reduced);
    return reduced > 0 && !tv->hasReduction() && after.contains(tv);
  });
}

// Everything that is neither an output nor a reduction is computed where it is used.
void inlineIntermediates(Fusion& fusion) {
  for (TensorView* tv : fusion.tensorViews()) {
    const bool has_loops =
        tv->definition() == nullptr || tv->isFusionOutput() || tv->definition()->traits().reduction;
    tv->setInlined(!has_loops);
  }
}

std::string whyNotReductionOf(
    const Fusion& fusion,
    SchedulerType type,
    const ScheduleContext& context) {
  std::unordered_map<const Val*, Val*> copies;
  const std::unique_ptr<Fusion> copy = fusion.clone(&copies);
  const FusionGuard guard(copy.get());
  inlineIntermediates(*copy);
  const SegmentShape shape(*copy);
  const std::string reason = whyNotReduction(shape);
  if (!reason.empty()) {
    return reason;
  }
  const bool normalizes = isNormalization(*copy, shape);
  if (type == SchedulerType::Reduction) {
    return normalizes ? "results of its reductions meet the reduced dimension again" : "";
  }
  if (!normalizes) {
    return "no result of its reductions meets the reduced dimension again";
  }
  std::unordered_map<const Val*, const Val*> originals;
  for (const auto& [original, val] : copies) {
    originals[val] = original;
  }
  const ScheduleContext copied = {[&](const Val* val) -> int64_t {
    const auto it = originals.find(val);
    return context.hint(it == originals.end() ? val : it->second);
  }};
  const bool inner = scheduleReduction(*copy, shape, copied).scheduler.starts_with("inner");
  if (inner != (type == SchedulerType::InnerPersistent)) {
    return inner ? "the innermost dimension is reduced" : "the innermost dimension is kept";
  }
  return "";
}

} // namespace

std::string whyNotScheduler(
    const Fusion& fusion,
    SchedulerType type,
    const ScheduleContext& context,
    const WhyNotInKernel& why_not) {
  const auto nodes = tensorNodes(fusion);
  if (type == SchedulerType::ExprEval) {
    const bool library =
        std::all_of(nodes.begin(), nodes.end(), [&](auto* expr) { return !why_not(expr).empty(); });
    return library && !nodes.empty() ? "" : "it holds nodes that generated kernels compute";
  }
  for (const Expr* expr : nodes) {
    const std::string reason = why_not(expr);
    if (!reason.empty()) {
      return reason;
    }
  }
  if (type == SchedulerType::NoOp) {
    const bool views =
        std::all_of(nodes.begin(), nodes.end(), [](auto* expr) { return expr->traits().view; });
    return views ? "" : "it computes new values";
  }
  if (nodes.empty()) {
    return "the fusion computes nothing";
  }
  switch (type) {
    case SchedulerType::PointWise:
    case SchedulerType::Transpose: {
      const std::unique_ptr<Fusion> copy = fusion.clone();
      const FusionGuard guard(copy.get());
      const SegmentShape shape(*copy);
      if (type == SchedulerType::Transpose) {
        return whyNotTranspose(*copy, shape);
      }
      // Callers match this text: pointwise kernels take their loops from a reference tensor, and a
      // fusion with reductions has none with all of them.
      return whyNotPointwise(shape).empty() ? "" : "cannot find reference tensor";
    }
    case SchedulerType::Reduction:
    case SchedulerType::InnerPersistent:
    case SchedulerType::OuterPersistent:
      return whyNotReductionOf(fusion, type, context);
    case SchedulerType::InnerOuterPersistent:
      return "reductions over different dimensions become kernels of their own";
    case SchedulerType::Matmul:
      return "matrix products are evaluated by a library";
    case SchedulerType::Resize:
      return "slices, pads and joins are computed inside the other schedulers' kernels";
    default:
      return "it is no scheduler";
  }
}

std::vector<SchedulerType> compatibleSchedulers(
    const Fusion& fusion,
    const ScheduleContext& context,
    const WhyNotInKernel& why_not) {
  std::vector<SchedulerType> result;
  for (SchedulerType type :
       {SchedulerType::ExprEval,
        SchedulerType::NoOp,
        SchedulerType::Transpose,
        SchedulerType::PointWise,
        SchedulerType::Reduction,
        SchedulerType::InnerPersistent,
        SchedulerType::OuterPersistent}) {
    if (whyNotScheduler(fusion, type, context, why_not).empty()) {
      result.push_back(type);
    }
  }
  return result;
}

ScheduleResult scheduleBy(
    Fusion& fusion,
    SchedulerType type,
    const ScheduleContext& context,
    const WhyNotInKernel& why_not) {
  const std::string reason = whyNotScheduler(fusion, type, context, why_not);
  NVF_CHECK(
      reason.empty(), "Scheduler _", schedulerName(type), "_ ***rejected*** because : ", reason);
  if (type == SchedulerType::ExprEval || type == SchedulerType::NoOp) {
    return {std::string(schedulerName(type)), ""};
  }
  const FusionGuard guard(&fusion);
  inlineIntermediates(fusion);
  const SegmentShape shape(fusion);
  if (type == SchedulerType::PointWise) {
    return schedulePointwise(fusion, shape, context);
  }
  if (type == SchedulerType::Transpose) {
    return scheduleTranspose(fusion, shape);
  }
  return scheduleReduction(fusion, shape, context);
}

} // namespace nvfuser
