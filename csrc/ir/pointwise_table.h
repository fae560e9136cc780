// The pointwise operators: one row each. Enum, builder, binding, printer, evaluator, documentation
// and the generated test come from the row; a new op is one row.
//
// Columns: enumerator, Python name, promotion group, ATen evaluation (of tensors a, b, c; the
// operands have been promoted by the builder), C++ text for generated code (a function that it
// calls is a helper nvf_<name> of the target's preamble, overloaded by type), cost of the text,
// test range, documentation.
//
// Promotion groups (see ops/type_promotion.h): Keep, Default, Float, FullPrecision, Bool, Logical,
// Integer. The ATen column is expanded in runtime/evaluate_pointwise.cpp only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nvfuser {

enum class PromotionGroup {
  Keep,          ///< the common type, low floats kept
  Default,       ///< the common type, low floats become Float
  Float,         ///< int, bool and low floats become Float; complex kept
  FullPrecision, ///< Float or Double, else an error
  Bool,          ///< operands promoted as Default, result Bool
  Logical,       ///< operands cast to Bool, result Bool
  Integer,       ///< integers and Bool only
  StrictInteger, ///< integers only
};

/// What computing an element again costs, beside reading it from memory.
enum class OpCost {
  Cheap, ///< a few instructions
  Dear,  ///< a function of the C library, or as much work as one
};

