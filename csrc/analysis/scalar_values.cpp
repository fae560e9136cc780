#include <analysis/scalar_values.h>
#include <ir/traversal.h>

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
  for (const Expr* expr : exprsTo({const_cast<Val*>(val)})) {
    for (const Val* out : expr->outputs()) {
      values_.emplace(out, out->isScalar() ? fold(expr) : ScalarValue{});
    }
  }
  return values_[val];
}

} // namespace nvfuser
