// FusionKernelRuntime: a fusion after the pass pipeline, cut into segments that know their
// executor, as a flat list of steps over numbered slots; and its launch plans, one per set of
// sizes.
#pragma once

#include <ir/fusion.h>
#include <runtime/evaluator_registry.h>
#include <runtime/kernel_segment.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace nvfuser {

class ExpressionEvaluator;
class TensorView;

/// What is known once the sizes are: values of all scalars that depend on sizes only.
struct LaunchPlan {
  std::vector<std::pair<int, EvalValue>> sizes;       ///< slot, value
  std::vector<std::unique_ptr<KernelLaunch>> kernels; ///< by the number of the kernel
  std::atomic<bool> verified = false; ///< one run has checked every intermediate shape
};

class FusionKernelRuntime {
 public:
  /// Clones the fusion, runs the pass pipeline on the clone, cuts it into segments, compiles
  /// kernels for those that can have one, with `inputs` for an example, and lays out the steps.
  /// `is_scheduled`: no pass runs, and all of it becomes one kernel with the schedule that the
  /// tensors carry; RuntimeError when that is not possible.
  FusionKernelRuntime(
      const Fusion& fusion,
      const std::vector<EvalValue>& inputs,
      at::Device device,
      bool is_scheduled = false);
  ~FusionKernelRuntime();

  /// Checks the inputs against the fusion (RuntimeError naming the input) and evaluates all sizes.
  /// The plan is for inputs of these sizes, strides and values of sizeInputs().
  std::shared_ptr<LaunchPlan> makePlan(const std::vector<EvalValue>& inputs) const;

  /// Visible outputs in order. Intermediates are freed at their last use.
  std::vector<EvalValue> run(
      LaunchPlan& plan,
      const std::vector<EvalValue>& inputs,
      at::Device device) const;

  /// What one executor takes: a kernel, or nodes that ATen evaluates one by one.
  struct Segment {
    SegmentedGroup group;
    std::unique_ptr<KernelSegment> kernel;
    int number = -1;    ///< of the kernel, as in LaunchPlan::kernels
    double seconds = 0; ///< to schedule and print the kernel
  };
  /// In the order in which they run.
  const std::vector<Segment>& segments() const {
    return segments_;
  }
  /// Seconds that the compiler took, or the cache of kernels, for all kernels together.
  double compileSeconds() const {
    return compile_seconds_;
  }
  /// The value of a scalar of fusion(), given inputs; none when it is not known with their sizes.
  KernelSegment::SizeOf sizesFrom(const std::vector<EvalValue>& inputs) const;

  /// One line per segment: its executor and nodes, then the fusion's text.
  std::string text() const;
  /// The source texts of the generated kernels, one after the other.
  std::string kernelText() const;
  const Fusion& fusion() const {
    return *fusion_;
  }

 private:
  struct Step {
    const Expr* expr; ///< nullptr for a kernel
    Evaluator evaluate;
    std::vector<int> operands; ///< slots; -1 for an absent operand
    std::vector<int> outputs;
    std::vector<int> released; ///< slots whose last use this is
    int kernel = -1;           ///< number of the kernel
    std::vector<int> scalars;  ///< slots that a kernel is handed beside its operands
    int segment = -1;          ///< number of the segment; -1 for scalars of none
  };
  struct Output {
    int slot;
    const TensorView* tensor;   ///< nullptr for a scalar
    std::vector<int64_t> order; ///< logical dims, outermost in memory first
    std::vector<bool> expanded; ///< dims with stride 0
    bool has_layout;            ///< the order was asked for, not defaulted
    bool may_view_input;        ///< a chain of views of an input, which may share its storage
    bool hidden;
    int alias_input;   ///< number of the input it is written into; -1
    int written_input; ///< a visible output of the same value as an aliased one: that input; -1
  };

  void makeSegments(const std::vector<EvalValue>& inputs, at::Device device);
  void makeScheduledSegment(const std::vector<EvalValue>& inputs, at::Device device);
  void compileKernels(at::Device device);
  void compileForCpu();
  void compileForGpu(at::Device device);
  static void refuseKernel(Segment& segment, const std::string& reason);
  void layOutSteps();
  void layOutNode(const Expr* expr);
  void countRandomNode(const Expr* expr);
  void layOutKernel(int number, const Segment& segment);
  void findReleases();
  void layOutOutputs();
  int slotOf(const Val* val);
  void runStep(const Step& step, std::vector<EvalValue>& slots, EvalContext& context) const;
  void runKernel(
      const Step& step,
      LaunchPlan& plan,
      std::vector<EvalValue>& slots,
      EvalContext& context) const;
  void verifyStep(const Step& step, const std::vector<EvalValue>& slots, ExpressionEvaluator& sizes)
      const;
  std::vector<EvalValue> finish(std::vector<EvalValue>& slots, const std::vector<EvalValue>& inputs)
      const;

  std::unique_ptr<Fusion> fusion_;
  std::unordered_map<const Val*, int> slots_;
  std::vector<EvalValue> constants_; ///< initial contents of the slots
  std::vector<int> input_slots_;
  std::vector<Step> plan_steps_; ///< scalars that depend on sizes only
  std::vector<Step> steps_;
  std::vector<Segment> segments_;
  double compile_seconds_ = 0;
  std::vector<const KernelSegment*> kernels_;
  std::vector<const SegmentedGroup*> kernel_groups_;
  std::unordered_set<const Val*> known_with_sizes_;
  std::vector<Output> outputs_;
  int64_t random_nodes_ = 0;
  std::vector<size_t> size_inputs_; ///< integer inputs that sizes depend on
  bool checks_kernels_ = false;     ///< each run compares kernels with ATen
};

} // namespace nvfuser
