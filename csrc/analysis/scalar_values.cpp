#include <analysis/scalar_values.h>
#include <ir/exceptions.h>

namespace nvfuser {

ScalarValue ScalarValues::fold(const Expr* definition) const {
  if (definition->outputs().size() != 1 || !definition->traits().pure) {
    return {};
  }
  std::vector<ScalarValue> operands;
  for (const Operand& operand : definition->operands()) {
    ScalarValue value;
    if (operand.val != nullptr) {
      const auto it = values_.find(operand.val);
      value = operand.val->isConst() ? operand.val->value()
          : it != values_.end()      ? it->second
                                     : ScalarValue{};
      if (!hasValue(value)) {
        return {};
      }
    }
    operands.push_back(value);
  }
  return definition->foldScalars(operands);
}

ScalarValue ScalarValues::evaluate(const Val* val) {
  NVF_ERROR(val->isScalar(), val->toString(), " is no scalar");
  if (val->isConst()) {
    return val->value();
  }
  if (const auto it = values_.find(val); it != values_.end()) {
    return it->second;
  }
  if (val->definition() == nullptr || val->isFusionInput()) {
    return {};
  }
  // A walk that stops at what is known already, so that many calls on one graph stay linear.
  std::vector<const Val*> stack = {val};
  while (!stack.empty()) {
    const Val* top = stack.back();
    if (values_.contains(top)) {
      stack.pop_back();
      continue;
    }
    const Expr* definition = top->definition();
    if (!top->isScalar() || definition == nullptr || top->isFusionInput()) {
      values_.emplace(top, ScalarValue{});
      continue;
    }
    const size_t depth = stack.size();
    for (const Val* in : definition->inputs()) {
      if (!in->isConst() && !values_.contains(in)) {
        stack.push_back(in);
      }
    }
    if (stack.size() == depth) {
      for (const Val* out : definition->outputs()) {
        values_.emplace(out, out->isScalar() ? fold(definition) : ScalarValue{});
      }
    }
  }
  return values_[val];
}

} // namespace nvfuser
