#include <runtime/kernel_segment.h>

#include <analysis/contiguity.h>
#include <lower/emitter.h>
#include <runtime/aten_helpers.h>
#include <runtime/random_draw.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>

namespace nvfuser {

namespace {

std::vector<const TensorView*> tensors(const std::vector<Val*>& vals) {
  std::vector<const TensorView*> result;
  for (const Val* val : vals) {
    result.push_back(val->as<TensorView>());
  }
  return result;
}

bool hasSymbolicDomain(const Expr* expr) {
  for (const auto* list : {&expr->inputs(), &expr->outputs()}) {
    for (const Val* val : *list) {
      const auto* tv = dynamic_cast<const TensorView*>(val);
      if (tv == nullptr) {
        continue;
      }
      const auto& domain = tv->getLogicalDomain();
      if (std::any_of(domain.begin(), domain.end(), [](auto* id) { return id->isSymbolic(); })) {
        return true;
      }
    }
  }
  return false;
}

} // namespace

std::string whyNotInKernel(const Expr* expr) {
  return hasSymbolicDomain(expr) ? "sizes decide which dimensions broadcast" : whyNoValueRule(expr);
}

GeneratedKernel::GeneratedKernel(const SegmentedGroup& group)
    : segment_(extractGroup(group, originals_)) {
  for (const TensorView* tv : segment_->tensorViews()) {
    for (const IterDomain* id : tv->getLogicalDomain()) {
      NVF_CHECK(!id->extent()->isZeroInt(), "a tensor has no elements");
    }
  }
}

ScheduleContext GeneratedKernel::scheduleContext(const SizeOf& size_of) const {
  ScheduleContext context;
  context.hint = [this, &size_of](const Val* val) -> int64_t {
    if (val->isConstInt()) {
      return val->constInt();
    }
    const auto it = originals_.find(val);
    const ScalarValue value = it == originals_.end() ? ScalarValue() : size_of(it->second);
    return hasValue(value) ? toInt(value) : 4096;
  };
  return context;
}

void GeneratedKernel::setKernel(
    ScheduleResult schedule,
    std::unique_ptr<Kernel> kernel,
    const SizeOf& size_of) {
  schedule_ = std::move(schedule);
  kernel_ = std::move(kernel);
  checkSizesAreKnown(size_of);
  for (const Val* scalar : kernel_->scalars) {
    runtime_scalars_.push_back(originalOf(scalar));
  }
  const auto& inputs = segment_->inputs();
  for (const KernelParam& param : kernel_->indices.params()) {
    const auto place = std::find(inputs.begin(), inputs.end(), param.tensor);
    stride_inputs_.push_back(
        param.tensor == nullptr ? -1 : static_cast<int>(place - inputs.begin()));
  }
}

// A launch plan is made from the sizes of the inputs alone.
void GeneratedKernel::checkSizesAreKnown(const SizeOf& size_of) const {
  const auto check = [&](const Val* val) {
    NVF_CHECK(
        val->isConst() || hasValue(size_of(originalOf(val))),
        "the size ",
        val->toInlineString(),
        " is not known with the sizes of the inputs");
  };
  for (const KernelParam& param : kernel_->indices.params()) {
    if (param.scalar != nullptr) {
      check(param.scalar);
    }
  }
  for (const SizeCheck& sizes : kernel_->checks) {
    check(sizes.a);
    check(sizes.b);
  }
  for (const auto* list : {&segment_->inputs(), &segment_->outputs()}) {
    for (const TensorView* tv : tensors(*list)) {
      for (const IterDomain* id : noReductions(tv->getLogicalDomain())) {
        check(id->getMaybeExpandedExtent());
      }
    }
  }
}

const Val* GeneratedKernel::originalOf(const Val* val) const {
  const auto it = originals_.find(val);
  NVF_ERROR(it != originals_.end(), val->toString(), " is no scalar of the whole fusion");
  return it->second;
}

int64_t GeneratedKernel::evaluate(Index index, const std::vector<int64_t>& params) {
  const auto part = [&](Index operand) { return evaluate(operand, params); };
  switch (index->op) {
    case IndexOp::Constant:
      return index->number;
    case IndexOp::Param:
      return params.at(index->number);
    case IndexOp::Add:
      return part(index->a) + part(index->b);
    case IndexOp::Sub:
      return part(index->a) - part(index->b);
    case IndexOp::Mul:
      return part(index->a) * part(index->b);
    case IndexOp::Div:
      return part(index->b) == 0 ? 0 : part(index->a) / part(index->b);
    case IndexOp::Mod:
      return part(index->b) == 0 ? 0 : part(index->a) % part(index->b);
    case IndexOp::Min:
      return std::min(part(index->a), part(index->b));
    case IndexOp::Max:
      return std::max(part(index->a), part(index->b));
    default:
      NVF_ERROR(false, "a size that depends on a loop");
      return 0;
  }
}

void GeneratedKernel::plan(KernelLaunch& launch, const SizeOf& size_of) const {
  const auto valueOf = [&](const Val* val) {
    return val->isConst() ? toInt(val->value()) : toInt(size_of(originalOf(val)));
  };
  for (const SizeCheck& check : kernel_->checks) {
    const int64_t a = valueOf(check.a);
    const int64_t b = valueOf(check.b);
    NVF_CHECK(
        a == b,
        "sizes do not agree in ",
        check.expr->toString(),
        "one dimension has sizes ",
        a,
        " and ",
        b,
        "; a dimension declared as -1 does not broadcast, declare it as 1");
  }
  for (const KernelParam& param : kernel_->indices.params()) {
    launch.words.push_back(param.scalar == nullptr ? 0 : valueOf(param.scalar));
  }
  const std::vector<int64_t> params = launch.words;
  launch.words.resize(
      params.size() + kernel_->scalars.size() + kRandomWords * kernel_->randoms.size(), 0);
  const auto count = [&](const TensorView* tv) {
    int64_t total = 1;
    for (const IterDomain* id : noReductions(tv->getLogicalDomain())) {
      total *= id->isBroadcast() ? 1 : valueOf(id->extent());
    }
    launch.elements = std::max(launch.elements, total);
  };
  for (const TensorView* in : tensors(segment_->inputs())) {
    count(in);
  }
  for (const TensorView* out : tensors(segment_->outputs())) {
    count(out);
    KernelLaunch::Output output;
    const auto domain = noReductions(out->getLogicalDomain());
    for (const IterDomain* id : domain) {
      output.sizes.push_back(valueOf(id->getMaybeExpandedExtent()));
    }
    output.strides = denseStrides(out, output.sizes);
    launch.outputs.push_back(std::move(output));
  }
  for (const KernelBuffer& buffer : kernel_->buffers) {
    if (buffer.kind == KernelBuffer::Kind::Workspace) {
      launch.workspace_bytes.push_back(
          evaluate(buffer.size, params) * dataTypeSizeBits(buffer.dtype) / 8);
    }
  }
}

void GeneratedKernel::fillRandomWords(
    int64_t* words,
    const std::vector<ScalarValue>& scalars,
    EvalContext& context) const {
  const auto valueOf = [&](const KernelValue& value) {
    return value.kind == KernelValue::Kind::Scalar ? scalars.at(value.number) : value.constant;
  };
  for (const RandomSource& source : kernel_->randoms) {
    const RandomDraw draw = randomDraw(
        *source.expr,
        valueOf(source.a),
        valueOf(source.b),
        valueOf(source.seed),
        valueOf(source.offset),
        context);
    const auto drawn = kernelWords(draw);
    words = std::copy(drawn.begin(), drawn.end(), words);
  }
}

// The kernel reads an input by the flags of its allocation domain; memory that lies otherwise is
// copied first.
std::vector<bool> GeneratedKernel::inputsToCopy(const std::vector<at::Tensor>& inputs) const {
  const auto views = tensors(segment_->inputs());
  std::vector<bool> result(inputs.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& tensor = inputs[i];
    const auto domain = noReductions(views[i]->getLogicalDomain());
    const auto& allocation = views[i]->getMaybeAllocationDomain();
    const auto& contiguity = views[i]->domain()->contiguity();
    int64_t expected = 1;
    for (size_t k = allocation.size(); k-- > 0;) {
      IterDomain* id = allocation[k];
      if (id->isReduction() || id->isBroadcast()) {
        continue;
      }
      const auto dim = std::find(domain.begin(), domain.end(), id) - domain.begin();
      if (tensor.size(dim) == 1) {
        continue;
      }
      const bool differs = contiguity[k].value_or(false) && tensor.stride(dim) != expected;
      result[i] = result[i] || (differs && tensor.numel() > 0);
      expected = tensor.stride(dim) * tensor.size(dim);
    }
  }
  return result;
}

// A tensor that a broadcast is expanded to no elements in has no memory, but no loop runs over that
// dimension: the kernel touches elements that nobody sees.
void* GeneratedKernel::memoryOf(
    const TensorView* tv,
    const at::Tensor& tensor,
    std::vector<at::Tensor>& stand_ins) {
  if (tensor.numel() > 0) {
    return const_cast<void*>(tensor.const_data_ptr());
  }
  int64_t elements = 1;
  const auto domain = noReductions(tv->getLogicalDomain());
  for (size_t dim = 0; dim < domain.size(); ++dim) {
    const auto place = static_cast<int64_t>(dim);
    if (domain[dim]->isBroadcast()) {
      continue;
    }
    if (tensor.size(place) == 0) {
      return const_cast<void*>(tensor.const_data_ptr());
    }
    elements += (tensor.size(place) - 1) * std::max<int64_t>(tensor.stride(place), 0);
  }
  stand_ins.push_back(at::zeros({elements}, tensor.options()));
  return stand_ins.back().data_ptr();
}

void GeneratedKernel::prepareInputs(KernelLaunch& launch, std::vector<at::Tensor>& inputs) const {
  const auto dense = [&](size_t i) {
    const auto* view = segment_->inputs()[i]->as<TensorView>();
    inputs[i] = restrided(inputs[i], denseStrides(view, inputs[i].sizes().vec()));
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_neg() || inputs[i].is_conj()) {
      dense(i);
    }
  }
  std::call_once(launch.inputs_checked, [&] { launch.copies_input = inputsToCopy(inputs); });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (launch.copies_input[i]) {
      dense(i);
    }
  }
}

