#include <runtime/value.h>

#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>

namespace nvfuser {

at::ScalarType toAtenType(DataType dtype) {
  switch (dtype) {
    case DataType::Double:
      return at::kDouble;
    case DataType::Float:
      return at::kFloat;
    case DataType::Half:
      return at::kHalf;
    case DataType::BFloat16:
      return at::kBFloat16;
    case DataType::Int:
    case DataType::Index:
      return at::kLong;
    case DataType::Int32:
      return at::kInt;
    case DataType::UInt64:
      return at::kUInt64;
    case DataType::Bool:
      return at::kBool;
    case DataType::Float8_e4m3fn:
      return at::kFloat8_e4m3fn;
    case DataType::Float8_e5m2:
      return at::kFloat8_e5m2;
    case DataType::ComplexFloat:
      return at::kComplexFloat;
    case DataType::ComplexDouble:
      return at::kComplexDouble;
    default:
      break;
  }
  // Types that came with later releases are found by name, so that older torch versions still
  // compile.
  const std::string_view name = dataTypeName(dtype);
  for (int i = 0; i < static_cast<int>(at::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<at::ScalarType>(i);
    if (name == c10::toString(type)) {
      return type;
    }
  }
  NVF_CHECK(false, "dtype ", name, " is not supported by the torch in use");
  return at::ScalarType::Undefined;
}

DataType fromAtenType(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return DataType::Double;
    case at::kFloat:
      return DataType::Float;
    case at::kHalf:
      return DataType::Half;
    case at::kBFloat16:
      return DataType::BFloat16;
    case at::kLong:
      return DataType::Int;
    case at::kInt:
      return DataType::Int32;
    case at::kUInt64:
      return DataType::UInt64;
    case at::kBool:
      return DataType::Bool;
    case at::kFloat8_e4m3fn:
      return DataType::Float8_e4m3fn;
    case at::kFloat8_e5m2:
      return DataType::Float8_e5m2;
    case at::kComplexFloat:
      return DataType::ComplexFloat;
    case at::kComplexDouble:
      return DataType::ComplexDouble;
    default:
      break;
  }
  const std::string_view name = c10::toString(type);
  for (DataType dtype : {DataType::Float8_e8m0fnu, DataType::Float4_e2m1fn_x2}) {
    if (name == dataTypeName(dtype)) {
      return dtype;
    }
  }
  NVF_CHECK(false, "tensors of torch dtype ", name, " are not supported");
  return DataType::Null;
}

at::Scalar toAtenScalar(const ScalarValue& value) {
  switch (value.index()) {
    case 1:
      return std::get<bool>(value);
    case 2:
      return std::get<int64_t>(value);
    case 3:
      return std::get<double>(value);
    case 4: {
      const auto c = std::get<std::complex<double>>(value);
      return c10::complex<double>(c.real(), c.imag());
    }
    default:
      NVF_CHECK(false, "a scalar has no value");
      return 0;
  }
}

ScalarValue fromAtenScalar(const at::Scalar& scalar) {
  if (scalar.isBoolean()) {
    return scalar.toBool();
  }
  if (scalar.isIntegral(false)) {
    return static_cast<int64_t>(scalar.toLong());
  }
  if (scalar.isFloatingPoint()) {
    return scalar.toDouble();
  }
  const auto c = scalar.toComplexDouble();
  return std::complex<double>(c.real(), c.imag());
}

} // namespace nvfuser
