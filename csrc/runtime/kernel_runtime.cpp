#include <analysis/scalar_values.h>
#include <ir/nodes.h>
#include <ir/options.h>
#include <passes/pipeline.h>
#include <runtime/aten_helpers.h>
#include <runtime/expression_evaluator.h>
#include <runtime/input_checks.h>
#include <runtime/kernel_check.h>
#include <runtime/kernel_runtime.h>
#include <runtime/segment_clock.h>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

FusionKernelRuntime::FusionKernelRuntime(
    const Fusion& fusion,
    const std::vector<EvalValue>& inputs,
    at::Device device,
    bool is_scheduled)
    : fusion_(fusion.clone()) {
  checks_kernels_ = isOptionEnabled("check_kernels");
  size_inputs_ = sizeInputs(*fusion_);
  if (is_scheduled) {
    makeScheduledSegment(inputs, device);
  } else {
    {
      FusionGuard guard(fusion_.get());
      runPipeline(*fusion_);
    }
    makeSegments(inputs, device);
  }
  compileKernels(device);
  layOutSteps();
  layOutOutputs();
}

FusionKernelRuntime::~FusionKernelRuntime() = default;

int FusionKernelRuntime::slotOf(const Val* val) {
  if (val == nullptr) {
    return -1;
  }
  const auto [it, is_new] = slots_.emplace(val, static_cast<int>(constants_.size()));
  if (is_new) {
    constants_.emplace_back(val->isConst() ? EvalValue(val->value()) : EvalValue());
  }
  return it->second;
}

KernelSegment::SizeOf FusionKernelRuntime::sizesFrom(const std::vector<EvalValue>& inputs) const {
  auto known = sizesOfInputs(*fusion_, inputs);
  for (size_t i : size_inputs_) {
    const Val* in = fusion_->inputs()[i];
    known[in] = castScalar(inputs[i].scalar(), in->dtype());
  }
  auto values = std::make_shared<ScalarValues>(std::move(known));
  return [values](const Val* val) { return values->evaluate(val); };
}

void FusionKernelRuntime::layOutNode(const Expr* expr) {
  Step step{expr, evaluatorOf(*expr), {}, {}, {}, -1, {}};
  bool scalar_only = true;
  for (const Operand& operand : expr->operands()) {
    step.operands.push_back(slotOf(operand.val));
    scalar_only = scalar_only &&
        (operand.val == nullptr || operand.val->isConst() ||
         known_with_sizes_.contains(operand.val));
  }
  for (const Val* out : expr->outputs()) {
    step.outputs.push_back(slotOf(out));
    scalar_only = scalar_only && out->isScalar();
  }
  countRandomNode(expr);
  if (scalar_only && expr->traits().pure) {
    known_with_sizes_.insert(expr->outputs().begin(), expr->outputs().end());
    plan_steps_.push_back(std::move(step));
  } else {
    steps_.push_back(std::move(step));
  }
}

void FusionKernelRuntime::countRandomNode(const Expr* expr) {
  if (expr->traits().random && expr->hasAttribute("rng_id")) {
    random_nodes_ = std::max(random_nodes_, expr->attribute<int64_t>("rng_id") + 1);
  }
}

void FusionKernelRuntime::layOutKernel(int number, const Segment& segment) {
  Step step{nullptr, nullptr, {}, {}, {}, number, {}};
  for (const Expr* expr : segment.group.exprs) {
    countRandomNode(expr);
  }
  for (const Val* in : segment.group.inputs) {
    step.operands.push_back(slotOf(in));
  }
  for (const Val* out : segment.group.outputs) {
    step.outputs.push_back(slotOf(out));
  }
  for (const Val* scalar : segment.kernel->runtimeScalars()) {
    step.scalars.push_back(slotOf(scalar));
  }
  steps_.push_back(std::move(step));
}

void FusionKernelRuntime::layOutSteps() {
  // Scalars known with the sizes: extents of inputs and what is computed from them.
  for (const Val* in : fusion_->inputs()) {
    input_slots_.push_back(slotOf(in));
    if (in->isTensor()) {
      for (const Val* extent : in->as<TensorView>()->shape()) {
        slotOf(extent);
        known_with_sizes_.insert(extent);
      }
    }
  }
  std::unordered_set<const Expr*> done;
  for (const Expr* expr : fusion_->exprs()) {
    const auto& outs = expr->outputs();
    const auto is_tensor = [](const Val* val) { return val->isTensor(); };
    if (std::none_of(outs.begin(), outs.end(), is_tensor)) {
      layOutNode(expr);
      done.insert(expr);
    }
  }
  for (Segment& segment : segments_) {
    const size_t first_step = steps_.size();
    if (segment.kernel != nullptr) {
      segment.number = static_cast<int>(kernels_.size());
      layOutKernel(segment.number, segment);
      kernels_.push_back(segment.kernel.get());
      kernel_groups_.push_back(&segment.group);
    } else {
      for (const Expr* expr : segment.group.exprs) {
        if (done.insert(expr).second) {
          layOutNode(expr);
        }
      }
    }
    for (size_t i = first_step; i < steps_.size(); ++i) {
      steps_[i].segment = static_cast<int>(&segment - segments_.data());
    }
  }
  findReleases();
}

