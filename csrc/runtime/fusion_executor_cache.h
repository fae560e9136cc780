// Runs a fusion: checks inputs, finds the compiled runtime for their class, launches its plan.
#pragma once

#include <ir/fusion.h>
#include <runtime/value.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace nvfuser {

class FusionKernelRuntime;
struct LaunchPlan;

/// Takes a fusion and runs it for any inputs that fit. Thread-safe. A call looks up (devices,
/// dtypes, ranks, contiguity classes) -> compiled runtime, then (sizes) -> launch plan.
class FusionExecutorCache {
 public:
  /// auto_schedule false: the fusion becomes one kernel with the schedule that its tensors carry.
  explicit FusionExecutorCache(
      std::shared_ptr<Fusion> fusion,
      int64_t fusion_id = 0,
      bool auto_schedule = true);
  ~FusionExecutorCache();

  /// One value per fusion input (tensors or scalars), in order. Returns the visible outputs in
  /// order. `device`: where factories allocate and what the tensors must be on; nullopt: the common
  /// device of the tensors that are not CPU scalars, else CPU; without
  /// any tensor the first CUDA device, if there is one.
  /// RuntimeError, naming the input, for a wrong count, kind, dtype, rank, size, stride class or
  /// device mix.
  std::vector<EvalValue> execute(
      const std::vector<EvalValue>& inputs,
      std::optional<at::Device> device = std::nullopt);
  /// A runtime for inputs of this class exists.
  bool isCompiled(
      const std::vector<EvalValue>& inputs,
      std::optional<at::Device> device = std::nullopt);

  /// What execute() runs for inputs.
  struct Launch {
    std::shared_ptr<FusionKernelRuntime> runtime;
    std::shared_ptr<LaunchPlan> plan;
    at::Device device = at::kCPU;
  };
  /// The launch for these inputs, made where it is missing; nothing runs. Errors as execute().
  Launch prepare(
      const std::vector<EvalValue>& inputs,
      std::optional<at::Device> device = std::nullopt);
  /// Runs what prepare() has returned for inputs of the same sizes and strides.
  static std::vector<EvalValue> run(const Launch& launch, const std::vector<EvalValue>& inputs);
  /// The runtime that the most recent new inputs were given; nullptr before the first run.
  std::shared_ptr<const FusionKernelRuntime> mostRecent() const;
  int64_t fusionId() const {
    return fusion_id_;
  }

  const std::shared_ptr<Fusion>& fusion() const {
    return fusion_;
  }
  /// The fusion after the pass pipeline, as the most recent call ran it.
  std::string mostRecentSegmentedText() const;
  /// The source texts of the kernels that the most recent call ran; empty when it ran none.
  std::string mostRecentKernelText() const;
  /// How many classes have a runtime.
  size_t numRuntimes() const;

 private:
  struct State;
  std::shared_ptr<Fusion> fusion_;
  int64_t fusion_id_;
  bool auto_schedule_;
  std::unique_ptr<State> state_;
};

} // namespace nvfuser
