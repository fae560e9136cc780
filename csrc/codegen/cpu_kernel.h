// Kernel IR -> C++ text for the host compiler.
//
// Folder csrc/codegen: kernel IR -> text, and the helper sources that the text includes. It may
// include csrc/ir, ops, analysis, passes, scheduler and lower.
#pragma once

#include <lower/kernel.h>

#include <string>
#include <vector>

namespace nvfuser {

/// The text of a kernel and what its launcher has to hand in.
///
/// Each stage is `extern "C" void nvf_stage<i>(long begin, long end, void* const* buffers,
/// const long* words, char* scratch)`.
///  buffers: the addresses of the kernel's Input, Output and Workspace buffers in the order of
///    Kernel::buffers, then that of a long which a wrong position or a divisor of 0 sets to the
///    number of its node (from 1).
///  words: the index parameters, the scalars (the bits of a double, or an integer), kRandomWords
///  for
///    each random source, then the offsets in bytes of `scratch_arrays` inside scratch, which
///    belongs to one thread.
struct CpuKernelText {
  std::string text;
  std::vector<int> scratch_arrays; ///< buffers of kind Array that lie in scratch
};

CpuKernelText printCpuKernel(const Kernel& kernel);

/// Why the node cannot be printed for the CPU; empty: it can.
std::string whyNotOnCpu(const Expr* expr);

} // namespace nvfuser
