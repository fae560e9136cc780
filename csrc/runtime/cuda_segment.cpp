#include <runtime/cuda_segment.h>

#include <codegen/cuda_preamble.h>
#include <lower/lower.h>
#include <runtime/aten_helpers.h>

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <limits>

namespace nvfuser {

namespace {

constexpr int64_t kArgumentBytes = 4096; // of a kernel, at most
constexpr int64_t kMostBlockThreads = 1024;
// Indices of 32 bits reach this far, with room for what a block counts past the end.
constexpr int64_t kNarrowElements = std::numeric_limits<int32_t>::max() - (int64_t{1} << 22);

constexpr ParallelType kDirections[] = {
    ParallelType::BIDx,
    ParallelType::BIDy,
    ParallelType::BIDz,
    ParallelType::TIDx,
    ParallelType::TIDy,
    ParallelType::TIDz};

} // namespace

std::string whyNotInCudaKernel(const Expr* expr) {
  const std::string reason = whyNotInKernel(expr);
  return reason.empty() ? whyNotOnCuda(expr) : reason;
}

struct CudaSegment::Variant {
  explicit Variant(const SegmentedGroup& group) : generated(group) {}
  GeneratedKernel generated;
  CudaKernelText text;
  /// Where each scalar stands in the order of the first variant.
  std::vector<size_t> scalar_places;
  std::shared_ptr<CudaProgram> program;
  at::Tensor error; ///< what a kernel reports; undefined when it has nothing to
};

struct CudaSegment::Launch : KernelLaunch {
  const Variant* variant = nullptr;
  SizeOf size_of;
  std::vector<CudaGridShape> shapes; ///< of each stage
  int64_t block_x = 0;               ///< as in CudaParams
  std::once_flag checked;
  bool fits = true;
  /// For inputs that lie otherwise than the kernel asks: without vectors, with wide indices.
  std::once_flag careful_made;
  std::unique_ptr<Launch> careful;
};

CudaSegment::CudaSegment(
    const SegmentedGroup& group,
    const SizeOf& size_of,
    at::Device device,
    bool is_scheduled)
    : group_(group),
      device_(device),
      is_scheduled_(is_scheduled),
      target_(cudaTarget(device)),
      unscheduled_(group) {
  FusionGuard guard(&unscheduled_.fusion());
  shape_ = std::make_unique<SegmentShape>(unscheduled_.fusion());
  const Key key = keyFor(size_of, false);
  auto variant = makeVariant(key, size_of);
  first_ = variant.get();
  variants_[key] = std::move(variant);
}

CudaSegment::~CudaSegment() = default;

const GeneratedKernel& CudaSegment::generated() const {
  return first_->generated;
}

const std::string& CudaSegment::text() const {
  return first_->text.text;
}

KernelSource CudaSegment::source() const {
  return {first_->generated.schedule().scheduler, text(), cudaTextFlags()};
}

void CudaSegment::load(std::shared_ptr<CudaProgram> program) {
  variants_.begin()->second->program = std::move(program);
}

CudaSegment::Key CudaSegment::keyFor(const SizeOf& size_of, bool careful) const {
  const ScheduleContext context = unscheduled_.scheduleContext(size_of);
  bool wide = careful;
  for (const TensorView* tv : unscheduled_.fusion().tensorViews()) {
    double elements = 1;
    for (const IterDomain* id : tv->getLogicalDomain()) {
      elements *= static_cast<double>(context.hint(id->getMaybeExpandedExtent()));
    }
    wide = wide || elements > static_cast<double>(kNarrowElements);
  }
  if (is_scheduled_) {
    return {CudaParams{}, wide};
  }
  CudaLimits limits = target_->limits();
  if (careful) {
    limits.vector_bytes = 1;
  }
  return {chooseCudaParams(unscheduled_.fusion(), *shape_, context, limits), wide};
}

std::unique_ptr<CudaSegment::Variant> CudaSegment::makeVariant(
    const Key& key,
    const SizeOf& size_of) const {
  auto variant = std::make_unique<Variant>(group_);
  GeneratedKernel& generated = variant->generated;
  Fusion& fusion = generated.fusion();
  FusionGuard guard(&fusion);
  CudaSchedule schedule;
  if (is_scheduled_) {
    schedule.result = keepSchedule(fusion);
  } else {
    schedule = scheduleForCuda(fusion, key.params);
  }
  LowerOptions options;
  options.target = KernelTarget::Cuda;
  options.multiples = schedule.multiples;
  generated.setKernel(std::move(schedule.result), lower(fusion, options), size_of);

  KernelLaunch sizes;
  generated.plan(sizes, size_of);
  CudaPrintOptions print;
  print.wide_index = key.wide_index;
  print.block_x = static_cast<int>(key.params.block_x);
  // Strides and addresses are taken to fit: each launch asks.
  const auto& params = generated.kernel().indices.params();
  print.param = [&](int64_t number) {
    return params.at(number).tensor != nullptr ? 0 : sizes.words.at(number);
  };
  print.alignment = [](int) { return 16; };
  variant->text = printCudaKernel(generated.kernel(), print);
  const size_t arguments =
      std::max<size_t>(variant->text.buffers, 1) + std::max<size_t>(variant->text.words, 1);
  NVF_CHECK(
      static_cast<int64_t>(arguments * sizeof(int64_t)) <= kArgumentBytes,
      "a kernel with ",
      variant->text.buffers,
      " buffers and ",
      variant->text.words,
      " parameters has more arguments than fit a launch");
  if (!generated.kernel().positions.empty()) {
    variant->error = target_->makeErrorWord();
  }
  const auto& order = first_ == nullptr ? generated.runtimeScalars() : runtimeScalars();
  for (const Val* scalar : generated.runtimeScalars()) {
    const auto place = std::find(order.begin(), order.end(), scalar);
    NVF_ERROR(place != order.end(), scalar->toString(), " is in one kernel of a segment only");
    variant->scalar_places.push_back(place - order.begin());
  }
  return variant;
}

const CudaSegment::Variant& CudaSegment::variantFor(const Key& key, const SizeOf& size_of) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Variant>& variant = variants_[key];
  if (variant == nullptr) {
    variant = makeVariant(key, size_of);
  }
  if (variant->program == nullptr) {
    const auto& schedule = variant->generated.schedule();
    variant->program = target_->compile({schedule.scheduler, variant->text.text, cudaTextFlags()});
  }
  return *variant;
}

