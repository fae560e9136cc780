// What stands before the kernels of a generated C++ file.
#pragma once

#include <string>

namespace nvfuser {

/// Types, conversions and functions that the texts of cpu_text.h name; needs no other header.
std::string cpuPreamble();

} // namespace nvfuser
