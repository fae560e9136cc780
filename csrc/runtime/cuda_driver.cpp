#include <runtime/cuda_driver.h>

#include <ir/exceptions.h>

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

#include <map>
#include <mutex>

namespace nvfuser {

namespace {

using Result = int; // CUresult
constexpr Result kSuccess = 0;
using Context = void*;

// Of CUdevice_attribute and CUfunction_attribute.
constexpr int kMultiprocessors = 16;
constexpr int kThreadsPerMultiprocessor = 39;
constexpr int kMajor = 75;
constexpr int kMinor = 76;
constexpr int kSharedPerBlock = 8;
constexpr int kLocalBytes = 3;
constexpr int kRegisters = 4;
constexpr int kMaxDynamicShared = 8;

// A new version of a function has a new name; these are in every driver since CUDA 11.
struct Driver {
  std::string reason; ///< why it cannot be used
  int devices = 0;

  Result (*init)(unsigned) = nullptr;
  Result (*device_count)(int*) = nullptr;
  Result (*device_get)(int*, int) = nullptr;
  Result (*device_attribute)(int*, int, int) = nullptr;
  Result (*error_name)(Result, const char**) = nullptr;
  Result (*error_string)(Result, const char**) = nullptr;
  Result (*retain)(Context*, int) = nullptr;
  Result (*get_current)(Context*) = nullptr;
  Result (*push)(Context) = nullptr;
  Result (*pop)(Context*) = nullptr;
  Result (*module_load)(void**, const void*) = nullptr;
  Result (*module_function)(void**, void*, const char*) = nullptr;
  Result (*function_attribute)(int*, int, void*) = nullptr;
  Result (*set_function_attribute)(void*, int, int) = nullptr;
  Result (*launch)(
      void*,
      unsigned,
      unsigned,
      unsigned,
      unsigned,
      unsigned,
      unsigned,
      unsigned,
      void*,
      void**,
      void**) = nullptr;

  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      reason = "there is no CUDA driver (libcuda.so.1) on this machine";
      return;
    }
    bool complete = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      complete = complete && function != nullptr;
    };
    find(init, "cuInit");
    find(device_count, "cuDeviceGetCount");
    find(device_get, "cuDeviceGet");
    find(device_attribute, "cuDeviceGetAttribute");
    find(error_name, "cuGetErrorName");
    find(error_string, "cuGetErrorString");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(get_current, "cuCtxGetCurrent");
    find(push, "cuCtxPushCurrent_v2");
    find(pop, "cuCtxPopCurrent_v2");
    find(module_load, "cuModuleLoadData");
    find(module_function, "cuModuleGetFunction");
    find(function_attribute, "cuFuncGetAttribute");
    find(set_function_attribute, "cuFuncSetAttribute");
    find(launch, "cuLaunchKernel");
    if (!complete) {
      reason = "the CUDA driver (libcuda.so.1) lacks functions that kernels need";
      return;
    }
    const Result result = init(0);
    if (result != kSuccess || device_count(&devices) != kSuccess || devices == 0) {
      reason = "the CUDA driver has no device" +
          (result == kSuccess ? std::string() : ": " + message(result));
    }
  }

  std::string message(Result result) const {
    const char* name = nullptr;
    const char* text = nullptr;
    error_name(result, &name);
    error_string(result, &text);
    return std::string(name == nullptr ? "unknown error" : name) +
        (text == nullptr ? "" : std::string(" (") + text + ")");
  }

  template <typename... Args>
  void check(Result result, const Args&... what) const {
    if (result != kSuccess) {
      throw UserError(ErrorKind::Runtime, detail::concat(what..., ": ", message(result)));
    }
  }
};

// Never destroyed: other threads may still launch while the process ends.
const Driver& driver() {
  static const Driver& result = *new Driver;
  return result;
}

const Driver& usableDriver() {
  NVF_CHECK(driver().reason.empty(), driver().reason);
  return driver();
}

Context primaryContext(int device) {
  static std::mutex mutex;
  static auto& contexts = *new std::map<int, Context>;
  const std::lock_guard lock(mutex);
  Context& context = contexts[device];
  if (context == nullptr) {
    int handle = 0;
    usableDriver().check(driver().device_get(&handle, device), "device ", device);
    driver().check(driver().retain(&context, handle), "the context of device ", device);
  }
  return context;
}

// torch's own functions for its current stream.
struct StreamFunctions {
  c10::Stream (*current)(signed char) = nullptr;
  void* (*handle)(const void*) = nullptr;
  std::string reason; ///< why they are not known