std::unique_ptr<CudaSegment::Launch> CudaSegment::planFor(const SizeOf& size_of, bool careful)
    const {
  auto launch = std::make_unique<Launch>();
  launch->size_of = size_of;
  const Key key = keyFor(size_of, careful);
  const Variant& variant = variantFor(key, size_of);
  launch->block_x = key.params.block_x;
  launch->variant = &variant;
  const Kernel& kernel = variant.generated.kernel();
  variant.generated.plan(*launch, size_of);
  const std::vector<int64_t> params(
      launch->words.begin(),
      launch->words.begin() + static_cast<int64_t>(kernel.indices.params().size()));
  for (const auto& [size, factor] : kernel.multiples) {
    NVF_ERROR(
        GeneratedKernel::evaluate(size, params) % factor == 0,
        "a kernel is planned for a size that its vectors do not divide");
  }
  for (Index divisor : variant.text.divisors) {
    // Nothing is divided by a size of 0 whose result anyone needs.
    const int64_t size = GeneratedKernel::evaluate(divisor, params);
    launch->words.push_back(divisorWord(std::max<int64_t>(size, 1)));
  }
  for (size_t i = 0; i < kernel.stages.size(); ++i) {
    CudaGridShape shape;
    for (size_t k = 0; k < std::size(kDirections); ++k) {
      const auto it = kernel.stages[i].threads.find(kDirections[k]);
      if (it == kernel.stages[i].threads.end()) {
        continue;
      }
      int64_t most = 0;
      for (Index extent : it->second) {
        most = std::max(most, GeneratedKernel::evaluate(extent, params));
      }
      if (kDirections[k] == ParallelType::TIDx) {
        const bool is_known = std::all_of(
            it->second.begin(), it->second.end(), [](Index e) { return isConstant(e); });
        const int64_t given = is_known ? 0 : launch->block_x;
        NVF_ERROR(
            given == 0 || most <= given,
            "a kernel is planned for longer rows than its blocks take");
        most = given > 0 ? given : wholeThreads(most);
      }
      const int64_t limit = kDirections[k] == ParallelType::BIDx
          ? std::numeric_limits<int32_t>::max()
          : kDirections[k] <= ParallelType::BIDz ? 65535
                                                 : kMostBlockThreads;
      NVF_CHECK(
          most <= limit,
          parallelTypeText(kDirections[k]),
          " has ",
          most,
          " places in the schedule; a launch has ",
          limit,
          " at most");
      (k < 3 ? shape.grid[k] : shape.block[k - 3]) = static_cast<unsigned>(most);
    }
    for (unsigned& length : shape.block) {
      length = std::max(length, 1U);
    }
    const int64_t threads = int64_t{shape.block[0]} * shape.block[1] * shape.block[2];
    NVF_CHECK(
        threads <= kMostBlockThreads,
        "a block of ",
        threads,
        " threads is in the schedule; a launch has ",
        kMostBlockThreads,
        " at most");
    for (const auto& reduction : variant.text.reductions.at(i)) {
      shape.shared_bytes = std::max(
          shape.shared_bytes,
          blockReduceScratch(
              reduction.over_x,
              reduction.over_y,
              reduction.count,
              reduction.bytes,
              shape.block[0],
              shape.block[1],
              shape.block[2]));
    }
    launch->scratch_bytes = std::max(launch->scratch_bytes, shape.shared_bytes);
    launch->tasks.push_back(int64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2]);
    launch->grains.push_back(1);
    launch->shapes.push_back(shape);
  }
  return launch;
}

std::unique_ptr<KernelLaunch> CudaSegment::plan(const SizeOf& size_of) const {
  return planFor(size_of, false);
}

