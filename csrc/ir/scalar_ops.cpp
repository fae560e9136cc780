#include <ir/scalar_ops.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace nvfuser {

namespace {

using Complex = std::complex<double>;

// Order of kinds in the variant: monostate, bool, int64_t, double, complex.
enum Kind : size_t { kNone, kBool, kInt, kDouble, kComplex };

bool foldable(DataType dtype) {
  return dtype != DataType::Null && dtype != DataType::UInt64 && !isLowFloatType(dtype);
}

// Two's complement arithmetic without undefined overflow.
int64_t wrap(uint64_t x) {
  return static_cast<int64_t>(x);
}

ScalarValue unaryDouble(UnaryOpType op, double x) {
  switch (op) {
    case UnaryOpType::Abs:
      return std::fabs(x);
    case UnaryOpType::Acos:
      return std::acos(x);
    case UnaryOpType::Acosh:
      return std::acosh(x);
    case UnaryOpType::Asin:
      return std::asin(x);
    case UnaryOpType::Asinh:
      return std::asinh(x);
    case UnaryOpType::Atan:
      return std::atan(x);
    case UnaryOpType::Atanh:
      return std::atanh(x);
    case UnaryOpType::Ceil:
      return std::ceil(x);
    case UnaryOpType::Cos:
      return std::cos(x);
    case UnaryOpType::Cosh:
      return std::cosh(x);
    case UnaryOpType::Erf:
      return std::erf(x);
    case UnaryOpType::Erfc:
      return std::erfc(x);
    case UnaryOpType::Exp:
      return std::exp(x);
    case UnaryOpType::Exp2:
      return std::exp2(x);
    case UnaryOpType::Expm1:
      return std::expm1(x);
    case UnaryOpType::Floor:
      return std::floor(x);
    case UnaryOpType::Frac:
      return x - std::trunc(x);
    case UnaryOpType::IsFinite:
      return std::isfinite(x);
    case UnaryOpType::IsInf:
      return std::isinf(x);
    case UnaryOpType::IsNan:
      return std::isnan(x);
    case UnaryOpType::IsNegInf:
      return std::isinf(x) && x < 0;
    case UnaryOpType::IsPosInf:
      return std::isinf(x) && x > 0;
    case UnaryOpType::IsReal:
      return true;
    case UnaryOpType::Log:
      return std::log(x);
    case UnaryOpType::Log10:
      return std::log10(x);
    case UnaryOpType::Log1p:
      return std::log1p(x);
    case UnaryOpType::Log2:
      return std::log2(x);
    case UnaryOpType::LogicalNot:
      return x == 0.0;
    case UnaryOpType::Neg:
      return -x;
    case UnaryOpType::Real:
      return x;
    case UnaryOpType::Reciprocal:
      return 1.0 / x;
    case UnaryOpType::Relu:
      return x < 0 ? 0.0 : x; // NaN stays NaN, -0.0 stays -0.0
    case UnaryOpType::Round:
      return std::nearbyint(x);
    case UnaryOpType::Rsqrt:
      return 1.0 / std::sqrt(x);
    case UnaryOpType::Sigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case UnaryOpType::Sign:
      return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
    case UnaryOpType::Signbit:
      return std::signbit(x);
    case UnaryOpType::Silu:
      return x / (1.0 + std::exp(-x));
    case UnaryOpType::Sin:
      return std::sin(x);
    case UnaryOpType::Sinh:
      return std::sinh(x);
    case UnaryOpType::Sqrt:
      return std::sqrt(x);
    case UnaryOpType::Tan:
      return std::tan(x);
    case UnaryOpType::Tanh:
      return std::tanh(x);
    case UnaryOpType::Trunc:
      return std::trunc(x);
    default:
      return {};
  }
}

ScalarValue unaryInt(UnaryOpType op, int64_t x) {
  switch (op) {
    case UnaryOpType::Abs:
      return x < 0 ? wrap(-static_cast<uint64_t>(x)) : x;
    case UnaryOpType::BitwiseNot:
      return ~x;
    case UnaryOpType::Neg:
      return wrap(-static_cast<uint64_t>(x));
    case UnaryOpType::Relu:
      return x < 0 ? int64_t{0} : x;
    case UnaryOpType::Sign:
      return static_cast<int64_t>((x > 0) - (x < 0));
    case UnaryOpType::Ceil:
    case UnaryOpType::Floor:
    case UnaryOpType::Round:
    case UnaryOpType::Trunc:
    case UnaryOpType::Real:
      return x;
    case UnaryOpType::LogicalNot:
      return x == 0;
    case UnaryOpType::Signbit:
      return x < 0;
    default:
      return unaryDouble(op, static_cast<double>(x));
  }
}

ScalarValue unaryBool(UnaryOpType op, bool x) {
  switch (op) {
    case UnaryOpType::BitwiseNot:
    case UnaryOpType::LogicalNot:
      return !x;
    case UnaryOpType::Neg:
    case UnaryOpType::Sign:
      return {};
    default:
      return unaryInt(op, x);
  }
}

ScalarValue unaryComplex(UnaryOpType op, Complex x) {
  switch (op) {
    case UnaryOpType::Abs:
      return std::abs(x);
    case UnaryOpType::Imag:
      return x.imag();
    case UnaryOpType::IsReal:
      return x.imag() == 0.0;
    case UnaryOpType::Neg:
      return -x;
    case UnaryOpType::Real:
      return x.real();
    default:
      return {};
  }
}

int64_t floorMod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

ScalarValue intPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    return {};
  }
  uint64_t result = 1;
  auto factor = static_cast<uint64_t>(base);
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    result *= (e & 1) != 0 ? factor : 1;
    factor *= factor;
  }
  return wrap(result);
}

