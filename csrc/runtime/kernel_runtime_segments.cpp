// FusionKernelRuntime: cuts the fusion into segments and makes their kernels.
#include <codegen/cpu_preamble.h>
#include <ir/options.h>
#include <passes/number_random_nodes.h>
#include <runtime/cpu_segment.h>
#include <runtime/cuda_segment.h>
#include <runtime/host_compiler.h>
#include <runtime/kernel_cache.h>
#include <runtime/kernel_runtime.h>
#include <runtime/scheduled_kernel.h>
#include <runtime/segment_clock.h>

#include <algorithm>
#include <atomic>
#include <iostream>

namespace nvfuser {

namespace {

const RegisterDumpOptions register_dumps(
    {"segments", "scheduled_ir", "kernel_ir", "kernel_source"});

void warnOnceNoGpuKernels(const std::string& reason) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) {
    std::cerr
        << "nvfuser: no kernels are generated for GPUs, every segment is evaluated through ATen: "
        << reason << "\n";
  }
}

void dumpSegment(const KernelSegment& segment) {
  if (isDumpEnabled("scheduled_ir")) {
    std::cout << "---- scheduled_ir ----\n" << segment.fusion().printMath() << std::flush;
  }
  if (isDumpEnabled("kernel_ir")) {
    std::cout << "---- kernel_ir ----\n" << segment.kernel().toString() << std::flush;
  }
  if (isDumpEnabled("kernel_source")) {
    std::cout << "---- kernel_source ----\n" << segment.text() << std::flush;
  }
}

} // namespace

void FusionKernelRuntime::makeSegments(const std::vector<EvalValue>& inputs, at::Device device) {
  const bool for_cuda_text = runsCudaText(device);
  std::string reason =
      isOptionEnabled("generated_kernels") ? "" : "generated kernels are not enabled";
  for (const EvalValue& input : inputs) {
    if (reason.empty() && input.isTensor() && input.tensor().device() != device &&
        !(device.is_cuda() && input.tensor().is_cpu() && input.tensor().dim() == 0)) {
      reason = "its tensors are on several devices";
    }
  }
  if (reason.empty() && for_cuda_text) {
    reason = whyNoCudaTarget(device);
    if (!reason.empty()) {
      warnOnceNoGpuKernels(reason);
    }
  } else if (reason.empty() && !device.is_cpu()) {
    reason = "no kernels are generated for " + device.str();
  }
  const auto why_not = [&](const Expr* expr) -> std::string {
    if (!reason.empty()) {
      return reason;
    }
    return for_cuda_text ? whyNotInCudaKernel(expr) : whyNotInCpuKernel(expr);
  };
  const auto size_of = sizesFrom(inputs);
  for (SegmentedGroup& group : segmentFusion(*fusion_, why_not)) {
    segments_.push_back({std::move(group), nullptr});
    Segment& segment = segments_.back();
    if (!segment.group.is_kernel) {
      continue;
    }
    const Stopwatch watch;
    try {
      if (for_cuda_text) {
        segment.kernel = std::make_unique<CudaSegment>(segment.group, size_of, device);
      } else {
        segment.kernel = std::make_unique<CpuSegment>(segment.group, size_of);
      }
      segment.seconds = watch.seconds();
      dumpSegment(*segment.kernel);
    } catch (const UserError& error) {
      segment.group.reason = error.what();
    } catch (const std::exception& error) {
      // Our fault, which ATen makes good; whoever checks wants to know.
      if (checks_kernels_) {
        throw;
      }
      segment.group.reason = error.what();
    }
  }
  if (isDumpEnabled("segments")) {
    std::cout << "---- segments ----\n" << text() << std::flush;
  }
}

void FusionKernelRuntime::makeScheduledSegment(
    const std::vector<EvalValue>& inputs,
    at::Device device) {
  if (runsCudaText(device)) {
    const std::string reason = whyNoCudaTarget(device);
    NVF_CHECK(reason.empty(), "a schedule made by hand needs a kernel: ", reason);
  }
  numberRandomNodes(*fusion_);
  SegmentedGroup group = wholeFusion(*fusion_, device);
  if (group.exprs.empty()) {
    return;
  }
  segments_.push_back({std::move(group), nullptr});
  const Stopwatch watch;
  segments_[0].kernel = scheduledKernel(segments_[0].group, sizesFrom(inputs), device);
  segments_[0].seconds = watch.seconds();
  dumpSegment(*segments_[0].kernel);
}

void FusionKernelRuntime::compileKernels(at::Device device) {
  if (runsCudaText(device)) {
    compileForGpu(device);
  } else {
    compileForCpu();
  }
}

void FusionKernelRuntime::compileForGpu(at::Device device) {
  std::vector<Segment*> compiled;
  std::vector<KernelSource> sources;
  for (Segment& segment : segments_) {
    if (segment.kernel != nullptr) {
      compiled.push_back(&segment);
      sources.push_back(static_cast<CudaSegment&>(*segment.kernel).source());
    }
  }
  if (sources.empty()) {
    return;
  }
  const Stopwatch watch;
  const auto target = cudaTarget(device);
  std::vector<std::string> errors;
  const auto programs = compileCudaPrograms(*target, sources, errors);
  compile_seconds_ = watch.seconds();
  for (size_t i = 0; i < compiled.size(); ++i) {
    if (programs[i] != nullptr) {
      static_cast<CudaSegment&>(*compiled[i]->kernel).load(programs[i]);
      continue;
    }
    NVF_ERROR(!checks_kernels_, errors[i]);
    std::cerr << "nvfuser: a segment is evaluated through ATen, because " << errors[i] << "\n";
    refuseKernel(*compiled[i], errors[i]);
  }
}

void FusionKernelRuntime::compileForCpu() {
  std::vector<KernelSource> sources;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].kernel != nullptr) {
      sources.push_back(
          {"segment" + std::to_string(i), segments_[i].kernel->text(), cpuTextFlags()});
      numbers.push_back(i);
    }
  }
  if (sources.empty()) {
    return;
  }
  const auto compiler = hostCompiler();
  if (!*compiler) {
    warnOnceNoCompiler(compiler->reason);
    for (size_t number : numbers) {
      refuseKernel(segments_[number], compiler->reason);
    }
    return;
  }
  const auto cpuKernel = [&](size_t number) -> CpuSegment& {
    return static_cast<CpuSegment&>(*segments_[number].kernel);
  };
  const Stopwatch watch;
  try {
    const auto libraries = compileAndLoadAll(sources);
    compile_seconds_ = watch.seconds();
    for (size_t i = 0; i < numbers.size(); ++i) {
      cpuKernel(numbers[i]).load(libraries[i]);
    }
  } catch (const CompileError&) {
    // One that does not compile must not cost the others.
    for (size_t i = 0; i < numbers.size(); ++i) {
      try {
        cpuKernel(numbers[i]).load(compileAndLoad(sources[i]));
      } catch (const CompileError& error) {
        std::cerr << "nvfuser: a segment is evaluated through ATen, because " << error.what()
                  << "\n";
        refuseKernel(segments_[numbers[i]], error.what());
      }
    }
  }
}

void FusionKernelRuntime::refuseKernel(Segment& segment, const std::string& reason) {
  segment.kernel = nullptr;
  segment.group.reason = reason;
}

} // namespace nvfuser
