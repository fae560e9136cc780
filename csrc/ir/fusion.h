// Fusion: owns all nodes of one graph, and knows its inputs, outputs and output aliases.
#pragma once

#include <ir/statement.h>

#include <array>
#include <memory>
#include <optional>
#include <unordered_map>

namespace nvfuser {

class IrCloner;
class TensorView;

/// An output that is written into the storage of an input.
struct AliasInfo {
  Val* input = nullptr;
  /// Not returned to the caller.
  bool hidden = true;
};

class Fusion : public std::enable_shared_from_this<Fusion> {
 public:
  Fusion();
  ~Fusion();
  Fusion(const Fusion&) = delete;
  Fusion& operator=(const Fusion&) = delete;

  /// A deep copy with the same names. `map`, if given, receives original -> copy.
  std::unique_ptr<Fusion> clone(std::unordered_map<const Val*, Val*>* map = nullptr) const;
  /// Copies everything through `cloner`, whose target is the empty fusion `copy`.
  void cloneInto(Fusion& copy, IrCloner& cloner) const;

  const std::vector<Val*>& inputs() const {
    return inputs_;
  }
  const std::vector<Val*>& outputs() const {
    return outputs_;
  }
  /// Errors (RuntimeError): `input` has a definition, is constant, or belongs to another fusion.
  void addInput(Val* input);
  /// Appends an output. The same value may be added more than once.
  void addOutput(Val* output);
  /// `output` is written into the buffer of the fusion input `input`; the entry is hidden from the
  /// caller unless the value is also added by addOutput.
  void addAliasOutput(Val* output, Val* input);
  void replaceOutput(size_t index, Val* output);

  /// Alias of output number `i`, if any.
  const std::optional<AliasInfo>& aliasOf(size_t i) const {
    return aliases_.at(i);
  }
  /// The fusion input whose storage output number `i` may share instead of being copied; nullptr:
  /// none. Set by the pass mark_aliases.
  Val* viewOf(size_t i) const {
    return views_.at(i);
  }
  void markView(size_t i, Val* input) {
    views_.at(i) = input;
  }
  /// Indices of the outputs that the caller gets back, in order.
  std::vector<size_t> visibleOutputs() const;

  /// The expressions that outputs depend on, depth-first post-order over outputs, operands left to
  /// right: producers stand before consumers.
  std::vector<Expr*> exprs() const;
  /// Every live expression, dead ones included, in creation order.
  std::vector<Expr*> allExprs() const;
  /// Every value in creation order (domains included).
  const std::vector<Val*>& vals() const {
    return vals_;
  }
  /// Tensors that outputs depend on, plus the inputs, in the order of exprs().
  std::vector<TensorView*> tensorViews() const;

  /// Unlinks an expression; its node lives on until the fusion dies, so that handles stay valid.
  void removeExpr(Expr* expr);
  /// A copy of `expr` in which operand `from` is `to`; the original is removed.
  Expr* replaceOperand(Expr* expr, Val* from, Val* to);
  /// Makes every use of `from` (and output entry) use `to` instead.
  void replaceAllUses(Val* from, Val* to);

  /// Structure as text: equal for two fusions exactly when they have the same inputs, op graph,
  /// outputs and aliases. -1 and a concrete size differ.
  std::string canonicalText() const;
  bool equals(const Fusion& other) const {
    return canonicalText() == other.canonicalText();
  }
  size_t hash() const;

  /// nvFuser's "math" text: inputs, outputs and every expression that outputs depend on.
  std::string printMath(bool from_outputs_only = true) const;
  /// The text of a Python function that defines this fusion. See python_text.h.
  std::string toPython() const;

  // For IrBuilder.
  void registerStatement(std::unique_ptr<Statement> statement);
  Val* sharedZero();
  Val* sharedOne();
  int64_t nextRngId() {
    return rng_ids_++;
  }

 private:
  friend class IrCloner;
  std::vector<std::unique_ptr<Statement>> statements_;
  std::vector<Val*> vals_;
  std::vector<Expr*> exprs_;
  std::vector<Val*> inputs_;
  std::vector<Val*> outputs_;
  std::vector<std::optional<AliasInfo>> aliases_;
  std::vector<Val*> views_;
  std::array<int64_t, 4> val_names_{};
  int64_t expr_names_ = 0;
  int64_t rng_ids_ = 0;
  Val* zero_ = nullptr;
  Val* one_ = nullptr;
};

/// Makes a fusion the active one of this thread while alive; guards nest.
class FusionGuard {
 public:
  explicit FusionGuard(Fusion* fusion);
  ~FusionGuard();
  FusionGuard(const FusionGuard&) = delete;
  FusionGuard& operator=(const FusionGuard&) = delete;

  static Fusion* active();
  /// RuntimeError when no fusion is active.
  static Fusion* activeOrThrow();

 private:
  Fusion* previous_;
};

} // namespace nvfuser