  StreamFunctions() {
    void* library = dlopen("libc10_cuda.so", RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
    library = library == nullptr ? RTLD_DEFAULT : library;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    find(current, "_ZN3c104cuda20getCurrentCUDAStreamEa");
    find(handle, "_ZNK3c104cuda10CUDAStream6streamEv");
    if (current == nullptr || handle == nullptr) {
      reason =
          "this torch does not say which CUDA stream is current: libc10_cuda.so lacks "
          "c10::cuda::getCurrentCUDAStream";
    }
  }
};

const StreamFunctions& streamFunctions() {
  static const StreamFunctions& functions = *new StreamFunctions;
  return functions;
}

void* currentStream(int device) {
  const StreamFunctions& functions = streamFunctions();
  NVF_CHECK(functions.reason.empty(), functions.reason);
  const c10::Stream stream = functions.current(static_cast<signed char>(device));
  return functions.handle(&stream);
}

std::string shapeText(const CudaGridShape& shape) {
  const auto text = [](const std::array<unsigned, 3>& n) {
    return detail::concat("[", n[0], ", ", n[1], ", ", n[2], "]");
  };
  return detail::concat(
      "grid ",
      text(shape.grid),
      ", block ",
      text(shape.block),
      ", ",
      shape.shared_bytes,
      " bytes of shared memory");
}

} // namespace

const std::string& whyNoCudaDriver() {
  return driver().reason;
}

const std::string& whyNoCudaStream() {
  return streamFunctions().reason;
}

const CudaDevice& cudaDevice(int index) {
  static std::mutex mutex;
  static auto& devices = *new std::map<int, CudaDevice>;
  const std::lock_guard lock(mutex);
  const auto found = devices.find(index);
  if (found != devices.end()) {
    return found->second;
  }
  int handle = 0;
  usableDriver().check(driver().device_get(&handle, index), "device ", index);
  const auto attribute = [&](int number) {
    int value = 0;
    driver().check(
        driver().device_attribute(&value, number, handle), "a property of device ", index);
    return value;
  };
  CudaDevice device;
  device.index = index;
  device.major = attribute(kMajor);
  device.minor = attribute(kMinor);
  device.multiprocessors = attribute(kMultiprocessors);
  device.max_threads_per_multiprocessor = attribute(kThreadsPerMultiprocessor);
  device.shared_per_block = attribute(kSharedPerBlock);
  return devices[index] = device;
}

CudaModule::CudaModule(const std::string& code, int device) : device_(device) {
  const CudaContextGuard guard(device);
  driver().check(
      driver().module_load(&handle_, code.c_str()), "a kernel cannot be loaded on device ", device);
}

CudaFunction CudaModule::function(const std::string& name) const {
  const CudaContextGuard guard(device_);
  CudaFunction result;
  result.name = name;
  driver().check(
      driver().module_function(&result.handle, handle_, name.c_str()),
      "a compiled kernel has no function ",
      name);
  const auto attribute = [&](int number) {
    int value = 0;
    driver().check(
        driver().function_attribute(&value, number, result.handle), "a property of ", name);
    return value;
  };
  result.registers = attribute(kRegisters);
  result.local_bytes = attribute(kLocalBytes);
  return result;
}

void allowSharedMemory(const CudaFunction& function, int64_t bytes, int device) {
  const CudaContextGuard guard(device);
  driver().check(
      driver().set_function_attribute(function.handle, kMaxDynamicShared, static_cast<int>(bytes)),
      function.name,
      " cannot have ",
      bytes,
      " bytes of shared memory");
}

void launchCuda(const CudaFunction& function, const CudaGridShape& shape, void* args, int device) {
  const CudaContextGuard guard(device);
  void* arguments[] = {args};
  const Result result = driver().launch(
      function.handle,
      shape.grid[0],
      shape.grid[1],
      shape.grid[2],
      shape.block[0],
      shape.block[1],
      shape.block[2],
      static_cast<unsigned>(shape.shared_bytes),
      currentStream(device),
      arguments,
      nullptr);
  if (result != kSuccess) {
    driver().check(result, "the launch of ", function.name, " failed, ", shapeText(shape));
  }
}

CudaContextGuard::CudaContextGuard(int device) {
  static thread_local int last_device = -1;
  static thread_local Context last = nullptr;
  if (last_device != device) {
    last = primaryContext(device);
    last_device = device;
  }
  Context current = nullptr;
  usableDriver().get_current(&current);
  if (current != last) {
    driver().check(driver().push(last), "the context of device ", device);
    is_set_ = true;
  }
}

CudaContextGuard::~CudaContextGuard() {
  if (is_set_) {
    Context ours = nullptr;
    driver().pop(&ours);
  }
}

} // namespace nvfuser
