#include <ir/tensor_view.h>
#include <runtime/aten_helpers.h>
#include <runtime/expression_evaluator.h>

namespace nvfuser {

void checkTensorAgainst(const TensorView* tv, const at::Tensor& tensor, const std::string& what) {
  const int64_t rank = tv->nDims();
  NVF_CHECK(
      tensor.dim() == rank,
      "Expected ",
      what,
      ", ",
      tv->toString(),
      ", to be bound to a tensor of rank ",
      rank,
      ", but got a tensor of rank ",
      tensor.dim());
  const DataType dtype = fromAtenType(tensor.scalar_type());
  const bool same_type = toAtenType(tv->dtype()) == tensor.scalar_type();
  NVF_CHECK(
      same_type,
      "Expected ",
      what,
      ", ",
      tv->toString(),
      ", to be bound to a tensor of dtype ",
      tv->dtype(),
      ", but got a tensor of dtype ",
      dtype);
  const auto shape = tv->shape();
  for (int64_t dim = 0; dim < rank; ++dim) {
    NVF_CHECK(
        !shape[dim]->isConstInt() || shape[dim]->constInt() == tensor.size(dim),
        "Expected ",
        what,
        ", ",
        tv->toString(),
        ", to have size ",
        shape[dim]->toInlineString(),
        " in dim ",
        dim,
        ", but got a tensor of sizes ",
        sizesText(tensor.sizes()));
  }
}

void ExpressionEvaluator::bind(const Val* val, const EvalValue& value) {
  if (const auto* tv = dynamic_cast<const TensorView*>(val)) {
    NVF_CHECK(value.isTensor(), "a tensor is needed for ", val->toString());
    const at::Tensor& tensor = value.tensor();
    checkTensorAgainst(tv, tensor, "value");
    const auto shape = tv->shape();
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
      if (shape[dim]->isConst()) {
        continue;
      }
      const auto [it, is_new] = known_.emplace(shape[dim], ScalarValue(tensor.size(dim)));
      NVF_CHECK(
          is_new || toInt(it->second.scalar()) == tensor.size(dim),
          "size ",
          shape[dim]->toInlineString(),
          " is ",
          scalarText(it->second.scalar()),
          " elsewhere, but dim ",
          dim,
          " of ",
          val->toString(),
          " has size ",
          tensor.size(dim));
    }
    known_[val] = value;
    return;
  }
  NVF_CHECK(!value.isTensor(), "a scalar is needed for ", val->toString());
  known_[val] = castScalar(value.scalar(), val->dtype());
}

void ExpressionEvaluator::run(const Expr* expr) {
  std::vector<EvalValue> operands;
  for (const Operand& operand : expr->operands()) {
    if (operand.val == nullptr) {
      operands.emplace_back();
    } else if (operand.val->isConst()) {
      operands.emplace_back(operand.val->value());
    } else {
      operands.push_back(known_.at(operand.val));
    }
  }
  std::vector<EvalValue> outputs(expr->outputs().size());
  evaluatorOf (*expr)(*expr, operands, outputs, context_);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (expr->outputs()[i]->isTensor()) {
      bind(expr->outputs()[i], outputs[i]);
    } else {
      known_[expr->outputs()[i]] = outputs[i];
    }
  }
}

EvalValue ExpressionEvaluator::evaluate(const Val* val) {
  // An explicit stack: graphs may be thousands of nodes deep.
  std::vector<const Val*> stack = {val};
  while (!stack.empty()) {
    const Val* top = stack.back();
    if (top->isConst() || known_.contains(top)) {
      stack.pop_back();
      continue;
    }
    const Expr* definition = top->definition();
    NVF_CHECK(
        definition != nullptr && !top->isFusionInput(),
        "cannot evaluate ",
        val->toString(),
        ": ",
        top->toString(),
        " is not bound");
    const size_t depth = stack.size();
    for (const Val* in : definition->inputs()) {
      if (!in->isConst() && !known_.contains(in)) {
        stack.push_back(in);
      }
    }
    if (stack.size() == depth) {
      run(definition);
      stack.pop_back();
    }
  }
  return val->isConst() ? EvalValue(val->value()) : known_.at(val);
}

} // namespace nvfuser
