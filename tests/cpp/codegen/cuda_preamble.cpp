// The functions of CUDA's preamble compute what those of the CPU's do, bit for bit.
#include <codegen/cpu_preamble.h>
#include <codegen/cuda_preamble.h>

#include "cuda_host.h"
#include "table_test.h"

#include <bit>
#include <cmath>
#include <limits>

namespace nvfuser {

namespace {

using RowFunction = void(const void* const*, void*, long, long*);

std::vector<double> interesting() {
  std::vector<double> values = {
      0.0,     -0.0,       1.0,       -1.0,      0.5,          -0.5,          1.5,           2.5,
      -2.5,    0.25,       3.0,       -3.5,      7.0,          31.0,          33.0,          63.0,
      64.0,    -16.0,      100.25,    -100.75,   1e-3,         -1e-6,         1e4,           -65504,
      65519.0, 65520.0,    3e9,       -3e9,      1e19,         -1e19,         1e30,          -1e38,
      3.3e38,  1e-38,      6.1035e-5, 5.96e-8,   2.98e-8,      1.4e-45,       1e-300,        1e300,
      88.5,    -88.5,      -104.0,    0.9999,    2147483647.0, -2147483648.0, -2147483649.0, 9.3e18,
      -9.3e18, 16777217.0, 0x1.008p0, 0x1.018p0, 0x1.01p0,     0x1.002p0,     0x1.006p0};
  const double infinity = std::numeric_limits<double>::infinity();
  values.insert(values.end(), {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()});
  return values;
}

std::vector<int64_t> interestingIntegers() {
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLow32 = std::numeric_limits<int32_t>::min();
  return {0,           1,     -1,       2,           -2,
          3,           -3,    7,        -16,         31,
          32,          33,    63,       64,          65,
          1000,        -1001, 65535,    kLow32,      kLow32 + 1,
          -kLow32 - 1, kLow,  kLow + 1, -(kLow + 1), int64_t{1} << 40,
          16777217};
}

int64_t bytesOf(DataType dtype) {
  return dataTypeSizeBits(dtype) / 8;
}

template <typename T, typename V>
void append(std::vector<char>& bytes, V value) {
  const auto converted = static_cast<T>(value);
  const auto* begin = reinterpret_cast<const char*>(&converted);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

// The bits of numbers of this type.
std::vector<char> valuesOf(DataType dtype) {
  std::vector<char> bytes;
  if (dtype == DataType::Half || dtype == DataType::BFloat16) {
    for (uint32_t bits = 0; bits < 0x10000; bits += 509) {
      append<uint16_t>(bytes, bits);
    }
    for (uint16_t bits :
         {0x0,
          0x8000,
          0x1,
          0x3ff,
          0x400,
          0x3c00,
          0x3f80,
          0x7bff,
          0x7c00,
          0xfc00,
          0x7e00,
          0x7f80,
          0xff80,
          0x7fc0}) {
      append<uint16_t>(bytes, bits);
    }
    return bytes;
  }
  if (isFloatingPointType(dtype)) {
    for (double value : interesting()) {
      dtype == DataType::Float ? append<float>(bytes, value) : append<double>(bytes, value);
    }
    return bytes;
  }
  for (int64_t value : interestingIntegers()) {
    if (dtype == DataType::Bool) {
      append<uint8_t>(bytes, value & 1);
    } else if (dtype == DataType::Int32) {
      append<int32_t>(bytes, value);
    } else {
      append<int64_t>(bytes, value);
    }
  }
  return bytes;
}

double numberAt(const std::vector<char>& bytes, int64_t i, DataType dtype) {
  const auto at = [&]<typename T>(T value) {
    std::copy_n(bytes.data() + i * sizeof(T), sizeof(T), reinterpret_cast<char*>(&value));
    return value;
  };
  switch (dtype) {
    case DataType::Double:
      return at(double{});
    case DataType::Float:
      return at(float{});
    case DataType::BFloat16:
      return std::bit_cast<float>(static_cast<uint32_t>(at(uint16_t{})) << 16);
    case DataType::Half: {
      const uint16_t bits = at(uint16_t{});
      const bool is_nan = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0;
      const double magnitude = is_nan ? std::numeric_limits<double>::quiet_NaN() : bits & 0x7fff;
      return bits >= 0x8000 ? -magnitude : magnitude;
    }
    case DataType::Bool:
      return static_cast<double>(at(uint8_t{}));
    case DataType::Int32:
      return at(int32_t{});
    default:
      return static_cast<double>(at(int64_t{}));
  }
}

// Rows whose texts are other formulas of the same function: relative difference allowed.
double allowed(const std::string& name, DataType dtype) {
  static const std::set<std::string> others = {"sigmoid", "silu"};
  if (!others.contains(name)) {
    return 0;
  }
  switch (dtype) {
    case DataType::Double:
      return 4e-16;
    case DataType::Float:
      return 4e-7;
    case DataType::Half:
      return 1e-3;
    default:
      return 8e-3;
  }
}

} // namespace

class CudaPreamble : public TableTest {
 protected:
  // A loop for each row, over all values.
  static std::string loops(const std::vector<Row>& rows) {
    const char* names[] = {"x", "y", "z"};
    std::string text;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      text += "extern \"C\" void row" + std::to_string(i) +
          "(const void* const* in, void* out, long n, long* error) {\n  for (long i = 0; i < n; "
          "++i) {";
      for (size_t k = 0; k < row.in.size(); ++k) {
        const std::string type(typeName(row.in[k]));
        text += " const " + type + " " + names[k] + " = ((const " + type + "*)in[" +
            std::to_string(k) + "])[i];";
      }
      text += " ((" + std::string(typeName(row.out)) + "*)out)[i] = " + row.text + "; }\n}\n";
    }
    return text;
  }
};

TEST_F(CudaPreamble, ComputesWhatTheCpusDoes) {
  if (!*hostCompiler()) {
    GTEST_SKIP() << "no compiler";
  }
  const std::vector<Row> rows = everyRow();
  const HostLibrary on_cpu(cpuPreamble() + loops(rows));
  const HostLibrary on_cuda(kCudaOnHost + cudaPreamble() + loops(rows));
  ASSERT_TRUE(on_cpu && on_cuda);
  int64_t compared = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    // The device's library has the inverses, and rounds once where a sum follows a product; what a
    // processor makes of casts to integers is its own.
    const bool from_float = isFloatingPointType(row.in[0]) && isIntegralType(row.out);
    if (row.name == "erfinv" || row.name == "erfcinv" ||
        (row.name == "lerp" && isFloatingPointType(row.out)) ||
        (row.name == "cast" && from_float && row.out != DataType::Bool)) {
      continue;
    }
    // All pairs of values; the third operand runs with the second.
    std::vector<std::vector<char>> values;
    std::vector<int64_t> counts;
    for (DataType dtype : row.in) {
      values.push_back(valuesOf(dtype));
      counts.push_back(static_cast<int64_t>(values.back().size()) / bytesOf(dtype));
    }
    const int64_t first = counts[0];
    const int64_t second = counts.size() > 1 ? counts[1] : 1;
    std::vector<std::vector<char>> in(row.in.size());
    for (int64_t a = 0; a < first; ++a) {
      for (int64_t b = 0; b < second; ++b) {
        for (size_t k = 0; k < row.in.size(); ++k) {
          const int64_t bytes = bytesOf(row.in[k]);
          const int64_t at = k == 0 ? a : k == 1 ? b : (a + b) % counts[k];
          in[k].insert(
              in[k].end(), values[k].begin() + at * bytes, values[k].begin() + (at + 1) * bytes);
        }
      }
    }
    std::vector<const void*> pointers;
    for (const auto& operand : in) {
      pointers.push_back(operand.data());
    }
    const int64_t n = first * second;
    const std::string name = "row" + std::to_string(i);
    std::vector<char> wanted(n * bytesOf(row.out));
    std::vector<char> found(n * bytesOf(row.out));
    long wanted_error = 0;
    long found_error = 0;
    on_cpu.function<RowFunction>(name.c_str())(pointers.data(), wanted.data(), n, &wanted_error);
    on_cuda.function<RowFunction>(name.c_str())(pointers.data(), found.data(), n, &found_error);
    EXPECT_EQ(wanted_error, found_error) << row.name;
    const double tolerance = allowed(row.name, row.out);
    const int64_t size = bytesOf(row.out);
    for (int64_t k = 0; k < n; ++k) {
      if (std::equal(
              wanted.begin() + k * size,
              wanted.begin() + (k + 1) * size,
              found.begin() + k * size)) {
        continue;
      }
      const double a = numberAt(wanted, k, row.out);
      const double b = numberAt(found, k, row.out);
      const bool is_near = (std::isnan(a) && std::isnan(b)) || a == b ||
          (tolerance > 0 && std::abs(a - b) <= tolerance * std::abs(a) + 1e-37);
      EXPECT_TRUE(is_near) << row.name << " " << row.text << " of " << dataTypeName(row.in[0])
                           << " value " << k << " (" << numberAt(in[0], k, row.in[0]) << ", "
                           << (in.size() > 1 ? numberAt(in[1], k, row.in[1]) : 0.0) << "): " << b
                           << " instead of " << a;
      if (!is_near) {
        break;
      }
    }
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

TEST_F(CudaPreamble, CastsSaturate) {
  if (!*hostCompiler()) {
    GTEST_SKIP() << "no compiler";
  }
  const HostLibrary library(
      kCudaOnHost + cudaPreamble() +
      "extern \"C\" int to_int(float x) { return nvf_to_int(x); }\n"
      "extern \"C\" long to_long(double x) { return nvf_to_long(x); }\n");
  ASSERT_TRUE(library);
  auto* to_int = library.function<int(float)>("to_int");
  auto* to_long = library.function<long(double)>("to_long");
  EXPECT_EQ(to_int(3e9F), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(to_int(-3e9F), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(to_int(-2.75F), -2);
  EXPECT_EQ(to_long(1e19), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to_long(-1e19), std::numeric_limits<int64_t>::min());
}

} // namespace nvfuser
