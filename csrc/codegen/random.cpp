#include <codegen/random.h>

#include <codegen/text.h>
#include <ir/random_nodes.h>

namespace nvfuser {

namespace {

// The rounds of Philox 4x32-10 on the counter c0 to c3 under the key k0, k1. Products of 32 bits
// are taken in 64, which is one instruction, and vectorises.
constexpr const char* kPhilox = R"(
#define NVF_ROUND { \
  const unsigned long p0 = (unsigned long)c0 * 0xD2511F53ul, p1 = (unsigned long)c2 * 0xCD9E8D57ul; \
  c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0; c1 = (unsigned)p1; c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1; c3 = (unsigned)p0; \
  k0 += 0x9E3779B9u; k1 += 0xBB67AE85u; }
#define NVF_PHILOX(block, d) \
  unsigned c0 = (unsigned)d.offset, c1 = (unsigned)(d.offset >> 32); \
  unsigned c2 = (unsigned)(block), c3 = (unsigned)((block) >> 32); \
  unsigned k0 = (unsigned)d.seed, k1 = (unsigned)(d.seed >> 32); \
  NVF_ROUND NVF_ROUND NVF_ROUND NVF_ROUND NVF_ROUND NVF_ROUND NVF_ROUND NVF_ROUND NVF_ROUND NVF_ROUND
// A word as a number in (0, 1); two words as one with 52 bits.
NVF_FN double nvf_unit(unsigned w) {
  return ((double)(int)(w ^ 0x80000000u) + 2147483648.5) * 0x1p-32;
}
NVF_FN double nvf_unit(unsigned high, unsigned low) {
  const unsigned long bits = ((unsigned long)high << 20) | (low >> 12);
  return (nvf_double_of(0x4330000000000000ul | bits) - 0x1p52 + 0.5) * 0x1p-52;
}
)";

std::string nameOf(DataType dtype) {
  switch (dtype) {
    case DataType::Double:
      return "double";
    case DataType::Half:
      return "half";
    case DataType::BFloat16:
      return "bf16";
    default:
      return "float";
  }
}

} // namespace

std::string philoxText() {
  return kPhilox;
}

DataType randomType(const RandomSource& source) {
  return source.expr->output(0)->dtype();
}

bool isNormal(const RandomSource& source) {
  return source.expr->as<RngOp>()->type() == RngType::Normal;
}

std::string randomFunction(const RandomSource& source) {
  return (isNormal(source) ? "nvf_normal_" : "nvf_uniform_") + nameOf(randomType(source));
}

int randomWidth(DataType dtype) {
  return dtype == DataType::Double ? 2 : 4;
}

std::string replacedAll(std::string text, const Replacements& replacements) {
  for (const auto& [name, value] : replacements) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), value);
      at += value.size();
    }
  }
  return text;
}

Replacements randomReplacements(DataType dtype) {
  const bool wide = dtype == DataType::Double;
  // Longer names first: some begin with others.
  return {
      {"UNIT_AT",
       wide ? "(place == 0 ? nvf_unit(c0, c1) : nvf_unit(c2, c3))"
            : "nvf_unit(place < 2 ? (place == 0 ? c0 : c1) : (place == 2 ? c2 : c3))"},
      {"RADIUS_AT", wide ? "nvf_unit(c0, c1)" : "nvf_unit(later ? c2 : c0)"},
      {"ANGLE_AT", wide ? "nvf_unit(c2, c3)" : "nvf_unit(later ? c3 : c1)"},
      {"WIDTH", std::to_string(randomWidth(dtype))},
      {"SHIFT", wide ? "1" : "2"},
      {"AS_TYPE", wide ? "x" : castText("((float)x)", DataType::Float, dtype)},
      {"TYPE", std::string(typeName(dtype))},
      {"NAME", nameOf(dtype)}};
}

} // namespace nvfuser
