#include <runtime/cuda_target.h>

#include <ir/options.h>
#include <runtime/in_parallel.h>
#include <runtime/nvrtc.h>

#include <ATen/ATen.h>

#include <atomic>

namespace nvfuser {

bool runsCudaText(at::Device device) {
  return device.is_cuda() || (device.is_cpu() && isOptionEnabled("emulate_cuda"));
}

namespace {

class DeviceProgram : public CudaProgram {
 public:
  DeviceProgram(const std::string& code, const std::string& text, int device)
      : module_(code, device), device_(device) {
    for (size_t i = 0;; ++i) {
      const std::string name = "nvf_stage" + std::to_string(i);
      if (text.find(" " + name + "(") == std::string::npos) {
        break;
      }
      functions_.push_back(module_.function(name));
    }
    allowed_ = std::vector<std::atomic<int64_t>>(functions_.size());
  }

  void launch(size_t number, const CudaGridShape& shape, void* args) const override {
    const CudaFunction& function = functions_.at(number);
    if (shape.shared_bytes > cudaDevice(device_).shared_per_block &&
        shape.shared_bytes > allowed_[number].load(std::memory_order_relaxed)) {
      allowSharedMemory(function, shape.shared_bytes, device_);
      allowed_[number].store(shape.shared_bytes, std::memory_order_relaxed);
    }
    launchCuda(function, shape, args, device_);
  }

 private:
  CudaModule module_;
  int device_;
  std::vector<CudaFunction> functions_;
  mutable std::vector<std::atomic<int64_t>> allowed_;
};

class DeviceTarget : public CudaTarget {
 public:
  explicit DeviceTarget(int device) : device_(device) {}

  CudaLimits limits() const override {
    const CudaDevice& device = cudaDevice(device_);
    CudaLimits limits;
    limits.multiprocessors = device.multiprocessors;
    limits.threads_per_multiprocessor = device.max_threads_per_multiprocessor;
    return limits;
  }

  std::shared_ptr<CudaProgram> compile(const KernelSource& source) const override {
    const CudaDevice& device = cudaDevice(device_);
    const std::string code = compileCuda(source, nvrtcTarget(device.major, device.minor));
    return std::make_shared<DeviceProgram>(code, source.text, device_);
  }

  // Pinned memory, which the device writes and the host reads without waiting.
  at::Tensor makeErrorWord() const override {
    return at::zeros({1}, at::TensorOptions().dtype(at::kLong).pinned_memory(true));
  }

 private:
  int device_;
};

} // namespace

std::string whyNoCudaTarget(at::Device device) {
  if (device.is_cpu()) {
    return "";
  }
  for (const auto& why : {whyNoCudaDriver, whyNoCudaStream, whyNoNvrtc}) {
    if (!why().empty()) {
      return why();
    }
  }
  return "";
}

std::shared_ptr<CudaTarget> cudaTarget(at::Device device) {
  if (device.is_cpu()) {
    return cudaEmulation();
  }
  return std::make_shared<DeviceTarget>(device.index());
}

std::vector<std::shared_ptr<CudaProgram>> compileCudaPrograms(
    const CudaTarget& target,
    const std::vector<KernelSource>& sources,
    std::vector<std::string>& errors) {
  std::vector<std::shared_ptr<CudaProgram>> programs(sources.size());
  errors.assign(sources.size(), "");
  inParallel(sources.size(), [&](size_t i) {
    try {
      programs[i] = target.compile(sources[i]);
    } catch (const CompileError& error) {
      errors[i] = error.what();
    }
  });
  return programs;
}

} // namespace nvfuser
