// NVRTC, the compiler of CUDA texts: loaded with dlopen from where it is found.
#pragma once

#include <runtime/kernel_cache.h>

#include <string>
#include <utility>
#include <vector>

namespace nvfuser {

/// Folders to look in, beside those that are known: Python says where its packages lie. Before the
/// first use of NVRTC.
void setNvrtcFolders(std::vector<std::string> folders);

/// Why NVRTC cannot be used, and how to install it; empty: it can. It is looked for in this order:
/// $NVFUSER_NVRTC (a path), a library that the process has loaded already, folders beside torch's
/// and those of setNvrtcFolders(), $CUDA_HOME and $CUDA_PATH, the loader's path. Thread-safe.
const std::string& whyNoNvrtc();

/// {13, 0}; RuntimeError without NVRTC.
std::pair<int, int> nvrtcVersion();
/// The path or name by which it was loaded.
const std::string& nvrtcPath();

/// What NVRTC compiles to for a device of this capability: "sm_90", or, when the device is newer
/// than NVRTC, "compute_120", the newest that it knows, as text that the driver compiles.
std::string nvrtcTarget(int major, int minor);

/// Machine code (or such text) of CUDA C++; not cached. CompileError with NVRTC's log.
std::string compileCudaText(const KernelSource& source, const std::string& target);

/// The same from memory or disk where they have it. Thread-safe.
std::string compileCuda(const KernelSource& source, const std::string& target);

} // namespace nvfuser
