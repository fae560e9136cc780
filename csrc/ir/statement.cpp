#include <ir/domain_mapper.h>
#include <ir/fusion.h>
#include <ir/iter_domain.h>
#include <ir/statement.h>
#include <ir/tensor_view.h>

#include <algorithm>

namespace nvfuser {

Val::Val(IrBuilderPasskey key, ValKind kind, DataType dtype)
    : Statement(key), kind_(kind), dtype_(dtype) {}

Val::Val(IrBuilderPasskey key, DataType dtype) : Val(key, ValKind::Scalar, dtype) {}

Val::Val(IrBuilderPasskey key, const ScalarValue& value, DataType dtype)
    : Val(key, ValKind::Scalar, dtype) {
  value_ = castScalar(value, dtype);
}

bool Val::isConstInt() const {
  return std::holds_alternative<int64_t>(value_);
}
bool Val::isConstInt(int64_t i) const {
  return isConstInt() && std::get<int64_t>(value_) == i;
}
int64_t Val::constInt() const {
  NVF_ERROR(isConstInt(), toInlineString(), " is not a constant integer");
  return std::get<int64_t>(value_);
}

namespace {

// Scalar expressions are graphs, not trees: walked as trees they can be exponentially large, or
// deeper than the stack. Walks give up at this depth.
constexpr int kMaxScalarDepth = 10;

class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) {
    ++depth_;
  }
  ~DepthGuard() {
    --depth_;
  }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  bool tooDeep() const {
    return depth_ > kMaxScalarDepth;
  }

 private:
  int& depth_;
};

} // namespace

bool Val::sameAs(const Val* other) const {
  if (this == other) {
    return true;
  }
  if (other == nullptr || kind_ != ValKind::Scalar || other->kind_ != ValKind::Scalar ||
      dtype_ != other->dtype_) {
    return false;
  }
  if (isConst() || other->isConst()) {
    return sameScalar(value_, other->value_);
  }
  if (definition_ == nullptr || other->definition_ == nullptr) {
    return false;
  }
  const auto& a = definition_->outputs();
  const auto& b = other->definition_->outputs();
  const auto ia = std::find(a.begin(), a.end(), this) - a.begin();
  const auto ib = std::find(b.begin(), b.end(), other) - b.begin();
  thread_local int depth = 0;
  const DepthGuard guard(depth);
  return !guard.tooDeep() && ia == ib && definition_->sameAs(other->definition_);
}

std::string Val::toString() const {
  if (isConst()) {
    return scalarText(value_);
  }
  const char prefix = isBooleanType(dtype_) ? 'b'
      : isInclusiveIntegralType(dtype_)     ? 'i'
      : isComplexType(dtype_)               ? 'c'
                                            : 'd';
  return prefix + std::to_string(name_);
}

std::string Val::toInlineString() const {
  thread_local int depth = 0;
  const DepthGuard guard(depth);
  // Deeper down a computed scalar is called by its name.
  if (!isConst() && definition_ != nullptr && !guard.tooDeep()) {
    return "( " + definition_->toInlineString() + " )";
  }
  return toString();
}

std::string attributeText(const Attribute& attribute) {
  return std::visit(
      [](const auto& x) -> std::string {
        using X = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<X, bool>) {
          return x ? "true" : "false";
        } else if constexpr (std::is_same_v<X, std::string>) {
          return x;
        } else if constexpr (std::is_same_v<X, DataType>) {
          return std::string(dataTypeText(x));
        } else if constexpr (std::is_same_v<X, double>) {
          return scalarText(x);
        } else if constexpr (std::is_same_v<X, int64_t>) {
          return std::to_string(x);
        } else {
          std::string text = "{";
          for (size_t i = 0; i < x.size(); ++i) {
            text += (i == 0 ? "" : ", ") + std::to_string(static_cast<int64_t>(x[i]));
          }
          return text + "}";
        }
      },
      attribute);
}