// Whether sizes and strides are what the text takes for granted.
bool CudaSegment::fits(const Launch& launch, const std::vector<at::Tensor>& inputs) const {
  const Variant& variant = *launch.variant;
  const auto& params = variant.generated.kernel().indices.params();
  const auto& views = variant.generated.fusion().inputs();
  for (const auto& [number, factor] : variant.text.multiples) {
    const KernelParam& param = params.at(number);
    int64_t value = launch.words.at(number);
    if (param.tensor != nullptr) {
      const auto place = std::find(views.begin(), views.end(), param.tensor) - views.begin();
      value = inputs.at(place).stride(param.dim);
    }
    if (value % factor != 0) {
      return false;
    }
  }
  for (const at::Tensor& input : inputs) {
    int64_t last = 0;
    for (int64_t dim = 0; dim < input.dim(); ++dim) {
      last += std::max<int64_t>(input.size(dim) - 1, 0) * input.stride(dim);
    }
    if (last > kNarrowElements) {
      return false;
    }
  }
  return true;
}

std::vector<at::Tensor> CudaSegment::run(
    KernelLaunch& base,
    std::vector<at::Tensor> inputs,
    const std::vector<ScalarValue>& scalars,
    EvalContext& context) const {
  auto* launch = static_cast<Launch*>(&base);
  for (at::Tensor& input : inputs) {
    if (input.device() != device_) {
      input = input.to(device_); // a number as a tensor
    }
  }
  launch->variant->generated.prepareInputs(*launch, inputs);
  std::call_once(launch->checked, [&] { launch->fits = fits(*launch, inputs); });
  bool is_aligned = true;
  for (const auto& [buffer, bytes] : launch->variant->text.aligned) {
    if (static_cast<size_t>(buffer) < inputs.size()) {
      const auto address = reinterpret_cast<uintptr_t>(inputs[buffer].const_data_ptr());
      is_aligned = is_aligned && address % static_cast<uintptr_t>(bytes) == 0;
    }
  }
  if (!launch->fits || !is_aligned) {
    std::call_once(launch->careful_made, [&] {
      // Launches of one set of sizes share what computes them.
      static std::mutex sizes_mutex;
      const std::lock_guard lock(sizes_mutex);
      launch->careful = planFor(launch->size_of, true);
    });
    launch = launch->careful.get();
    launch->variant->generated.prepareInputs(*launch, inputs);
  }
  return launchKernel(*launch, inputs, scalars, context);
}

namespace {

// Takes what a kernel has reported and not told yet.
int64_t takeReport(const at::Tensor& word) {
  auto* address = static_cast<int64_t*>(word.data_ptr());
  const int64_t node = *static_cast<volatile int64_t*>(address);
  if (node != 0) {
    *address = 0;
  }
  return node;
}

} // namespace

std::vector<at::Tensor> CudaSegment::launchKernel(
    Launch& launch,
    const std::vector<at::Tensor>& inputs,
    const std::vector<ScalarValue>& given,
    EvalContext& context) const {
  const Variant& variant = *launch.variant;
  const GeneratedKernel& generated = variant.generated;
  const Fusion& segment = generated.fusion();
  if (variant.error.defined()) {
    if (const int64_t node = takeReport(variant.error)) {
      generated.throwReported(node);
    }
  }
  const c10::OptionalDeviceGuard guard(device_);
  std::vector<ScalarValue> scalars;
  scalars.reserve(given.size());
  for (size_t place : variant.scalar_places) {
    scalars.push_back(given.at(place));
  }
  const auto words = generated.fillWords(launch, inputs, scalars, context);
  c10::SmallVector<int64_t, 64> arguments;
  std::vector<at::Tensor> stand_ins;
  const auto add = [&](void* address) {
    arguments.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)));
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* tv = segment.inputs()[i]->as<TensorView>();
    add(GeneratedKernel::memoryOf(tv, inputs[i], stand_ins));
  }
  std::vector<at::Tensor> outputs;
  outputs.reserve(launch.outputs.size());
  for (size_t i = 0; i < launch.outputs.size(); ++i) {
    const auto* tv = segment.outputs()[i]->as<TensorView>();
    const auto options = at::TensorOptions().dtype(toAtenType(tv->dtype())).device(device_);
    outputs.push_back(
        at::empty_strided(launch.outputs[i].sizes, launch.outputs[i].strides, options));
    add(GeneratedKernel::memoryOf(tv, outputs.back(), stand_ins));
  }
  std::vector<at::Tensor> workspaces;
  for (int64_t bytes : launch.workspace_bytes) {
    workspaces.push_back(at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_)));
    add(workspaces.back().data_ptr());
  }
  if (variant.error.defined()) {
    add(variant.error.data_ptr());
  }
  arguments.resize(std::max<size_t>(variant.text.buffers, 1), 0);
  arguments.append(words.begin(), words.end());
  for (size_t i = 0; i < launch.shapes.size(); ++i) {
    if (launch.tasks[i] > 0) {
      variant.program->launch(i, launch.shapes[i], arguments.data());
    }
  }
  if (variant.error.defined() && device_.is_cpu()) {
    if (const int64_t node = takeReport(variant.error)) {
      generated.throwReported(node);
    }
  }
  return outputs;
}

} // namespace nvfuser
