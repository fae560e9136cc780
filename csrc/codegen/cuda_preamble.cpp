#include <codegen/cuda_preamble.h>

#include <codegen/preamble.h>
#include <codegen/text.h>
#include <ir/options.h>

#include <algorithm>

namespace nvfuser {

namespace {

// What the common functions need. Half types in the instructions of the hardware.
constexpr const char* kTarget = R"(
#define NVF_FN [[maybe_unused]] static __device__ __forceinline__
#define NVF_LIB(name, s) name##s
NVF_FN float nvf_float_of(unsigned bits) { return __uint_as_float(bits); }
NVF_FN unsigned nvf_bits_of(float x) { return __float_as_uint(x); }
NVF_FN double nvf_double_of(unsigned long bits) { return __longlong_as_double((long long)bits); }
NVF_FN unsigned long nvf_bits_of(double x) { return (unsigned long)__double_as_longlong(x); }
NVF_FN float nvf_inff() { return nvf_float_of(0x7f800000u); }
NVF_FN float nvf_nanf() { return nvf_float_of(0x7fc00000u); }
NVF_FN double nvf_inf() { return nvf_double_of(0x7ff0000000000000ul); }
NVF_FN double nvf_nan() { return nvf_double_of(0x7ff8000000000000ul); }
#ifdef __CUDA_ARCH__
#define NVF_HALF
NVF_FN float nvf_from_half(unsigned short x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
NVF_FN unsigned short nvf_to_half(float x) { unsigned short r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
// As IEEE rounds it, by the steps of a division; those that the divisor alone takes part in move out
// of loops. Where a step could overflow or underflow the compiler's own division serves.
static __device__ __noinline__ float nvf_divide_any(float a, float b) { return a / b; }
NVF_FN float nvf_divide(float a, float b) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  r = fmaf(fmaf(-b, r, 1.0f), r, r);
  float q = __fmul_rn(a, r);
  q = fmaf(fmaf(-b, q, a), r, q);
  q = fmaf(fmaf(-b, q, a), r, q);
  const bool is_plain = (fabsf(b) > 0x1p-40f) & (fabsf(b) < 0x1p40f);
  return is_plain & (fabsf(a) > 0x1p-80f) & (fabsf(a) < 0x1p80f) ? q : nvf_divide_any(a, b);
}
NVF_FN double nvf_divide(double a, double b) { return a / b; }
#define NVF_DIV(a, b) nvf_divide(a, b)
#if __CUDA_ARCH__ >= 800
#define NVF_AMPERE
#define NVF_TO_BF16
NVF_FN unsigned short nvf_to_bf16(float x) { unsigned short r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
#endif
#endif
)";

constexpr const char* kFunctions = R"(
NVF_FN unsigned nvf_pack_bf16x2(float low, float high) {
#ifdef NVF_AMPERE
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
#else
  return (unsigned)nvf_to_bf16(low) | ((unsigned)nvf_to_bf16(high) << 16);
#endif
}
NVF_FN unsigned nvf_pack_f16x2(float low, float high) {
#ifdef NVF_AMPERE
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
#else
  return (unsigned)nvf_to_half(low) | ((unsigned)nvf_to_half(high) << 16);
#endif
}
// NaN if one is NaN; the same bits whichever comes first.
NVF_FN float nvf_fmax(float a, float b) {
#ifdef NVF_AMPERE
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}
NVF_FN float nvf_fmin(float a, float b) {
#ifdef NVF_AMPERE
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a ? a : b != b ? b : fminf(a, b);
#endif
}
NVF_FN double nvf_fmax(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }
NVF_FN double nvf_fmin(double a, double b) { return a != a ? a : b != b ? b : fmin(a, b); }
// 4 / (1 + e) for e >= 0, by the hardware's reciprocal, which knows no subnormal numbers: the
// results above are not small enough to be any.
NVF_FN float nvf_quadruple(float e) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaf(e, 0.25f, 0.25f)));
  return r;
#else
  return 4 / (1 + e);
#endif
}
NVF_FN float nvf_sigmoid(float x) { return 0.25f * nvf_quadruple(expf(-x)); }
NVF_FN float nvf_silu(float x) { return (0.25f * x) * nvf_quadruple(expf(-x)); }
NVF_FN double nvf_sigmoid(double x) { return 1 / (1 + exp(-x)); }
NVF_FN double nvf_silu(double x) { return x / (1 + exp(-x)); }
#define NVF_REAL(T, s) \
NVF_FN T nvf_top(T a, T b) { return nvf_fmax(a, b); } \
NVF_FN T nvf_bottom(T a, T b) { return nvf_fmin(a, b); } \
NVF_FN T nvf_relu(T x) { return nvf_fmax(x, (T)0); } \
NVF_FN T nvf_rsqrt(T x) { return rsqrt##s(x); } \
NVF_FN T nvf_lgamma(T x) { return lgamma##s(x); } \
NVF_FN T nvf_erfinv(T x) { return erfinv##s(x); } \
NVF_FN T nvf_erfcinv(T x) { return erfcinv##s(x); } \
NVF_FN T nvf_lerp(T a, T b, T w) { return fabs##s(w) < (T)0.5 ? fma##s(w, b - a, a) : fma##s(a - b, 1 - w, b); }
NVF_REAL(float, f)
NVF_REAL(double, )
NVF_FN bool nvf_signbit(float x) { return (nvf_bits_of(x) >> 31) != 0; }
NVF_FN bool nvf_signbit(double x) { return (nvf_bits_of(x) >> 63) != 0; }
// What the hardware makes of numbers that no integer holds.
NVF_FN int nvf_to_int(float x) { return __float2int_rz(x); }
NVF_FN int nvf_to_int(double x) { return __double2int_rz(x); }
NVF_FN long nvf_to_long(float x) { return (long)__float2ll_rz(x); }
NVF_FN long nvf_to_long(double x) { return (long)__double2ll_rz(x); }
)";

constexpr const char* kVectors = R"(
// See divisorWord().
NVF_FN int nvf_index_div(int n, long word) { return (int)(((unsigned)n + __umulhi((unsigned)n, (unsigned)word)) >> (unsigned)(word >> 32)); }
template <typename T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) nvf_vec {
  T v[N];
  __device__ __forceinline__ T& operator[](int i) { return v[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return v[i]; }
};
template <int bytes> struct nvf_word { typedef uint4 type; };
template <> struct nvf_word<1> { typedef unsigned char type; };
template <> struct nvf_word<2> { typedef unsigned short type; };
template <> struct nvf_word<4> { typedef unsigned type; };
template <> struct nvf_word<8> { typedef uint2 type; };
#define NVF_ACCESS(name, read, write) \
template <int N, typename T> NVF_FN nvf_vec<T, N> nvf_load##name(const T* p) { \
  constexpr int bytes = sizeof(T) * N; \
  typedef typename nvf_word<bytes>::type word; \
  nvf_vec<T, N> r; \
  _Pragma("unroll") for (int i = 0; i < (bytes + 15) / 16; ++i) ((word*)r.v)[i] = read((const word*)p + i); \
  return r; \
} \
template <int N, typename T> NVF_FN void nvf_store##name(T* p, const nvf_vec<T, N>& x) { \
  constexpr int bytes = sizeof(T) * N; \
  typedef typename nvf_word<bytes>::type word; \
  _Pragma("unroll") for (int i = 0; i < (bytes + 15) / 16; ++i) write((word*)p + i, ((const word*)x.v)[i]); \
}
#define NVF_READ(p) (*(p))
#define NVF_WRITE(p, x) (*(p) = (x))
// What a load gives: two narrow elements stay one word until one of them is asked for.
template <typename T, int N, bool is_packed = sizeof(T) == 2 && N % 2 == 0> struct nvf_words {
  nvf_vec<T, N> all;
  __device__ __forceinline__ T get(int i) const { return all.v[i]; }
};
template <typename T, int N> struct alignas(2 * N < 16 ? 2 * N : 16) nvf_words<T, N, true> {
  unsigned all[N / 2];
  __device__ __forceinline__ T get(int i) const { return (T)(all[i / 2] >> (16 * (i % 2))); }
};
#define NVF_READER(name, read) \
template <int N, typename T> NVF_FN nvf_words<T, N> nvf_read##name(const T* p) { \
  constexpr int bytes = sizeof(T) * N; \
  typedef typename nvf_word<bytes>::type word; \
  nvf_words<T, N> r; \
  _Pragma("unroll") for (int i = 0; i < (bytes + 15) / 16; ++i) ((word*)&r.all)[i] = read((const word*)p + i); \
  return r; \
}
NVF_READER(, NVF_READ)
NVF_READER(_const, __ldg)
NVF_ACCESS(, NVF_READ, NVF_WRITE)
NVF_ACCESS(_stream, __ldcs, __stcs)
NVF_ACCESS(_const, __ldg, NVF_WRITE)
)";