// clang-format off
#define NVF_FORALL_UNARY_OPS(ROW) \
  ROW(Abs, "abs", Keep, at::abs(a), "abs({0})", Cheap, -10, 10, "|x|; of a complex number its modulus, a real.") \
  ROW(Acos, "acos", Float, at::acos(a), "acos({0})", Dear, -1, 1, "Inverse cosine, in radians.") \
  ROW(Acosh, "acosh", Float, at::acosh(a), "acosh({0})", Dear, 1, 10, "Inverse hyperbolic cosine.") \
  ROW(Asin, "asin", Float, at::asin(a), "asin({0})", Dear, -1, 1, "Inverse sine, in radians.") \
  ROW(Asinh, "asinh", Float, at::asinh(a), "asinh({0})", Dear, -10, 10, "Inverse hyperbolic sine.") \
  ROW(Atan, "atan", Float, at::atan(a), "atan({0})", Dear, -10, 10, "Inverse tangent, in radians.") \
  ROW(Atanh, "atanh", Float, at::atanh(a), "atanh({0})", Dear, -1, 1, "Inverse hyperbolic tangent.") \
  ROW(BitwiseNot, "bitwise_not", Integer, at::bitwise_not(a), "~{0}", Cheap, -10, 10, "Bitwise complement; logical not of a Bool.") \
  ROW(Ceil, "ceil", Keep, at::ceil(a), "ceil({0})", Cheap, -10, 10, "Smallest integer not below x, in x's type.") \
  ROW(Cos, "cos", Float, at::cos(a), "cos({0})", Dear, -10, 10, "Cosine of x in radians.") \
  ROW(Cosh, "cosh", Float, at::cosh(a), "cosh({0})", Dear, -5, 5, "Hyperbolic cosine.") \
  ROW(Erf, "erf", Float, at::erf(a), "erf({0})", Dear, -3, 3, "Error function. Real types only.") \
  ROW(Erfc, "erfc", Float, at::erfc(a), "erfc({0})", Dear, -3, 3, "Complementary error function. Real types only.") \
  ROW(Erfcinv, "erfcinv", Float, erfcinv(a), "erfcinv({0})", Dear, 0.1, 1.9, "Inverse of erfc. Real types only.") \
  ROW(Erfinv, "erfinv", Float, at::erfinv(a), "erfinv({0})", Dear, -0.9, 0.9, "Inverse of erf. Real types only.") \
  ROW(Exp, "exp", Float, at::exp(a), "exp({0})", Dear, -5, 5, "e to the power x.") \
  ROW(Exp2, "exp2", Float, at::exp2(a), "exp2({0})", Dear, -5, 5, "2 to the power x.") \
  ROW(Expm1, "expm1", Float, at::expm1(a), "expm1({0})", Dear, -5, 5, "exp(x) - 1 without cancellation near 0.") \
  ROW(Floor, "floor", Keep, at::floor(a), "floor({0})", Cheap, -10, 10, "Largest integer not above x, in x's type.") \
  ROW(Frac, "frac", Keep, at::frac(a), "frac({0})", Cheap, -10, 10, "x - trunc(x). Floating types only.") \
  ROW(Imag, "imag", Keep, at::imag(a), "imag({0})", Cheap, -10, 10, "Imaginary part of a complex value, as the real type.") \
  ROW(IsFinite, "isfinite", Bool, at::isfinite(a), "isfinite({0})", Cheap, -10, 10, "True where x is neither infinite nor NaN.") \
  ROW(IsInf, "isinf", Bool, at::isinf(a), "isinf({0})", Cheap, -10, 10, "True where x is infinite.") \
  ROW(IsNan, "isnan", Bool, at::isnan(a), "isnan({0})", Cheap, -10, 10, "True where x is NaN.") \
  ROW(IsNegInf, "isneginf", Bool, at::isneginf(a), "isneginf({0})", Cheap, -10, 10, "True where x is minus infinity. Real types only.") \
  ROW(IsPosInf, "isposinf", Bool, at::isposinf(a), "isposinf({0})", Cheap, -10, 10, "True where x is plus infinity. Real types only.") \
  ROW(IsReal, "isreal", Bool, at::isreal(a), "isreal({0})", Cheap, -10, 10, "True where the imaginary part is 0.") \
  ROW(Lgamma, "lgamma", Float, at::lgamma(a), "lgamma({0})", Dear, 0.1, 10, "Logarithm of |Gamma(x)|. Real types only.") \
  ROW(Log, "log", Float, at::log(a), "log({0})", Dear, 0.01, 10, "Natural logarithm.") \
  ROW(Log10, "log10", Float, at::log10(a), "log10({0})", Dear, 0.01, 10, "Logarithm to base 10.") \
  ROW(Log1p, "log1p", Float, at::log1p(a), "log1p({0})", Dear, -0.9, 10, "log(1 + x) without cancellation near 0.") \
  ROW(Log2, "log2", Float, at::log2(a), "log2({0})", Dear, 0.01, 10, "Logarithm to base 2.") \
  ROW(LogicalNot, "logical_not", Logical, at::logical_not(a), "!{0}", Cheap, -2, 2, "True where x is 0.") \
  ROW(Neg, "neg", Default, at::neg(a), "-{0}", Cheap, -10, 10, "-x.") \
  ROW(Real, "real", Keep, at::real(a), "real({0})", Cheap, -10, 10, "Real part of a complex value; a copy of a real one.") \
  ROW(Reciprocal, "reciprocal", Float, at::reciprocal(a), "1 / {0}", Cheap, 0.1, 10, "1 / x.") \
  ROW(Relu, "relu", Keep, at::relu(a), "relu({0})", Cheap, -10, 10, "max(x, 0); NaN stays NaN. Real types only.") \
  ROW(Round, "round", Keep, at::round(a), "rint({0})", Cheap, -10, 10, "Nearest integer, ties to even, in x's type.") \
  ROW(Rsqrt, "rsqrt", Float, at::rsqrt(a), "rsqrt({0})", Cheap, 0.1, 10, "1 / sqrt(x).") \
  ROW(Sigmoid, "sigmoid", Float, at::sigmoid(a), "sigmoid({0})", Dear, -10, 10, "1 / (1 + exp(-x)).") \
  ROW(Sign, "sign", Keep, at::sgn(a), "sign({0})", Cheap, -10, 10, "-1, 0 or 1; x / |x| of a complex number.") \
  ROW(Signbit, "signbit", Bool, at::signbit(a), "signbit({0})", Cheap, -10, 10, "True where the sign bit is set, -0.0 included. Real types only.") \
  ROW(Silu, "silu", Keep, at::silu(a), "silu({0})", Dear, -10, 10, "x * sigmoid(x). Floating and complex types.") \
  ROW(Sin, "sin", Float, at::sin(a), "sin({0})", Dear, -10, 10, "Sine of x in radians.") \
  ROW(Sinh, "sinh", Float, at::sinh(a), "sinh({0})", Dear, -5, 5, "Hyperbolic sine.") \
  ROW(Sqrt, "sqrt", Float, at::sqrt(a), "sqrt({0})", Cheap, 0, 10, "Square root.") \
  ROW(Tan, "tan", Float, at::tan(a), "tan({0})", Dear, -1.5, 1.5, "Tangent of x in radians.") \
  ROW(Tanh, "tanh", Float, at::tanh(a), "tanh({0})", Dear, -5, 5, "Hyperbolic tangent.") \
  ROW(Trunc, "trunc", Keep, at::trunc(a), "trunc({0})", Cheap, -10, 10, "x without its fraction, in x's type.")

