#include <runtime/cpu_segment.h>

#include <analysis/contiguity.h>
#include <lower/emitter.h>
#include <lower/lower.h>
#include <runtime/aten_helpers.h>
#include <runtime/kernel_cache.h>
#include <runtime/parallel_for.h>
#include <runtime/random_draw.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace nvfuser {

namespace {

// Work below this many elements is done by the calling thread.
constexpr int64_t kSerialElements = 1 << 15;

int64_t roundUp(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// Memory of one thread, kept between runs.
char* scratchOfThread(int64_t bytes) {
  thread_local std::unique_ptr<char[]> memory;
  thread_local int64_t size = 0;
  if (size < bytes + 64) {
    memory.reset(new char[static_cast<size_t>(bytes + 64)]);
    size = bytes + 64;
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  return memory.get() + (64 - address % 64) % 64;
}

// One stage of a kernel, as the threads run it.
struct StageCall {
  void (*stage)(long, long, void* const*, const long*, char*);
  void* const* buffers;
  const int64_t* words;
  int64_t scratch_bytes;
  std::atomic<bool> out_of_memory = false;

  static void run(int64_t begin, int64_t end, void* address) {
    auto& call = *static_cast<StageCall*>(address);
    try {
      char* scratch = scratchOfThread(call.scratch_bytes);
      call.stage(begin, end, call.buffers, call.words, scratch);
    } catch (const std::bad_alloc&) {
      call.out_of_memory = true;
    }
  }
};

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

std::string whyNotInCpuKernel(const Expr* expr) {
  if (hasSymbolicDomain(expr)) {
    return "sizes decide which dimensions broadcast";
  }
  const std::string reason = whyNoValueRule(expr);
  return reason.empty() ? whyNotOnCpu(expr) : reason;
}

CpuSegment::CpuSegment(const SegmentedGroup& group, const SizeOf& size_of, bool is_scheduled)
    : segment_(extractGroup(group, originals_)) {
  ScheduleContext context;
  context.hint = [&](const Val* val) -> int64_t {
    if (val->isConstInt()) {
      return val->constInt();
    }
    const auto it = originals_.find(val);
    const ScalarValue value = it == originals_.end() ? ScalarValue() : size_of(it->second);
    return hasValue(value) ? toInt(value) : 4096;
  };
  FusionGuard guard(segment_.get());
  for (const TensorView* tv : segment_->tensorViews()) {
    for (const IterDomain* id : tv->getLogicalDomain()) {
      NVF_CHECK(!id->extent()->isZeroInt(), "a tensor has no elements");
    }
  }
  schedule_ = is_scheduled ? keepSchedule(*segment_) : scheduleSegment(*segment_, context);
  kernel_ = lower(*segment_);
  checkSizesAreKnown(size_of);
  for (const Val* scalar : kernel_->scalars) {
    runtime_scalars_.push_back(originalOf(scalar));
  }
  text_ = printCpuKernel(*kernel_);
}

CpuSegment::~CpuSegment() = default;

// A launch plan is made from the sizes of the inputs alone.
void CpuSegment::checkSizesAreKnown(const SizeOf& size_of) const {
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

const Val* CpuSegment::originalOf(const Val* val) const {
  const auto it = originals_.find(val);
  NVF_ERROR(it != originals_.end(), val->toString(), " is no scalar of the whole fusion");
  return it->second;
}

void CpuSegment::load(std::shared_ptr<LoadedLibrary> library) {
  library_ = std::move(library);
  for (size_t i = 0; i < kernel_->stages.size(); ++i) {
    const std::string name = "nvf_stage" + std::to_string(i);
    stages_.push_back(reinterpret_cast<Stage>(library_->symbol(name.c_str())));
  }
}

int64_t CpuSegment::evaluate(Index index, const std::vector<int64_t>& params) const {
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

std::unique_ptr<CpuLaunch> CpuSegment::plan(const SizeOf& size_of) const {
  auto result = std::make_unique<CpuLaunch>();
  CpuLaunch& launch = *result;
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
  for (int buffer : text_.scratch_arrays) {
    const KernelBuffer& array = kernel_->buffers[buffer];
    launch.words.push_back(launch.scratch_bytes);
    launch.scratch_bytes +=
        roundUp(evaluate(array.size, params) * dataTypeSizeBits(array.dtype) / 8);
  }
  int64_t elements = 1;
  const auto count = [&](const TensorView* tv) {
    int64_t total = 1;
    for (const IterDomain* id : noReductions(tv->getLogicalDomain())) {
      total *= id->isBroadcast() ? 1 : valueOf(id->extent());
    }
    elements = std::max(elements, total);
  };
  for (const TensorView* in : tensors(segment_->inputs())) {
    count(in);
  }
  for (const TensorView* out : tensors(segment_->outputs())) {
    count(out);
    CpuLaunch::Output output;
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
  for (const KernelStage& stage : kernel_->stages) {
    const int64_t tasks = stage.tasks == nullptr ? -1 : evaluate(stage.tasks, params);
    launch.tasks.push_back(tasks);
    const int64_t per_task = std::max<int64_t>(1, elements / std::max<int64_t>(tasks, 1));
    launch.grains.push_back(std::max<int64_t>(1, kSerialElements / per_task));
  }
  return result;
}

void CpuSegment::fillRandomWords(
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
std::vector<bool> CpuSegment::inputsToCopy(const std::vector<at::Tensor>& inputs) const {
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

namespace {

// A tensor that a broadcast is expanded to no elements in has no memory, but no loop runs over that
// dimension: the kernel touches elements that nobody sees.
void* memoryOf(const TensorView* tv, const at::Tensor& tensor, std::vector<at::Tensor>& stand_ins) {
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

} // namespace

std::vector<at::Tensor> CpuSegment::run(
    CpuLaunch& launch,
    std::vector<at::Tensor> inputs,
    const std::vector<ScalarValue>& scalars,
    EvalContext& context) const {
  NVF_ERROR(!stages_.empty(), "the kernel is not loaded");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_neg() || inputs[i].is_conj()) {
      const auto* view = segment_->inputs()[i]->as<TensorView>();
      inputs[i] = restrided(inputs[i], denseStrides(view, inputs[i].sizes().vec()));
    }
  }
  std::call_once(launch.inputs_checked, [&] { launch.copies_input = inputsToCopy(inputs); });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (launch.copies_input[i]) {
      const auto* view = segment_->inputs()[i]->as<TensorView>();
      inputs[i] = restrided(inputs[i], denseStrides(view, inputs[i].sizes().vec()));
    }
  }
  const auto& params = kernel_->indices.params();
  c10::SmallVector<int64_t, 32> words(launch.words.begin(), launch.words.end());
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].tensor != nullptr) {
      const auto place =
          std::find(segment_->inputs().begin(), segment_->inputs().end(), params[i].tensor);
      words[i] = inputs[place - segment_->inputs().begin()].stride(params[i].dim);
    }
  }
  for (size_t i = 0; i < scalars.size(); ++i) {
    words[params.size() + i] = isFloatingPointType(kernel_->scalars[i]->dtype())
        ? std::bit_cast<int64_t>(toDouble(scalars[i]))
        : toInt(scalars[i]);
  }
  fillRandomWords(words.data() + params.size() + scalars.size(), scalars, context);
  std::vector<at::Tensor> outputs;
  c10::SmallVector<void*, 16> buffers;
  outputs.reserve(launch.outputs.size());
  std::vector<at::Tensor> stand_ins;
  for (size_t i = 0; i < inputs.size(); ++i) {
    buffers.push_back(memoryOf(segment_->inputs()[i]->as<TensorView>(), inputs[i], stand_ins));
  }
  for (size_t i = 0; i < launch.outputs.size(); ++i) {
    outputs.push_back(
        at::detail::empty_strided_cpu(
            launch.outputs[i].sizes,
            launch.outputs[i].strides,
            toAtenType(segment_->outputs()[i]->dtype())));
    buffers.push_back(
        memoryOf(segment_->outputs()[i]->as<TensorView>(), outputs.back(), stand_ins));
  }
  std::vector<at::DataPtr> workspaces;
  for (int64_t bytes : launch.workspace_bytes) {
    workspaces.push_back(c10::GetAllocator(at::kCPU)->allocate(static_cast<size_t>(bytes)));
    buffers.push_back(workspaces.back().get());
  }
  long error = 0;
  buffers.push_back(&error);
  for (size_t i = 0; i < stages_.size(); ++i) {
    const int64_t tasks = launch.tasks[i];
    if (tasks < 0) {
      stages_[i](0, 1, buffers.data(), words.data(), scratchOfThread(launch.scratch_bytes));
    } else if (tasks > 0) {
      StageCall call{stages_[i], buffers.data(), words.data(), launch.scratch_bytes};
      parallelFor(tasks, launch.grains[i], &StageCall::run, &call);
      NVF_CHECK(!call.out_of_memory, "no memory for ", launch.scratch_bytes, " bytes of a thread");
    }
  }
  if (error != 0) {
    const Expr* expr = kernel_->positions.at(error - 1);
    NVF_CHECK(
        !mayDivideByZero(expr),
        "ZeroDivisionError: an integer is divided by zero in ",
        expr->toString());
    throw UserError(ErrorKind::Index, "index out of range in " + expr->toString());
  }
  return outputs;
}

} // namespace nvfuser
