#include <codegen/text.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>

namespace nvfuser {

namespace {

bool isHalf(DataType dtype) {
  return dtype == DataType::Half || dtype == DataType::BFloat16;
}

// The type in which a value is computed.
DataType workType(DataType dtype) {
  return isHalf(dtype) ? DataType::Float : dtype;
}

bool isWideInt(DataType dtype) {
  return dtype == DataType::Int || dtype == DataType::Index;
}

std::string call(const char* name, const std::vector<std::string>& args) {
  std::string text = std::string(name) + "(";
  for (size_t i = 0; i < args.size(); ++i) {
    text += (i > 0 ? ", " : "") + args[i];
  }
  return text + ")";
}

std::string infix(const std::vector<std::string>& args, const char* op) {
  return "(" + args[0] + " " + op + " " + args[1] + ")";
}

// Operators of signed integers may overflow in no defined way; these wrap.
bool wraps(DataType dtype) {
  return isWideInt(dtype) || dtype == DataType::Int32;
}

std::string sum(const std::vector<std::string>& args, DataType dtype) {
  return wraps(dtype) ? call("nvf_add", args) : infix(args, dtype == DataType::Bool ? "|" : "+");
}

std::string product(const std::vector<std::string>& args, DataType dtype) {
  return wraps(dtype) ? call("nvf_mul", args) : infix(args, dtype == DataType::Bool ? "&" : "*");
}

// The table's text with the operands in it. What it calls are helpers of the preamble, which are
// overloaded by type.
std::string filledIn(std::string_view code, const std::vector<std::string>& args) {
  std::string text = "(";
  for (size_t i = 0; i < code.size();) {
    if (code[i] == '{') {
      text += args.at(static_cast<size_t>(code[i + 1] - '0'));
      i += 3;
      continue;
    }
    size_t end = i;
    while (end < code.size() && std::isalnum(static_cast<unsigned char>(code[end])) != 0) {
      ++end;
    }
    const bool is_call = end > i && end < code.size() && code[end] == '(';
    end = std::max(end, i + 1);
    text += is_call ? "nvf_" : "";
    text += code.substr(i, end - i);
    i = end;
  }
  return text + ")";
}

// What ATen refuses is left to it, with its message.
bool isRefused(UnaryOpType type, DataType dtype) {
  switch (type) {
    case UnaryOpType::Frac:
    case UnaryOpType::Silu:
      return !isFloatingPointType(dtype);
    case UnaryOpType::Abs:
    case UnaryOpType::Ceil:
    case UnaryOpType::Floor:
    case UnaryOpType::Neg:
    case UnaryOpType::Relu:
    case UnaryOpType::Round:
    case UnaryOpType::Trunc:
      return dtype == DataType::Bool;
    default:
      return type == UnaryOpType::Imag;
  }
}

bool isRefused(BinaryOpType type, DataType dtype) {
  switch (type) {
    case BinaryOpType::CeilDiv:
    case BinaryOpType::Complex:
      return true;
    case BinaryOpType::Div:
    case BinaryOpType::Fmod:
    case BinaryOpType::Mod:
    case BinaryOpType::Pow:
    case BinaryOpType::Remainder:
    case BinaryOpType::Sub:
      return dtype == DataType::Bool;
    default:
      return false;
  }
}

std::string unary(UnaryOpType type, const std::string& x, DataType dtype) {
  if (isRefused(type, dtype)) {
    return "";
  }
  if (type == UnaryOpType::BitwiseNot && dtype == DataType::Bool) {
    return "(!" + x + ")";
  }
  if (type == UnaryOpType::Neg && wraps(dtype)) {
    return call("nvf_neg", {x});
  }
  return filledIn(pointwiseRow(type).code, {x});
}

// `report` as for pointwiseText().
std::string binary(
    BinaryOpType type,
    std::vector<std::string> args,
    DataType dtype,
    const std::string& report) {
  if (isRefused(type, dtype)) {
    return "";
  }
  if (!report.empty()) {
    args.push_back(report);
  }
  switch (type) {
    case BinaryOpType::Add:
      return sum(args, dtype);
    case BinaryOpType::Sub:
      return wraps(dtype) ? call("nvf_sub", args) : infix(args, "-");
    case BinaryOpType::Mul:
      return product(args, dtype);
    case BinaryOpType::Div:
      return isFloatingPointType(dtype) ? call("nvf_div", args) : call("nvf_quotient", args);
    case BinaryOpType::Fmod:
    case BinaryOpType::Mod:
      return call("nvf_fmod", args);
    case BinaryOpType::Remainder:
      return call("nvf_remainder", args);
    // Shifts by more than the width are defined.
    case BinaryOpType::BitwiseLeftShift:
      return call("nvf_shl", args);
    case BinaryOpType::BitwiseRightShift:
      return call("nvf_shr", args);
    // Without a branch.
    case BinaryOpType::LogicalAnd:
      return "((" + args[0] + " != 0) & (" + args[1] + " != 0))";
    case BinaryOpType::LogicalOr:
      return "((" + args[0] + " != 0) | (" + args[1] + " != 0))";
    default:
      return filledIn(pointwiseRow(type).code, args);
  }
}

// A power to one of the numbers that eager squares, roots or divides for; empty for any other.
std::string power(const Expr* expr, const std::vector<std::string>& args, DataType dtype) {
  const Val* exponent = expr->input(1);
  if (!isFloatingPointType(dtype) || !exponent->isConst() || isComplexType(exponent->dtype())) {
    return "";
  }
  const double number = toDouble(exponent->value());
  const std::string& x = args[0];
  const std::string one = "(" + std::string(typeName(dtype)) + ")1";
  const std::string square = "(" + x + " * " + x + ")";
  return number == 2   ? square
      : number == 3    ? "(" + square + " * " + x + ")"
      : number == 0.5  ? "nvf_sqrt(" + x + ")"
      : number == -0.5 ? "nvf_rsqrt(" + x + ")"
      : number == -1   ? "(" + one + " / " + x + ")"
      : number == -2   ? "(" + one + " / " + square + ")"
                       : "";
}

// The type in which a node's operands meet: that of a tensor operand, as the builder has promoted
// them; a number takes the type of the tensor beside it.
DataType operandType(const Expr* expr) {
  for (const Val* in : expr->inputs()) {
    if (in->isTensor()) {
      return in->dtype();
    }
  }
  return expr->inputs().front()->dtype();
}

std::vector<std::string> widened(
    const Expr* expr,
    const std::vector<std::string>& operands,
    DataType dtype) {
  std::vector<std::string> result;
  for (size_t i = 0; i < operands.size(); ++i) {
    // Through the exact type first: a number beside a half tensor is rounded to it, as in eager.
    const std::string rounded = castText(operands[i], expr->inputs()[i]->dtype(), dtype);
    result.push_back(castText(rounded, dtype, workType(dtype)));
  }
  return result;
}

bool isSupported(DataType dtype) {
  return !typeName(dtype).empty();
}

} // namespace

std::string_view typeName(DataType dtype) {
  switch (dtype) {
    case DataType::Double:
      return "double";
    case DataType::Float:
      return "float";
    case DataType::Half:
      return "nvf_half";
    case DataType::BFloat16:
      return "nvf_bf16";
    case DataType::Int:
    case DataType::Index:
      return "long";
    case DataType::Int32:
      return "int";
    case DataType::UInt64:
      return "nvf_u64";
    case DataType::Bool:
      return "bool";
    default:
      return "";
  }
}

std::string constantText(const ScalarValue& value, DataType dtype) {
  if (isHalf(dtype)) {
    return castText(constantText(value, DataType::Float), DataType::Float, dtype);
  }
  if (dtype == DataType::Bool) {
    return toBool(value) ? "true" : "false";
  }
  if (isIntegralType(dtype)) {
    const int64_t number = toInt(value);
    const std::string suffix = dtype == DataType::Int32 ? "" : "L";
    if (dtype == DataType::UInt64) {
      return std::to_string(static_cast<uint64_t>(number)) + "UL";
    }
    if (number == std::numeric_limits<int64_t>::min()) {
      return "(-9223372036854775807L - 1L)";
    }
    if (dtype == DataType::Int32 && number != static_cast<int32_t>(number)) {
      return constantText(ScalarValue(int64_t{static_cast<int32_t>(number)}), dtype);
    }
    if (dtype == DataType::Int32 && number == std::numeric_limits<int32_t>::min()) {
      return "(-2147483647 - 1)";
    }
    return number < 0 ? "(" + std::to_string(number) + suffix + ")"
                      : std::to_string(number) + suffix;
  }
  const double number = toDouble(value);
  const char* suffix = dtype == DataType::Float ? "f" : "";
  if (std::isnan(number)) {
    return std::string("nvf_nan") + suffix + "()";
  }
  if (std::isinf(number)) {
    return std::string(number < 0 ? "(-" : "(") + "nvf_inf" + suffix + "())";
  }
  char text[64];
  if (dtype == DataType::Float) {
    std::snprintf(text, sizeof text, "(%af)", static_cast<double>(static_cast<float>(number)));
  } else {
    std::snprintf(text, sizeof text, "(%a)", number);
  }
  return text;
}

std::string castText(std::string_view text, DataType from, DataType to) {
  const std::string x(text);
  if (from == to || (isWideInt(from) && isWideInt(to))) {
    return x;
  }
  if (isHalf(from)) {
    const char* widen = from == DataType::Half ? "nvf_from_half(" : "nvf_from_bf16(";
    return castText(widen + x + ")", DataType::Float, to);
  }
  if (to == DataType::Half) {
    return "nvf_to_half((float)(" + x + "))";
  }
  if (to == DataType::BFloat16) {
    return "nvf_to_bf16((float)(" + x + "))";
  }
  if (to == DataType::Bool) {
    return "(" + x + " != 0)";
  }
  if (isFloatingPointType(from) && (isWideInt(to) || to == DataType::Int32)) {
    return call(to == DataType::Int32 ? "nvf_to_int" : "nvf_to_long", {x});
  }
  return "((" + std::string(typeName(to)) + ")(" + x + "))";
}

namespace {

// Of these unsigned numbers ATen has little more than bits.
bool isForUnsigned(const Expr* expr) {
  if (const auto* op = dynamic_cast<const UnaryOp*>(expr)) {
    const bool from_float = isFloatingPointType(expr->input(0)->dtype());
    return op->type() == UnaryOpType::Cast && !from_float;
  }
  if (const auto* op = dynamic_cast<const BinaryOp*>(expr)) {
    return op->type() == BinaryOpType::BitwiseAnd || op->type() == BinaryOpType::BitwiseOr ||
        op->type() == BinaryOpType::BitwiseXor;
  }
  if (const auto* op = dynamic_cast<const TernaryOp*>(expr)) {
    return op->type() == TernaryOpType::Where;
  }
  return !expr->traits().reduction;
}

} // namespace

std::optional<std::string> whyNoText(const Expr* expr) {
  for (const auto* list : {&expr->inputs(), &expr->outputs()}) {
    for (const Val* val : *list) {
      if (!isSupported(val->dtype())) {
        return std::string(dataTypeName(val->dtype())) + " is computed by a library";
      }
      if (val->isTensor() && val->dtype() == DataType::UInt64 && !isForUnsigned(expr)) {
        return std::string(expr->opName()) + " of UInt64 is evaluated by a library";
      }
    }
  }
  if (const auto* reduction = dynamic_cast<const ReductionOp*>(expr)) {
    static_cast<void>(reduction);
    return std::nullopt;
  }
  if (!expr->traits().pointwise) {
    return std::nullopt;
  }
  const std::vector<std::string> names(expr->inputs().size(), "x");
  if (pointwiseText(expr, names).empty()) {
    return std::string(expr->opName()) + " has no text for " +
        std::string(dataTypeName(operandType(expr)));
  }
  return std::nullopt;
}

std::string pointwiseText(
    const Expr* expr,
    const std::vector<std::string>& operands,
    const std::string& report) {
  const DataType out = expr->output(0)->dtype();
  if (const auto* op = dynamic_cast<const UnaryOp*>(expr)) {
    const DataType in = expr->input(0)->dtype();
    if (op->type() == UnaryOpType::Cast) {
      // The core of the C language: of half types by way of float.
      return out == in ? operands[0] : castText(operands[0], in, out);
    }
    const auto args = widened(expr, operands, in);
    const DataType work = workType(in);
    const std::string text = unary(op->type(), args[0], work);
    const bool is_test = out == DataType::Bool;
    return text.empty() ? "" : castText(text, is_test ? DataType::Bool : work, out);
  }
  if (const auto* op = dynamic_cast<const BinaryOp*>(expr)) {
    const DataType in = operandType(expr);
    const auto args = widened(expr, operands, in);
    const DataType work = workType(in);
    std::string text = op->type() == BinaryOpType::Pow ? power(expr, args, work) : "";
    if (text.empty()) {
      text = binary(op->type(), args, work, report);
    }
    const bool is_test = out == DataType::Bool;
    return text.empty() ? "" : castText(text, is_test ? DataType::Bool : work, out);
  }
  const auto* op = dynamic_cast<const TernaryOp*>(expr);
  if (op == nullptr) {
    return operands[0]; // a copy
  }
  const DataType work = workType(out);
  const auto as = [&](size_t i) {
    return castText(castText(operands[i], expr->inputs()[i]->dtype(), out), out, work);
  };
  switch (op->type()) {
    case TernaryOpType::Where: {
      const std::string condition =
          castText(operands[0], expr->inputs()[0]->dtype(), DataType::Bool);
      return "(" + condition + " ? " + castText(operands[1], expr->inputs()[1]->dtype(), out) +
          " : " + castText(operands[2], expr->inputs()[2]->dtype(), out) + ")";
    }
    case TernaryOpType::Lerp:
      return work == DataType::Bool ? ""
                                    : castText(call("nvf_lerp", {as(0), as(1), as(2)}), work, out);
    case TernaryOpType::Threshold: {
      // Compared as eager compares a tensor and a number.
      const DataType number = expr->inputs()[1]->dtype();
      const DataType meeting = isFloatingPointType(work) ? work
          : isFloatingPointType(number)                  ? DataType::Float
          : work == DataType::Bool                       ? number
                                                         : work;
      const bool is_wider = meeting != work;
      const std::string bound = is_wider ? castText(operands[1], number, meeting) : as(1);
      return "(" + castText(as(0), work, meeting) + " > " + bound + " ? " +
          castText(as(0), work, out) + " : " + castText(as(2), work, out) + ")";
    }
    case TernaryOpType::Clamp: {
      if (work == DataType::Bool) {
        return "";
      }
      std::string text = as(0);
      size_t next = 1;
      if (expr->operands()[1].val != nullptr) {
        text = call("nvf_fmax", {text, as(next++)});
      }
      if (expr->operands()[2].val != nullptr) {
        text = call("nvf_fmin", {text, as(next)});
      }
      return castText(text, work, out);
    }
  }
  return "";
}

std::string reductionInit(ReductionType type, DataType dtype) {
  const bool real = isFloatingPointType(dtype);
  const double infinity = std::numeric_limits<double>::infinity();
  switch (type) {
    case ReductionType::Sum:
      return constantText(ScalarValue(int64_t{0}), dtype);
    case ReductionType::Prod:
      return constantText(ScalarValue(int64_t{1}), dtype);
    case ReductionType::Max:
    case ReductionType::Min: {
      const bool is_max = type == ReductionType::Max;
      if (real) {
        return constantText(ScalarValue(is_max ? -infinity : infinity), dtype);
      }
      if (dtype == DataType::Bool) {
        return is_max ? "false" : "true";
      }
      const bool narrow = dtype == DataType::Int32;
      const int64_t low =
          narrow ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
      const int64_t high =
          narrow ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
      return constantText(ScalarValue(is_max ? low : high), dtype);
    }
  }
  return "";
}

std::string reductionCombine(
    ReductionType type,
    DataType dtype,
    std::string_view accumulator,
    std::string_view element) {
  const DataType work = workType(dtype);
  const std::vector<std::string> args = {
      castText(accumulator, dtype, work), castText(element, dtype, work)};
  const bool is_bool = dtype == DataType::Bool;
  std::string text;
  switch (type) {
    case ReductionType::Sum:
      text = sum(args, work);
      break;
    case ReductionType::Prod:
      text = product(args, work);
      break;
    case ReductionType::Max:
      text = is_bool ? infix(args, "|") : call("nvf_top", args);
      break;
    case ReductionType::Min:
      text = is_bool ? infix(args, "&") : call("nvf_bottom", args);
      break;
  }
  return castText(text, work, dtype);
}

} // namespace nvfuser