ScalarValue binaryDouble(BinaryOpType op, double a, double b);

ScalarValue binaryInt(BinaryOpType op, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  const bool shifts = b >= 0 && b < 64;
  // -1 is the one divisor whose quotient can overflow.
  switch (op) {
    case BinaryOpType::Add:
      return wrap(ua + ub);
    case BinaryOpType::Sub:
      return wrap(ua - ub);
    case BinaryOpType::Mul:
      return wrap(ua * ub);
    case BinaryOpType::Div:
      return b == 0 ? ScalarValue{} : b == -1 ? wrap(-ua) : a / b;
    case BinaryOpType::CeilDiv:
      return b <= 0 ? ScalarValue{} : a / b + (a % b > 0 ? 1 : 0);
    case BinaryOpType::Mod:
    case BinaryOpType::Fmod:
      return b == 0 ? ScalarValue{} : b == -1 ? int64_t{0} : a % b;
    case BinaryOpType::Remainder:
      return b == 0 ? ScalarValue{} : b == -1 ? int64_t{0} : floorMod(a, b);
    case BinaryOpType::Maximum:
      return std::max(a, b);
    case BinaryOpType::Minimum:
      return std::min(a, b);
    case BinaryOpType::BitwiseAnd:
      return a & b;
    case BinaryOpType::BitwiseOr:
      return a | b;
    case BinaryOpType::BitwiseXor:
      return a ^ b;
    case BinaryOpType::BitwiseLeftShift:
      return shifts ? ScalarValue(wrap(ua << b)) : ScalarValue{};
    case BinaryOpType::BitwiseRightShift:
      return shifts ? ScalarValue(a >> b) : ScalarValue{};
    case BinaryOpType::LogicalRightShift:
      return shifts ? ScalarValue(wrap(ua >> b)) : ScalarValue{};
    case BinaryOpType::Gcd:
      return a == std::numeric_limits<int64_t>::min() || b == std::numeric_limits<int64_t>::min()
          ? ScalarValue{}
          : std::gcd(a, b);
    case BinaryOpType::Pow:
      return intPower(a, b);
    case BinaryOpType::Eq:
      return a == b;
    case BinaryOpType::Ne:
      return a != b;
    case BinaryOpType::Lt:
      return a < b;
    case BinaryOpType::Le:
      return a <= b;
    case BinaryOpType::Gt:
      return a > b;
    case BinaryOpType::Ge:
      return a >= b;
    case BinaryOpType::LogicalAnd:
      return a != 0 && b != 0;
    case BinaryOpType::LogicalOr:
      return a != 0 || b != 0;
    default:
      return binaryDouble(op, static_cast<double>(a), static_cast<double>(b));
  }
}

