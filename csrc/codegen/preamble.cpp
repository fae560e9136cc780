#include <codegen/preamble.h>

namespace nvfuser {

namespace {

constexpr const char* kTypes = R"(
typedef unsigned long nvf_u64; // a name that can stand before braces
// The bits of half types: what a compiler vectorises best.
typedef unsigned short nvf_bf16;
typedef unsigned short nvf_half;
#ifndef NVF_FROM_BF16
NVF_FN float nvf_from_bf16(nvf_bf16 x) { return nvf_float_of((unsigned)x << 16); }
#endif
#ifndef NVF_TO_BF16
NVF_FN nvf_bf16 nvf_to_bf16(float x) {
  const unsigned u = nvf_bits_of(x);
  const unsigned rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (nvf_bf16)(x != x ? 0x7fc0u : rounded);
}
#endif
#ifndef NVF_HALF
NVF_FN float nvf_from_half(nvf_half x) {
  const unsigned shifted = ((unsigned)x & 0x7fffu) << 13;
  const unsigned exponent = shifted & 0x0f800000u;
  // A subnormal is a number with the smallest exponent, less that number's leading 1.
  const float subnormal = nvf_float_of(shifted + 0x38800000u) - nvf_float_of(0x38800000u);
  const unsigned normal = shifted + (exponent == 0x0f800000u ? 0x70000000u : 0x38000000u);
  const unsigned magnitude = exponent == 0 ? nvf_bits_of(subnormal) : normal;
  return nvf_float_of(magnitude | (((unsigned)x & 0x8000u) << 16));
}
NVF_FN nvf_half nvf_to_half(float x) {
  const unsigned u = nvf_bits_of(x);
  const unsigned magnitude = u & 0x7fffffffu;
  // Adding 0.5 lets the processor round to a multiple of 2^-24.
  const unsigned subnormal =
      nvf_bits_of(nvf_float_of(magnitude) + 0.5f) - 0x3f000000u;
  const unsigned normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  const unsigned finite = magnitude < 0x38800000u ? subnormal : normal;
  const unsigned rounded = magnitude > 0x7f800000u ? 0x7e00u : magnitude >= 0x47800000u ? 0x7c00u : finite;
  return (nvf_half)(rounded | ((u >> 16) & 0x8000u));
}
#endif
)";

constexpr const char* kMath = R"(
#ifndef NVF_DIV
#define NVF_DIV(a, b) ((a) / (b))
#endif
#define NVF_MATH(T, s) \
NVF_FN T nvf_abs(T x) { return NVF_LIB(fabs, s)(x); } \
NVF_FN T nvf_ceil(T x) { return NVF_LIB(ceil, s)(x); } \
NVF_FN T nvf_floor(T x) { return NVF_LIB(floor, s)(x); } \
NVF_FN T nvf_trunc(T x) { return NVF_LIB(trunc, s)(x); } \
NVF_FN T nvf_rint(T x) { return NVF_LIB(nearbyint, s)(x); } \
NVF_FN T nvf_sqrt(T x) { return NVF_LIB(sqrt, s)(x); } \
NVF_FN T nvf_div(T a, T b) { return NVF_DIV(a, b); } \
NVF_FN T nvf_frac(T x) { return x - NVF_LIB(trunc, s)(x); } \
NVF_FN T nvf_sign(T x) { return (T)((x > 0) - (x < 0)); } \
NVF_FN bool nvf_isnan(T x) { return x != x; } \
NVF_FN bool nvf_isneginf(T x) { return x == -nvf_inf##s(); } \
NVF_FN bool nvf_isposinf(T x) { return x == nvf_inf##s(); } \
NVF_FN T nvf_remainder(T a, T b) { T r = fmod##s(a, b); return r != 0 && ((b < 0) != (r < 0)) ? r + b : r; } \
NVF_FN bool nvf_isfinite(T x) { return NVF_LIB(fabs, s)(x) < nvf_inf##s(); } \
NVF_FN bool nvf_isinf(T x) { return NVF_LIB(fabs, s)(x) == nvf_inf##s(); } \
NVF_FN T nvf_exp(T x) { return exp##s(x); } NVF_FN T nvf_log(T x) { return log##s(x); } \
NVF_FN T nvf_sin(T x) { return sin##s(x); } NVF_FN T nvf_cos(T x) { return cos##s(x); } \
NVF_FN T nvf_tan(T x) { return tan##s(x); } NVF_FN T nvf_tanh(T x) { return tanh##s(x); } \
NVF_FN T nvf_sinh(T x) { return sinh##s(x); } NVF_FN T nvf_cosh(T x) { return cosh##s(x); } \
NVF_FN T nvf_asin(T x) { return asin##s(x); } NVF_FN T nvf_acos(T x) { return acos##s(x); } \
NVF_FN T nvf_atan(T x) { return atan##s(x); } NVF_FN T nvf_asinh(T x) { return asinh##s(x); } \
NVF_FN T nvf_acosh(T x) { return acosh##s(x); } NVF_FN T nvf_atanh(T x) { return atanh##s(x); } \
NVF_FN T nvf_erf(T x) { return erf##s(x); } NVF_FN T nvf_erfc(T x) { return erfc##s(x); } \
NVF_FN T nvf_exp2(T x) { return exp2##s(x); } NVF_FN T nvf_expm1(T x) { return expm1##s(x); } \
NVF_FN T nvf_log1p(T x) { return log1p##s(x); } NVF_FN T nvf_log2(T x) { return log2##s(x); } \
NVF_FN T nvf_log10(T x) { return log10##s(x); } NVF_FN T nvf_pow(T a, T b) { return pow##s(a, b); } \
NVF_FN T nvf_atan2(T a, T b) { return atan2##s(a, b); } NVF_FN T nvf_fmod(T a, T b) { return fmod##s(a, b); } \
NVF_FN T nvf_nextafter(T a, T b) { return nextafter##s(a, b); }
NVF_MATH(float, f)
NVF_MATH(double, )
)";

// Sums, differences and products of integers are taken of unsigned ones, which wrap in any case.
constexpr const char* kIntegers = R"(
template <typename T> NVF_FN T nvf_ceil(T x) { return x; }
template <typename T> NVF_FN T nvf_floor(T x) { return x; }
template <typename T> NVF_FN T nvf_trunc(T x) { return x; }
template <typename T> NVF_FN T nvf_rint(T x) { return x; }
template <typename T> NVF_FN T nvf_real(T x) { return x; }
template <typename T> NVF_FN T nvf_sign(T x) { return (T)((x > 0) - (x < 0)); }
template <typename T> NVF_FN T nvf_fmax(T a, T b) { return a > b ? a : b; }
template <typename T> NVF_FN T nvf_fmin(T a, T b) { return a < b ? a : b; }
template <typename T> NVF_FN T nvf_top(T a, T b) { return a > b ? a : b; }
template <typename T> NVF_FN T nvf_bottom(T a, T b) { return a < b ? a : b; }
template <typename T> NVF_FN bool nvf_isfinite(T) { return true; }
template <typename T> NVF_FN bool nvf_isinf(T) { return false; }
template <typename T> NVF_FN bool nvf_isnan(T) { return false; }
template <typename T> NVF_FN bool nvf_isneginf(T) { return false; }
template <typename T> NVF_FN bool nvf_isposinf(T) { return false; }
template <typename T> NVF_FN bool nvf_isreal(T) { return true; }
template <typename T> NVF_FN bool nvf_signbit(T x) { return x < 0; }
#define NVF_INT(T) \
NVF_FN T nvf_add(T a, T b) { return (T)((unsigned T)a + (unsigned T)b); } \
NVF_FN T nvf_sub(T a, T b) { return (T)((unsigned T)a - (unsigned T)b); } \
NVF_FN T nvf_mul(T a, T b) { return (T)((unsigned T)a * (unsigned T)b); } \
NVF_FN T nvf_neg(T x) { return (T)(0 - (unsigned T)x); } \
NVF_FN T nvf_abs(T x) { return x < 0 ? nvf_neg(x) : x; } \
NVF_FN T nvf_relu(T x) { return x < 0 ? (T)0 : x; } \
NVF_FN T nvf_shl(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : (T)((unsigned T)a << b); } \
NVF_FN T nvf_shr(T a, T b) { const T last = 8 * sizeof(T) - 1; return a >> (b < 0 || b > last ? last : b); } \
NVF_FN T nvf_logicalRightShift(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : (T)((unsigned T)a >> b); } \
NVF_FN T nvf_lerp(T a, T b, T w) { return nvf_add(a, nvf_mul(w, nvf_sub(b, a))); } \
NVF_FN T nvf_quotient(T a, T b) { return b == -1 ? nvf_neg(a) : a / b; } \
NVF_FN T nvf_fmod(T a, T b) { return b == -1 ? 0 : a % b; } \
NVF_FN T nvf_remainder(T a, T b) { const T r = nvf_fmod(a, b); return r != 0 && ((b < 0) != (r < 0)) ? r + b : r; } \
NVF_FN T nvf_divisor(T b, long* error, long node) { if (b == 0) *error = node; return b == 0 ? 1 : b; } \
NVF_FN T nvf_quotient(T a, T b, long* error, long node) { return nvf_quotient(a, nvf_divisor(b, error, node)); } \
NVF_FN T nvf_fmod(T a, T b, long* error, long node) { return nvf_fmod(a, nvf_divisor(b, error, node)); } \
NVF_FN T nvf_remainder(T a, T b, long* error, long node) { return nvf_remainder(a, nvf_divisor(b, error, node)); } \
NVF_FN T nvf_gcd(T a, T b) { \
  for (a = nvf_abs(a), b = nvf_abs(b); a != 0;) { const T c = a; a = nvf_fmod(b, a); b = c; } \
  return b; } \
NVF_FN T nvf_pow(T a, T b) { \
  if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0; \
  T r = 1; \
  for (; b != 0; b >>= 1, a = nvf_mul(a, a)) r = nvf_mul(r, (b & 1) != 0 ? a : 1); \
  return r; }
NVF_INT(int)
NVF_INT(long)
)";

} // namespace

std::string commonPreamble() {
  return std::string(kTypes) + kMath + kIntegers;
}

} // namespace nvfuser
