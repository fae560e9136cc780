#include <runtime/cuda_target.h>

#include <ir/options.h>
#include <runtime/in_parallel.h>

namespace nvfuser {

bool runsCudaText(at::Device device) {
  return device.is_cuda() || (device.is_cpu() && isOptionEnabled("emulate_cuda"));
}

std::string whyNoCudaTarget(at::Device device) {
  return device.is_cpu() ? "" : "not yet";
}

std::shared_ptr<CudaTarget> cudaTarget(at::Device device) {
  return cudaEmulation();
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
