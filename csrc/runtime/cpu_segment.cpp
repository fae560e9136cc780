#include <runtime/cpu_segment.h>

#include <lower/lower.h>
#include <runtime/aten_helpers.h>
#include <runtime/kernel_cache.h>
#include <runtime/parallel_for.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>

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

} // namespace

std::string whyNotInCpuKernel(const Expr* expr) {
  const std::string reason = whyNotInKernel(expr);
  return reason.empty() ? whyNotOnCpu(expr) : reason;
}

CpuSegment::CpuSegment(const SegmentedGroup& group, const SizeOf& size_of, bool is_scheduled)
    : generated_(group) {
  FusionGuard guard(&generated_.fusion());
  ScheduleResult schedule = is_scheduled
      ? keepSchedule(generated_.fusion())
      : scheduleSegment(generated_.fusion(), generated_.scheduleContext(size_of));
  generated_.setKernel(std::move(schedule), lower(generated_.fusion()), size_of);
  text_ = printCpuKernel(generated_.kernel());
}

CpuSegment::~CpuSegment() = default;

void CpuSegment::load(std::shared_ptr<LoadedLibrary> library) {
  library_ = std::move(library);
  for (size_t i = 0; i < generated_.kernel().stages.size(); ++i) {
    const std::string name = "nvf_stage" + std::to_string(i);
    stages_.push_back(reinterpret_cast<Stage>(library_->symbol(name.c_str())));
  }
}

std::unique_ptr<KernelLaunch> CpuSegment::plan(const SizeOf& size_of) const {
  auto result = std::make_unique<KernelLaunch>();
  KernelLaunch& launch = *result;
  generated_.plan(launch, size_of);
  const Kernel& kernel = generated_.kernel();
  const std::vector<int64_t> params(
      launch.words.begin(),
      launch.words.begin() + static_cast<int64_t>(kernel.indices.params().size()));
  for (int buffer : text_.scratch_arrays) {
    const KernelBuffer& array = kernel.buffers[buffer];
    launch.words.push_back(launch.scratch_bytes);
    launch.scratch_bytes +=
        roundUp(GeneratedKernel::evaluate(array.size, params) * dataTypeSizeBits(array.dtype) / 8);
  }
  for (const KernelStage& stage : kernel.stages) {
    const int64_t tasks =
        stage.tasks == nullptr ? -1 : GeneratedKernel::evaluate(stage.tasks, params);
    launch.tasks.push_back(tasks);
    const int64_t per_task = std::max<int64_t>(1, launch.elements / std::max<int64_t>(tasks, 1));
    launch.grains.push_back(std::max<int64_t>(1, kSerialElements / per_task));
  }
  return result;
}

std::vector<at::Tensor> CpuSegment::run(
    KernelLaunch& launch,
    std::vector<at::Tensor> inputs,
    const std::vector<ScalarValue>& scalars,
    EvalContext& context) const {
  NVF_ERROR(!stages_.empty(), "the kernel is not loaded");
  generated_.prepareInputs(launch, inputs);
  const auto words = generated_.fillWords(launch, inputs, scalars, context);
  const auto& segment = generated_.fusion();
  std::vector<at::Tensor> outputs;
  c10::SmallVector<void*, 16> buffers;
  outputs.reserve(launch.outputs.size());
  std::vector<at::Tensor> stand_ins;
  for (size_t i = 0; i < inputs.size(); ++i) {
    buffers.push_back(
        GeneratedKernel::memoryOf(segment.inputs()[i]->as<TensorView>(), inputs[i], stand_ins));
  }
  for (size_t i = 0; i < launch.outputs.size(); ++i) {
    outputs.push_back(
        at::detail::empty_strided_cpu(
            launch.outputs[i].sizes,
            launch.outputs[i].strides,
            toAtenType(segment.outputs()[i]->dtype())));
    buffers.push_back(
        GeneratedKernel::memoryOf(
            segment.outputs()[i]->as<TensorView>(), outputs.back(), stand_ins));
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
    generated_.throwReported(error);
  }
  return outputs;
}

} // namespace nvfuser
