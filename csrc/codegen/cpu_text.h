// The C++ text of single operations in kernels for the CPU.
//
// Values of Half and BFloat16 are computed in float and rounded back. Integers wrap (the text is
// compiled with -fwrapv). Extrema propagate NaN.
#pragma once

#include <ir/nodes.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

/// The C++ type of a value, in a register as in memory; empty for types without arithmetic here.
std::string_view cpuTypeName(DataType dtype);

/// A literal of exactly this value.
std::string cpuConstant(const ScalarValue& value, DataType dtype);

/// ATen's conversion: to half types round-to-nearest-even, to Bool whether it differs from 0.
std::string cpuCast(std::string_view text, DataType from, DataType to);

/// Why the node cannot be printed for its types; none: it can.
std::optional<std::string> cpuWhyNot(const Expr* expr);

/// The value of a unary, binary or ternary node, given the texts of its operands that are present.
/// `report`: for nodes that mayDivideByZero(), an address and the number to write there, in text.
std::string cpuPointwise(
    const Expr* expr,
    const std::vector<std::string>& operands,
    const std::string& report = "");

/// The neutral element, and the combination of an accumulator and an element, both of type `dtype`.
std::string cpuReductionInit(ReductionType type, DataType dtype);
std::string cpuReductionCombine(
    ReductionType type,
    DataType dtype,
    std::string_view accumulator,
    std::string_view element);
/// The name of OpenMP's reduction with the same result; empty: there is none. The preamble declares
/// those that OpenMP does not have.
std::string_view cpuOmpReduction(ReductionType type, DataType dtype);

/// Flags that the texts need, beside those that the compiler is given in any case.
std::vector<std::string> cpuTextFlags();

} // namespace nvfuser
