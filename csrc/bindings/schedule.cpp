#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ir/fusion.h>
#include <scheduler/transform_propagation.h>

#include <pybind11/stl.h>

namespace nvfuser::bindings {

namespace {

using Tensors = std::vector<std::shared_ptr<TensorView>>;

[[noreturn]] void needsSchedulers(const char* what) {
  throw UserError(
      ErrorKind::NotImplemented,
      std::string(what) +
          ": automatic schedulers are missing, because code generation is; every segment is "
          "evaluated "
          "through ATen");
}

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

void bindAutomatic(py::module_& m) {
  for (const char* name :
       {"can_schedule",
        "find_compatible_schedulers",
        "compute_heuristics",
        "schedule",
        "warp_specialize"}) {
    m.def(
        name,
        [name](const py::args&, const py::kwargs&) -> py::object { needsSchedulers(name); },
        "Not available before code generation: raises NotImplementedError.");
  }
}

} // namespace

void bindSchedule(py::module_& schedule) {
  bindInlining(schedule);
  bindPropagation(schedule);
  bindAutomatic(schedule);
}

} // namespace nvfuser::bindings
