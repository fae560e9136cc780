// Kernel IR -> CUDA C++ text for NVRTC.
#pragma once

#include <lower/kernel.h>

#include <functional>
#include <string>
#include <vector>

namespace nvfuser {

struct CudaPrintOptions {
  bool wide_index = false; ///< indices of 64 bits
  int block_x = 0;         ///< threads of a block along x, where the schedule does not say; 0: any
  /// The value of an index parameter in the launches that the text is for: what is a multiple of a
  /// number now has to be one in all of them.
  std::function<int64_t(int64_t)> param = nullptr;
  /// The largest power of two, up to 16, that divides the address of a buffer of Kernel::buffers in
  /// these launches.
  std::function<int64_t(int)> alignment = nullptr;
};

/// The text of a kernel and what its launcher has to see to.
///
/// Each stage is `extern "C" __global__ void nvf_stage<i>(const nvf_args args)`, where nvf_args is
/// {void* buffers[max(1, n)]; long words[max(1, m)];}:
///  buffers: the addresses of the kernel's Input, Output and Workspace buffers in the order of
///    Kernel::buffers, then, if Kernel::positions is not empty, that of a long which a wrong
///    position sets to the number of its node (from 1).
///  words: the index parameters, the scalars (the bits of a double, or an integer), then
///    kRandomWords words for each random source.
struct CudaKernelText {
  /// A reduction over a block, as blockReduceScratch() takes it.
  struct Reduction {
    bool over_x;
    bool over_y;
    int64_t count;
    int64_t bytes;
  };
  std::string text;
  size_t buffers = 0; ///< entries of nvf_args
  size_t words = 0;
  /// Sizes that indices are divided by; see divisorWord(). Their words follow the others.
  std::vector<Index> divisors;
  /// Index parameters that must be multiples of a number.
  std::vector<std::pair<int64_t, int64_t>> multiples;
  /// Buffers that must be aligned to a number of bytes.
  std::vector<std::pair<int, int64_t>> aligned;
  /// Of each stage; they share its dynamic shared memory.
  std::vector<std::vector<Reduction>> reductions;
};

/// The word by which a kernel divides indices of 32 bits by `divisor` (1 to 2^31 - 1) with a
/// multiplication: n / divisor is (n + the upper half of n * the lower half of the word) shifted
/// right by the upper half (Granlund and Montgomery, "Division by invariant integers using
/// multiplication", 1994).
int64_t divisorWord(int64_t divisor);

CudaKernelText printCudaKernel(Kernel& kernel, const CudaPrintOptions& options);

/// Why the node cannot be printed for a GPU; empty: it can.
std::string whyNotOnCuda(const Expr* expr);

} // namespace nvfuser
