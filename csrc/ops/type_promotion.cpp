#include <ir/tensor_view.h>
#include <ops/type_promotion.h>

namespace nvfuser {

namespace {

// A class of lower priority changes the category of the higher one, not its width.
DataType combine(DataType high, DataType low) {
  if (high == DataType::Null) {
    return low;
  }
  if (low == DataType::Null || isComplexType(high)) {
    return high;
  }
  if (isComplexType(low)) {
    return isFloatingPointType(high) ? complexTypeOf(high) : low;
  }
  if (isFloatingPointType(high)) {
    return high;
  }
  if (isBooleanType(high) || isFloatingPointType(low)) {
    return promoteType(high, low);
  }
  return high;
}

} // namespace

DataType commonType(const std::vector<Val*>& operands) {
  DataType dims = DataType::Null;
  DataType zero_dim = DataType::Null;
  DataType scalars = DataType::Null;
  bool all_equal = true;
  for (const Val* val : operands) {
    all_equal = all_equal && val->dtype() == operands.front()->dtype();
    if (!val->isTensor()) {
      const DataType dtype = isLowFloatType(val->dtype()) ? DataType::Float : val->dtype();
      scalars = promoteType(scalars, dtype);
    } else if (val->as<TensorView>()->nDims() > 0) {
      dims = promoteType(dims, val->dtype());
    } else {
      zero_dim = promoteType(zero_dim, val->dtype());
    }
  }
  if (all_equal && !operands.empty()) {
    return operands.front()->dtype();
  }
  return combine(combine(dims, zero_dim), scalars);
}

PromotedTypes promotedTypes(
    std::string_view op,
    PromotionGroup group,
    const std::vector<Val*>& operands) {
  const DataType common = commonType(operands);
  const DataType widened = isLowFloatType(common) ? DataType::Float : common;
  const auto refuse = [&](const char* wants) {
    std::string types;
    for (const Val* val : operands) {
      types += (types.empty() ? "" : ", ") + std::string(dataTypeName(val->dtype()));
    }
    NVF_CHECK(false, op, ": expected ", wants, ", got ", types);
  };
  switch (group) {
    case PromotionGroup::Keep:
      return {common, common};
    case PromotionGroup::Default:
      return {widened, widened};
    case PromotionGroup::Float: {
      const DataType dtype = isInclusiveIntegralType(common) ? DataType::Float : widened;
      return {dtype, dtype};
    }
    case PromotionGroup::FullPrecision:
      if (!isFloatingPointType(common)) {
        refuse("operands of a real floating-point type");
      }
      return {widened, widened};
    case PromotionGroup::Bool:
      return {widened, DataType::Bool};
    case PromotionGroup::Logical:
      return {DataType::Bool, DataType::Bool};
    case PromotionGroup::Integer:
      if (!isInclusiveIntegralType(common)) {
        refuse("operands of an integer type or Bool");
      }
      return {common, common};
    case PromotionGroup::StrictInteger:
      if (!isIntegralType(common)) {
        refuse("operands of an integer type");
      }
      return {common, common};
  }
  return {common, common};
}

} // namespace nvfuser
