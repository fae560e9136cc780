#include <runtime/kernel_check.h>

#include <runtime/aten_helpers.h>

#include <ATen/ATen.h>

namespace nvfuser {

namespace {

// Coarse: a wrong element is far away, and the order of a sum is free. The scale is the largest
// value of the output.
double toleranceOf(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return 4e-2;
    case at::kHalf:
      return 5e-3;
    case at::kFloat:
      return 2e-4;
    default:
      return 1e-9;
  }
}

double largest(const at::Tensor& tensor) {
  if (tensor.numel() == 0 || !at::isFloatingType(tensor.scalar_type())) {
    return 0;
  }
  const at::Tensor sizes = tensor.to(at::kDouble).abs();
  return sizes.masked_fill(sizes.isfinite().logical_not(), 0).max().item<double>();
}

at::Tensor differing(
    const at::Tensor& found,
    const at::Tensor& wanted,
    double tolerance,
    double summed) {
  if (!at::isFloatingType(found.scalar_type()) && !at::isComplexType(found.scalar_type())) {
    return found.ne(wanted);
  }
  const at::ScalarType wide =
      at::isComplexType(found.scalar_type()) ? at::kComplexDouble : at::kDouble;
  const at::Tensor a = found.to(wide);
  const at::Tensor b = wanted.to(wide);
  const double scale = std::max(largest(b.abs()), summed);
  const at::Tensor close = (a - b).abs().le(tolerance * std::max(scale, 1e-30));
  const at::Tensor same = a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
  return close.logical_or(same).logical_not();
}

} // namespace

void checkKernel(
    const SegmentedGroup& group,
    const KernelSegment& kernel,
    const std::vector<at::Tensor>& inputs,
    const std::vector<at::Tensor>& outputs,
    const std::function<EvalValue(const Val*)>& scalars,
    EvalContext& context) {
  std::unordered_map<const Val*, EvalValue> known;
  // A rounding on the way stays in whatever is computed from it.
  double tolerance = 0;
  // Sums whose terms cancel are only as exact as the terms.
  double summed = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    known[group.inputs[i]] = inputs[i];
  }
  for (const Expr* expr : group.exprs) {
    std::vector<EvalValue> operands;
    for (const Operand& operand : expr->operands()) {
      if (operand.val == nullptr) {
        operands.emplace_back();
      } else if (operand.val->isTensor()) {
        operands.push_back(known.at(operand.val));
      } else {
        operands.push_back(scalars(operand.val));
      }
    }
    if (expr->traits().reduction) {
      summed = std::max(summed, largest(known.at(expr->input(0)).tensor()));
    }
    std::vector<EvalValue> results(expr->outputs().size());
    evaluatorOf (*expr)(*expr, operands, results, context);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].isTensor()) {
        tolerance = std::max(tolerance, toleranceOf(results[i].tensor().scalar_type()));
      }
      known[expr->outputs()[i]] = std::move(results[i]);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Val* val = group.outputs[i];
    const at::Tensor& wanted = known.at(val).tensor();
    const at::Tensor& found = outputs[i];
    NVF_ERROR(
        found.sizes() == wanted.sizes() && found.scalar_type() == wanted.scalar_type(),
        "a kernel writes ",
        val->toString(),
        " as ",
        sizesText(found.sizes()),
        " instead of ",
        sizesText(wanted.sizes()));
    const at::Tensor wrong = differing(found, wanted, tolerance, summed);
    if (!wrong.any().item<bool>()) {
      continue;
    }
    const at::Tensor place = wrong.nonzero()[0];
    at::Tensor a = found;
    at::Tensor b = wanted;
    std::string at_place;
    for (int64_t dim = 0; dim < place.numel(); ++dim) {
      const int64_t index = place[dim].item<int64_t>();
      at_place += (dim == 0 ? "" : ", ") + std::to_string(index);
      a = a.select(0, index);
      b = b.select(0, index);
    }
    NVF_ERROR(
        false,
        "a kernel writes ",
        wrong.sum().item<int64_t>(),
        " of ",
        found.numel(),
        " elements of ",
        val->toString(),
        " wrong, at [",
        at_place,
        "] ",
        a.to(at::kDouble).item<double>(),
        " instead of ",
        b.to(at::kDouble).item<double>(),
        "\n",
        kernel.fusion().printMath(),
        kernel.text().substr(kernel.text().rfind("extern", kernel.text().find("nvf_stage0"))));
  }
}

} // namespace nvfuser
