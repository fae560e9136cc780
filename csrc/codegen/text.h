// The C++ text of single operations in kernels, the same for all targets: what differs between them
// are the nvf_ helpers that the texts call, which the preamble of each target defines.
//
// Values of Half and BFloat16 are computed in float and rounded back. Integers wrap (the target's
// compiler is told so where it has to be). Extrema propagate NaN.
#pragma once

#include <ir/nodes.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

/// The C++ type of a value, in a register as in memory; empty for types without arithmetic here.
std::string_view typeName(DataType dtype);

/// A literal of exactly this value.
std::string constantText(const ScalarValue& value, DataType dtype);

/// ATen's conversion: to half types round-to-nearest-even, to Bool whether it differs from 0.
std::string castText(std::string_view text, DataType from, DataType to);

/// Why the node cannot be printed for its types; none: it can.
std::optional<std::string> whyNoText(const Expr* expr);

/// The value of a unary, binary or ternary node, given the texts of its operands that are present.
/// `report`: for nodes that mayDivideByZero(), an address and the number to write there, in text.
std::string pointwiseText(
    const Expr* expr,
    const std::vector<std::string>& operands,
    const std::string& report = "");

/// The neutral element, and the combination of an accumulator and an element, both of type `dtype`.
std::string reductionInit(ReductionType type, DataType dtype);
std::string reductionCombine(
    ReductionType type,
    DataType dtype,
    std::string_view accumulator,
    std::string_view element);
} // namespace nvfuser
