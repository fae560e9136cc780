#include <codegen/cpu_preamble.h>

namespace nvfuser {

namespace {

// The C library's functions exist in a vector form where glibc has libmvec, all of those named here
// from 2.35 on; the attribute makes the compiler use it inside simd loops.
constexpr const char* kLibrary = R"(
#if __has_include(<features.h>)
#include <features.h>
#endif
#if defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#if __GLIBC_PREREQ(2, 35)
#define NVF_SIMD __attribute__((simd("notinbranch")))
#endif
#endif
#ifndef NVF_SIMD
#define NVF_SIMD
#endif
extern "C" {
#define NVF_F1(name) NVF_SIMD float name##f(float) noexcept; NVF_SIMD double name(double) noexcept;
#define NVF_F2(name) NVF_SIMD float name##f(float, float) noexcept; NVF_SIMD double name(double, double) noexcept;
#define NVF_S2(name) float name##f(float, float) noexcept; double name(double, double) noexcept;
NVF_F1(exp) NVF_F1(log) NVF_F1(sin) NVF_F1(cos) NVF_F1(tan) NVF_F1(tanh) NVF_F1(sinh) NVF_F1(cosh)
NVF_F1(asin) NVF_F1(acos) NVF_F1(atan) NVF_F1(asinh) NVF_F1(acosh) NVF_F1(atanh) NVF_F1(erf) NVF_F1(erfc)
NVF_F1(exp2) NVF_F1(expm1) NVF_F1(log1p) NVF_F1(log2) NVF_F1(log10)
NVF_F2(pow) NVF_F2(atan2)
NVF_S2(fmod) NVF_S2(nextafter)
float lgammaf_r(float, int*) noexcept; double lgamma_r(double, int*) noexcept;
}
)";

constexpr const char* kTypes = R"(
// The bits of half types: what the compiler vectorises best.
typedef unsigned short nvf_bf16;
typedef unsigned short nvf_half;
static inline float nvf_from_bf16(nvf_bf16 x) { return __builtin_bit_cast(float, (unsigned)x << 16); }
static inline nvf_bf16 nvf_to_bf16(float x) {
  const unsigned u = __builtin_bit_cast(unsigned, x);
  const unsigned rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (nvf_bf16)(x != x ? 0x7fc0u : rounded);
}
static inline float nvf_from_half(nvf_half x) {
  const unsigned shifted = ((unsigned)x & 0x7fffu) << 13;
  const unsigned exponent = shifted & 0x0f800000u;
  // A subnormal is a number with the smallest exponent, less that number's leading 1.
  const float subnormal = __builtin_bit_cast(float, shifted + 0x38800000u) - __builtin_bit_cast(float, 0x38800000u);
  const unsigned normal = shifted + (exponent == 0x0f800000u ? 0x70000000u : 0x38000000u);
  const unsigned magnitude = exponent == 0 ? __builtin_bit_cast(unsigned, subnormal) : normal;
  return __builtin_bit_cast(float, magnitude | (((unsigned)x & 0x8000u) << 16));
}
static inline nvf_half nvf_to_half(float x) {
  const unsigned u = __builtin_bit_cast(unsigned, x);
  const unsigned magnitude = u & 0x7fffffffu;
  // Adding 0.5 lets the processor round to a multiple of 2^-24.
  const unsigned subnormal =
      __builtin_bit_cast(unsigned, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  const unsigned normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  const unsigned finite = magnitude < 0x38800000u ? subnormal : normal;
  const unsigned rounded = magnitude > 0x7f800000u ? 0x7e00u : magnitude >= 0x47800000u ? 0x7c00u : finite;
  return (nvf_half)(rounded | ((u >> 16) & 0x8000u));
}
)";

constexpr const char* kFunctions = R"(
static inline float nvf_inff() { return __builtin_inff(); }
static inline float nvf_nanf() { return __builtin_nanf(""); }
static inline double nvf_inf() { return __builtin_inf(); }
static inline double nvf_nan() { return __builtin_nan(""); }
#define NVF_MATH(T, s) \
static inline T nvf_abs(T x) { return __builtin_fabs##s(x); } \
static inline T nvf_ceil(T x) { return __builtin_ceil##s(x); } \
static inline T nvf_floor(T x) { return __builtin_floor##s(x); } \
static inline T nvf_trunc(T x) { return __builtin_trunc##s(x); } \
static inline T nvf_rint(T x) { return __builtin_nearbyint##s(x); } \
static inline T nvf_sqrt(T x) { return __builtin_sqrt##s(x); } \
static inline T nvf_frac(T x) { return x - __builtin_trunc##s(x); } \
static inline T nvf_fmax(T a, T b) { return (a >= b) | (a != a) ? a : b; } \
static inline T nvf_fmin(T a, T b) { return (a <= b) | (a != a) ? a : b; } \
static inline T nvf_top(T a, T b) { return (a > b) | (a != a) ? a : b; } \
static inline T nvf_bottom(T a, T b) { return (a < b) | (a != a) ? a : b; } \
static inline T nvf_relu(T x) { return x < 0 ? (T)0 : x; } \
static inline T nvf_sign(T x) { return (T)((x > 0) - (x < 0)); } \
static inline T nvf_rsqrt(T x) { return 1 / __builtin_sqrt##s(x); } \
static inline bool nvf_isnan(T x) { return x != x; } \
static inline bool nvf_isneginf(T x) { return x == -__builtin_inf##s(); } \
static inline bool nvf_isposinf(T x) { return x == __builtin_inf##s(); } \
static inline T nvf_remainder(T a, T b) { T r = fmod##s(a, b); return r != 0 && ((b < 0) != (r < 0)) ? r + b : r; } \
static inline bool nvf_isfinite(T x) { return __builtin_fabs##s(x) < __builtin_inf##s(); } \
static inline bool nvf_isinf(T x) { return __builtin_fabs##s(x) == __builtin_inf##s(); } \
static inline T nvf_lerp(T a, T b, T w) { return (w < 0 ? -w : w) < (T)0.5 ? a + w * (b - a) : b - (b - a) * (1 - w); } \
static inline T nvf_exp(T x) { return exp##s(x); } static inline T nvf_log(T x) { return log##s(x); } \
static inline T nvf_sin(T x) { return sin##s(x); } static inline T nvf_cos(T x) { return cos##s(x); } \
static inline T nvf_tan(T x) { return tan##s(x); } static inline T nvf_tanh(T x) { return tanh##s(x); } \
static inline T nvf_sinh(T x) { return sinh##s(x); } static inline T nvf_cosh(T x) { return cosh##s(x); } \
static inline T nvf_asin(T x) { return asin##s(x); } static inline T nvf_acos(T x) { return acos##s(x); } \
static inline T nvf_atan(T x) { return atan##s(x); } static inline T nvf_asinh(T x) { return asinh##s(x); } \
static inline T nvf_acosh(T x) { return acosh##s(x); } static inline T nvf_atanh(T x) { return atanh##s(x); } \
static inline T nvf_erf(T x) { return erf##s(x); } static inline T nvf_erfc(T x) { return erfc##s(x); } \
static inline T nvf_exp2(T x) { return exp2##s(x); } static inline T nvf_expm1(T x) { return expm1##s(x); } \
static inline T nvf_log1p(T x) { return log1p##s(x); } static inline T nvf_log2(T x) { return log2##s(x); } \
static inline T nvf_log10(T x) { return log10##s(x); } static inline T nvf_lgamma(T x) { int sign; return lgamma##s##_r(x, &sign); } \
static inline T nvf_pow(T a, T b) { return pow##s(a, b); } static inline T nvf_atan2(T a, T b) { return atan2##s(a, b); } \
static inline T nvf_fmod(T a, T b) { return fmod##s(a, b); } \
static inline T nvf_nextafter(T a, T b) { return nextafter##s(a, b); }
NVF_MATH(float, f)
NVF_MATH(double, )
// x with erf(x) = y and erfc(x) = c, where c = 1 - y in [0, 1]: a series for small y, else a formula in
// elementary functions, both good to some 0.3 %, and three steps of Halley on whichever of erf and
// erfc does not cancel.
static inline double nvf_inverse(double y, double c) {
  const double s = y * y, t = log(c * (2 - c)), k = 4.3307467508054275 + 0.5 * t;
  const double near = y * 0.88622692545275801 * (1 + s * (0.26179938779914944 + s * 0.14393173084921979));
  const double far = __builtin_sqrt(__builtin_sqrt(k * k - t / 0.147) - k);
  double x = y < 0.5 ? near : far;
  for (int i = 0; i < 3; ++i) {
    const double excess = y < 0.5 ? erf(x) - y : c - erfc(x), root = exp(0.5 * x * x);
    const double step = excess * root * root * 0.88622692545275801;
    x -= step / (1 + x * step);
  }
  return c == 0 ? __builtin_inf() : x;
}
static inline double nvf_erfinv(double x) {
  const double y = __builtin_fabs(x);
  return __builtin_copysign(nvf_inverse(y, 1 - y), x);
}
static inline double nvf_erfcinv(double x) {
  const double c = x > 1 ? 2 - x : x, inverse = nvf_inverse(1 - c, c);
  return x > 1 ? -inverse : inverse;
}
static inline float nvf_erfinv(float x) { return (float)nvf_erfinv((double)x); }
static inline float nvf_erfcinv(float x) { return (float)nvf_erfcinv((double)x); }
// By the bits: of the built-in function g++ 12 makes an instruction for AVX-512 that it does not know.
static inline bool nvf_signbit(float x) { return (__builtin_bit_cast(unsigned, x) & 0x80000000u) != 0; }
static inline bool nvf_signbit(double x) { return (__builtin_bit_cast(unsigned long, x) & 0x8000000000000000ul) != 0; }
// Of integers and bools, where they differ from floating types.
template <typename T> static inline T nvf_ceil(T x) { return x; }
template <typename T> static inline T nvf_floor(T x) { return x; }
template <typename T> static inline T nvf_trunc(T x) { return x; }
template <typename T> static inline T nvf_rint(T x) { return x; }
template <typename T> static inline T nvf_real(T x) { return x; }
template <typename T> static inline T nvf_sign(T x) { return (T)((x > 0) - (x < 0)); }
template <typename T> static inline T nvf_fmax(T a, T b) { return a > b ? a : b; }
template <typename T> static inline T nvf_fmin(T a, T b) { return a < b ? a : b; }
template <typename T> static inline bool nvf_isfinite(T) { return true; }
template <typename T> static inline bool nvf_isinf(T) { return false; }
template <typename T> static inline bool nvf_isnan(T) { return false; }
template <typename T> static inline bool nvf_isneginf(T) { return false; }
template <typename T> static inline bool nvf_isposinf(T) { return false; }
template <typename T> static inline bool nvf_isreal(T) { return true; }
template <typename T> static inline bool nvf_signbit(T x) { return x < 0; }
// What the processor makes of numbers that no integer holds.
static inline int nvf_to_int(float x) { return (x >= -0x1p31f) & (x < 0x1p31f) ? (int)x : -2147483647 - 1; }
static inline int nvf_to_int(double x) { return (x > -0x1p31 - 1) & (x < 0x1p31) ? (int)x : -2147483647 - 1; }
static inline long nvf_to_long(float x) { return (x >= -0x1p63f) & (x < 0x1p63f) ? (long)x : -9223372036854775807L - 1; }
static inline long nvf_to_long(double x) { return (x >= -0x1p63) & (x < 0x1p63) ? (long)x : -9223372036854775807L - 1; }
#define NVF_INT(T) \
static inline T nvf_abs(T x) { return x < 0 ? -x : x; } \
static inline T nvf_relu(T x) { return x < 0 ? (T)0 : x; } \
static inline T nvf_shl(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : a << b; } \
static inline T nvf_shr(T a, T b) { const T last = 8 * sizeof(T) - 1; return a >> (b < 0 || b > last ? last : b); } \
static inline T nvf_logicalRightShift(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : (T)((unsigned T)a >> b); } \
static inline T nvf_lerp(T a, T b, T w) { return a + w * (b - a); } \
static inline T nvf_quotient(T a, T b) { return b == -1 ? -a : a / b; } \
static inline T nvf_fmod(T a, T b) { return b == -1 ? 0 : a % b; } \
static inline T nvf_remainder(T a, T b) { const T r = nvf_fmod(a, b); return r != 0 && ((b < 0) != (r < 0)) ? r + b : r; } \
static inline T nvf_divisor(T b, long* error, long node) { if (b == 0) *error = node; return b == 0 ? 1 : b; } \
static inline T nvf_quotient(T a, T b, long* error, long node) { return nvf_quotient(a, nvf_divisor(b, error, node)); } \
static inline T nvf_fmod(T a, T b, long* error, long node) { return nvf_fmod(a, nvf_divisor(b, error, node)); } \
static inline T nvf_remainder(T a, T b, long* error, long node) { return nvf_remainder(a, nvf_divisor(b, error, node)); } \
static inline T nvf_gcd(T a, T b) { \
  for (a = nvf_abs(a), b = nvf_abs(b); a != 0;) { const T c = a; a = nvf_fmod(b, a); b = c; } \
  return b; } \
static inline T nvf_pow(T a, T b) { \
  if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0; \
  T r = 1; \
  for (; b != 0; b >>= 1, a *= a) r *= (b & 1) != 0 ? a : 1; \
  return r; }
NVF_INT(int)
NVF_INT(long)
static inline int nvf_top(int a, int b) { return a > b ? a : b; }
static inline int nvf_bottom(int a, int b) { return a < b ? a : b; }
static inline long nvf_top(long a, long b) { return a > b ? a : b; }
static inline long nvf_bottom(long a, long b) { return a < b ? a : b; }
#pragma omp declare reduction(nvf_top : float : omp_out = nvf_top(omp_out, omp_in)) initializer(omp_priv = -__builtin_inff())
#pragma omp declare reduction(nvf_top : double : omp_out = nvf_top(omp_out, omp_in)) initializer(omp_priv = -__builtin_inf())
#pragma omp declare reduction(nvf_bottom : float : omp_out = nvf_bottom(omp_out, omp_in)) initializer(omp_priv = __builtin_inff())
#pragma omp declare reduction(nvf_bottom : double : omp_out = nvf_bottom(omp_out, omp_in)) initializer(omp_priv = __builtin_inf())
)";

} // namespace

std::string cpuPreamble() {
  return std::string(kLibrary) + kTypes + kFunctions;
}

std::string_view cpuOmpReduction(ReductionType type, DataType dtype) {
  if (dtype == DataType::Half || dtype == DataType::BFloat16) {
    return "";
  }
  const bool is_bool = dtype == DataType::Bool;
  switch (type) {
    case ReductionType::Sum:
      return is_bool ? "|" : "+";
    case ReductionType::Prod:
      return is_bool ? "&" : "*";
    case ReductionType::Max:
      return is_bool ? "|" : isFloatingPointType(dtype) ? "nvf_top" : "max";
    case ReductionType::Min:
      return is_bool ? "&" : isFloatingPointType(dtype) ? "nvf_bottom" : "min";
  }
  return "";
}

std::vector<std::string> cpuTextFlags() {
  // Eager rounds a product before it is added: inf - inf must stay NaN, x * y - x * y must be 0.
  return {"-fwrapv", "-ffp-contract=off"};
}

} // namespace nvfuser
