// The pointwise operators on known scalar values, without ATen: what constant folding and the sizes
// need.
#pragma once

#include <ir/pointwise_table.h>
#include <ir/scalar_value.h>

namespace nvfuser {

/// The result as `dtype`. No value where an operand has none, the operator is not defined for the
/// operands' kinds (or has no folding here), the arithmetic has no answer (integer division by
/// zero), or `dtype` is a type whose rounding only the device knows (half types, fp8, fp4).
ScalarValue applyScalarOp(UnaryOpType op, const ScalarValue& x, DataType dtype);
ScalarValue applyScalarOp(
    BinaryOpType op,
    const ScalarValue& a,
    const ScalarValue& b,
    DataType dtype);
/// A clamp takes a bound without a value as absent.
ScalarValue applyScalarOp(
    TernaryOpType op,
    const ScalarValue& a,
    const ScalarValue& b,
    const ScalarValue& c,
    DataType dtype);

} // namespace nvfuser