constexpr const char* kReductions = R"(
template <typename T> NVF_FN T nvf_shuffle_xor(unsigned mask, T x, int lanes) {
  if constexpr (sizeof(T) < 4) {
    return (T)__shfl_xor_sync(mask, (unsigned)x, lanes);
  } else {
    T r;
    _Pragma("unroll") for (int i = 0; i < (int)(sizeof(T) / 4); ++i)
      ((unsigned*)&r)[i] = __shfl_xor_sync(mask, ((const unsigned*)&x)[i], lanes);
    return r;
  }
}
template <int N, typename T, typename Op>
NVF_FN void nvf_warp_reduce(T (&values)[N], Op op, int width = 32, unsigned mask = 0xffffffffu) {
  _Pragma("unroll") for (int lanes = 16; lanes > 0; lanes /= 2) {
    if (lanes < width) {
      _Pragma("unroll") for (int i = 0; i < N; ++i) values[i] = op(values[i], nvf_shuffle_xor(mask, values[i], lanes));
    }
  }
}
NVF_FN bool nvf_is_power(unsigned x) { return (x & (x - 1)) == 0; }
// Over the threads place = 0 .. length - 1 of a row; thread number place + length * row.
template <int N, typename T, typename Op>
NVF_FN void nvf_reduce_rows(T (&values)[N], Op op, T init, void* shared, unsigned place, unsigned length, unsigned row, unsigned rows) {
  const unsigned thread = place + length * row, warp = thread / 32, left = length * rows - 32 * warp;
  const unsigned mask = left < 32 ? (1u << left) - 1 : 0xffffffffu;
  const bool in_warp = length <= 32 && nvf_is_power(length);
  if (in_warp || length % 32 == 0 || rows == 1) {
    // A warp has threads of one row only, or whole rows.
    const unsigned lane = thread % 32, warps = (length + 31) / 32;
    if (in_warp || left >= 32) {
      nvf_warp_reduce(values, op, in_warp ? (int)length : 32, mask);
    } else {
      // Lane 0 has the result.
      _Pragma("unroll 1") for (int lanes = 16; lanes > 0; lanes /= 2) {
        _Pragma("unroll") for (int i = 0; i < N; ++i) {
          const T other = nvf_shuffle_xor(mask, values[i], lanes);
          values[i] = (lane ^ lanes) < left ? op(values[i], other) : values[i];
        }
      }
    }
    if (in_warp) return;
    T* part = (T*)shared + row * warps * N;
    __syncthreads();
    if (lane == 0) {
      _Pragma("unroll") for (int i = 0; i < N; ++i) part[place / 32 * N + i] = values[i];
    }
    __syncthreads();
    if (length % 32 == 0) {
      const int width = warps > 16 ? 32 : warps > 8 ? 16 : warps > 4 ? 8 : warps > 2 ? 4 : warps > 1 ? 2 : 1;
      const unsigned source = lane % width;
      _Pragma("unroll") for (int i = 0; i < N; ++i) values[i] = source < warps ? part[source * N + i] : init;
      nvf_warp_reduce(values, op, width);
    } else {
      _Pragma("unroll") for (int i = 0; i < N; ++i) values[i] = part[i];
      _Pragma("unroll 1") for (unsigned w = 1; w < warps; ++w) {
        _Pragma("unroll") for (int i = 0; i < N; ++i) values[i] = op(values[i], part[w * N + i]);
      }
    }
    return;
  }
  // Rows that begin anywhere in a warp.
  T* line = (T*)shared + row * length;
  _Pragma("unroll") for (int i = 0; i < N; ++i) {
    __syncthreads();
    line[place] = values[i];
    __syncthreads();
    T sum = line[0];
    _Pragma("unroll 1") for (unsigned k = 1; k < length; ++k) sum = op(sum, line[k]);
    values[i] = sum;
  }
}
template <int N, typename T, typename Op>
NVF_FN void nvf_block_reduce_x(T (&values)[N], Op op, T init, void* shared, unsigned bx = blockDim.x, unsigned by = blockDim.y, unsigned bz = blockDim.z) {
  if (bx > 1) nvf_reduce_rows(values, op, init, shared, threadIdx.x, bx, threadIdx.y + by * threadIdx.z, by * bz);
}
template <int N, typename T, typename Op>
NVF_FN void nvf_block_reduce_xy(T (&values)[N], Op op, T init, void* shared, unsigned bx = blockDim.x, unsigned by = blockDim.y, unsigned bz = blockDim.z) {
  if (bx * by > 1) nvf_reduce_rows(values, op, init, shared, threadIdx.x + bx * threadIdx.y, bx * by, threadIdx.z, bz);
}
template <int N, typename T, typename Op>
NVF_FN void nvf_block_reduce_y(T (&values)[N], Op op, T init, void* shared, unsigned bx = blockDim.x, unsigned by = blockDim.y, unsigned bz = blockDim.z) {
  if (by == 1) return;
  unsigned rows = by, row = threadIdx.y;
  bool writes = true;
  if (bx < 32 && nvf_is_power(bx) && (bx * by) % 32 == 0) {
    // First over those of a warp.
    _Pragma("unroll") for (int lanes = 16; lanes > 0; lanes /= 2) {
      if (lanes >= (int)bx) {
        _Pragma("unroll") for (int i = 0; i < N; ++i) values[i] = op(values[i], nvf_shuffle_xor(0xffffffffu, values[i], lanes));
      }
    }
    writes = (threadIdx.x + bx * threadIdx.y) % 32 < bx;
    rows = bx * by / 32;
    row = bx * threadIdx.y / 32;
    if (rows == 1) return;
  }
  const unsigned columns = bx * N;
  T* slab = (T*)shared + threadIdx.z * rows * columns;
  __syncthreads();
  if (writes) {
    _Pragma("unroll") for (int i = 0; i < N; ++i) slab[row * columns + i * bx + threadIdx.x] = values[i];
  }
  __syncthreads();
  if (rows <= 4) {
    _Pragma("unroll") for (int i = 0; i < N; ++i) {
      T sum = slab[i * bx + threadIdx.x];
      _Pragma("unroll 1") for (unsigned k = 1; k < rows; ++k) sum = op(sum, slab[k * columns + i * bx + threadIdx.x]);
      values[i] = sum;
    }
    return;
  }
  for (unsigned column = threadIdx.x + bx * threadIdx.y; column < columns; column += bx * by) {
    T sum = slab[column];
    _Pragma("unroll 2") for (unsigned k = 1; k < rows; ++k) sum = op(sum, slab[k * columns + column]);
    slab[column] = sum;
  }
  __syncthreads();
  _Pragma("unroll") for (int i = 0; i < N; ++i) values[i] = slab[i * bx + threadIdx.x];
}
)";