void FusionKernelRuntime::findReleases() {
  if (checks_kernels_) {
    return; // the nodes of a kernel may need what no step does
  }
  // Each slot is released after its last use; inputs and outputs belong to the caller.
  std::unordered_set<int> kept;
  for (const Val* val : fusion_->inputs()) {
    kept.insert(slotOf(val));
  }
  for (const Val* val : fusion_->outputs()) {
    kept.insert(slotOf(val));
  }
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    for (const auto* list : {&step.operands, &step.outputs, &step.scalars}) {
      for (int slot : *list) {
        if (slot >= 0 && kept.insert(slot).second) {
          step.released.push_back(slot);
        }
      }
    }
  }
}

namespace {

// Follows nodes whose result only renames the elements of their first operand.
const Val* viewedValue(const Val* val) {
  while (!val->isFusionInput() && val->definition() != nullptr &&
         val->definition()->traits().view) {
    val = val->definition()->inputs().front();
  }
  return val;
}

} // namespace

void FusionKernelRuntime::layOutOutputs() {
  const auto& inputs = fusion_->inputs();
  std::unordered_map<const Val*, int> written;
  std::unordered_map<const Val*, int> updated;
  for (size_t i = 0; i < fusion_->outputs().size(); ++i) {
    const Val* val = fusion_->outputs()[i];
    Output out{};
    out.slot = slotOf(val);
    out.alias_input = -1;
    out.written_input = -1;
    const auto& alias = fusion_->aliasOf(i);
    if (alias.has_value()) {
      const auto it = std::find(inputs.begin(), inputs.end(), alias->input);
      out.alias_input = static_cast<int>(it - inputs.begin());
      out.hidden = alias->hidden;
      written[val] = out.alias_input;
      updated[alias->input] = out.alias_input;
    }
    if (val->isTensor()) {
      const auto* tv = val->as<TensorView>();
      out.tensor = tv;
      const auto logical = noReductions(tv->getLogicalDomain());
      for (IterDomain* id : noReductions(tv->getMaybeAllocationDomain())) {
        const auto it = std::find(logical.begin(), logical.end(), id);
        if (it == logical.end()) {
          out.order.clear();
          break;
        }
        out.order.push_back(it - logical.begin());
      }
      if (out.order.size() != logical.size()) {
        out.order.resize(logical.size());
        for (size_t dim = 0; dim < logical.size(); ++dim) {
          out.order[dim] = static_cast<int64_t>(dim);
        }
      }
      for (const IterDomain* id : logical) {
        out.expanded.push_back(id->hasExpandedExtent());
      }
      out.has_layout = tv->hasAllocation();
      const Val* viewed = viewedValue(val);
      out.may_view_input = viewed->isFusionInput();
    }
    outputs_.push_back(std::move(out));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Val* val = fusion_->outputs()[i];
    if (const auto it = written.find(val); it != written.end() && !outputs_[i].hidden) {
      outputs_[i].written_input = it->second;
    } else if (const auto input = updated.find(val); input != updated.end()) {
      // An input asked for as it is comes back as itself, updated.
      outputs_[i].written_input = input->second;
    }
  }
}

std::shared_ptr<LaunchPlan> FusionKernelRuntime::makePlan(
    const std::vector<EvalValue>& inputs) const {
  checkInputs(*fusion_, inputs);
  auto plan = std::make_shared<LaunchPlan>();
  std::vector<EvalValue> slots = constants_;
  for (const auto& [extent, size] : sizesOfInputs(*fusion_, inputs)) {
    if (!extent->isConst()) {
      const int slot = slots_.at(extent);
      slots[slot] = size;
      plan->sizes.emplace_back(slot, size);
    }
  }
  EvalContext context;
  for (const Step& step : plan_steps_) {
    runStep(step, slots, context);
    for (int slot : step.outputs) {
      plan->sizes.emplace_back(slot, slots[slot]);
    }
  }
  const auto size_of = sizesFrom(inputs);
  for (const KernelSegment* kernel : kernels_) {
    plan->kernels.push_back(kernel->plan(size_of));
  }
  return plan;
}

