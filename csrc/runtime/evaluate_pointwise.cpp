// Evaluators of the pointwise nodes; the ATen column of the pointwise table is expanded here.
#include <ir/nodes.h>
#include <runtime/aten_helpers.h>
#include <runtime/evaluator_registry.h>

#include <ATen/ATen.h>

#include <array>
#include <cmath>

namespace nvfuser {

namespace {

// --- what the ATen column names and ATen does not have ---

at::Tensor erfcinv(const at::Tensor& a) {
  // erfc(x) = 2 * normal_cdf(-x * sqrt(2)): exact near 0, where 1 - a would cancel.
  return at::mul(at::special_ndtri(at::mul(a, 0.5)), -M_SQRT1_2);
}

bool bothIntegral(const at::Tensor& a, const at::Tensor& b) {
  return at::isIntegralType(a.scalar_type(), true) && at::isIntegralType(b.scalar_type(), true);
}

at::Tensor quotient(const at::Tensor& a, const at::Tensor& b) {
  if (!bothIntegral(a, b)) {
    return at::div(a, b);
  }
  if (a.is_cpu() && b.is_cpu() && b.scalar_type() != at::kBool) {
    // The processor traps on the smallest integer divided by -1, which wraps to itself.
    const at::Tensor negates = at::eq(b, -1);
    if (negates.any().item<bool>()) {
      return at::where(negates, at::neg(a), at::div(a, at::where(negates, 1, b), "trunc"));
    }
  }
  return at::div(a, b, "trunc");
}

at::Tensor powerOf(const at::Tensor& a, const at::Tensor& b) {
  // ATen squares and takes roots for exponents that are numbers; negative integers it takes in
  // tensors only.
  if (b.dim() == 0 && a.dim() > 0 && b.is_cpu() && !bothIntegral(a, b)) {
    return at::pow(a, b.item());
  }
  return at::pow(a, b);
}

// ATen's CUDA kernels of these two take no CPU scalar beside a tensor on the GPU, as others do.
at::Device commonDevice(const at::Tensor& a, const at::Tensor& b) {
  return a.is_cpu() ? b.device() : a.device();
}

at::Tensor nextAfter(const at::Tensor& a, const at::Tensor& b) {
  const at::Device device = commonDevice(a, b);
  return at::nextafter(a.to(device), b.to(device));
}

at::Tensor commonDivisor(const at::Tensor& a, const at::Tensor& b) {
  const at::Device device = commonDevice(a, b);
  return at::gcd(a.to(device), b.to(device));
}

at::Tensor logicalRightShift(const at::Tensor& a, const at::Tensor& b) {
  // Arithmetic shift, then the bits that the sign filled are cleared.
  const int64_t width = static_cast<int64_t>(a.element_size()) * 8;
  const at::Tensor out_of_range = at::logical_or(at::ge(b, width), at::lt(b, 0));
  const at::Tensor shift = at::clamp(b, 0, width - 1);
  const at::Tensor shifted = at::bitwise_right_shift(a, shift);
  // mask = ~(-1 << (width - shift)); a shift of 0 keeps every bit.
  const at::Tensor ones = at::full_like(shifted, -1);
  const at::Tensor mask = at::bitwise_not(
      at::bitwise_left_shift(ones, at::clamp(at::rsub(shift, width), 0, width - 1)));
  const at::Tensor kept = at::where(at::eq(shift, 0), shifted, at::bitwise_and(shifted, mask));
  return at::where(out_of_range, at::zeros_like(kept), kept);
}

// --- the table ---

using UnaryFn = at::Tensor (*)(const at::Tensor&);
using BinaryFn = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

constexpr std::array kUnaryFns = {
#define NVF_ROW(name, python, group, aten, ...) \
  static_cast<UnaryFn>([](const at::Tensor& a) -> at::Tensor { return aten; }),
    NVF_FORALL_UNARY_OPS(NVF_ROW)
#undef NVF_ROW
};

constexpr std::array kBinaryFns = {
#define NVF_ROW(name, python, group, aten, ...) \
  static_cast<BinaryFn>(                        \
      [](const at::Tensor& a, const at::Tensor& b) -> at::Tensor { return aten; }),
    NVF_FORALL_BINARY_OPS(NVF_ROW)
#undef NVF_ROW
};

at::Tensor castTensor(const at::Tensor& a, DataType dtype) {
  const at::ScalarType type = toAtenType(dtype);
  // Complex to real drops the imaginary part, to Bool as well.
  if (a.is_complex() && !at::isComplexType(type)) {
    return at::real(a).to(type);
  }
  return a.to(type);
}

// --- scalars ---

// Integer arithmetic of sizes without a detour over tensors.
std::optional<int64_t> integerBinary(BinaryOpType type, int64_t a, int64_t b) {
  switch (type) {
    case BinaryOpType::Add:
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case BinaryOpType::Sub:
      return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    case BinaryOpType::Mul:
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case BinaryOpType::Maximum:
      return std::max(a, b);
    case BinaryOpType::Minimum:
      return std::min(a, b);
    case BinaryOpType::Div:
    case BinaryOpType::Mod:
    case BinaryOpType::Fmod:
    case BinaryOpType::CeilDiv:
      NVF_CHECK(b != 0, opText(type), ": integer division by zero");
      if (b == -1) { // the smallest integer divided by -1 wraps
        return type == BinaryOpType::Mod || type == BinaryOpType::Fmod
            ? 0
            : static_cast<int64_t>(-static_cast<uint64_t>(a));
      }
      if (type == BinaryOpType::CeilDiv) {
        return (a + b - 1) / b;
      }
      return type == BinaryOpType::Div ? a / b : a % b;
    default:
      return std::nullopt;
  }
}

bool holdsInt(const ScalarValue& v) {
  return std::holds_alternative<int64_t>(v);
}

// A scalar of the IR as a 0-dim tensor of its own dtype.
at::Tensor scalarTensor(const ScalarValue& value, DataType dtype) {
  return at::scalar_tensor(
      toAtenScalar(value), at::TensorOptions(at::kCPU).dtype(toAtenType(dtype)));
}

// The same in the type `dtype` of the tensor it meets; on the CPU, from where ATen takes 0-dim
// operands of any device.
at::Tensor numberBeside(const ScalarValue& value, const at::Tensor& tensor, DataType dtype) {
  return at::scalar_tensor(
      toAtenScalar(castScalar(value, dtype)),
      at::TensorOptions(tensor.is_meta() ? at::kMeta : at::kCPU).dtype(toAtenType(dtype)));
}

ScalarValue itemAs(const at::Tensor& tensor, DataType dtype) {
  return castScalar(fromAtenScalar(tensor.item()), dtype);
}

// --- evaluators ---

void evaluateUnary(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const auto type = static_cast<UnaryOpType>(expr.attribute<int64_t>("op"));
  const DataType dtype = expr.outputs()[0]->dtype();
  const EvalValue& in = operands[0];
  if (in.isTensor()) {
    outputs[0] = type == UnaryOpType::Cast
        ? castTensor(in.tensor(), dtype)
        : withType(kUnaryFns[static_cast<size_t>(type)](in.tensor()), dtype);
    return;
  }
  if (type == UnaryOpType::Cast) {
    outputs[0] = castScalar(in.scalar(), dtype);
    return;
  }
  if (type == UnaryOpType::Neg && holdsInt(in.scalar()) && isIntegralType(dtype)) {
    outputs[0] =
        ScalarValue(static_cast<int64_t>(-static_cast<uint64_t>(std::get<int64_t>(in.scalar()))));
    return;
  }
  const at::Tensor a = scalarTensor(in.scalar(), expr.inputs()[0]->dtype());
  outputs[0] = itemAs(kUnaryFns[static_cast<size_t>(type)](a), dtype);
}

void evaluateBinary(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const auto type = static_cast<BinaryOpType>(expr.attribute<int64_t>("op"));
  const DataType dtype = expr.outputs()[0]->dtype();
  const EvalValue& lhs = operands[0];
  const EvalValue& rhs = operands[1];
  if (!lhs.isTensor() && !rhs.isTensor()) {
    if (type == BinaryOpType::Complex) {
      outputs[0] =
          ScalarValue(std::complex<double>(toDouble(lhs.scalar()), toDouble(rhs.scalar())));
      return;
    }
    if (holdsInt(lhs.scalar()) && holdsInt(rhs.scalar()) && isIntegralType(dtype)) {
      const auto result =
          integerBinary(type, std::get<int64_t>(lhs.scalar()), std::get<int64_t>(rhs.scalar()));
      if (result.has_value()) {
        outputs[0] = castScalar(ScalarValue(*result), dtype);
        return;
      }
    }
    NVF_ERROR(type < BinaryOpType::CeilDiv, "ceilDiv is defined on integers");
    const at::Tensor a = scalarTensor(lhs.scalar(), expr.inputs()[0]->dtype());
    const at::Tensor b = scalarTensor(rhs.scalar(), expr.inputs()[1]->dtype());
    outputs[0] = itemAs(kBinaryFns[static_cast<size_t>(type)](a, b), dtype);
    return;
  }
  if (type == BinaryOpType::Complex) {
    const auto tensors = at::broadcast_tensors({lhs.tensor(), rhs.tensor()});
    outputs[0] = at::complex(tensors[0], tensors[1]);
    return;
  }
  // A number takes the type of the tensor beside it, to which the builder has promoted that tensor.
  const at::Tensor a = lhs.isTensor()
      ? lhs.tensor()
      : numberBeside(lhs.scalar(), rhs.tensor(), expr.inputs()[1]->dtype());
  const at::Tensor b = rhs.isTensor()
      ? rhs.tensor()
      : numberBeside(rhs.scalar(), lhs.tensor(), expr.inputs()[0]->dtype());
  outputs[0] = withType(kBinaryFns[static_cast<size_t>(type)](a, b), dtype);
}

void evaluateTernary(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const auto type = static_cast<TernaryOpType>(expr.attribute<int64_t>("op"));
  const DataType dtype = expr.outputs()[0]->dtype();
  const bool scalar_result = !expr.outputs()[0]->isTensor();
  at::Device device = at::kCPU;
  for (const EvalValue& operand : operands) {
    if (operand.isTensor() && (operand.tensor().dim() > 0 || device == at::kCPU)) {
      device = operand.tensor().device();
    }
  }
  const auto tensorOf = [&](size_t i, DataType type) {
    return operands[i].isTensor() ? operands[i].tensor()
                                  : at::scalar_tensor(
                                        toAtenScalar(castScalar(operands[i].scalar(), type)),
                                        at::TensorOptions(device).dtype(toAtenType(type)));
  };
  at::Tensor result;
  switch (type) {
    case TernaryOpType::Where:
      result = at::where(tensorOf(0, DataType::Bool), tensorOf(1, dtype), tensorOf(2, dtype));
      break;
    case TernaryOpType::Lerp: {
      const at::Tensor start = tensorOf(0, dtype);
      const at::Tensor end = tensorOf(1, dtype);
      const at::Tensor weight = tensorOf(2, dtype);
      result = at::isIntegralType(start.scalar_type(), true)
          ? at::add(start, at::mul(weight, at::sub(end, start)))
          : at::lerp(start, end, weight);
      break;
    }
    case TernaryOpType::Threshold: {
      const at::Tensor x = tensorOf(0, dtype);
      result = at::where(at::gt(x, toAtenScalar(operands[1].scalar())), x, tensorOf(2, dtype));
      break;
    }
    case TernaryOpType::Clamp: {
      const auto bound = [&](size_t i) -> std::optional<at::Scalar> {
        return operands[i].hasValue()
            ? std::optional<at::Scalar>(toAtenScalar(castScalar(operands[i].scalar(), dtype)))
            : std::nullopt;
      };
      result = at::clamp(tensorOf(0, dtype), bound(1), bound(2));
      break;
    }
  }
  if (scalar_result) {
    outputs[0] = itemAs(result, dtype);
  } else {
    outputs[0] = withType(result, dtype);
  }
}

const RegisterEvaluator unary("UnaryOp", &evaluateUnary);
const RegisterEvaluator binary("BinaryOp", &evaluateBinary);
const RegisterEvaluator ternary("TernaryOp", &evaluateTernary);

} // namespace

} // namespace nvfuser
