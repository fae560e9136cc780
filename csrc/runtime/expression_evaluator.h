// Evaluates any value of a fusion through ATen, node by node. The oracle of every test and the
// executor of every segment that no code generator takes.
#pragma once

#include <ir/fusion.h>
#include <runtime/evaluator_registry.h>

#include <unordered_map>

namespace nvfuser {

class TensorView;

class ExpressionEvaluator {
 public:
  explicit ExpressionEvaluator(EvalContext context = {}) : context_(context) {}

  /// Binds a scalar or tensor. A tensor also binds the symbolic sizes of its logical domain;
  /// RuntimeError when its rank, dtype or a size contradicts the IR or an earlier binding.
  void bind(const Val* val, const EvalValue& value);
  /// The value; RuntimeError when something it depends on is not bound.
  EvalValue evaluate(const Val* val);
  EvalContext& context() {
    return context_;
  }

 private:
  // Evaluates one node whose operands are all known.
  void run(const Expr* expr);

  std::unordered_map<const Val*, EvalValue> known_;
  EvalContext context_;
};

/// RuntimeError unless rank, dtype and constant sizes of `tensor` are those of `tv`. `what` names
/// the value in messages ("input 0").
void checkTensorAgainst(const TensorView* tv, const at::Tensor& tensor, const std::string& what);

} // namespace nvfuser
