#include <codegen/cpu_preamble.h>

#include <ir/exceptions.h>

#include <string_view>

namespace nvfuser {

namespace {

std::string_view elementType(int64_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned";
    default:
      return "unsigned long";
  }
}

// One step: rows i and i + distance exchange the parts that lie on the wrong side.
std::string exchangeStep(int64_t lanes, int64_t distance) {
  std::string low;
  std::string high;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const bool is_moved = (lane & distance) != 0;
    low += ", " + std::to_string(is_moved ? lanes + lane - distance : lane);
    high += ", " + std::to_string(is_moved ? lanes + lane : lane + distance);
  }
  const std::string d = std::to_string(distance);
  return "    _Pragma(\"GCC unroll 32\") for (int i = 0; i < nvf_lanes@; ++i) if (!(i & " + d +
      ")) {\n      const nvf_lane_type@ a = x[i], b = x[i + " + d +
      "];\n      x[i] = __builtin_shufflevector(a, b" + low + "); x[i + " + d +
      "] = __builtin_shufflevector(a, b" + high + ");\n    }\n";
}

// Blocks of vectors of `vector_bytes`, as many as a vector has elements.
std::string blocks(int64_t bytes, int64_t vector_bytes) {
  const int64_t lanes = vector_bytes / bytes;
  const std::string type(elementType(bytes));
  const std::string size = std::to_string(vector_bytes);
  std::string text = "static const int nvf_lanes@ = " + std::to_string(lanes) + ";\ntypedef " +
      type + " nvf_lane_type@ __attribute__((vector_size(" + size + ")));\ntypedef " + type +
      " nvf_lane_memory@ __attribute__((vector_size(" + size + "), aligned(" +
      std::to_string(bytes) + "), may_alias));\n";
  text +=
      "static inline void nvf_transpose_block@(nvf_word@* target, long target_stride, "
      "const nvf_word@* source, long source_stride) {\n    nvf_lane_type@ x[nvf_lanes@];\n"
      "    _Pragma(\"GCC unroll 32\") for (int i = 0; i < nvf_lanes@; ++i) "
      "x[i] = *(const nvf_lane_memory@*)(source + i * source_stride);\n";
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    text += exchangeStep(lanes, distance);
  }
  return text +
      "    _Pragma(\"GCC unroll 32\") for (int i = 0; i < nvf_lanes@; ++i) "
      "*(nvf_lane_memory@*)(target + i * target_stride) = x[i];\n}\n";
}

// The names end in the element's size in bits, in place of @.
std::string named(std::string text, int64_t bytes) {
  const std::string bits = std::to_string(8 * bytes);
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
    text.replace(at, 1, bits);
  }
  return text;
}

} // namespace

std::string cpuTransposeText(int64_t bytes) {
  NVF_ERROR(
      bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8, "no element has ", bytes, " bytes");
  const std::string type(elementType(bytes));
  // At most 16 vectors, so that a block stays in registers.
  const int64_t widest = 16 * bytes;
  const auto capped = [&](int64_t vector_bytes) {
    return blocks(bytes, vector_bytes < widest ? vector_bytes : widest);
  };
  // The elements belong to arrays of another type, often float.
  const std::string text = "typedef " + type +
      " nvf_word@ __attribute__((may_alias));\n"
      "#if defined(__has_builtin)\n#if __has_builtin(__builtin_shufflevector)\n"
      "#define NVF_SHUFFLES\n#endif\n#endif\n"
      "#if !defined(NVF_SHUFFLES)\nstatic const int nvf_lanes@ = 1;\nstatic inline void "
      "nvf_transpose_block@(nvf_word@* target, long, const nvf_word@* source, long) { *target = "
      "*source; }\n#elif defined(__AVX512BW__)\n" +
      capped(64) + "#elif defined(__AVX2__)\n" + capped(32) + "#else\n" + capped(16) +
      "#endif\n"
      "static inline void nvf_transpose@(void* to, long target_stride, const void* from, long "
      "source_stride, long rows, long columns) {\n"
      "  nvf_word@* __restrict target = (nvf_word@*)to;\n"
      "  const nvf_word@* __restrict source = (const nvf_word@*)from;\n"
      "  const long whole_rows = rows - rows % nvf_lanes@, whole_columns = columns - columns % "
      "nvf_lanes@;\n"
      "  for (long c = 0; c < whole_columns; c += nvf_lanes@)\n"
      "    for (long r = 0; r < whole_rows; r += nvf_lanes@)\n"
      "      nvf_transpose_block@(target + r * target_stride + c, target_stride, source + c * "
      "source_stride + r, source_stride);\n"
      "  for (long c = 0; c < columns; ++c)\n"
      "    for (long r = c < whole_columns ? whole_rows : 0; r < rows; ++r)\n"
      "      target[r * target_stride + c] = source[c * source_stride + r];\n"
      "}\n";
  return named(text, bytes);
}

} // namespace nvfuser
