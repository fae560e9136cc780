// A segment that runs as generated kernels on a GPU: one for each set of schedule parameters,
// chosen by the sizes of a call.
#pragma once

#include <codegen/cuda_kernel.h>
#include <runtime/cuda_target.h>
#include <runtime/kernel_segment.h>
#include <scheduler/cuda_schedule.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace nvfuser {

/// Why a node cannot be computed in a generated kernel for a GPU; empty: it can.
std::string whyNotInCudaKernel(const Expr* expr);

class CudaSegment : public KernelSegment {
 public:
  /// Schedules, lowers and prints the kernel for the sizes that are known. UserError or
  /// InternalError, with the reason, when that is not possible. `is_scheduled`: the tensors carry
  /// the schedule to use.
  CudaSegment(
      const SegmentedGroup& group,
      const SizeOf& size_of,
      at::Device device,
      bool is_scheduled = false);
  ~CudaSegment() override;

  /// The text to compile ahead, and what has become of it.
  KernelSource source() const;
  void load(std::shared_ptr<CudaProgram> program);

  const GeneratedKernel& generated() const override;
  const std::string& text() const override;
  std::unique_ptr<KernelLaunch> plan(const SizeOf& size_of) const override;
  std::vector<at::Tensor> run(
      KernelLaunch& launch,
      std::vector<at::Tensor> inputs,
      const std::vector<ScalarValue>& scalars,
      EvalContext& context) const override;

  /// A kernel for some of the sizes, as it was compiled.
  struct Variant;

 private:
  struct Launch;
  struct Key {
    CudaParams params;
    bool wide_index;
    auto operator<=>(const Key&) const = default;
  };
  Key keyFor(const SizeOf& size_of, bool careful) const;
  std::unique_ptr<Variant> makeVariant(const Key& key, const SizeOf& size_of) const;
  const Variant& variantFor(const Key& key, const SizeOf& size_of) const;
  std::unique_ptr<Launch> planFor(const SizeOf& size_of, bool careful) const;
  bool fits(const Launch& launch, const std::vector<at::Tensor>& inputs) const;
  std::vector<at::Tensor> launchKernel(
      Launch& launch,
      const std::vector<at::Tensor>& inputs,
      const std::vector<ScalarValue>& scalars,
      EvalContext& context) const;

  SegmentedGroup group_;
  at::Device device_;
  bool is_scheduled_;
  std::shared_ptr<CudaTarget> target_;
  GeneratedKernel unscheduled_; ///< what parameters are chosen for
  std::unique_ptr<SegmentShape> shape_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::unique_ptr<Variant>> variants_;
  const Variant* first_ = nullptr;
};

} // namespace nvfuser