GeneratedKernel::Words GeneratedKernel::fillWords(
    const KernelLaunch& launch,
    const std::vector<at::Tensor>& inputs,
    const std::vector<ScalarValue>& scalars,
    EvalContext& context) const {
  const auto& params = kernel_->indices.params();
  Words words(launch.words.begin(), launch.words.end());
  for (size_t i = 0; i < stride_inputs_.size(); ++i) {
    if (stride_inputs_[i] >= 0) {
      words[i] = inputs[stride_inputs_[i]].stride(params[i].dim);
    }
  }
  for (size_t i = 0; i < scalars.size(); ++i) {
    words[params.size() + i] = isFloatingPointType(kernel_->scalars[i]->dtype())
        ? std::bit_cast<int64_t>(toDouble(scalars[i]))
        : toInt(scalars[i]);
  }
  fillRandomWords(words.data() + params.size() + scalars.size(), scalars, context);
  return words;
}

void GeneratedKernel::throwReported(int64_t node) const {
  const Expr* expr = kernel_->positions.at(node - 1);
  NVF_CHECK(
      !mayDivideByZero(expr),
      "ZeroDivisionError: an integer is divided by zero in ",
      expr->toString());
  throw UserError(ErrorKind::Index, "index out of range in " + expr->toString());
}

} // namespace nvfuser
