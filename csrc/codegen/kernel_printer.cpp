#include <codegen/kernel_printer.h>

#include <codegen/text.h>
#include <ir/nodes.h>
#include <lower/emitter.h>

#include <algorithm>

namespace nvfuser {

bool dependsOn(Index index, Index part) {
  return index != nullptr &&
      (index == part || dependsOn(index->a, part) || dependsOn(index->b, part));
}

bool isConsecutive(Index index, Index variable) {
  if (index == variable) {
    return true;
  }
  if (index->op == IndexOp::Add) {
    const bool in_a = dependsOn(index->a, variable);
    const bool in_b = dependsOn(index->b, variable);
    return in_a != in_b && isConsecutive(in_a ? index->a : index->b, variable);
  }
  return index->op == IndexOp::Sub && !dependsOn(index->b, variable) &&
      isConsecutive(index->a, variable);
}

bool dependsOnRegister(Index index) {
  return index != nullptr &&
      (index->op == IndexOp::Value || dependsOnRegister(index->a) || dependsOnRegister(index->b));
}

namespace {

bool mayLieOutside(Index index) {
  return index != nullptr &&
      (index->op == IndexOp::Sub || index->op == IndexOp::Value ||
       (index->op == IndexOp::Constant && index->number < 0) || mayLieOutside(index->a) ||
       mayLieOutside(index->b));
}

} // namespace

void KernelPrinter::line(const std::string& text) {
  out() += indent() + text + "\n";
}

std::string KernelPrinter::indent() const {
  return std::string(2 * scopes_.size(), ' ');
}

void KernelPrinter::openScope() {
  scopes_.emplace_back();
}

std::string KernelPrinter::closed(const KernelBody& body) {
  openScope();
  nodes(body);
  return finishedScope();
}

std::string KernelPrinter::finishedScope() {
  std::string text = scopes_.back().definitions + scopes_.back().text;
  scopes_.pop_back();
  return text;
}

void KernelPrinter::nodes(const KernelBody& body) {
  for (const auto& each : body) {
    node(*each);
  }
}

// --- indices ---

std::string KernelPrinter::indexText(Index index) {
  switch (index->op) {
    case IndexOp::Constant:
      return std::to_string(index->number) + style_.suffix;
    case IndexOp::Loop:
      return "l" + std::to_string(index->number);
    case IndexOp::Thread:
      switch (static_cast<ParallelType>(index->number)) {
        case ParallelType::BIDx:
          return "bx";
        case ParallelType::BIDy:
          return "by";
        case ParallelType::BIDz:
          return "bz";
        case ParallelType::TIDx:
          return "tx";
        case ParallelType::TIDy:
          return "ty";
        default:
          return "tz";
      }
    case IndexOp::Param:
      return "p" + std::to_string(index->number);
    case IndexOp::Value: {
      const std::string name = "r" + std::to_string(index->number);
      return style_.type == "long" ? name : "(" + style_.type + ")" + name;
    }
    default:
      break;
  }
  if (index->depth < here() && !dependsOnRegister(index)) {
    return definedOutside(index);
  }
  return operation(index);
}

// Computed once, at the head of the loop body whose variable it changes with.
std::string KernelPrinter::definedOutside(Index index) {
  Scope& scope = scopes_.at(index->depth);
  const auto it = scope.names.find(index);
  if (it != scope.names.end()) {
    return it->second;
  }
  const std::string text = operationAt(index, index->depth);
  const std::string name = "x" + std::to_string(next_index_++);
  Scope& owner = scopes_.at(index->depth);
  owner.definitions += std::string(2 * (index->depth + 1), ' ') + "const " + style_.type + " " +
      name + " = " + text + ";\n";
  owner.names[index] = name;
  return name;
}

std::string KernelPrinter::operationAt(Index index, int depth) {
  const auto part = [&](Index operand) {
    const bool is_leaf = operand->a == nullptr;
    if (is_leaf) {
      return indexText(operand);
    }
    return operand->depth < depth ? definedOutside(operand) : operationAt(operand, depth);
  };
  return combined(index, part(index->a), part(index->b));
}

std::string KernelPrinter::operation(Index index) {
  return combined(index, indexText(index->a), indexText(index->b));
}

std::string KernelPrinter::combined(Index index, const std::string& a, const std::string& b) {
  // Sizes may be 0 where no loop protects a division by them: outside of all loops, and where the
  // index may lie outside of its dimension.
  const bool unprotected = !style_.divides_by_zero && !isConstant(index->b) &&
      (index->depth == 0 || mayLieOutside(index->a));
  if (index->op == IndexOp::Div || index->op == IndexOp::Mod) {
    std::string own = division(index, a, b);
    if (!own.empty()) {
      return own;
    }
  }
  switch (index->op) {
    case IndexOp::Add:
      return "(" + a + " + " + b + ")";
    case IndexOp::Sub:
      return "(" + a + " - " + b + ")";
    case IndexOp::Mul:
      return "(" + a + " * " + b + ")";
    case IndexOp::Div:
      return unprotected ? "(" + b + " == 0 ? 0 : " + a + " / " + b + ")"
                         : "(" + a + " / " + b + ")";
    case IndexOp::Mod:
      return unprotected ? "(" + b + " == 0 ? 0 : " + a + " % " + b + ")"
                         : "(" + a + " % " + b + ")";
    case IndexOp::Min:
      return "(" + a + " < " + b + " ? " + a + " : " + b + ")";
    case IndexOp::Max:
      return "(" + a + " > " + b + " ? " + a + " : " + b + ")";
    case IndexOp::Lt:
      return "(" + a + " < " + b + ")";
    case IndexOp::And:
      return "(" + a + " & " + b + ")";
    default:
      NVF_ERROR(false, "an index without operands");
      return "";
  }
}

// --- statements ---

std::string KernelPrinter::text(const KernelValue& value) const {
  switch (value.kind) {
    case KernelValue::Kind::Register:
      return "r" + std::to_string(value.number);
    case KernelValue::Kind::Scalar:
      return "s" + std::to_string(value.number);
    case KernelValue::Kind::Constant:
      return constantText(value.constant, value.dtype);
  }
  return "";
}

void KernelPrinter::define(const KernelValue& value, const std::string& text) {
  line(
      "const " + std::string(typeName(value.dtype)) + " r" + std::to_string(value.number) + " = " +
      text + ";");
}

std::string KernelPrinter::numberOf(const Expr* expr) const {
  const auto& nodes = kernel_.positions;
  return std::to_string(std::find(nodes.begin(), nodes.end(), expr) - nodes.begin() + 1);
}

bool KernelPrinter::isHandedIn(const KernelBuffer& buffer) {
  return buffer.kind == KernelBuffer::Kind::Input || buffer.kind == KernelBuffer::Kind::Output ||
      buffer.kind == KernelBuffer::Kind::Workspace;
}

size_t KernelPrinter::randomWords() const {
  return kernel_.indices.params().size() + kernel_.scalars.size();
}

std::string KernelPrinter::wordDefinitions(const std::string& words, const std::string& bits)
    const {
  std::string text;
  const auto& params = kernel_.indices.params();
  for (size_t i = 0; i < params.size(); ++i) {
    text += "  const " + style_.type + " p" + std::to_string(i) + " = (" + style_.type + ")" +
        words + "[" + std::to_string(i) + "];\n";
  }
  for (size_t i = 0; i < kernel_.scalars.size(); ++i) {
    const DataType dtype = kernel_.scalars[i]->dtype();
    const std::string word = words + "[" + std::to_string(params.size() + i) + "]";
    text += "  const " + std::string(typeName(dtype)) + " s" + std::to_string(i) + " = " +
        (isFloatingPointType(dtype) ? castText(bits + word + ")", DataType::Double, dtype)
                                    : castText(word, DataType::Int, dtype)) +
        ";\n";
  }
  return text;
}

void KernelPrinter::print(const KernelCompute& compute) {
  std::vector<std::string> operands;
  for (const KernelValue& operand : compute.operands) {
    operands.push_back(text(operand));
  }
  const DataType dtype = compute.out.dtype;
  if (compute.expr->traits().pointwise) {
    const std::string report = mayDivideByZero(compute.expr) ? divisionReport(compute.expr) : "";
    define(compute.out, pointwiseText(compute.expr, operands, report));
  } else if (operands.size() == 1) {
    define(compute.out, castText(operands[0], compute.operands[0].dtype, dtype));
  } else {
    // A counted sequence: number, start, step.
    const DataType wide = isFloatingPointType(dtype) ? DataType::Double : DataType::Int;
    const auto widened = [&](size_t i) {
      return castText(operands[i], compute.operands[i].dtype, wide);
    };
    define(
        compute.out,
        castText("(" + widened(1) + " + " + widened(2) + " * " + widened(0) + ")", wide, dtype));
  }
}

void KernelPrinter::print(const KernelSelect& select) {
  define(
      select.out,
      indexText(select.condition) + " ? " + text(select.yes) + " : " +
          castText(text(select.no), select.no.dtype, select.out.dtype));
}

void KernelPrinter::print(const KernelFromIndex& from) {
  define(from.out, castText(indexText(from.index), DataType::Index, from.out.dtype));
}

void KernelPrinter::print(const KernelPosition& position) {
  const std::string raw = castText(text(position.value), position.value.dtype, DataType::Index);
  const std::string extent = indexText(position.extent);
  const std::string name = "r" + std::to_string(position.out.number);
  line("long " + name + " = " + raw + ";");
  if (position.wraps) {
    line("if (" + name + " < 0) " + name + " += " + extent + ";");
  }
  const std::string guard =
      position.condition == nullptr ? "" : indexText(position.condition) + " && ";
  line(
      "if ((unsigned long)" + name + " >= (unsigned long)" + extent + ") { if (" + guard +
      "true) *error = " + numberOf(position.expr) + "; " + name + " = -1; }");
}

} // namespace nvfuser
