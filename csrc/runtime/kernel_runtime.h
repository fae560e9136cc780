// FusionKernelRuntime: a fusion after the pass pipeline, cut into segments that know their
// executor, as a flat list of steps over numbered slots; and its launch plans, one per set of
// sizes.
#pragma once

#include <ir/fusion.h>
#include <runtime/evaluator_registry.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace nvfuser {

class ExpressionEvaluator;
class TensorView;

/// What is known once the sizes are: values of all scalars that depend on sizes only.
struct LaunchPlan {
  std::vector<std::pair<int, EvalValue>> sizes; ///< slot, value
  std::atomic<bool> verified = false;           ///< one run has checked every intermediate shape
};

class FusionKernelRuntime {
 public:
  /// Clones the fusion, runs the pass pipeline on the clone and lays out the steps.
  explicit FusionKernelRuntime(const Fusion& fusion);
  ~FusionKernelRuntime();

  /// Checks the inputs against the fusion (RuntimeError naming the input) and evaluates all sizes.
  std::shared_ptr<LaunchPlan> makePlan(const std::vector<EvalValue>& inputs) const;

  /// Visible outputs in order. Intermediates are freed at their last use.
  std::vector<EvalValue> run(
      LaunchPlan& plan,
      const std::vector<EvalValue>& inputs,
      at::Device device) const;

  /// One line per segment: its executor and nodes, then the fusion's text.
  std::string text() const;
  const Fusion& fusion() const {
    return *fusion_;
  }

 private:
  struct Step {
    const Expr* expr;
    Evaluator evaluate;
    std::vector<int> operands; ///< slots; -1 for an absent operand
    std::vector<int> outputs;
    std::vector<int> released; ///< slots whose last use this is
  };
  /// A run of steps that one executor takes. ATen evaluation is the only executor so far.
  struct Segment {
    std::string executor;
    size_t begin;
    size_t end;
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

  void layOutSteps();
  void layOutOutputs();
  int slotOf(const Val* val);
  void runStep(const Step& step, std::vector<EvalValue>& slots, EvalContext& context) const;
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
  std::vector<Output> outputs_;
  int64_t random_nodes_ = 0;
};

} // namespace nvfuser
