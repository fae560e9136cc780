#include <runtime/host_compiler.h>
#include <runtime/in_parallel.h>
#include <runtime/kernel_cache.h>
#include <runtime/kernel_disk.h>
#include <runtime/private_folder.h>
#include <runtime/single_flight.h>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>
#include <thread>

namespace nvfuser {

void* LoadedLibrary::symbol(const char* name) const {
  void* result = dlsym(handle_, name);
  NVF_CHECK(result != nullptr, "a compiled kernel has no function ", name);
  return result;
}

namespace {

using Library = std::shared_ptr<LoadedLibrary>;

std::atomic<int64_t> compiled_count{0};
std::atomic<int64_t> disk_count{0};

// Everything that decides what the machine code is and where it may run.
std::string keyOf(const KernelSource& source, const HostCompiler& compiler) {
  std::string key = "kernel 1\n" + cpuKey() + "\n" + compiler.version + "\n";
  for (const auto* words : {&compiler.command, &compiler.flags, &source.flags}) {
    for (const std::string& word : *words) {
      key += std::to_string(word.size()) + " " + word + "\n";
    }
    key += "\n";
  }
  return key + source.text;
}

void* open(const std::string& path) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

Library compile(
    const KernelSource& source,
    const HostCompiler& compiler,
    const KernelDisk& disk,
    const std::string& key) {
  // Gone at the end: a loaded library needs its name no more.
  const PrivateFolder folder;
  // Numbered: the loader takes a second library of one name for the first.
  static std::atomic<int> number{0};
  const std::string source_path = folder.path() + "/kernel.cpp";
  const std::string library_path = folder.path() + "/kernel" + std::to_string(number++) + ".so";
  if (const int error = writeNewFile(source_path, source.text)) {
    throw CompileError(
        detail::concat(
            "the kernel ",
            source.name,
            " cannot be compiled: ",
            source_path,
            ": ",
            std::strerror(error)));
  }
  const std::string said =
      compileFile(compiler, joinWords(compiler.flags, source.flags), source_path, library_path);
  if (!said.empty()) {
    const auto kept = disk.keepText(key, source.text);
    throw CompileError(
        detail::concat(
            "the kernel ",
            source.name,
            " does not compile: ",
            said,
            kept ? "\nits text is kept in " + *kept : ""));
  }
  ++compiled_count;
  // From the cache's folder where possible: temporary folders are mounted noexec on some machines.
  void* handle = nullptr;
  if (const auto bytes = readFile(library_path, true)) {
    const auto stored = disk.storeLibrary(key, *bytes);
    handle = stored ? open(*stored) : nullptr;
  }
  handle = handle == nullptr ? open(library_path) : handle;
  if (handle == nullptr) {
    throw CompileError(
        detail::concat("the kernel ", source.name, " cannot be loaded: ", dlerror()));
  }
  return std::make_shared<LoadedLibrary>(handle);
}

Library fromDisk(const KernelDisk& disk, const std::string& key) {
  const auto path = disk.findLibrary(key);
  void* handle = path ? open(*path) : nullptr;
  if (handle == nullptr) {
    return nullptr;
  }
  ++disk_count;
  return std::make_shared<LoadedLibrary>(handle);
}

struct DiskLock {
  DiskLock(const KernelDisk& disk, const std::string& key)
      : disk(disk), key(key), held(disk.lock(key)) {}
  ~DiskLock() {
    disk.unlock(key, held);
  }
  const KernelDisk& disk;
  const std::string& key;
  int held;
};

Library load(const KernelSource& source, const HostCompiler& compiler, const std::string& key) {
  const KernelDisk disk = kernelDisk();
  if (Library library = fromDisk(disk, key)) {
    return library;
  }
  const DiskLock lock(disk, key);
  // Another process may have compiled it while this one waited.
  if (Library library = lock.held >= 0 ? fromDisk(disk, key) : nullptr) {
    return library;
  }
  return compile(source, compiler, disk, key);
}

} // namespace

Library compileAndLoad(const KernelSource& source) {
  // Never destroyed: threads of the host program may still compile while the process ends.
  static auto& libraries = *new SingleFlight<Library>;
  const auto compiler = hostCompiler();
  if (!*compiler) {
    throw CompileError(compiler->reason);
  }
  const std::string key = keyOf(source, *compiler);
  return libraries.get(key, [&] { return load(source, *compiler, key); });
}

std::vector<Library> compileAndLoadAll(const std::vector<KernelSource>& sources) {
  std::vector<Library> results(sources.size());
  inParallel(sources.size(), [&](size_t i) { results[i] = compileAndLoad(sources[i]); });
  return results;
}

std::string cachedCode(
    const std::string& key,
    const KernelSource& source,
    const std::function<std::string()>& make) {
  static auto& codes = *new SingleFlight<std::string>;
  return codes.get(key, [&] {
    const KernelDisk disk = kernelDisk();
    const auto stored = [&] {
      auto code = disk.readLibrary(key);
      disk_count += code.has_value() ? 1 : 0;
      return code;
    };
    if (auto code = stored()) {
      return *code;
    }
    const DiskLock lock(disk, key);
    // Another process may have compiled it while this one waited.
    if (auto code = lock.held >= 0 ? stored() : std::nullopt) {
      return *code;
    }
    try {
      std::string code = make();
      ++compiled_count;
      disk.storeLibrary(key, code);
      return code;
    } catch (const CompileError& error) {
      const auto kept = disk.keepText(key, source.text);
      throw CompileError(
          detail::concat(error.what(), kept ? "\nits text is kept in " + *kept : ""));
    }
  });
}

KernelCacheCounts kernelCacheCounts() {
  return {compiled_count, disk_count};
}

} // namespace nvfuser
