#include <ir/exceptions.h>
#include <ir/type.h>

#include <array>

namespace nvfuser {

namespace {

enum class Category { None, Bool, Int, Float, Complex };

struct TypeRow {
  std::string_view name;
  std::string_view text;
  int64_t bits;
  Category category;
};

constexpr std::array kTypes = {
#define NVF_ROW(name, text, bits, category) TypeRow{#name, text, bits, Category::category},
    NVF_FORALL_DATA_TYPES(NVF_ROW)
#undef NVF_ROW
};

const TypeRow& rowOf(DataType dtype) {
  return kTypes[static_cast<size_t>(dtype)];
}

// Widening order inside the floats; types of equal rank have no common type but Float.
int floatRank(DataType dtype) {
  switch (dtype) {
    case DataType::Double:
      return 4;
    case DataType::Float:
      return 3;
    case DataType::Half:
    case DataType::BFloat16:
      return 2;
    default:
      return 1;
  }
}

int intRank(DataType dtype) {
  switch (dtype) {
    case DataType::Bool:
      return 0;
    case DataType::Int32:
      return 1;
    case DataType::Int:
      return 2;
    default: // Index, UInt64
      return 3;
  }
}

} // namespace

bool isFloatingPointType(DataType dtype) {
  return rowOf(dtype).category == Category::Float;
}
bool isComplexType(DataType dtype) {
  return rowOf(dtype).category == Category::Complex;
}
bool isIntegralType(DataType dtype) {
  return rowOf(dtype).category == Category::Int;
}
bool isLowFloatType(DataType dtype) {
  return isFloatingPointType(dtype) && floatRank(dtype) < 3;
}
int64_t dataTypeSizeBits(DataType dtype) {
  return rowOf(dtype).bits;
}
std::string_view dataTypeText(DataType dtype) {
  return rowOf(dtype).text;
}
std::string_view dataTypeName(DataType dtype) {
  return rowOf(dtype).name;
}
std::ostream& operator<<(std::ostream& out, DataType dtype) {
  return out << dataTypeText(dtype);
}

DataType realTypeOf(DataType dtype) {
  if (dtype == DataType::ComplexFloat) {
    return DataType::Float;
  }
  return dtype == DataType::ComplexDouble ? DataType::Double : dtype;
}

DataType complexTypeOf(DataType dtype) {
  return dtype == DataType::Double || dtype == DataType::ComplexDouble ? DataType::ComplexDouble
                                                                       : DataType::ComplexFloat;
}

DataType promoteType(DataType a, DataType b) {
  if (a == b) {
    return a;
  }
  if (a == DataType::Null) {
    return b;
  }
  if (b == DataType::Null) {
    return a;
  }
  if (isComplexType(a) || isComplexType(b)) {
    const bool is_double = realTypeOf(a) == DataType::Double || realTypeOf(b) == DataType::Double;
    return is_double ? DataType::ComplexDouble : DataType::ComplexFloat;
  }
  const bool fa = isFloatingPointType(a);
  const bool fb = isFloatingPointType(b);
  if (fa && fb) {
    if (floatRank(a) != floatRank(b)) {
      return floatRank(a) > floatRank(b) ? a : b;
    }
    return DataType::Float;
  }
  if (fa || fb) {
    return fa ? a : b;
  }
  // Index and UInt64 have the same rank: Index wins, so that sizes stay index-typed.
  if (intRank(a) == intRank(b)) {
    return DataType::Index;
  }
  return intRank(a) > intRank(b) ? a : b;
}

std::ostream& operator<<(std::ostream& out, IterType type) {
  constexpr std::array kText = {"i", "r", "b", "?"};
  return out << kText[static_cast<size_t>(type)];
}

std::string_view parallelTypeText(ParallelType type) {
  constexpr std::array<std::string_view, 16> kText = {
#define NVF_ROW(name, python, text) text,
      NVF_FORALL_PARALLEL_TYPES(NVF_ROW)
#undef NVF_ROW
  };
  return kText[static_cast<size_t>(type)];
}

std::string_view memoryTypeText(MemoryType type) {
  constexpr std::array<std::string_view, 5> kText = {"t", "l", "s", "g", "sym"};
  return kText[static_cast<size_t>(type)];
}

} // namespace nvfuser