#define NVF_FORALL_BINARY_OPS(ROW) \
  ROW(Add, "add", Default, at::add(a, b), "{0} + {1}", Cheap, -10, 10, "a + b; logical or of Bools.") \
  ROW(Atan2, "atan2", Float, at::atan2(a, b), "atan2({0}, {1})", Dear, -10, 10, "Angle of the point (b, a), in radians. Real types only.") \
  ROW(BitwiseAnd, "bitwise_and", Integer, at::bitwise_and(a, b), "{0} & {1}", Cheap, -10, 10, "Bitwise and.") \
  ROW(BitwiseLeftShift, "bitwise_left_shift", StrictInteger, at::bitwise_left_shift(a, b), "{0} << {1}", Cheap, 0, 5, "a shifted left by b bits.") \
  ROW(BitwiseOr, "bitwise_or", Integer, at::bitwise_or(a, b), "{0} | {1}", Cheap, -10, 10, "Bitwise or.") \
  ROW(BitwiseRightShift, "bitwise_right_shift", StrictInteger, at::bitwise_right_shift(a, b), "{0} >> {1}", Cheap, 0, 5, "a shifted right by b bits; the sign bit fills.") \
  ROW(BitwiseXor, "bitwise_xor", Integer, at::bitwise_xor(a, b), "{0} ^ {1}", Cheap, -10, 10, "Bitwise exclusive or.") \
  ROW(Div, "div", Default, quotient(a, b), "{0} / {1}", Cheap, 1, 10, "a / b; of integers the quotient truncated toward zero.") \
  ROW(Eq, "eq", Bool, at::eq(a, b), "{0} == {1}", Cheap, -3, 3, "a == b.") \
  ROW(Fmod, "fmod", Default, at::fmod(a, b), "fmod({0}, {1})", Dear, 1, 10, "Remainder with the sign of a.") \
  ROW(Gcd, "gcd", StrictInteger, commonDivisor(a, b), "gcd({0}, {1})", Dear, -20, 20, "Greatest common divisor.") \
  ROW(Ge, "ge", Bool, at::ge(a, b), "{0} >= {1}", Cheap, -3, 3, "a >= b.") \
  ROW(Gt, "gt", Bool, at::gt(a, b), "{0} > {1}", Cheap, -3, 3, "a > b.") \
  ROW(Le, "le", Bool, at::le(a, b), "{0} <= {1}", Cheap, -3, 3, "a <= b.") \
  ROW(LogicalAnd, "logical_and", Logical, at::logical_and(a, b), "{0} && {1}", Cheap, -1, 1, "True where both are not 0.") \
  ROW(LogicalOr, "logical_or", Logical, at::logical_or(a, b), "{0} || {1}", Cheap, -1, 1, "True where one is not 0.") \
  ROW(LogicalRightShift, "logical_right_shift", StrictInteger, logicalRightShift(a, b), "logicalRightShift({0}, {1})", Cheap, 0, 5, "a shifted right by b bits; zeros fill, a shift by the width or more gives 0.") \
  ROW(Lt, "lt", Bool, at::lt(a, b), "{0} < {1}", Cheap, -3, 3, "a < b.") \
  ROW(Maximum, "maximum", Default, at::maximum(a, b), "fmax({0}, {1})", Cheap, -10, 10, "The larger; NaN if one is NaN.") \
  ROW(Minimum, "minimum", Default, at::minimum(a, b), "fmin({0}, {1})", Cheap, -10, 10, "The smaller; NaN if one is NaN.") \
  ROW(Mod, "mod", Default, at::fmod(a, b), "{0} % {1}", Dear, 1, 10, "Remainder with the sign of a.") \
  ROW(Mul, "mul", Default, at::mul(a, b), "{0} * {1}", Cheap, -10, 10, "a * b; logical and of Bools.") \
  ROW(Ne, "ne", Bool, at::ne(a, b), "{0} != {1}", Cheap, -3, 3, "a != b.") \
  ROW(Nextafter, "nextafter", FullPrecision, nextAfter(a, b), "nextafter({0}, {1})", Dear, -10, 10, "The float after a in the direction of b.") \
  ROW(Pow, "pow", Default, powerOf(a, b), "pow({0}, {1})", Dear, 1, 4, "a to the power b.") \
  ROW(Remainder, "remainder", Default, at::remainder(a, b), "remainder({0}, {1})", Dear, 1, 10, "Remainder with the sign of b.") \
  ROW(Sub, "sub", Default, at::sub(a, b), "{0} - {1}", Cheap, -10, 10, "a - b.") \
  ROW(Truediv, "truediv", Float, at::true_divide(a, b), "{0} / {1}", Cheap, 1, 10, "a / b as real numbers.")
// clang-format on

enum class UnaryOpType {
#define NVF_ROW(name, ...) name,
  NVF_FORALL_UNARY_OPS(NVF_ROW)
#undef NVF_ROW
      Cast, ///< to the dtype of the output
};

enum class BinaryOpType {
#define NVF_ROW(name, ...) name,
  NVF_FORALL_BINARY_OPS(NVF_ROW)
#undef NVF_ROW
      CeilDiv, ///< of sizes
  Complex,     ///< real and imaginary part
};

enum class TernaryOpType { Where, Lerp, Threshold, Clamp };

/// What the table says of an operator, for generic code and for the bindings' documentation.
struct PointwiseRow {
  std::string_view name;
  PromotionGroup group;
  std::string_view code;
  OpCost cost;
  double low;
  double high;
  std::string_view doc;
};

const PointwiseRow& pointwiseRow(UnaryOpType type);
const PointwiseRow& pointwiseRow(BinaryOpType type);
std::string_view opText(UnaryOpType type);
std::string_view opText(BinaryOpType type);
std::string_view opText(TernaryOpType type);

} // namespace nvfuser
