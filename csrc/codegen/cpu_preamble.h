// What stands before the kernels of a generated C++ file.
#pragma once

#include <ir/nodes.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

/// Types, conversions and functions that the texts of text.h name; needs no other header.
std::string cpuPreamble();

/// The name of OpenMP's reduction with the same result as reductionCombine(); empty: there is none.
/// The preamble declares those that OpenMP does not have.
std::string_view cpuOmpReduction(ReductionType type, DataType dtype);

/// Flags that the texts need, beside those that the compiler is given in any case.
std::vector<std::string> cpuTextFlags();

/// nvf_transpose(target, target stride, source, source stride, rows, columns) for elements of
/// `bytes` (1, 2, 4 or 8): target[row * target stride + column] = source[column * source stride +
/// row]. Square blocks are transposed in registers by exchanging their off-diagonal blocks, of half
/// the size in each step.
std::string cpuTransposeText(int64_t bytes);

} // namespace nvfuser
