// What stands before the kernels of a generated C++ file.
#pragma once

#include <cstdint>
#include <string>

namespace nvfuser {

/// Types, conversions and functions that the texts of cpu_text.h name; needs no other header.
std::string cpuPreamble();

/// nvf_transpose(target, target stride, source, source stride, rows, columns) for elements of
/// `bytes` (1, 2, 4 or 8): target[row * target stride + column] = source[column * source stride +
/// row]. Square blocks are transposed in registers by exchanging their off-diagonal blocks, of half
/// the size in each step.
std::string cpuTransposeText(int64_t bytes);

} // namespace nvfuser
