#include <codegen/cpu_preamble.h>

#include <codegen/preamble.h>

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

// What the common functions need.
constexpr const char* kTarget = R"(
#define NVF_FN static inline
#define NVF_LIB(name, s) __builtin_##name##s
NVF_FN float nvf_inff() { return __builtin_inff(); }
NVF_FN float nvf_nanf() { return __builtin_nanf(""); }
NVF_FN double nvf_inf() { return __builtin_inf(); }
NVF_FN double nvf_nan() { return __builtin_nan(""); }
NVF_FN float nvf_float_of(unsigned bits) { return __builtin_bit_cast(float, bits); }
NVF_FN unsigned nvf_bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
NVF_FN double nvf_double_of(unsigned long bits) { return __builtin_bit_cast(double, bits); }
NVF_FN unsigned long nvf_bits_of(double x) { return __builtin_bit_cast(unsigned long, x); }
)";

constexpr const char* kFunctions = R"(
#define NVF_REAL(T, s) \
NVF_FN T nvf_fmax(T a, T b) { return (a >= b) | (a != a) ? a : b; } \
NVF_FN T nvf_fmin(T a, T b) { return (a <= b) | (a != a) ? a : b; } \
NVF_FN T nvf_top(T a, T b) { return (a > b) | (a != a) ? a : b; } \
NVF_FN T nvf_bottom(T a, T b) { return (a < b) | (a != a) ? a : b; } \
NVF_FN T nvf_relu(T x) { return x < 0 ? (T)0 : x; } \
NVF_FN T nvf_rsqrt(T x) { return 1 / __builtin_sqrt##s(x); } \
NVF_FN T nvf_sigmoid(T x) { return 1 / (1 + exp##s(-x)); } \
NVF_FN T nvf_silu(T x) { return x / (1 + exp##s(-x)); } \
NVF_FN T nvf_lgamma(T x) { int sign; return lgamma##s##_r(x, &sign); } \
NVF_FN T nvf_lerp(T a, T b, T w) { return (w < 0 ? -w : w) < (T)0.5 ? a + w * (b - a) : b - (b - a) * (1 - w); }
NVF_REAL(float, f)
NVF_REAL(double, )
// x with erf(x) = y and erfc(x) = c, where c = 1 - y in [0, 1]: a series for small y, else a formula in
// elementary functions, both good to some 0.3 %, and three steps of Halley on whichever of erf and
// erfc does not cancel.
NVF_FN double nvf_inverse(double y, double c) {
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
NVF_FN double nvf_erfinv(double x) {
  const double y = __builtin_fabs(x);
  return __builtin_copysign(nvf_inverse(y, 1 - y), x);
}
NVF_FN double nvf_erfcinv(double x) {
  const double c = x > 1 ? 2 - x : x, inverse = nvf_inverse(1 - c, c);
  return x > 1 ? -inverse : inverse;
}
NVF_FN float nvf_erfinv(float x) { return (float)nvf_erfinv((double)x); }
NVF_FN float nvf_erfcinv(float x) { return (float)nvf_erfcinv((double)x); }
// By the bits: of the built-in function g++ 12 makes an instruction for AVX-512 that it does not know.
NVF_FN bool nvf_signbit(float x) { return (nvf_bits_of(x) & 0x80000000u) != 0; }
NVF_FN bool nvf_signbit(double x) { return (nvf_bits_of(x) & 0x8000000000000000ul) != 0; }
// What the processor makes of numbers that no integer holds.
NVF_FN int nvf_to_int(float x) { return (x >= -0x1p31f) & (x < 0x1p31f) ? (int)x : -2147483647 - 1; }
NVF_FN int nvf_to_int(double x) { return (x > -0x1p31 - 1) & (x < 0x1p31) ? (int)x : -2147483647 - 1; }
NVF_FN long nvf_to_long(float x) { return (x >= -0x1p63f) & (x < 0x1p63f) ? (long)x : -9223372036854775807L - 1; }
NVF_FN long nvf_to_long(double x) { return (x >= -0x1p63) & (x < 0x1p63) ? (long)x : -9223372036854775807L - 1; }
#pragma omp declare reduction(nvf_top : float : omp_out = nvf_top(omp_out, omp_in)) initializer(omp_priv = -__builtin_inff())
#pragma omp declare reduction(nvf_top : double : omp_out = nvf_top(omp_out, omp_in)) initializer(omp_priv = -__builtin_inf())
#pragma omp declare reduction(nvf_bottom : float : omp_out = nvf_bottom(omp_out, omp_in)) initializer(omp_priv = __builtin_inff())
#pragma omp declare reduction(nvf_bottom : double : omp_out = nvf_bottom(omp_out, omp_in)) initializer(omp_priv = __builtin_inf())
)";

} // namespace

std::string cpuPreamble() {
  return std::string(kLibrary) + kTarget + commonPreamble() + kFunctions;
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