Expr::Expr(IrBuilderPasskey key, ExprParts parts) : Statement(key), parts_(std::move(parts)) {
  for (const Operand& operand : parts_.operands) {
    if (operand.val == nullptr) {
      continue;
    }
    NVF_CHECK(
        operand.val->fusion() == fusion_,
        "operand '",
        operand.name,
        "' (",
        operand.val->toString(),
        ") belongs to another Fusion than the one being defined");
    inputs_.push_back(operand.val);
  }
}

Val* Expr::input(size_t i) const {
  NVF_CHECK_AS(
      Index, i < inputs_.size(), opName(), " has ", inputs_.size(), " inputs, not input ", i);
  return inputs_[i];
}

Val* Expr::output(size_t i) const {
  NVF_CHECK_AS(
      Index,
      i < parts_.outputs.size(),
      opName(),
      " has ",
      parts_.outputs.size(),
      " outputs, not output ",
      i);
  return parts_.outputs[i];
}

Val* Expr::operand(std::string_view name) const {
  for (const Operand& operand : parts_.operands) {
    if (operand.name == name) {
      return operand.val;
    }
  }
  NVF_ERROR(false, opName(), " has no operand ", name);
  return nullptr;
}

bool Expr::hasAttribute(std::string_view name) const {
  return std::any_of(parts_.attributes.begin(), parts_.attributes.end(), [&](const auto& a) {
    return a.name == name;
  });
}

const Attribute& Expr::findAttribute(std::string_view name) const {
  for (const NamedAttribute& attribute : parts_.attributes) {
    if (attribute.name == name) {
      return attribute.value;
    }
  }
  NVF_ERROR(false, opName(), " has no attribute ", name);
  return parts_.attributes.front().value;
}

bool Expr::sameAs(const Expr* other) const {
  if (this == other) {
    return true;
  }
  if (other == nullptr || opName() != other->opName() || !traits().pure || !other->traits().pure ||
      operands().size() != other->operands().size() ||
      attributes().size() != other->attributes().size()) {
    return false;
  }
  for (size_t i = 0; i < attributes().size(); ++i) {
    if (attributes()[i].name != other->attributes()[i].name ||
        attributes()[i].value != other->attributes()[i].value) {
      return false;
    }
  }
  for (size_t i = 0; i < operands().size(); ++i) {
    const Val* a = operands()[i].val;
    const Val* b = other->operands()[i].val;
    if ((a == nullptr) != (b == nullptr) || (a != nullptr && !a->sameAs(b))) {
      return false;
    }
  }
  return true;
}

void Expr::mapDomains(DomainMapper& mapper) const {
  if (traits().outputs_share_domain) {
    mapper.allSame(this);
  }
}

const Val* Expr::layoutOperand(size_t) const {
  return nullptr;
}

ScalarValue Expr::foldScalars(const std::vector<ScalarValue>&) const {
  return {};
}

PythonCall Expr::pythonCall() const {
  NVF_ERROR(false, opName(), " has no call in fd.ops");
  return {};
}

std::string Expr::rhsText(const std::vector<std::string>& operand_texts) const {
  std::string text;
  for (const std::string& operand : operand_texts) {
    text += (text.empty() ? "" : ", ") + operand;
  }
  for (const NamedAttribute& attribute : attributes()) {
    text += (text.empty() ? "" : ", ") + std::string(attribute.name) + "=" +
        attributeText(attribute.value);
  }
  return std::string(opName()) + "( " + text + " )";
}

std::string Expr::toInlineString() const {
  std::vector<std::string> texts;
  for (const Operand& operand : operands()) {
    if (operand.val != nullptr) {
      texts.push_back(operand.val->toInlineString());
    }
  }
  return rhsText(texts);
}

std::string Expr::toString() const {
  std::vector<std::string> texts;
  for (const Operand& operand : operands()) {
    if (operand.val != nullptr) {
      texts.push_back(
          operand.val->isTensor() ? operand.val->toString() : operand.val->toInlineString());
    }
  }
  std::string lhs;
  for (const Val* out : outputs()) {
    lhs += (lhs.empty() ? "" : ",\n") + out->toString();
  }
  return lhs + "\n   = " + rhsText(texts) + ";\n";
}

} // namespace nvfuser
