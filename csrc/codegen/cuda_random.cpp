#include <codegen/cuda_random.h>

#include <codegen/random.h>
#include <codegen/text.h>

#include <set>

namespace nvfuser {

namespace {

constexpr const char* kDraw = R"(
// plain: the numbers of a uniform distribution over (0, 1) as they are.
struct nvf_draw { unsigned long seed, offset; double start, factor, cap; float short_cap; bool plain; };
NVF_FN nvf_draw nvf_make_draw(long seed, long offset, long start, long factor, long cap) {
  nvf_draw d = {(unsigned long)seed, (unsigned long)offset};
  d.start = nvf_double_of((unsigned long)start);
  d.factor = nvf_double_of((unsigned long)factor);
  d.cap = nvf_double_of((unsigned long)cap);
  d.short_cap = (float)d.cap;
  d.plain = d.start == 0 && d.factor == 1;
  return d;
}
NVF_FN double nvf_scaled(double x, const nvf_draw& d) {
  const double y = __dadd_rn(d.start, __dmul_rn(d.factor, x));
  return d.cap < y ? d.cap : y;
}
// The float next to min(start + factor * (w + 0.5) / 2^32, cap). Double precision is slow on many
// devices: the upper and the lower half of a plain number are exact floats, and so is each but the
// last operation.
NVF_FN float nvf_uniform(unsigned w, const nvf_draw& d) {
  if (!d.plain) return (float)nvf_scaled(nvf_unit(w), d);
  const float high = nvf_float_of(0x4b000000u | (w >> 16)) - 0x1p23f;
  const float low = fmaf(nvf_float_of(0x4b000000u | (w & 0xffffu)), 0x1p-32f, -0x1.fffffep-10f);
  return fminf(fmaf(high, 0x1p-16f, low), d.short_cap);
}
)";

// RADIUS_AT and ANGLE_AT by `later`: the second pair of a block.
constexpr const char* kNormal = R"(
NVF_FN TYPE nvf_normal_NAME_at(long element, const nvf_draw& d) {
  NVF_PHILOX((unsigned long)(element >> SHIFT), d)
  const bool later = (element & (WIDTH - 1)) > 1;
  const double radius = sqrt(-2.0 * log(RADIUS_AT));
  const double angle = 6.283185307179586 * (ANGLE_AT);
  const double x = nvf_scaled(radius * ((element & 1) != 0 ? cos(angle) : sin(angle)), d);
  return AS_TYPE;
}
NVF_FN void nvf_normal_NAME_block(TYPE (&out)[WIDTH], unsigned long block, const nvf_draw& d) {
  NVF_PHILOX(block, d)
  _Pragma("unroll") for (int i = 0; i < WIDTH / 2; ++i) {
    const bool later = i != 0;
    const double radius = sqrt(-2.0 * log(RADIUS_AT));
    const double angle = 6.283185307179586 * (ANGLE_AT);
    double x = nvf_scaled(radius * sin(angle), d);
    out[2 * i] = AS_TYPE;
    x = nvf_scaled(radius * cos(angle), d);
    out[2 * i + 1] = AS_TYPE;
  }
}
)";

constexpr const char* kUniform = R"(
NVF_FN TYPE nvf_uniform_NAME_at(long element, const nvf_draw& d) {
  NVF_PHILOX((unsigned long)(element >> SHIFT), d)
  const long place = element & (WIDTH - 1);
  return FROM_PLACE;
}
NVF_FN void nvf_uniform_NAME_block(TYPE (&out)[WIDTH], unsigned long block, const nvf_draw& d) {
  NVF_PHILOX(block, d)
  _Pragma("unroll") for (int place = 0; place < WIDTH; ++place) out[place] = FROM_PLACE;
}
)";

// Elements that do not begin with a block are rare.
constexpr const char* kVector = R"(
[[maybe_unused]] static __device__ __noinline__ TYPE FUNCTION_single(long element, const nvf_draw& d) { return FUNCTION_at(element, d); }
template <int N> NVF_FN nvf_vec<TYPE, N> FUNCTION_vec(long first, const nvf_draw& d) {
  constexpr int piece = N < WIDTH ? N : WIDTH;
  nvf_vec<TYPE, N> r;
  if ((first & (piece - 1)) == 0) {
    _Pragma("unroll") for (int begin = 0; begin < N; begin += piece) {
      TYPE block[WIDTH];
      FUNCTION_block(block, (unsigned long)((first + begin) >> SHIFT), d);
      const int place = (int)(first + begin) & (WIDTH - 1);
      _Pragma("unroll") for (int i = 0; i < piece; ++i) {
        if (N >= WIDTH) {
          r.v[begin + i] = block[i];
        } else {
          _Pragma("unroll") for (int k = 0; k < WIDTH; ++k) r.v[i] = k == place + i ? block[k] : r.v[i];
        }
      }
    }
  } else {
    _Pragma("unroll") for (int i = 0; i < N; ++i) r.v[i] = FUNCTION_single(first + i, d);
  }
  return r;
}
)";

std::string filledIn(const RandomSource& source) {
  const DataType dtype = randomType(source);
  const bool wide = dtype == DataType::Double;
  Replacements replacements = randomReplacements(dtype);
  const std::string word = "place < 2 ? (place == 0 ? c0 : c1) : (place == 2 ? c2 : c3)";
  const std::string uniform = wide
      ? "nvf_scaled(UNIT_AT, d)"
      : castText("nvf_uniform(" + word + ", d)", DataType::Float, dtype);
  replacements.insert(replacements.begin(), {"FROM_PLACE", uniform});
  replacements.insert(replacements.begin(), {"FUNCTION", randomFunction(source)});
  return replacedAll(std::string(isNormal(source) ? kNormal : kUniform) + kVector, replacements);
}

} // namespace

std::string cudaRandomPreamble(const Kernel& kernel) {
  if (kernel.randoms.empty()) {
    return "";
  }
  std::string text = philoxText() + kDraw;
  std::set<std::string> functions;
  for (const RandomSource& source : kernel.randoms) {
    if (functions.insert(randomFunction(source)).second) {
      text += filledIn(source);
    }
  }
  return text;
}

std::string cudaRandomSource(int number, size_t first_word) {
  std::string text = "const nvf_draw d" + std::to_string(number) + " = nvf_make_draw(";
  for (size_t i = 0; i < kRandomWords; ++i) {
    text += (i > 0 ? ", args.words[" : "args.words[") + std::to_string(first_word + i) + "]";
  }
  return text + ");";
}

std::string cudaRandomAt(const Kernel& kernel, int number, const std::string& element) {
  return randomFunction(kernel.randoms.at(number)) + "_at(" + element + ", d" +
      std::to_string(number) + ")";
}

std::string cudaRandomVector(
    const Kernel& kernel,
    int number,
    int width,
    const std::string& first) {
  return randomFunction(kernel.randoms.at(number)) + "_vec<" + std::to_string(width) + ">(" +
      first + ", d" + std::to_string(number) + ")";
}

} // namespace nvfuser
