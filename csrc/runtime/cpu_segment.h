// A segment that runs as a generated kernel on the CPU.
#pragma once

#include <codegen/cpu_kernel.h>
#include <runtime/evaluator_registry.h>
#include <runtime/value.h>
#include <scheduler/schedule.h>
#include <scheduler/segmenter.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace nvfuser {

class LoadedLibrary;

/// What of a launch depends on sizes only.
struct CpuLaunch {
  struct Output {
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
  };
  std::vector<int64_t> words; ///< strides, scalars and random states are filled in at each run
  std::vector<Output> outputs;
  std::vector<int64_t> workspace_bytes;
  int64_t scratch_bytes = 0;
  std::vector<int64_t> tasks;  ///< of each stage; -1: no parallel loop
  std::vector<int64_t> grains; ///< tasks that one thread takes at least
  /// Inputs that do not lie as the kernel expects, found out at the first run.
  std::vector<bool> copies_input;
  std::once_flag inputs_checked;
};

/// Why a node cannot be computed in a generated kernel for the CPU; empty: it can.
std::string whyNotInCpuKernel(const Expr* expr);

class CpuSegment {
 public:
  /// The value of a scalar of the whole fusion, none when it is not known with the sizes.
  using SizeOf = std::function<ScalarValue(const Val*)>;

  /// Schedules, lowers and prints the group. UserError or InternalError, with the reason, when that
  /// is not possible. `is_scheduled`: its tensors carry the schedule to use.
  CpuSegment(const SegmentedGroup& group, const SizeOf& size_of, bool is_scheduled = false);
  ~CpuSegment();

  /// Loads the compiled kernel.
  void load(std::shared_ptr<LoadedLibrary> library);

  std::unique_ptr<CpuLaunch> plan(const SizeOf& size_of) const;

  /// Runs the kernel. `scalars` in the order of runtimeScalars(); random states come from
  /// `context`. IndexError when an index lies outside of its dimension.
  std::vector<at::Tensor> run(
      CpuLaunch& launch,
      std::vector<at::Tensor> inputs,
      const std::vector<ScalarValue>& scalars,
      EvalContext& context) const;

  /// Scalars of the whole fusion that the kernel is handed at each run.
  const std::vector<const Val*>& runtimeScalars() const {
    return runtime_scalars_;
  }
  const std::string& text() const {
    return text_.text;
  }
  const Fusion& fusion() const {
    return *segment_;
  }
  const ScheduleResult& schedule() const {
    return schedule_;
  }
  const Kernel& kernel() const {
    return *kernel_;
  }
  /// The scalar of the whole fusion that each one of fusion() stands for.
  const std::unordered_map<const Val*, const Val*>& originals() const {
    return originals_;
  }

 private:
  using Stage = void (*)(long, long, void* const*, const long*, char*);
  int64_t evaluate(Index index, const std::vector<int64_t>& params) const;
  const Val* originalOf(const Val* val) const;
  void checkSizesAreKnown(const SizeOf& size_of) const;
  void fillRandomWords(
      int64_t* words,
      const std::vector<ScalarValue>& scalars,
      EvalContext& context) const;
  std::vector<bool> inputsToCopy(const std::vector<at::Tensor>& inputs) const;

  std::unordered_map<const Val*, const Val*> originals_;
  std::unique_ptr<Fusion> segment_;
  ScheduleResult schedule_;
  std::unique_ptr<Kernel> kernel_;
  CpuKernelText text_;
  std::vector<const Val*> runtime_scalars_;
  std::shared_ptr<LoadedLibrary> library_;
  std::vector<Stage> stages_;
};

} // namespace nvfuser