bool isPower(int64_t x) {
  return (x & (x - 1)) == 0;
}

} // namespace

std::string cudaPreamble() {
  return std::string(kTarget) + commonPreamble() + kFunctions + kVectors + kReductions;
}

int64_t blockReduceScratch(
    bool over_x,
    bool over_y,
    int64_t count,
    int64_t bytes,
    int64_t block_x,
    int64_t block_y,
    int64_t block_z) {
  if (over_x) {
    const int64_t length = over_y ? block_x * block_y : block_x;
    const int64_t rows = block_x * block_y * block_z / length;
    if (length <= 32 && isPower(length)) {
      return 0;
    }
    const bool by_warps = length % 32 == 0 || rows == 1;
    return by_warps ? rows * ((length + 31) / 32) * count * bytes : rows * length * bytes;
  }
  if (!over_y || block_y == 1) {
    return 0;
  }
  const bool first_in_warps = block_x < 32 && isPower(block_x) && (block_x * block_y) % 32 == 0;
  const int64_t rows = first_in_warps ? block_x * block_y / 32 : block_y;
  return rows == 1 ? 0 : block_z * rows * block_x * count * bytes;
}

std::string reductionFunctor(ReductionType type, DataType dtype) {
  const std::string name(typeName(dtype));
  return "[](" + name + " a, " + name + " b) -> " + name + " { return " +
      reductionCombine(type, dtype, "a", "b") + "; }";
}

std::vector<std::string> cudaTextFlags() {
  // A product and a sum are rounded once, as other compilers for GPUs do. Who wants eager's two
  // roundings (x * y - x * y is 0) asks for them.
  if (isOptionDisabled("fma")) {
    return {"--fmad=false"};
  }
  return {};
}

} // namespace nvfuser
