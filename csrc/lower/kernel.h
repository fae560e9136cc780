// Kernel IR: what one compiled kernel does, as a tree of loops and statements. Printers read it,
// the launcher reads its parameters.
#pragma once

#include <ir/nodes.h>
#include <lower/index_expr.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nvfuser {

/// A value inside a kernel: a register, a scalar handed in at launch, or a constant.
struct KernelValue {
  enum class Kind { Register, Scalar, Constant };
  Kind kind = Kind::Constant;
  int number = -1; ///< of the register or of the scalar
  ScalarValue constant;
  DataType dtype = DataType::Null;
  int depth = 0;

  auto operator<=>(const KernelValue& other) const {
    return std::tie(kind, number) <=> std::tie(other.kind, other.number);
  }
};

/// Memory that a kernel reads or writes.
struct KernelBuffer {
  enum class Kind {
    Input,
    Output,
    Workspace,   ///< lives from one stage to a later one
    Array,       ///< of one thread, inside one stage
    Shared,      ///< of the threads of a block, inside one stage
    Accumulator, ///< one element, a register
  };
  Kind kind;
  const TensorView* tensor;
  DataType dtype;
  Index size = nullptr; ///< elements; Workspace, Array and Shared only
};

struct KernelNode;
using KernelBody = std::vector<std::unique_ptr<KernelNode>>;

struct KernelLoop {
  Index variable;
  Index stop;
  ParallelType type;
  KernelBody body;
  Index start = nullptr; ///< nullptr: 0
};
/// out = the value of a pointwise node.
struct KernelCompute {
  const Expr* expr;
  KernelValue out;
  std::vector<KernelValue> operands;
};
/// out = buffer[index], converted to the type of `out`; zero where the condition does not hold.
struct KernelLoad {
  KernelValue out;
  int buffer;
  Index index; ///< nullptr for an Accumulator
  Index condition;
};
/// buffer[index] = value, converted to the type of the buffer.
struct KernelStore {
  int buffer;
  Index index;
  KernelValue value;
  Index condition;
};
/// Makes an Array or Accumulator, every element of it the neutral element of the reduction, if any.
struct KernelDeclare {
  int buffer;
  std::optional<ReductionType> neutral_of;
};
struct KernelAccumulate {
  int buffer;
  Index index; ///< nullptr for an Accumulator
  ReductionType type;
  KernelValue value;
  Index condition;
};
/// out = condition ? yes : no
struct KernelSelect {
  KernelValue out;
  Index condition;
  KernelValue yes;
  KernelValue no;
};
/// out = an index as a number of the output's type
struct KernelFromIndex {
  KernelValue out;
  Index index;
};
/// out = the position that `value` names in a dimension of `extent` (counted from the end where it
/// is negative and `wraps`); where it names none, -1, and the launch reports the node.
struct KernelPosition {
  KernelValue out;
  KernelValue value;
  Index extent;
  const Expr* expr;
  bool wraps;
  Index condition;
};

/// A matrix copied to the other memory order, rows x columns elements:
/// target[index + row * stride + column] = source[index + column * stride + row].
struct KernelTransposedCopy {
  int source;
  Index source_index;
  Index source_stride;
  int target;
  Index target_index;
  Index target_stride;
  Index rows;
  Index columns;
};

/// out = number `element` of random source `source`
struct KernelRandom {
  KernelValue out;
  int source;
  Index element;
};

/// Every thread of the block is here before one goes on.
struct KernelSync {};

/// Every thread's buffer (an Accumulator, or each element of an Array) becomes the reduction over
/// the threads of the block along these directions.
struct KernelBlockReduce {
  int buffer;
  ReductionType type;
  bool over_x;
  bool over_y;
};

struct KernelNode {
  std::variant<
      KernelLoop,
      KernelCompute,
      KernelLoad,
      KernelStore,
      KernelDeclare,
      KernelAccumulate,
      KernelSelect,
      KernelFromIndex,
      KernelPosition,
      KernelRandom,
      KernelTransposedCopy,
      KernelSync,
      KernelBlockReduce>
      what;
};

/// One function of the kernel, run after all earlier stages are done. On a CPU it runs over a range
/// of its outermost loop, if that is parallel; on a GPU by blocks of threads.
struct KernelStage {
  Index tasks = nullptr; ///< the range to run over; nullptr: no parallel loop
  Index variable = nullptr;
  KernelBody prologue; ///< before the loop
  KernelBody body;     ///< of the loop
  /// The extents that its tensors have along each of BIDx to TIDz.
  std::map<ParallelType, std::vector<Index>> threads;
};

/// The threads along x that a block gets which needs `count`: whole warps, or a part of one that
/// halves down to a single thread.
inline int64_t wholeThreads(int64_t count) {
  constexpr int64_t kWarp = 32;
  int64_t width = 1;
  while (width < kWarp && width < count) {
    width *= 2;
  }
  return (count + width - 1) / width * width;
}

/// Sizes that must be equal for the kernel's indices to be right.
struct SizeCheck {
  const Val* a;
  const Val* b;
  const Expr* expr;
};

/// A node that draws random numbers. The launcher hands in kRandomWords words for it: seed, offset,
/// and the bits of start, factor and cap, for numbers min(start + factor * x, cap).
struct RandomSource {
  const Expr* expr;
  KernelValue a;
  KernelValue b;
  KernelValue seed; ///< of type Null, like offset: taken from the generator
  KernelValue offset;
};
inline constexpr size_t kRandomWords = 5;

enum class KernelTarget { Cpu, Cuda };

struct Kernel {
  KernelTarget target = KernelTarget::Cpu;
  std::vector<KernelBuffer> buffers; ///< inputs, outputs, then the others
  std::vector<KernelStage> stages;
  IndexContext indices;
  std::vector<const Val*> scalars; ///< operands that are handed in beside indices.params()
  std::vector<RandomSource> randoms;
  std::vector<SizeCheck> checks;
  /// Sizes that must be multiples of a number.
  std::vector<std::pair<Index, int64_t>> multiples;
  /// Nodes that may find a wrong position, or a divisor of 0, by number.
  std::vector<const Expr*> positions;
  int registers = 0;

  /// The tree as text, for people.
  std::string toString() const;
};

} // namespace nvfuser
