// A segment that runs as a generated kernel on the CPU.
#pragma once

#include <codegen/cpu_kernel.h>
#include <runtime/kernel_segment.h>

#include <memory>
#include <string>
#include <vector>

namespace nvfuser {

class LoadedLibrary;

/// Why a node cannot be computed in a generated kernel for the CPU; empty: it can.
std::string whyNotInCpuKernel(const Expr* expr);

class CpuSegment : public KernelSegment {
 public:
  /// Schedules, lowers and prints the group. UserError or InternalError, with the reason, when that
  /// is not possible. `is_scheduled`: its tensors carry the schedule to use.
  CpuSegment(const SegmentedGroup& group, const SizeOf& size_of, bool is_scheduled = false);
  ~CpuSegment() override;

  /// Loads the compiled kernel.
  void load(std::shared_ptr<LoadedLibrary> library);

  const GeneratedKernel& generated() const override {
    return generated_;
  }
  const std::string& text() const override {
    return text_.text;
  }
  std::unique_ptr<KernelLaunch> plan(const SizeOf& size_of) const override;
  std::vector<at::Tensor> run(
      KernelLaunch& launch,
      std::vector<at::Tensor> inputs,
      const std::vector<ScalarValue>& scalars,
      EvalContext& context) const override;

 private:
  using Stage = void (*)(long, long, void* const*, const long*, char*);

  GeneratedKernel generated_;
  CpuKernelText text_;
  std::shared_ptr<LoadedLibrary> library_;
  std::vector<Stage> stages_;
};

} // namespace nvfuser
