// Evaluators of copies, reductions, shape changes and plain factories.
#include <ir/nodes.h>
#include <runtime/aten_helpers.h>
#include <runtime/evaluator_registry.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

namespace nvfuser {

namespace {

const TensorView* outTensor(const Expr& expr) {
  return expr.outputs()[0]->as<TensorView>();
}

// --- copies ---

// Logical dims of `tv` from the outermost in memory to the innermost.
std::vector<int64_t> memoryOrder(const TensorView* tv) {
  const auto logical = noReductions(tv->getLogicalDomain());
  std::vector<int64_t> order;
  for (IterDomain* id : noReductions(tv->getMaybeAllocationDomain())) {
    const auto it = std::find(logical.begin(), logical.end(), id);
    NVF_ERROR(it != logical.end(), "the allocation domain of ", tv->toString(), " is transformed");
    order.push_back(it - logical.begin());
  }
  return order;
}

void evaluateLoadStore(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  if (!operands[0].isTensor()) {
    outputs[0] = operands[0];
    return;
  }
  const at::Tensor& in = operands[0].tensor();
  const TensorView* out = outTensor(expr);
  if (out->hasRoot()) {
    outputs[0] = in.permute(permutationOf(out));
    return;
  }
  if (out->hasAllocation()) {
    const auto strides = stridesInOrder(in.sizes(), memoryOrder(out), {});
    outputs[0] = sameStrides(in.sizes(), in.strides(), strides) ? in : restrided(in, strides);
    return;
  }
  // Nothing is copied here: the runtime copies outputs that must not share an input's storage.
  outputs[0] = in;
}

// --- reductions ---

// Only the reductions that a user defines are evaluated, not those that a schedule has split.
std::vector<int64_t> axesOf(const Expr& expr) {
  const TensorView* out = outTensor(expr);
  NVF_CHECK_AS(
      NotImplemented,
      !out->hasRoot(),
      "a reduction that was split by rfactor cannot be evaluated through ATen: ",
      out->toString());
  return reductionAxes(out);
}

at::Tensor lowest(const at::Tensor& in, at::IntArrayRef sizes) {
  if (in.scalar_type() == at::kBool) {
    return at::zeros(sizes, in.options());
  }
  if (in.is_floating_point()) {
    return at::full(sizes, -std::numeric_limits<double>::infinity(), in.options());
  }
  const int64_t value = in.scalar_type() == at::kInt ? std::numeric_limits<int32_t>::min()
                                                     : std::numeric_limits<int64_t>::min();
  return at::full(sizes, value, in.options());
}

at::Tensor highest(const at::Tensor& in, at::IntArrayRef sizes) {
  if (in.scalar_type() == at::kBool) {
    return at::ones(sizes, in.options());
  }
  if (in.is_floating_point()) {
    return at::full(sizes, std::numeric_limits<double>::infinity(), in.options());
  }
  const int64_t value = in.scalar_type() == at::kInt ? std::numeric_limits<int32_t>::max()
                                                     : std::numeric_limits<int64_t>::max();
  return at::full(sizes, value, in.options());
}

// ATen refuses the extremum of nothing; here it is the identity.
at::Tensor extremum(const at::Tensor& in, const std::vector<int64_t>& axes, bool is_max) {
  const bool empty =
      std::any_of(axes.begin(), axes.end(), [&](int64_t axis) { return in.size(axis) == 0; });
  if (!empty) {
    return is_max ? at::amax(in, axes) : at::amin(in, axes);
  }
  std::vector<int64_t> sizes;
  for (int64_t dim = 0; dim < in.dim(); ++dim) {
    if (std::find(axes.begin(), axes.end(), dim) == axes.end()) {
      sizes.push_back(in.size(dim));
    }
  }
  return is_max ? lowest(in, sizes) : highest(in, sizes);
}

at::Tensor product(at::Tensor in, const std::vector<int64_t>& axes, at::ScalarType type) {
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    in = at::prod(in, *it, /*keepdim=*/false, type);
  }
  return in;
}

void evaluateReduction(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const auto axes = axesOf(expr);
  const at::Tensor& in = operands[0].tensor();
  const at::ScalarType type = toAtenType(expr.outputs()[0]->dtype());
  switch (static_cast<ReductionType>(expr.attribute<int64_t>("op"))) {
    case ReductionType::Sum:
      outputs[0] = at::sum(in, axes, /*keepdim=*/false, type);
      break;
    case ReductionType::Prod:
      outputs[0] = product(in, axes, type);
      break;
    case ReductionType::Max:
      outputs[0] = extremum(in, axes, true);
      break;
    case ReductionType::Min:
      outputs[0] = extremum(in, axes, false);
      break;
  }
}

void evaluateWelford(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const auto axes = axesOf(expr);
  const at::Tensor& in = operands[0].tensor();
  const at::Tensor mean = at::mean(in, axes, /*keepdim=*/true);
  at::Tensor deviation = at::sub(in, mean);
  if (deviation.is_complex()) {
    deviation = at::abs(deviation);
  }
  int64_t count = 1;
  for (int64_t axis : axes) {
    count *= in.size(axis);
  }
  const at::Tensor average = at::squeeze(mean, axes);
  outputs[0] = average;
  outputs[1] = withType(at::sum(at::square(deviation), axes), expr.outputs()[1]->dtype());
  outputs[2] = at::full_like(average, count, average.options().dtype(at::kLong));
}

// --- shape ---

// A 0-dim tensor on the CPU joins tensors of any device; with dimensions it no longer does, so that
// is when it moves to where the fusion runs.
at::Tensor onRunDevice(const at::Tensor& in, const EvalContext& context) {
  return in.dim() == 0 && in.is_cpu() && !context.device.is_cpu() ? in.to(context.device) : in;
}

void evaluateBroadcast(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext& context) {
  at::Tensor result = onRunDevice(operands[0].tensor(), context);
  const auto& flags = expr.attribute<std::vector<bool>>("is_broadcast_dim");
  for (size_t dim = 0; dim < flags.size(); ++dim) {
    if (flags[dim]) {
      result = result.unsqueeze(static_cast<int64_t>(dim));
    }
  }
  outputs[0] = result;
}

void evaluateSqueeze(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  at::Tensor result = operands[0].tensor();
  const auto& flags = expr.attribute<std::vector<bool>>("is_squeeze_dim");
  const bool expanded = expr.attribute<bool>("squeeze_expanded");
  for (size_t i = flags.size(); i-- > 0;) {
    if (!flags[i]) {
      continue;
    }
    const auto dim = static_cast<int64_t>(i);
    const bool is_expanded = expanded && result.stride(dim) == 0 && result.size(dim) > 0;
    NVF_CHECK(
        result.size(dim) == 1 || is_expanded,
        "squeeze: dim ",
        dim,
        " of ",
        expr.inputs()[0]->toString(),
        " has size ",
        result.size(dim),
        ", not 1");
    result = result.select(dim, 0);
  }
  outputs[0] = result;
}

void evaluateExpand(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const at::Tensor& in = operands[0].tensor();
  const auto shape = intsOf(operands, 1, operands.size() - 1);
  for (int64_t dim = 0; dim < in.dim(); ++dim) {
    NVF_CHECK(
        shape[dim] >= 0 && (in.size(dim) == shape[dim] || in.size(dim) == 1),
        "expand: ",
        expr.inputs()[0]->toString(),
        " of sizes ",
        sizesText(in.sizes()),
        " cannot be seen as ",
        sizesText(shape));
  }
  outputs[0] = in.expand(shape);
}

void evaluateReshape(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext& context) {
  const at::Tensor in = onRunDevice(operands[0].tensor(), context);
  const auto shape = intsOf(operands, 1, operands.size() - 1);
  int64_t count = 1;
  bool negative = false;
  for (int64_t size : shape) {
    count *= size;
    negative = negative || size < 0;
  }
  NVF_CHECK(
      !negative && count == in.numel(),
      "reshape: ",
      expr.inputs()[0]->toString(),
      " of sizes ",
      sizesText(in.sizes()),
      " cannot be seen as ",
      sizesText(shape));
  outputs[0] = in.reshape(shape);
}

void evaluateSlice(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  at::Tensor result = operands[0].tensor();
  const auto rank = static_cast<size_t>(result.dim());
  const auto starts = intsOf(operands, 1, rank);
  const auto stops = intsOf(operands, 1 + rank, rank);
  for (size_t i = 0; i < rank; ++i) {
    const auto dim = static_cast<int64_t>(i);
    NVF_CHECK(
        starts[i] >= 0 && starts[i] <= stops[i] && stops[i] <= result.size(dim),
        "slice: ",
        starts[i],
        ":",
        stops[i],
        " is not inside dim ",
        dim,
        " of ",
        expr.inputs()[0]->toString(),
        ", which has size ",
        result.size(dim));
    if (starts[i] != 0 || stops[i] != result.size(dim)) {
      result = result.narrow(dim, starts[i], stops[i] - starts[i]);
    }
  }
  outputs[0] = result;
}

void evaluatePad(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const at::Tensor& in = operands[0].tensor();
  const auto widths = intsOf(operands, 2, operands.size() - 2);
  // ATen lists the innermost dimension first.
  std::vector<int64_t> innermost_first;
  for (size_t i = widths.size(); i >= 2; i -= 2) {
    const auto dim = static_cast<int64_t>(i / 2 - 1);
    NVF_CHECK(
        widths[i - 2] + in.size(dim) + widths[i - 1] >= 0,
        "pad: dim ",
        dim,
        " of ",
        expr.inputs()[0]->toString(),
        " with size ",
        in.size(dim),
        " would get a negative size");
    innermost_first.push_back(widths[i - 2]);
    innermost_first.push_back(widths[i - 1]);
  }
  outputs[0] = at::constant_pad_nd(in, innermost_first, toAtenScalar(operands[1].scalar()));
}

void evaluateCat(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  std::vector<at::Tensor> tensors;
  for (const EvalValue& operand : operands) {
    tensors.push_back(operand.tensor());
  }
  outputs[0] = at::cat(tensors, expr.attribute<int64_t>("dim"));
}

// --- factories ---

std::vector<int64_t> checkedSizes(const Expr& expr, std::vector<int64_t> sizes) {
  for (int64_t size : sizes) {
    NVF_CHECK(size >= 0, expr.opName(), ": a size must not be negative, got ", sizesText(sizes));
  }
  return sizes;
}

void evaluateFull(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext& context) {
  const DataType dtype = expr.outputs()[0]->dtype();
  outputs[0] = at::full(
      checkedSizes(expr, intsOf(operands, 0, operands.size() - 1)),
      toAtenScalar(castScalar(operands.back().scalar(), dtype)),
      at::TensorOptions(context.device).dtype(toAtenType(dtype)));
}

void evaluateIota(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext& context) {
  const DataType dtype = expr.outputs()[0]->dtype();
  const int64_t length = checkedSizes(expr, intsOf(operands, 0, 1))[0];
  NVF_CHECK(toDouble(operands[2].scalar()) != 0.0, "iota: step must not be zero");
  // start + i * step with a whole-number i: the length cannot be off by one, as it can with arange.
  const bool integral = isIntegralType(dtype);
  const at::Tensor index = at::arange(
      length, at::TensorOptions(context.device).dtype(integral ? at::kLong : at::kDouble));
  const at::Tensor result = at::add(
      at::mul(index, toAtenScalar(operands[2].scalar())), toAtenScalar(operands[1].scalar()));
  outputs[0] = withType(result, dtype);
}

const RegisterEvaluator load_store("LoadStoreOp", &evaluateLoadStore);
const RegisterEvaluator reduction("ReductionOp", &evaluateReduction);
const RegisterEvaluator welford_op("WelfordOp", &evaluateWelford);
const RegisterEvaluator broadcast_op("BroadcastOp", &evaluateBroadcast);
const RegisterEvaluator squeeze_op("SqueezeOp", &evaluateSqueeze);
const RegisterEvaluator expand_op("ExpandOp", &evaluateExpand);
const RegisterEvaluator reshape_op("ReshapeOp", &evaluateReshape);
const RegisterEvaluator slice_op("SliceOp", &evaluateSlice);
const RegisterEvaluator pad_op("PadOp", &evaluatePad);
const RegisterEvaluator cat_op("CatOp", &evaluateCat);
const RegisterEvaluator full_op("FullOp", &evaluateFull);
const RegisterEvaluator iota_op("IotaOp", &evaluateIota);

} // namespace

} // namespace nvfuser
