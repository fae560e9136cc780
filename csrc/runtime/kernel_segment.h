// A segment that runs as a generated kernel, whatever the target.
#pragma once

#include <lower/kernel.h>
#include <runtime/evaluator_registry.h>
#include <runtime/value.h>
#include <scheduler/schedule.h>
#include <scheduler/segmenter.h>

#include <c10/util/SmallVector.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace nvfuser {

/// What of a launch depends on sizes only.
struct KernelLaunch {
  struct Output {
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
  };
  virtual ~KernelLaunch() = default;

  std::vector<int64_t> words; ///< strides, scalars and random states are filled in at each run
  std::vector<Output> outputs;
  std::vector<int64_t> workspace_bytes;
  int64_t elements = 1;        ///< of the largest input or output
  int64_t scratch_bytes = 0;   ///< of each thread of the CPU, or block of the GPU
  std::vector<int64_t> tasks;  ///< of each stage; -1: no parallel loop
  std::vector<int64_t> grains; ///< tasks that one thread takes at least
  /// Inputs that do not lie as the kernel expects, found out at the first run.
  std::vector<bool> copies_input;
  std::once_flag inputs_checked;
};

/// A group as a scheduled fusion of its own and its kernel.
class GeneratedKernel {
 public:
  /// The value of a scalar of the whole fusion, none when it is not known with the sizes.
  using SizeOf = std::function<ScalarValue(const Val*)>;

  /// Copies the group. UserError when a tensor has no elements.
  explicit GeneratedKernel(const SegmentedGroup& group);

  /// Takes the kernel that was lowered from fusion(). UserError when a launch needs a size that is
  /// not known with the sizes of the inputs.
  void setKernel(ScheduleResult schedule, std::unique_ptr<Kernel> kernel, const SizeOf& size_of);

  Fusion& fusion() const {
    return *segment_;
  }
  Kernel& kernel() const {
    return *kernel_;
  }
  const ScheduleResult& schedule() const {
    return schedule_;
  }
  /// The scalar of the whole fusion that each one of fusion() stands for.
  const std::unordered_map<const Val*, const Val*>& originals() const {
    return originals_;
  }
  /// Scalars of the whole fusion that the kernel is handed at each run.
  const std::vector<const Val*>& runtimeScalars() const {
    return runtime_scalars_;
  }
  /// Sizes for a schedule; 4096 where they are not known.
  ScheduleContext scheduleContext(const SizeOf& size_of) const;

  /// Fills in what all targets need. RuntimeError when sizes do not agree.
  void plan(KernelLaunch& launch, const SizeOf& size_of) const;
  /// The value of a size that depends on parameters only.
  static int64_t evaluate(Index index, const std::vector<int64_t>& params);

  /// Inputs as the kernel reads them; those that lie otherwise are copied.
  void prepareInputs(KernelLaunch& launch, std::vector<at::Tensor>& inputs) const;
  using Words = c10::SmallVector<int64_t, 32>;
  /// The launch's words with strides, scalars (in the order of runtimeScalars()) and random states.
  Words fillWords(
      const KernelLaunch& launch,
      const std::vector<at::Tensor>& inputs,
      const std::vector<ScalarValue>& scalars,
      EvalContext& context) const;
  /// The address of an input or output; one without elements may get a stand-in.
  static void* memoryOf(
      const TensorView* tv,
      const at::Tensor& tensor,
      std::vector<at::Tensor>& stand_ins);
  /// What a kernel has reported.
  [[noreturn]] void throwReported(int64_t node) const;

 private:
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
  std::vector<const Val*> runtime_scalars_;
  std::vector<int> stride_inputs_; ///< of each index parameter: the input whose stride it is; -1
};

class KernelSegment {
 public:
  using SizeOf = GeneratedKernel::SizeOf;
  virtual ~KernelSegment() = default;

  /// The kernel, of several that are chosen by size the first.
  virtual const GeneratedKernel& generated() const = 0;
  virtual const std::string& text() const = 0;
  virtual std::unique_ptr<KernelLaunch> plan(const SizeOf& size_of) const = 0;
  /// Runs the kernel. `scalars` in the order of runtimeScalars(); random states come from
  /// `context`. IndexError when an index lies outside of its dimension.
  virtual std::vector<at::Tensor> run(
      KernelLaunch& launch,
      std::vector<at::Tensor> inputs,
      const std::vector<ScalarValue>& scalars,
      EvalContext& context) const = 0;

  const std::vector<const Val*>& runtimeScalars() const {
    return generated().runtimeScalars();
  }
  const Fusion& fusion() const {
    return generated().fusion();
  }
  const ScheduleResult& schedule() const {
    return generated().schedule();
  }
  const Kernel& kernel() const {
    return generated().kernel();
  }
  const std::unordered_map<const Val*, const Val*>& originals() const {
    return generated().originals();
  }
};

/// Why a node cannot be computed in a generated kernel, whatever the target; empty: it can.
std::string whyNotInKernel(const Expr* expr);

} // namespace nvfuser
