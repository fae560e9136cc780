// Compiled kernels, in memory and on disk.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace nvfuser {

struct KernelSource {
  std::string name; ///< for messages
  std::string text;
  std::vector<std::string> flags; ///< beside the standard ones
};

/// A shared library that stays loaded for the life of the process.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(void* handle) : handle_(handle) {}
  /// RuntimeError when there is no such symbol.
  void* symbol(const char* name) const;

 private:
  void* handle_;
};

/// The library compiled from the text; thread-safe, and compiled only when neither memory nor disk
/// has it. RuntimeError with the compiler's message and the command when that fails.
std::shared_ptr<LoadedLibrary> compileAndLoad(const KernelSource& source);
/// The same for several, in parallel.
std::vector<std::shared_ptr<LoadedLibrary>> compileAndLoadAll(
    const std::vector<KernelSource>& sources);

} // namespace nvfuser
