// libcuda without a toolkit: loaded with dlopen, declared here as far as it is used.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace nvfuser {

/// Why no kernel can run on a GPU here: no driver, or no device; empty: it can. Thread-safe.
const std::string& whyNoCudaDriver();

/// Why torch's current stream cannot be known; empty: it can. After torch has been imported.
const std::string& whyNoCudaStream();

/// What a device says of itself.
struct CudaDevice {
  int index = 0;
  int major = 0; ///< of the compute capability
  int minor = 0;
  int multiprocessors = 0;
  int max_threads_per_multiprocessor = 0;
  int64_t shared_per_block = 0; ///< without asking for more
};
/// Read once for each device. RuntimeError when there is none of that index.
const CudaDevice& cudaDevice(int index);

/// A kernel of a loaded module.
struct CudaFunction {
  void* handle = nullptr;
  std::string name;
  int registers = 0;
  int64_t local_bytes = 0; ///< of each thread: what registers had no room for
};

/// The blocks and threads of one launch.
struct CudaGridShape {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  int64_t shared_bytes = 0; ///< dynamic
};

/// Compiled code on one device, which stays loaded for the life of the process.
class CudaModule {
 public:
  /// A cubin, or PTX. RuntimeError with the driver's message.
  CudaModule(const std::string& code, int device);
  /// RuntimeError when there is none of that name.
  CudaFunction function(const std::string& name) const;

 private:
  void* handle_ = nullptr;
  int device_;
};

/// Raises the function's limit on dynamic shared memory, which more than shared_per_block needs.
void allowSharedMemory(const CudaFunction& function, int64_t bytes, int device);

/// Starts the kernel on torch's current stream of the device with one argument, the struct at
/// `args`. RuntimeError with the kernel's name and shape.
void launchCuda(const CudaFunction& function, const CudaGridShape& shape, void* args, int device);

/// Makes the device's primary context the thread's for as long as it lives.
class CudaContextGuard {
 public:
  explicit CudaContextGuard(int device);
  ~CudaContextGuard();
  CudaContextGuard(const CudaContextGuard&) = delete;
  CudaContextGuard& operator=(const CudaContextGuard&) = delete;

 private:
  bool is_set_ = false;
};

} // namespace nvfuser
