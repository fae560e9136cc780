// Emitter: writes the statements that compute a value at given indices into the open loops.
//
// A tensor that is inlined has no loops: its value at an index is computed from its operands'
// values at the indices that the nodes derive, and kept for the next one who asks in the same
// loops.
#pragma once

#include <lower/domain_index.h>
#include <lower/kernel.h>

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

namespace nvfuser {

class Emitter {
 public:
  explicit Emitter(Kernel& kernel) : kernel_(kernel) {}

  /// Where a tensor's values lie, and how an element is found from its logical indices (without
  /// reductions). A tensor without a place is computed where it is needed.
  struct Place {
    int buffer = -1;
    /// The address; nullptr for an Accumulator. Errors when the element does not lie there.
    std::function<Index(const std::vector<Index>&)> address;
    int depth = 0; ///< of the loop in which the buffer lives
    /// The type in which its readers see an element; Null: the tensor's.
    DataType dtype = DataType::Null;
  };
  void place(const TensorView* tv, Place place) {
    places_[tv] = std::move(place);
  }

  // --- the open loops ---
  /// `inside` the body that is open, or beside it.
  void open(KernelBody* body, bool inside = true);
  void close();
  /// Number of loops that are open.
  int depth() const {
    return static_cast<int>(scopes_.size()) - 1;
  }
  /// Appends to the body at `depth`, before the loop that is open there.
  void append(int depth, KernelNode node);
  /// Appends a loop at the innermost body and opens it.
  void openLoop(Index variable, Index stop, ParallelType type);

  // --- values ---
  /// The value of `tv` at these indices (logical, without reductions). Where `condition` does not
  /// hold, any value, and no memory is read.
  KernelValue value(const TensorView* tv, const std::vector<Index>& indices, Index condition);
  /// The value of output `output` of its definition, computed here; `indices` of its logical
  /// domain.
  KernelValue define(const TensorView* tv, const std::vector<Index>& indices, Index condition);
  /// Makes `value` the value of `tv` at these indices, where `condition` holds, for those who ask
  /// in the same loops.
  void remember(
      const TensorView* tv,
      const std::vector<Index>& indices,
      Index condition,
      const KernelValue& value);

  // --- for the rules of the nodes ---
  /// The value of operand `val` of `expr` for the element of `expr`'s output 0 with these root
  /// indices; a scalar as it is.
  KernelValue operand(
      const Expr* expr,
      const Val* val,
      const std::vector<Index>& root_indices,
      Index condition);
  /// The indices of operand `in`, as far as they follow from those of the output.
  std::vector<Index> operandIndices(
      const Expr* expr,
      const TensorView* in,
      const std::vector<Index>& root_indices);
  KernelValue scalar(const Val* val);
  KernelValue newRegister(DataType dtype, int depth);
  KernelValue compute(const Expr* expr, DataType dtype, std::vector<KernelValue> operands);
  /// Gives the node a number by which the kernel can report that it found a wrong operand.
  void mayFail(const Expr* expr);
  KernelValue select(Index condition, const KernelValue& yes, const KernelValue& no);
  KernelValue fromIndex(Index index, DataType dtype);
  /// The number that the random node draws for an element, counted in row-major order.
  KernelValue random(const Expr* expr, Index element);
  /// The position in a dimension that an integer names; with `wraps`, from the end where negative.
  Index position(
      const Expr* expr,
      const KernelValue& value,
      Index extent,
      bool wraps,
      Index condition);

  IndexContext& indices() {
    return kernel_.indices;
  }
  Kernel& kernel() {
    return kernel_;
  }

 private:
  using Key = std::tuple<const TensorView*, std::vector<Index>, Index>;
  struct Scope {
    KernelBody* body;
    bool has_open_loop = false;
    std::map<Key, KernelValue> known;
    std::map<std::tuple<int, Index, Index>, KernelValue> loads;
    std::map<Index, Index> named;
  };
  std::vector<Index> withNames(std::vector<Index> indices);
  KernelValue load(const TensorView* tv, const Place& place, Index address, Index condition);

  Kernel& kernel_;
  std::vector<Scope> scopes_;
  std::unordered_map<const TensorView*, Place> places_;
  std::unordered_map<const Val*, KernelValue> scalars_;
  std::map<std::pair<const Expr*, const Val*>, std::vector<int64_t>> operand_dims_;
};

/// Whether the node divides integers by a number that may be 0, which the launch then reports.
bool mayDivideByZero(const Expr* expr);

/// How a node computes its output 0: the value for the given root indices of the output.
using ValueRule = KernelValue (*)(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root_indices,
    Index condition);

/// Why a node of a class that has a rule cannot stand in a kernel all the same; empty: it can.
using ValueRefusal = std::string (*)(const Expr* expr);

/// Registers at static-initialisation time, by the node's name.
struct RegisterValueRule {
  RegisterValueRule(std::string_view op_name, ValueRule rule, ValueRefusal refusal = nullptr);
};
/// Each dimension of `in` that loops run over is one of the root domain of `expr`'s output 0.
bool mapsEveryDim(const Expr* expr, const TensorView* in);
/// InternalError when the node has none.
ValueRule valueRuleOf(const Expr* expr);
/// Why the node cannot be computed inside a generated kernel, whatever the target; empty: it can.
std::string whyNoValueRule(const Expr* expr);

} // namespace nvfuser
