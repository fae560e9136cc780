// What became of a fusion: its segments, who runs each, why, and what it moves.
#pragma once

#include <runtime/kernel_runtime.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nvfuser {

struct TensorReport {
  std::string name; ///< "T3", as Fusion::printMath names it
  std::string role; ///< "input 0", "output 1", or empty for what lies between segments
  DataType dtype;
  /// A size, or the text of its expression where it is not known.
  std::vector<std::variant<int64_t, std::string>> sizes;
  int64_t bytes = 0; ///< of its elements, expanded dims once; 0 where a size is not known
};

/// The loops of one tensor of a generated kernel, outermost first.
struct LoopReport {
  std::string tensor;
  std::vector<std::string> loops; ///< "parallel 512", "reduction 4", "serial 1024"
};

struct StageReport {
  int64_t tasks = 1; ///< rounds of the parallel loop
  int64_t grain = 1; ///< rounds that one thread takes at least
};

struct SegmentReport {
  enum class Kind { Kernel, Library, View };
  Kind kind = Kind::Library;
  std::string scheduler;  ///< of a kernel; "expr_eval" for library calls, "no_op" for views
  std::string heuristics; ///< what the scheduler chose
  std::vector<LoopReport> loops;
  std::vector<StageReport> stages; ///< parts of the kernel, each after the one before; needs sizes
  int64_t workspace_bytes = 0;     ///< handed from stage to stage
  int64_t scratch_bytes = 0;       ///< of each thread
  std::string reason;              ///< why it is no kernel
  /// Schedulers that refused it, and why.
  std::vector<std::pair<std::string, std::string>> refused;
  /// Why it is not one kernel with segments that its inputs come from.
  std::vector<std::string> apart;
  std::vector<std::string> ops;   ///< names of the nodes
  std::vector<std::string> nodes; ///< the nodes as text
  std::vector<TensorReport> inputs;
  std::vector<TensorReport> outputs;
  int64_t bytes_read = 0; ///< at most: of an input that it slices or looks up in, what it asks for
  int64_t bytes_written = 0;
  double compile_seconds = 0; ///< to schedule and print the kernel
};

/// "kernel", "library call", "view"
std::string_view kindName(SegmentReport::Kind kind);

/// The segments of a runtime in the order in which they run. `size_of`: the values of scalars of
/// runtime.fusion(), none where unknown. `plan`: for the stages of kernels, may be nullptr.
std::vector<SegmentReport> reportSegments(
    const FusionKernelRuntime& runtime,
    const KernelSegment::SizeOf& size_of,
    const LaunchPlan* plan);

/// The segments that runs on CPU tensors have as far as the definition decides it. Kernels are not
/// scheduled, and sizes are those of the definition.
std::vector<SegmentReport> planSegments(const Fusion& fusion);

/// The fusion as its segments run it: a head for each segment ("segment 0 (pointwise: ...)"), then
/// its nodes; of a kernel the scheduled ones, with `transforms` also how the loops of each tensor
/// come from its dimensions.
std::string scheduledText(const FusionKernelRuntime& runtime, bool transforms);

} // namespace nvfuser
