#include <ir/exceptions.h>
#include <ir/scalar_value.h>

#include <cmath>
#include <cstdio>
#include <limits>

namespace nvfuser {

namespace {

template <typename T>
T convert(const ScalarValue& v, const char* what) {
  return std::visit(
      [&](const auto& x) -> T {
        using X = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<X, std::monostate>) {
          NVF_CHECK(false, "a ", what, " value was expected, but the scalar has no value");
          return T{};
        } else if constexpr (std::is_same_v<X, std::complex<double>>) {
          return static_cast<T>(x.real());
        } else if constexpr (std::is_same_v<X, double> && std::is_same_v<T, int64_t>) {
          // As the hardware does: out of range and NaN give the smallest integer.
          constexpr double kLimit = 9223372036854775808.0;
          if (!(x > -kLimit - 1 && x < kLimit)) {
            return std::numeric_limits<int64_t>::min();
          }
          return static_cast<T>(x);
        } else {
          return static_cast<T>(x);
        }
      },
      v);
}

std::string formatDouble(double v, const char* format) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, v);
  return buffer;
}

std::string pythonDouble(double v) {
  if (std::isnan(v)) {
    return "float(\"nan\")";
  }
  if (std::isinf(v)) {
    return v > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  }
  // Six digits where they say the same number, else as many as it takes to read it back exactly.
  std::string text = formatDouble(v, "%#.6g");
  if (std::strtod(text.c_str(), nullptr) != v) {
    text = formatDouble(v, "%#.17g");
  }
  return text;
}

} // namespace

int64_t toInt(const ScalarValue& v) {
  return convert<int64_t>(v, "integer");
}
double toDouble(const ScalarValue& v) {
  return convert<double>(v, "real");
}
bool toBool(const ScalarValue& v) {
  if (const auto* c = std::get_if<std::complex<double>>(&v)) {
    return *c != std::complex<double>{};
  }
  return convert<bool>(v, "bool");
}
std::complex<double> toComplex(const ScalarValue& v) {
  if (const auto* c = std::get_if<std::complex<double>>(&v)) {
    return *c;
  }
  return {toDouble(v), 0.0};
}

ScalarValue castScalar(const ScalarValue& v, DataType dtype) {
  if (!hasValue(v)) {
    return v;
  }
  if (isBooleanType(dtype)) {
    return toBool(v);
  }
  if (isIntegralType(dtype)) {
    const int64_t i = toInt(v);
    return dtype == DataType::Int32 ? static_cast<int64_t>(static_cast<int32_t>(i)) : i;
  }
  if (isComplexType(dtype)) {
    auto c = toComplex(v);
    if (dtype == DataType::ComplexFloat) {
      c = {static_cast<float>(c.real()), static_cast<float>(c.imag())};
    }
    return c;
  }
  NVF_CHECK(isFloatingPointType(dtype), "Illegal Cast value to ", dtype);
  const double d = toDouble(v);
  return dtype == DataType::Float ? static_cast<double>(static_cast<float>(d)) : d;
}

DataType inferredDataType(const ScalarValue& v) {
  switch (v.index()) {
    case 1:
      return DataType::Bool;
    case 2:
      return DataType::Int;
    case 3:
      return DataType::Double;
    case 4:
      return DataType::ComplexDouble;
    default:
      return DataType::Null;
  }
}

bool sameScalar(const ScalarValue& a, const ScalarValue& b) {
  if (a.index() != b.index()) {
    return false;
  }
  if (const auto* x = std::get_if<double>(&a)) {
    const double y = std::get<double>(b);
    return (std::isnan(*x) && std::isnan(y)) || (*x == y && std::signbit(*x) == std::signbit(y));
  }
  return a == b;
}

std::string scalarText(const ScalarValue& v) {
  switch (v.index()) {
    case 1:
      return std::get<bool>(v) ? "true" : "false";
    case 2:
      return std::to_string(std::get<int64_t>(v));
    case 3:
      return formatDouble(std::get<double>(v), "%.6g");
    case 4: {
      const auto c = std::get<std::complex<double>>(v);
      return "std::complex<double>(" + formatDouble(c.real(), "%.6g") + "," +
          formatDouble(c.imag(), "%.6g") + ")";
    }
    default:
      return "?";
  }
}

std::string scalarPythonText(const ScalarValue& v) {
  switch (v.index()) {
    case 1:
      return std::get<bool>(v) ? "True" : "False";
    case 2:
      return std::to_string(std::get<int64_t>(v));
    case 3:
      return pythonDouble(std::get<double>(v));
    case 4: {
      const auto c = std::get<std::complex<double>>(v);
      const bool finite = std::isfinite(c.real()) && std::isfinite(c.imag());
      if (!finite) {
        return "complex(" + pythonDouble(c.real()) + ", " + pythonDouble(c.imag()) + ")";
      }
      const std::string im = pythonDouble(c.imag());
      return pythonDouble(c.real()) + (im[0] == '-' ? "" : "+") + im + "j";
    }
    default:
      return "None";
  }
}

} // namespace nvfuser
