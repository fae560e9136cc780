#include <runtime/evaluator_registry.h>

#include <string>
#include <unordered_map>

namespace nvfuser {

namespace {

// A function-local map: registrations run before main in any order of files.
std::unordered_map<std::string_view, Evaluator>& registry() {
  static std::unordered_map<std::string_view, Evaluator> evaluators;
  return evaluators;
}

} // namespace

RegisterEvaluator::RegisterEvaluator(std::string_view op_name, Evaluator evaluator) {
  NVF_ERROR(registry().emplace(op_name, evaluator).second, "two evaluators for ", op_name);
}

Evaluator evaluatorOf(const Expr& expr) {
  const auto it = registry().find(expr.opName());
  NVF_ERROR(it != registry().end(), "no evaluator for ", expr.opName());
  return it->second;
}

} // namespace nvfuser
