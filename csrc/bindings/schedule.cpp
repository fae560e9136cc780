#include <bindings/args.h>
#include <bindings/bindings.h>
#include <bindings/inputs.h>

#include <analysis/scalar_values.h>
#include <ir/fusion.h>
#include <runtime/cpu_segment.h>
#include <runtime/input_checks.h>
#include <scheduler/chosen.h>
#include <scheduler/transform_propagation.h>

#include <pybind11/stl.h>

namespace nvfuser::bindings {

namespace {

using Tensors = std::vector<std::shared_ptr<TensorView>>;

// The tensors to work on: those given, or every tensor of the fusion that may be inlined.
std::vector<TensorView*> selectedOr(const Tensors& selected, const std::vector<TensorView*>& all) {
  if (selected.empty()) {
    return all;
  }
  std::vector<TensorView*> result;
  for (const auto& tv : selected) {
    NVF_CHECK_AS(Type, tv != nullptr, "selected_tensors: a TensorView may not be None");
    result.push_back(tv.get());
  }
  return result;
}

std::vector<TensorView*> inlinable(const Fusion& fusion) {
  std::vector<TensorView*> result;
  for (TensorView* tv : fusion.tensorViews()) {
    if (!tv->isFusionInput() && !tv->isFusionOutput()) {
      result.push_back(tv);
    }
  }
  return result;
}

// The furthest position that inlineAt accepts.
int64_t furthest(const TensorView& tv) {
  int64_t position = tv.nLoopDims();
  for (int64_t i = 0; i < tv.nLoopDims(); ++i) {
    if (tv.axis(i)->isReduction()) {
      position = std::min(position, i);
    }
  }
  for (const Expr* use : tv.uses()) {
    for (const Val* out : use->outputs()) {
      if (const auto* consumer = dynamic_cast<const TensorView*>(out)) {
        position = std::min(position, consumer->nLoopDims());
      }
    }
  }
  return position;
}

void inlineAt(TensorView& reference, int64_t pos, bool best_effort, const Tensors& selected) {
  const int64_t n = reference.nLoopDims();
  const int64_t position = pos < 0 ? pos + n + 1 : pos;
  NVF_CHECK(
      position >= 0 && position <= n,
      "inline_at: position ",
      pos,
      " is out of range for ",
      reference.toString());
  for (TensorView* tv : selectedOr(selected, inlinable(*reference.fusion()))) {
    if (tv->isFusionInput() || tv->isFusionOutput()) {
      continue;
    }
    tv->inlineAt(best_effort ? std::min(position, furthest(*tv)) : position);
  }
}

void inlineMost(const Tensors& selected) {
  for (TensorView* tv : selectedOr(selected, inlinable(*FusionGuard::activeOrThrow()))) {
    if (!tv->isFusionInput() && !tv->isFusionOutput()) {
      tv->inlineAt(furthest(*tv));
    }
  }
}

void bindInlining(py::module_& m) {
  m.def(
      "inline_at",
      [](TensorView& reference_tv, int64_t pos, bool best_effort, const Tensors& selected) {
        inlineAt(reference_tv, pos, best_effort, selected);
      },
      py::arg("reference_tv"),
      py::arg("pos") = -1,
      py::arg("best_effort") = false,
      py::arg("selected_tensors") = Tensors{},
      "Computes the selected tensors (default: all between inputs and outputs) inside their "
      "consumers' loops "
      "left of `pos`; with best_effort as far as each allows.");
  m.def(
      "inline_most",
      &inlineMost,
      py::arg("selected_tensors") = Tensors{},
      "inline_at as far as each tensor allows.");
}

// Every tensor of the reference's fusion that a schedule may change.
std::vector<TensorView*> scheduled(const TensorView& reference) {
  std::vector<TensorView*> result;
  for (TensorView* tv : reference.fusion()->tensorViews()) {
    if (!tv->isFusionInput()) {
      result.push_back(tv);
    }
  }
  return result;
}

void bindPropagation(py::module_& m) {
  m.def(
      "transform_like",
      [](const TensorView& reference_tv, const Tensors& selected) {
        transformLike(&reference_tv, -1, selectedOr(selected, scheduled(reference_tv)));
      },
      py::arg("reference_tv"),
      py::arg("selected_tensors") = Tensors{},
      "Gives the selected tensors (default: all but the inputs) the loop domain of the reference.");
  m.def(
      "bounded_transform_backward",
      [](const std::shared_ptr<TensorView>& from,
         int64_t pos,
         const Tensors& to,
         bool propagate_parallel_type) {
        NVF_CHECK_AS(Type, from != nullptr, "bounded_transform_backward: None is no TensorView");
        const auto targets = producersBetween(selectedOr(to, {}), from.get());
        transformLike(from.get(), pos, targets);
        if (propagate_parallel_type) {
          parallelizeLike(from.get(), pos, targets, {});
        }
      },
      py::arg("from"),
      py::arg("pos"),
      py::arg("to"),
      py::arg("propagate_parallel_type") = false,
      "Gives the producers of `from`, back to the tensors of the list `to` but without these, the "
      "loops of "
      "`from` left of `pos`.");
  m.def(
      "parallelize_like",
      [](const TensorView& reference_tv,
         int64_t pos,
         const Tensors& selected,
         const std::unordered_set<ParallelType>& selected_parallel_types,
         bool) {
        parallelizeLike(
            &reference_tv,
            pos,
            selectedOr(selected, scheduled(reference_tv)),
            selected_parallel_types);
      },
      py::arg("reference_tv"),
      py::arg("pos") = -1,
      py::arg("selected_tensors") = Tensors{},
      py::arg("selected_parallel_types") = std::unordered_set<ParallelType>{},
      py::arg("propagate_padding") = true,
      "Gives the loops of the selected tensors the ParallelType of the reference's loop that is "
      "the same dim; "
      "by default every type but serial.");
}

// Sizes of the tensor inputs, which the schedulers' choices depend on; of those that are not known
// schedulers make a guess.
using InputSizes = std::vector<std::vector<int64_t>>;

InputSizes sizesOf(const Fusion& fusion, const py::object& inputs) {
  const RuntimeInputs flat = flattenInputs(inputs);
  checkInputs(fusion, flat.values);
  InputSizes result;
  for (const EvalValue& value : flat.values) {
    result.push_back(value.isTensor() ? value.tensor().sizes().vec() : std::vector<int64_t>());
  }
  return result;
}

ScheduleContext contextFor(const Fusion& fusion, const InputSizes& sizes) {
  constexpr int64_t kGuess = 4096;
  std::unordered_map<const Val*, ScalarValue> known;
  for (size_t i = 0; i < std::min(sizes.size(), fusion.inputs().size()); ++i) {
    const auto* tv = dynamic_cast<const TensorView*>(fusion.inputs()[i]);
    const auto shape = tv == nullptr ? std::vector<Val*>() : tv->shape();
    for (size_t dim = 0; dim < std::min(shape.size(), sizes[i].size()); ++dim) {
      known[shape[dim]] = sizes[i][dim];
    }
  }
  const auto values = std::make_shared<ScalarValues>(std::move(known));
  return {[values](const Val* val) {
    const ScalarValue value = values->evaluate(val);
    return hasValue(value) ? toInt(value) : kGuess;
  }};
}

py::object paramsFor(SchedulerType type, const ScheduleResult& result, const InputSizes& sizes) {
  return py::module_::import("nvfuser_direct.params")
      .attr("params_of")(type, result.scheduler, result.heuristics, sizes);
}

void bindAutomatic(py::module_& m) {
  m.def(
      "can_schedule",
      [](const Fusion& fusion, SchedulerType type, const py::object& inputs) {
        const std::string reason = whyNotScheduler(
            fusion, type, contextFor(fusion, sizesOf(fusion, inputs)), whyNotInCpuKernel);
        return std::make_pair(
            reason.empty(),
            reason.empty()
                ? ""
                : detail::concat(
                      "Scheduler _", schedulerName(type), "_ ***rejected*** because : ", reason));
      },
      py::arg("fusion"),
      py::arg("scheduler_type"),
      py::arg("inputs"),
      "Whether the scheduler takes the whole fusion as one CPU kernel, and the reason where it "
      "refuses. RuntimeError when the inputs do not fit.");
  m.def(
      "find_compatible_schedulers",
      [](const Fusion& fusion, const py::object& inputs) {
        return compatibleSchedulers(
            fusion, contextFor(fusion, sizesOf(fusion, inputs)), whyNotInCpuKernel);
      },
      py::arg("fusion"),
      py::arg("inputs"),
      "The SchedulerTypes that can_schedule accepts, the preferred one first.");
  m.def(
      "compute_heuristics",
      [](const Fusion& fusion, SchedulerType type, const py::object& inputs) {
        const InputSizes sizes = sizesOf(fusion, inputs);
        const std::unique_ptr<Fusion> copy = fusion.clone();
        return paramsFor(
            type, scheduleBy(*copy, type, contextFor(*copy, sizes), whyNotInCpuKernel), sizes);
      },
      py::arg("fusion"),
      py::arg("scheduler_type"),
      py::arg("inputs"),
      "What the scheduler chooses for these inputs, as parameters for schedule(); changes nothing. "
      "RuntimeError when it refuses.");
  m.def(
      "schedule",
      [](Fusion& fusion, SchedulerType type, const py::object& inputs) -> py::object {
        const py::module_ params = py::module_::import("nvfuser_direct.params");
        const bool has_params = py::isinstance(inputs, params.attr("HeuristicParams"));
        const auto sizes =
            has_params ? inputs.attr("input_sizes").cast<InputSizes>() : sizesOf(fusion, inputs);
        const ScheduleResult result =
            scheduleBy(fusion, type, contextFor(fusion, sizes), whyNotInCpuKernel);
        return has_params ? py::none() : paramsFor(type, result, sizes);
      },
      py::arg("fusion"),
      py::arg("scheduler_type"),
      py::arg("inputs"),
      R"(Schedules the whole fusion as one CPU kernel, for manual_execute.

inputs: those that the schedule shall be good for, then the chosen parameters are returned; or parameters that
compute_heuristics has made, then None. A kernel is right for all sizes. RuntimeError when the scheduler refuses.)");
  m.def(
      "warp_specialize",
      [](const py::args&, const py::kwargs&) -> py::object {
        throw UserError(
            ErrorKind::NotImplemented,
            "warp_specialize: warps are those of CUDA kernels, and kernels are generated for CPU "
            "tensors only");
      },
      "A matter of CUDA kernels: raises NotImplementedError.");
}

} // namespace

void bindSchedule(py::module_& schedule) {
  bindInlining(schedule);
  bindPropagation(schedule);
  bindAutomatic(schedule);
}

} // namespace nvfuser::bindings
