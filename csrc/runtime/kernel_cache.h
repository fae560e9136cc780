// Compiled kernels, in memory and on disk.
#pragma once

#include <ir/exceptions.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace nvfuser {

struct KernelSource {
  std::string name; ///< for messages
  std::string text;
  std::vector<std::string> flags; ///< beside the standard ones
};

/// A kernel cannot be compiled or loaded: what the compiler said, the command, where the text lies.
class CompileError : public UserError {
 public:
  explicit CompileError(const std::string& message) : UserError(ErrorKind::Runtime, message) {}
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
/// has it. CompileError when that fails or there is no compiler.
std::shared_ptr<LoadedLibrary> compileAndLoad(const KernelSource& source);
/// The same for several, in parallel: NVFUSER_COMPILE_THREADS compilers at a time, else one for
/// each hardware thread.
std::vector<std::shared_ptr<LoadedLibrary>> compileAndLoadAll(
    const std::vector<KernelSource>& sources);

/// Code that `make` compiles from the source, by a key of everything that decides what it is; from
/// memory or disk where they have it, as compileAndLoad(). A text that does not compile is kept.
std::string cachedCode(
    const std::string& key,
    const KernelSource& source,
    const std::function<std::string()>& make);

/// What this process has done so far.
struct KernelCacheCounts {
  int64_t compiled = 0;
  int64_t from_disk = 0;
};
KernelCacheCounts kernelCacheCounts();

} // namespace nvfuser