void FusionKernelRuntime::runKernel(
    const Step& step,
    LaunchPlan& plan,
    std::vector<EvalValue>& slots,
    EvalContext& context) const {
  std::vector<at::Tensor> inputs;
  inputs.reserve(step.operands.size());
  for (int slot : step.operands) {
    inputs.push_back(slots[slot].tensor());
  }
  std::vector<ScalarValue> scalars;
  for (int slot : step.scalars) {
    scalars.push_back(slots[slot].scalar());
  }
  const KernelSegment& kernel = *kernels_[step.kernel];
  auto outputs = kernel.run(*plan.kernels[step.kernel], inputs, scalars, context);
  if (checks_kernels_) {
    const auto scalar = [&](const Val* val) {
      return val->isConst() ? EvalValue(val->value()) : slots[slots_.at(val)];
    };
    checkKernel(*kernel_groups_[step.kernel], kernel, inputs, outputs, scalar, context);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    slots[step.outputs[i]] = std::move(outputs[i]);
  }
}

void FusionKernelRuntime::runStep(
    const Step& step,
    std::vector<EvalValue>& slots,
    EvalContext& context) const {
  std::vector<EvalValue> operands;
  operands.reserve(step.operands.size());
  for (int slot : step.operands) {
    operands.push_back(slot < 0 ? EvalValue() : slots[slot]);
  }
  std::vector<EvalValue> outputs(step.outputs.size());
  try {
    step.evaluate(*step.expr, operands, outputs, context);
  } catch (c10::Error& error) {
    error.add_context("while evaluating " + step.expr->toString());
    throw;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    slots[step.outputs[i]] = std::move(outputs[i]);
  }
}

void FusionKernelRuntime::verifyStep(
    const Step& step,
    const std::vector<EvalValue>& slots,
    ExpressionEvaluator& sizes) const {
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const Val* val = step.expr->outputs()[i];
    if (!val->isTensor()) {
      sizes.bind(val, slots[step.outputs[i]]);
      continue;
    }
    const at::Tensor& tensor = slots[step.outputs[i]].tensor();
    const auto shape = val->as<TensorView>()->shape();
    bool fits = tensor.dim() == static_cast<int64_t>(shape.size());
    for (size_t dim = 0; fits && dim < shape.size(); ++dim) {
      fits = toInt(sizes.evaluate(shape[dim]).scalar()) == tensor.size(static_cast<int64_t>(dim));
    }
    if (fits) {
      continue;
    }
    std::string operands;
    for (size_t k = 0; k < step.operands.size(); ++k) {
      if (step.operands[k] >= 0 && slots[step.operands[k]].isTensor()) {
        operands +=
            (operands.empty() ? "" : ", ") + sizesText(slots[step.operands[k]].tensor().sizes());
      }
    }
    NVF_CHECK(
        false,
        "sizes do not agree in ",
        step.expr->toString(),
        "operands have sizes ",
        operands,
        "; a dimension declared as -1 does not broadcast, declare it as 1");
  }
}

std::vector<EvalValue> FusionKernelRuntime::run(
    LaunchPlan& plan,
    const std::vector<EvalValue>& inputs,
    at::Device device) const {
  std::vector<EvalValue> slots = constants_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Val* in = fusion_->inputs()[i];
    slots[input_slots_[i]] =
        in->isTensor() ? inputs[i] : EvalValue(castScalar(inputs[i].scalar(), in->dtype()));
  }
  for (const auto& [slot, value] : plan.sizes) {
    slots[slot] = value;
  }
  EvalContext context;
  context.device = device;
  context.random_nodes = random_nodes_;
  SegmentClock* const clock = SegmentClock::active();
  if (plan.verified.load(std::memory_order_acquire)) {
    for (const Step& step : steps_) {
      const SegmentTimer timer(clock, step.segment);
      if (step.kernel >= 0) {
        runKernel(step, plan, slots, context);
      } else {
        runStep(step, slots, context);
      }
      for (int slot : step.released) {
        slots[slot].reset();
      }
    }
  } else {
    ExpressionEvaluator sizes(context);
    for (size_t i = 0; i < inputs.size(); ++i) {
      sizes.bind(fusion_->inputs()[i], inputs[i]);
    }
    for (const Step& step : steps_) {
      const SegmentTimer timer(clock, step.segment);
      if (step.kernel >= 0) {
        runKernel(step, plan, slots, context);
      } else {
        runStep(step, slots, context);
        verifyStep(step, slots, sizes);
      }
      for (int slot : step.released) {
        slots[slot].reset();
      }
    }
    plan.verified.store(true, std::memory_order_release);
  }
  return finish(slots, inputs);
}

