#include <bindings/args.h>
#include <bindings/bindings.h>
#include <bindings/inputs.h>

#include <ir/traversal.h>
#include <runtime/expression_evaluator.h>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace nvfuser::bindings {

namespace {

ExpressionEvaluator boundEvaluator(const Fusion& fusion, const py::handle& args) {
  const RuntimeInputs inputs = flattenInputs(args);
  NVF_CHECK(
      inputs.values.size() == fusion.inputs().size(),
      "the fusion has ",
      fusion.inputs().size(),
      " inputs, got ",
      inputs.values.size());
  EvalContext context;
  for (const EvalValue& value : inputs.values) {
    if (value.isTensor() && (value.tensor().dim() > 0 || !value.tensor().is_cpu())) {
      context.device = value.tensor().device();
    }
  }
  ExpressionEvaluator evaluator(context);
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    evaluator.bind(fusion.inputs()[i], inputs.values[i]);
  }
  return evaluator;
}

// How many elements the reductions and products behind `out` add up, in sum over all of them.
double reducedElements(ExpressionEvaluator& evaluator, Val* out) {
  double total = 0;
  const auto size = [&](const IterDomain* id) {
    return static_cast<double>(toInt(evaluator.evaluate(id->getMaybeExpandedExtent()).scalar()));
  };
  for (const Expr* expr : exprsTo({out})) {
    const auto* result = dynamic_cast<const TensorView*>(expr->outputs().front());
    if (result == nullptr) {
      continue;
    }
    if (result->hasReduction()) {
      double product = 1;
      for (const IterDomain* id : result->getMaybeRootDomain()) {
        product *= id->isReduction() ? size(id) : 1;
      }
      total += product;
    } else if (expr->traits().opens_segment) {
      const auto* operand = dynamic_cast<const TensorView*>(expr->input(0));
      total += operand != nullptr && operand->nDims() > 0
          ? size(noReductions(operand->getLogicalDomain()).back())
          : 0;
    }
  }
  return total;
}

// Absolute and relative rounding error of one operation, by the narrowest type on the way to `out`.
std::pair<double, double> baseTolerance(Val* out) {
  std::pair<double, double> widest{1.7e-6, 2.2e-6};
  for (const Val* val : dependenciesOf({out})) {
    if (!val->isTensor()) {
      continue;
    }
    if (val->dtype() == DataType::Half) {
      widest = std::max(widest, {1e-3, 1e-3});
    } else if (isLowFloatType(val->dtype())) {
      widest = std::max(widest, {1e-2, 1e-2});
    }
  }
  return widest;
}

std::vector<std::pair<double, double>> tolerances(const Fusion& fusion, const py::object& args) {
  ExpressionEvaluator evaluator = boundEvaluator(fusion, args);
  std::vector<std::pair<double, double>> result;
  for (Val* out : fusion.outputs()) {
    const auto [absolute, relative] = baseTolerance(out);
    const double growth = std::sqrt(1 + reducedElements(evaluator, out));
    result.emplace_back(absolute * growth, relative * growth);
  }
  return result;
}

} // namespace

void bindValidation(py::module_& m) {
  m.def(
      "get_val_tolerances",
      &tolerances,
      py::arg("fusion"),
      py::arg("args"),
      "A list of (absolute, relative) tolerances, one per output: larger for narrow types and "
      "after long "
      "reductions.");
  m.def(
      "_evaluate",
      [](const Fusion& fusion, const py::object& args) {
        ExpressionEvaluator evaluator = boundEvaluator(fusion, args);
        const at::AutoDispatchBelowAutograd below_autograd;
        const at::NoGradGuard no_grad;
        py::list result;
        for (const size_t i : fusion.visibleOutputs()) {
          result.append(valueToPython(evaluator.evaluate(fusion.outputs()[i])));
        }
        return result;
      },
      py::arg("fusion"),
      py::arg("args"),
      "The visible outputs, evaluated node by node on the definition as it is: no passes, no "
      "in-place writes.");
}

} // namespace nvfuser::bindings
