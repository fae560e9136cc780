#include <codegen/cpu_random.h>

#include <codegen/random.h>
#include <codegen/text.h>

#include <set>

namespace nvfuser {

namespace {

constexpr const char* kDraw = R"(
struct nvf_draw { unsigned long seed, offset; double start, factor, cap; };
NVF_FN double nvf_scaled(double x, const nvf_draw& d) {
  const double y = d.start + d.factor * x;
  return d.cap < y ? d.cap : y;
}
// As many counters at a time as a vector has lanes of 64 bits, of which the upper halves are waste.
#if defined(__AVX512F__)
#define NVF_LANES 8
#elif defined(__AVX2__)
#define NVF_LANES 4
#else
#define NVF_LANES 2
#endif
typedef unsigned long nvf_lanes __attribute__((vector_size(8 * NVF_LANES)));
static inline nvf_lanes nvf_product(nvf_lanes a, nvf_lanes b) {
// g++ does not find the instruction for products of 32 bits by itself.
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_pmuludq512_mask)
  typedef int words __attribute__((vector_size(64)));
  typedef long long products __attribute__((vector_size(64)));
  return (nvf_lanes)__builtin_ia32_pmuludq512_mask((words)a, (words)b, products{}, (unsigned char)-1);
#elif defined(__AVX2__) && !defined(__AVX512F__) && __has_builtin(__builtin_ia32_pmuludq256)
  typedef int words __attribute__((vector_size(32)));
  return (nvf_lanes)__builtin_ia32_pmuludq256((words)a, (words)b);
#elif defined(__SSE2__) && !defined(__AVX2__) && __has_builtin(__builtin_ia32_pmuludq128)
  typedef int words __attribute__((vector_size(16)));
  return (nvf_lanes)__builtin_ia32_pmuludq128((words)a, (words)b);
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}
// The words of at least `blocks` blocks; whole vectors are written.
static void nvf_words(unsigned* w, long block, long blocks, const nvf_draw& d) {
  const nvf_lanes zero = {}, low = zero + 0xffffffffu;
  const nvf_lanes m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;
  nvf_lanes number = zero;
  for (int lane = 0; lane < NVF_LANES; ++lane) number[lane] = (unsigned long)lane;
  for (long i = 0; i < blocks; i += NVF_LANES) {
    nvf_lanes c2 = number + (unsigned long)(block + i), c3 = c2 >> 32;
    nvf_lanes c0 = zero + d.offset, c1 = c0 >> 32;
    unsigned long k0 = d.seed, k1 = d.seed >> 32;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const nvf_lanes p0 = nvf_product(c0, m0), p1 = nvf_product(c2, m1);
      c0 = (p1 >> 32) ^ c1 ^ (zero + k0); c1 = p1; c2 = (p0 >> 32) ^ c3 ^ (zero + k1); c3 = p0;
      k0 += 0x9E3779B9ul; k1 += 0xBB67AE85ul;
    }
    const nvf_lanes first = (c0 & low) | (c1 << 32), second = (c2 & low) | (c3 << 32);
    unsigned long pairs[2 * NVF_LANES];
    for (int lane = 0; lane < NVF_LANES; ++lane) { pairs[2 * lane] = first[lane]; pairs[2 * lane + 1] = second[lane]; }
    __builtin_memcpy(w + 4 * i, pairs, sizeof pairs);
  }
}
)";

// WIDE: a number takes two words. Sine and cosine stand in loops of their own: of one angle in one
// loop the compiler makes a call that has no vector form.
constexpr const char* kUnits = R"(
static inline TYPE nvf_rounded_NAME(double x) { return AS_TYPE; }
static void nvf_units_NAME(double* __restrict u, long block, long blocks, const nvf_draw& d) {
  alignas(64) unsigned w[4 * (BLOCKS + NVF_LANES)];
  nvf_words(w, block, blocks, d);
#pragma omp simd
  for (long i = 0; i < WIDTH * blocks; ++i) u[i] = UNIT;
}
)";

constexpr const char* kUniform = R"(
static const TYPE* nvf_uniform_NAME(TYPE* __restrict out, long first, long count, const nvf_draw& d) {
  const long block = first >> SHIFT, blocks = ((first + count - 1) >> SHIFT) + 1 - block;
  alignas(64) double u[WIDTH * BLOCKS];
  nvf_units_NAME(u, block, blocks, d);
#pragma omp simd
  for (long i = 0; i < WIDTH * blocks; ++i) out[i] = nvf_rounded_NAME(nvf_scaled(u[i], d));
  return out + (first - WIDTH * block);
}
static inline TYPE nvf_uniform_NAME_at(long element, const nvf_draw& d) {
  NVF_PHILOX((unsigned long)(element >> SHIFT), d)
  const long place = element & (WIDTH - 1);
  return nvf_rounded_NAME(nvf_scaled(UNIT_AT, d));
}
)";