namespace {

bool sharesStorage(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() &&
      a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

// Where a size is 1 any stride serves: that of a row-major tensor, whoever has computed it.
at::Tensor withPlainStridesOfOnes(const at::Tensor& tensor) {
  c10::SmallVector<int64_t, 8> strides(tensor.strides().begin(), tensor.strides().end());
  for (int64_t dim = tensor.dim() - 1; dim >= 0; --dim) {
    if (tensor.size(dim) == 1) {
      const bool last = dim + 1 == tensor.dim();
      strides[dim] = last ? 1 : strides[dim + 1] * std::max<int64_t>(tensor.size(dim + 1), 1);
    }
  }
  return tensor.strides() == at::IntArrayRef(strides) ? tensor
                                                      : tensor.as_strided(tensor.sizes(), strides);
}

} // namespace

std::vector<EvalValue> FusionKernelRuntime::finish(
    std::vector<EvalValue>& slots,
    const std::vector<EvalValue>& inputs) const {
  bool writes_inputs = false;
  std::vector<bool> is_written(inputs.size(), false);
  for (const Output& out : outputs_) {
    if (out.alias_input >= 0) {
      writes_inputs = true;
      is_written[out.alias_input] = true;
    }
  }
  std::vector<EvalValue> results;
  results.reserve(outputs_.size());
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const Output& out = outputs_[k];
    if (out.alias_input >= 0 && out.hidden) {
      continue;
    }
    if (out.written_input >= 0) {
      results.push_back(inputs[out.written_input]);
      continue;
    }
    EvalValue& value = slots[out.slot];
    if (!value.isTensor()) {
      results.push_back(value);
      continue;
    }
    at::Tensor tensor = value.tensor();
    bool must_copy = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      // Only plain views share an input's storage, and none does that is written to below.
      if (inputs[i].isTensor() && sharesStorage(tensor, inputs[i].tensor())) {
        must_copy = must_copy || !out.may_view_input || is_written[i];
      }
    }
    if (!must_copy && !out.may_view_input) {
      for (size_t earlier = 0; earlier < k && !must_copy; ++earlier) {
        const Output& other = outputs_[earlier];
        must_copy = other.slot != out.slot && slots[other.slot].isTensor() &&
            sharesStorage(tensor, slots[other.slot].tensor());
      }
    }
    const bool fixed_layout = out.has_layout || !out.may_view_input || must_copy;
    if (fixed_layout) {
      const auto strides = stridesInOrder(tensor.sizes(), out.order, out.expanded);
      const bool as_laid_out = tensor.numel() == 0
          ? tensor.strides() == at::IntArrayRef(strides)
          : sameStrides(tensor.sizes(), tensor.strides(), strides);
      if (must_copy || !as_laid_out) {
        tensor = restrided(tensor, strides);
      }
      tensor = withPlainStridesOfOnes(tensor);
    }
    value = tensor;
    results.push_back(value);
  }
  if (!writes_inputs) {
    return results;
  }
  // All values are taken before the first input changes.
  std::vector<std::pair<at::Tensor, at::Tensor>> writes;
  for (const Output& out : outputs_) {
    if (out.alias_input < 0) {
      continue;
    }
    at::Tensor value = slots[out.slot].tensor();
    const at::Tensor& target = inputs[out.alias_input].tensor();
    NVF_CHECK(
        value.sizes() == target.sizes(),
        "an output of sizes ",
        sizesText(value.sizes()),
        " cannot be written into input ",
        out.alias_input,
        " of sizes ",
        sizesText(target.sizes()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_written[i] && sharesStorage(value, inputs[i].tensor())) {
        value = value.clone();
      }
    }
    writes.emplace_back(target, value);
  }
  for (auto& [target, value] : writes) {
    target.copy_(value);
    // copy_ runs below the layer that counts writes; autograd must see this one all the same.
    if (!target.is_inference()) {
      target.unsafeGetTensorImpl()->bump_version();
    }
  }
  return results;
}

std::string FusionKernelRuntime::text() const {
  std::string text;
  for (size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    const std::string executor = segment.kernel == nullptr
        ? "aten: " + segment.group.reason
        : segment.kernel->schedule().scheduler + ": " + segment.kernel->schedule().heuristics;
    text += detail::concat("segment ", i, " (", executor, "):\n");
    for (const Expr* expr : segment.group.exprs) {
      text += expr->toString();
    }
  }
  return text + "\n" + fusion_->printMath();
}

std::string FusionKernelRuntime::kernelText() const {
  std::string text;
  for (const KernelSegment* kernel : kernels_) {
    text += kernel->text() + "\n";
  }
  return text;
}

} // namespace nvfuser
