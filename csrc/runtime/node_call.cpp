#include <runtime/node_call.h>

namespace nvfuser {

const EvalValue& NodeCall::value(std::string_view name) const {
  const auto& slots = expr_.operands();
  NVF_ERROR(slots.size() == operands_.size(), "one value per operand slot of ", expr_.opName());
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].name == name) {
      return operands_[i];
    }
  }
  NVF_ERROR(false, expr_.opName(), " has no operand ", name);
  return operands_.front();
}

bool NodeCall::has(std::string_view name) const {
  return value(name).hasValue();
}

const at::Tensor& NodeCall::tensor(std::string_view name) const {
  return value(name).tensor();
}

std::optional<at::Tensor> NodeCall::maybeTensor(std::string_view name) const {
  const EvalValue& v = value(name);
  return v.hasValue() ? std::optional<at::Tensor>(v.tensor()) : std::nullopt;
}

const ScalarValue& NodeCall::scalar(std::string_view name) const {
  return value(name).scalar();
}

bool NodeCall::isTensor(std::string_view name) const {
  return value(name).isTensor();
}

std::vector<int64_t> NodeCall::sizes(std::string_view name) const {
  std::vector<int64_t> result;
  const auto& slots = expr_.operands();
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].name == name) {
      result.push_back(toInt(operands_[i].scalar()));
      NVF_CHECK(
          result.back() >= 0,
          opName(),
          ": size ",
          result.back(),
          " at position ",
          result.size() - 1,
          " is negative");
    }
  }
  return result;
}

bool NodeCall::isMeta() const {
  for (const EvalValue& v : operands_) {
    if (v.isTensor() && v.tensor().is_meta()) {
      return true;
    }
  }
  return false;
}

std::string NodeCall::opName() const {
  return expr_.pythonCall().function;
}

std::string NodeCall::shapes() const {
  std::string text;
  for (const EvalValue& v : operands_) {
    if (v.isTensor()) {
      text += (text.empty() ? "" : ", ") +
          detail::concat(v.tensor().sizes(), " ", c10::toString(v.tensor().scalar_type()));
    }
  }
  return text;
}

void NodeCall::rethrow(ErrorKind kind, const c10::Error& error) const {
  throw UserError(
      kind,
      detail::concat(
          opName(), ": ", error.what_without_backtrace(), " (operands: ", shapes(), ")"));
}

} // namespace nvfuser
