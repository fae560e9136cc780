// The value of a scalar: a plain variant, with the arithmetic that sizes need.
#pragma once

#include <ir/type.h>

#include <complex>
#include <optional>
#include <string>
#include <variant>

namespace nvfuser {

/// monostate: not known. Integer types of every width are held as int64_t, floats as double.
using ScalarValue = std::variant<std::monostate, bool, int64_t, double, std::complex<double>>;

inline bool hasValue(const ScalarValue& v) {
  return !std::holds_alternative<std::monostate>(v);
}

/// The value converted to `dtype` by C rules (double to int truncates, complex to real keeps the
/// real part, Float rounds to float32). Raises RuntimeError where the conversion has no meaning.
ScalarValue castScalar(const ScalarValue& v, DataType dtype);

/// Bool, Int, Double or ComplexDouble: the type that Python gives such a value.
DataType inferredDataType(const ScalarValue& v);

int64_t toInt(const ScalarValue& v);
double toDouble(const ScalarValue& v);
bool toBool(const ScalarValue& v);
std::complex<double> toComplex(const ScalarValue& v);

/// Exact equality of kind and value; two NaN are equal (for comparing IR, not numbers).
bool sameScalar(const ScalarValue& a, const ScalarValue& b);

/// "3", "2.5", "true", "-inf", "1+2i": C-like text for printed IR.
std::string scalarText(const ScalarValue& v);
/// Text that Python reads back: True, 3.00000 (six significant digits),
/// float("inf"), 1.00000+2.00000j.
std::string scalarPythonText(const ScalarValue& v);

} // namespace nvfuser
