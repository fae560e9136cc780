#include <runtime/attention/cuda_query.h>

#include <c10/core/Stream.h>

#include <dlfcn.h>

#include <array>
#include <atomic>

namespace nvfuser {

namespace {

// Symbols of a library that torch has loaded, if it is loaded.
template <typename Function>
Function* symbol(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle, name));
}

constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

} // namespace

int64_t computeCapability(c10::Device device) {
  using DeviceAttribute = int(int* value, int attribute, int device);
  static auto* attribute = symbol<DeviceAttribute>("libcuda.so.1", "cuDeviceGetAttribute");
  if (!device.is_cuda() || attribute == nullptr) {
    return 0;
  }
  static std::array<std::atomic<int64_t>, 128> known{};
  const size_t index = device.has_index() ? device.index() : 0;
  const bool cached = index < known.size();
  if (cached && known[index] != 0) {
    return known[index];
  }
  int major = 0;
  int minor = 0;
  if (attribute(&major, kCapabilityMajor, static_cast<int>(index)) != 0 ||
      attribute(&minor, kCapabilityMinor, static_cast<int>(index)) != 0) {
    return 0;
  }
  const int64_t capability = 10 * major + minor;
  if (cached) {
    known[index] = capability;
  }
  return capability;
}

bool isStreamCapturing(c10::Device device) {
  // CUDAStream holds one c10::Stream and nothing else, so it may stand for it here.
  using CurrentStream = c10::Stream(c10::DeviceIndex);
  using NativeStream = void*(const c10::Stream*);
  using StreamIsCapturing = int(void* stream, int* status);
  static auto* current =
      symbol<CurrentStream>("libc10_cuda.so", "_ZN3c104cuda20getCurrentCUDAStreamEa");
  static auto* native =
      symbol<NativeStream>("libc10_cuda.so", "_ZNK3c104cuda10CUDAStream6streamEv");
  static auto* is_capturing = symbol<StreamIsCapturing>("libcuda.so.1", "cuStreamIsCapturing");
  if (!device.is_cuda() || current == nullptr || native == nullptr || is_capturing == nullptr) {
    return false;
  }
  const c10::Stream stream = current(device.index());
  int status = 0;
  return is_capturing(native(&stream), &status) == 0 && status != 0;
}

} // namespace nvfuser
