// Where CUDA text runs: a GPU, or an emulation of one in this process.
#pragma once

#include <runtime/cuda_driver.h>
#include <runtime/kernel_cache.h>
#include <scheduler/cuda_schedule.h>

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace nvfuser {

/// A compiled text, loaded where it runs.
class CudaProgram {
 public:
  virtual ~CudaProgram() = default;
  /// Starts nvf_stage<number> on torch's current stream with the struct at `args`.
  virtual void launch(size_t number, const CudaGridShape& shape, void* args) const = 0;
};

class CudaTarget {
 public:
  virtual ~CudaTarget() = default;
  virtual CudaLimits limits() const = 0;
  /// CompileError when the text does not compile. Thread-safe.
  virtual std::shared_ptr<CudaProgram> compile(const KernelSource& source) const = 0;
  /// A long that kernels can write at any time and the host reads; 0 when there was nothing wrong.
  virtual at::Tensor makeErrorWord() const = 0;
};

/// The device's; for the CPU the emulation.
std::shared_ptr<CudaTarget> cudaTarget(at::Device device);
/// Why no kernels can be generated for the device; empty: they can.
std::string whyNoCudaTarget(at::Device device);

/// Whether kernels for the device are CUDA text: for a GPU, and for the CPU with the option
/// emulate_cuda.
bool runsCudaText(at::Device device);

/// Compiles several texts, in parallel. Where one does not compile, its place stays empty, and
/// `errors` says why.
std::vector<std::shared_ptr<CudaProgram>> compileCudaPrograms(
    const CudaTarget& target,
    const std::vector<KernelSource>& sources,
    std::vector<std::string>& errors);

/// Runs CUDA text in this process, each thread of a block in turn: slow, for tests of kernels on
/// machines without a GPU. Reads and writes CPU tensors.
std::shared_ptr<CudaTarget> cudaEmulation();

} // namespace nvfuser