constexpr const char* kNormal = R"(
static const TYPE* nvf_normal_NAME(TYPE* __restrict out, long first, long count, const nvf_draw& d) {
  const long block = first >> SHIFT, blocks = ((first + count - 1) >> SHIFT) + 1 - block;
  const long pairs = WIDTH / 2 * blocks;
  alignas(64) double u[WIDTH * BLOCKS], radius[WIDTH / 2 * BLOCKS], angle[WIDTH / 2 * BLOCKS];
  alignas(64) double sines[WIDTH / 2 * BLOCKS], cosines[WIDTH / 2 * BLOCKS];
  nvf_units_NAME(u, block, blocks, d);
#pragma omp simd
  for (long i = 0; i < pairs; ++i) radius[i] = u[2 * i];
#pragma omp simd
  for (long i = 0; i < pairs; ++i) radius[i] = __builtin_sqrt(-2.0 * log(radius[i]));
#pragma omp simd
  for (long i = 0; i < pairs; ++i) angle[i] = 6.283185307179586 * u[2 * i + 1];
#pragma omp simd
  for (long i = 0; i < pairs; ++i) sines[i] = radius[i] * sin(angle[i]);
#pragma omp simd
  for (long i = 0; i < pairs; ++i) cosines[i] = radius[i] * cos(angle[i]);
#pragma omp simd
  for (long i = 0; i < pairs; ++i) {
    out[2 * i] = nvf_rounded_NAME(nvf_scaled(sines[i], d));
    out[2 * i + 1] = nvf_rounded_NAME(nvf_scaled(cosines[i], d));
  }
  return out + (first - WIDTH * block);
}
static inline TYPE nvf_normal_NAME_at(long element, const nvf_draw& d) {
  NVF_PHILOX((unsigned long)(element >> SHIFT), d)
  const bool later = (element & (WIDTH - 1)) > 1;
  const double radius = __builtin_sqrt(-2.0 * log(RADIUS_AT));
  const double angle = 6.283185307179586 * (ANGLE_AT);
  return nvf_rounded_NAME(nvf_scaled(radius * ((element & 1) != 0 ? cos(angle) : sin(angle)), d));
}
)";

std::string filledIn(const char* pattern, DataType dtype) {
  const bool wide = dtype == DataType::Double;
  Replacements replacements = randomReplacements(dtype);
  replacements.emplace_back("UNIT", wide ? "nvf_unit(w[2 * i], w[2 * i + 1])" : "nvf_unit(w[i])");
  replacements.emplace_back("BLOCKS", std::to_string(kRandomPiece / randomWidth(dtype) + 1));
  return replacedAll(pattern, replacements);
}

} // namespace

std::string cpuRandomPreamble(const Kernel& kernel) {
  if (kernel.randoms.empty()) {
    return "";
  }
  std::string text = philoxText() + kDraw;
  std::set<DataType> units;
  std::set<std::string> functions;
  for (const RandomSource& source : kernel.randoms) {
    const DataType dtype = randomType(source);
    if (units.insert(dtype).second) {
      text += filledIn(kUnits, dtype);
    }
    if (functions.insert(randomFunction(source)).second) {
      text += filledIn(isNormal(source) ? kNormal : kUniform, dtype);
    }
  }
  return text;
}

std::string cpuRandomSource(int number, size_t first_word) {
  const auto word = [&](size_t i) { return "words[" + std::to_string(first_word + i) + "]"; };
  std::string text = "const nvf_draw d" + std::to_string(number) + " = {(unsigned long)" + word(0) +
      ", (unsigned long)" + word(1);
  for (size_t i = 2; i < kRandomWords; ++i) {
    text += ", __builtin_bit_cast(double, " + word(i) + ")";
  }
  return text + "};";
}

std::string cpuRandomAt(const Kernel& kernel, int number, const std::string& element) {
  return randomFunction(kernel.randoms.at(number)) + "_at(" + element + ", d" +
      std::to_string(number) + ")";
}

std::string cpuRandomPiece(
    const Kernel& kernel,
    int number,
    const std::string& name,
    const std::string& first,
    const std::string& count) {
  const RandomSource& source = kernel.randoms.at(number);
  const std::string type(typeName(randomType(source)));
  // Whole blocks are made: the first and the last one may be needed in part.
  const int length = kRandomPiece + randomWidth(randomType(source));
  return "alignas(64) " + type + " " + name + "_[" + std::to_string(length) + "]; const " + type +
      "* const " + name + " = " + randomFunction(source) + "(" + name + "_, " + first + ", " +
      count + ", d" + std::to_string(number) + ");";
}

} // namespace nvfuser
