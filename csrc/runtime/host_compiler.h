// The system's C++ compiler.
#pragma once

#include <string>
#include <vector>

namespace nvfuser {

/// Prints, once per process, that generated kernels are not available and why.
void warnOnceNoCompiler(const std::string& reason);

} // namespace nvfuser