ScalarValue binaryDouble(BinaryOpType op, double a, double b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (op) {
    case BinaryOpType::Add:
      return a + b;
    case BinaryOpType::Sub:
      return a - b;
    case BinaryOpType::Mul:
      return a * b;
    case BinaryOpType::Div:
    case BinaryOpType::Truediv:
      return a / b;
    case BinaryOpType::Mod:
    case BinaryOpType::Fmod:
      return std::fmod(a, b);
    case BinaryOpType::Remainder: {
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case BinaryOpType::Maximum:
      return nan ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
    case BinaryOpType::Minimum:
      return nan ? std::numeric_limits<double>::quiet_NaN() : std::min(a, b);
    case BinaryOpType::Atan2:
      return std::atan2(a, b);
    case BinaryOpType::Pow:
      return std::pow(a, b);
    case BinaryOpType::Eq:
      return a == b;
    case BinaryOpType::Ne:
      return a != b;
    case BinaryOpType::Lt:
      return a < b;
    case BinaryOpType::Le:
      return a <= b;
    case BinaryOpType::Gt:
      return a > b;
    case BinaryOpType::Ge:
      return a >= b;
    case BinaryOpType::LogicalAnd:
      return a != 0 && b != 0;
    case BinaryOpType::LogicalOr:
      return a != 0 || b != 0;
    case BinaryOpType::Complex:
      return Complex(a, b);
    default:
      return {};
  }
}

ScalarValue binaryBool(BinaryOpType op, bool a, bool b) {
  switch (op) {
    case BinaryOpType::Add:
    case BinaryOpType::Maximum:
    case BinaryOpType::BitwiseOr:
      return a || b;
    case BinaryOpType::Mul:
    case BinaryOpType::Minimum:
    case BinaryOpType::BitwiseAnd:
      return a && b;
    case BinaryOpType::BitwiseXor:
      return a != b;
    case BinaryOpType::Sub:
      return {};
    default:
      return binaryInt(op, a, b);
  }
}

ScalarValue binaryComplex(BinaryOpType op, Complex a, Complex b) {
  switch (op) {
    case BinaryOpType::Add:
      return a + b;
    case BinaryOpType::Sub:
      return a - b;
    case BinaryOpType::Mul:
      return a * b;
    case BinaryOpType::Eq:
      return a == b;
    case BinaryOpType::Ne:
      return a != b;
    default:
      return {};
  }
}

ScalarValue applyUnary(UnaryOpType op, const ScalarValue& x) {
  if (op == UnaryOpType::Cast) {
    return x;
  }
  switch (x.index()) {
    case kBool:
      return unaryBool(op, std::get<bool>(x));
    case kInt:
      return unaryInt(op, std::get<int64_t>(x));
    case kDouble:
      return unaryDouble(op, std::get<double>(x));
    case kComplex:
      return unaryComplex(op, std::get<Complex>(x));
    default:
      return {};
  }
}

// The operands take the wider kind of the two, as C's arithmetic conversions do.
ScalarValue applyBinary(BinaryOpType op, const ScalarValue& a, const ScalarValue& b) {
  if (!hasValue(a) || !hasValue(b)) {
    return {};
  }
  switch (std::max(a.index(), b.index())) {
    case kBool:
      return binaryBool(op, toBool(a), toBool(b));
    case kInt:
      return binaryInt(op, toInt(a), toInt(b));
    case kDouble:
      return binaryDouble(op, toDouble(a), toDouble(b));
    default:
      return binaryComplex(op, toComplex(a), toComplex(b));
  }
}

} // namespace

ScalarValue applyScalarOp(UnaryOpType op, const ScalarValue& x, DataType dtype) {
  return foldable(dtype) ? castScalar(applyUnary(op, x), dtype) : ScalarValue{};
}

ScalarValue applyScalarOp(
    BinaryOpType op,
    const ScalarValue& a,
    const ScalarValue& b,
    DataType dtype) {
  return foldable(dtype) ? castScalar(applyBinary(op, a, b), dtype) : ScalarValue{};
}

ScalarValue applyScalarOp(
    TernaryOpType op,
    const ScalarValue& a,
    const ScalarValue& b,
    const ScalarValue& c,
    DataType dtype) {
  if (!foldable(dtype) || !hasValue(a)) {
    return {};
  }
  switch (op) {
    case TernaryOpType::Where:
      return castScalar(toBool(a) ? b : c, dtype);
    case TernaryOpType::Lerp: {
      const ScalarValue span = applyBinary(BinaryOpType::Sub, b, a);
      return castScalar(
          applyBinary(BinaryOpType::Add, a, applyBinary(BinaryOpType::Mul, c, span)), dtype);
    }
    case TernaryOpType::Threshold: {
      const ScalarValue above = applyBinary(BinaryOpType::Gt, a, b);
      return hasValue(above) ? castScalar(toBool(above) ? a : c, dtype) : ScalarValue{};
    }
    case TernaryOpType::Clamp: {
      ScalarValue x = hasValue(b) ? applyBinary(BinaryOpType::Maximum, a, b) : a;
      x = hasValue(c) ? applyBinary(BinaryOpType::Minimum, x, c) : x;
      return castScalar(x, dtype);
    }
  }
  return {};
}

} // namespace nvfuser
