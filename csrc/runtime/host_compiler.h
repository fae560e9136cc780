// The system's C++ compiler.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace nvfuser {

/// How a kernel is compiled on this machine, or why it cannot be.
struct HostCompiler {
  std::vector<std::string> command; ///< the path, then arguments from $CXX; empty: no compiler
  std::string version;              ///< the first line of --version
  std::vector<std::string> flags;   ///< of the standard ones those that it accepts, then the
                                    ///< words of $NVFUSER_CXXFLAGS
  std::string reason;               ///< why there is none
  explicit operator bool() const {
    return !command.empty();
  }
};

/// From $CXX, c++, g++, clang++: the first that compiles a small text. Found once for each value of
/// CXX, PATH and NVFUSER_CXXFLAGS; thread-safe.
std::shared_ptr<const HostCompiler> hostCompiler();

/// The processor's model and features: code built with -march=native runs only where it is equal.
const std::string& cpuKey();

/// The words of both, in order.
std::vector<std::string> joinWords(
    std::vector<std::string> first,
    const std::vector<std::string>& second);

/// Cuts as a shell does, with quotes and backslashes but no expansions.
std::vector<std::string> splitWords(const std::string& text);

/// Compiles the file `source` to the shared library `output`. Empty, or what the compiler said.
std::string compileFile(
    const HostCompiler& compiler,
    const std::vector<std::string>& flags,
    const std::string& source,
    const std::string& output);

/// Prints, once per process, that generated kernels are not available and why.
void warnOnceNoCompiler(const std::string& reason);

} // namespace nvfuser
