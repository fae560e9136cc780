#include <runtime/nvrtc.h>

#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace nvfuser {

namespace {

using Result = int; // nvrtcResult
constexpr Result kSuccess = 0;
using Program = void*;

std::mutex& foldersMutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}
std::vector<std::string>& givenFolders() {
  static auto& folders = *new std::vector<std::string>;
  return folders;
}

std::vector<std::string> filesLike(const std::string& pattern) {
  std::vector<std::string> result;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    result.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  // The newest version first, and libnvrtc-builtins.so is none.
  std::erase_if(result, [](const std::string& path) {
    return path.find("builtins") != std::string::npos || path.find(".alt.") != std::string::npos;
  });
  std::sort(result.rbegin(), result.rend());
  return result;
}

// The folder of torch's libraries: .../site-packages/torch/lib.
std::string torchFolder() {
  void* handle = dlopen("libc10.so", RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  void* symbol = handle == nullptr ? nullptr : dlsym(handle, "_ZTVN3c105ErrorE");
  Dl_info about{};
  if (symbol == nullptr || dladdr(symbol, &about) == 0 || about.dli_fname == nullptr) {
    return "";
  }
  const std::string path = about.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

struct Nvrtc {
  std::string reason; ///< why there is none
  std::string path;
  int major = 0;
  int minor = 0;
  std::vector<int> targets;

  Result (*version)(int*, int*) = nullptr;
  Result (*count)(int*) = nullptr;
  Result (*supported)(int*) = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (
      *create)(Program*, const char*, const char*, int, const char* const*, const char* const*) =
      nullptr;
  Result (*destroy)(Program*) = nullptr;
  Result (*compile)(Program, int, const char* const*) = nullptr;
  Result (*log_size)(Program, size_t*) = nullptr;
  Result (*log)(Program, char*) = nullptr;
  Result (*cubin_size)(Program, size_t*) = nullptr;
  Result (*cubin)(Program, char*) = nullptr;
  Result (*ptx_size)(Program, size_t*) = nullptr;
  Result (*ptx)(Program, char*) = nullptr;

  Nvrtc() {
    const char* chosen = std::getenv("NVFUSER_NVRTC");
    if (chosen != nullptr && *chosen != '\0') {
      if (!open(chosen, 0)) {
        reason =
            detail::concat("NVFUSER_NVRTC=", chosen, " is no NVRTC that can be loaded: ", said_);
      }
      return;
    }
    const std::vector<std::string> names = {
        "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
    for (const std::string& name : names) {
      if (open(name, RTLD_NOLOAD)) {
        return;
      }
    }
    for (const std::string& candidate : candidates()) {
      if (open(candidate, 0)) {
        return;
      }
    }
    for (const std::string& name : names) {
      if (open(name, 0)) {
        return;
      }
    }
    reason =
        "NVRTC, the compiler of CUDA kernels, was not found; it comes with CUDA builds of torch, "
        "or by: pip install nvidia-cuda-nvrtc (or set NVFUSER_NVRTC to the path of libnvrtc.so)";
  }

  static std::vector<std::string> candidates() {
    std::vector<std::string> folders;
    if (const std::string torch = torchFolder(); !torch.empty()) {
      folders.push_back(torch);
      folders.push_back(torch + "/../../nvidia/*/lib");
    }
    {
      const std::lock_guard lock(foldersMutex());
      folders.insert(folders.end(), givenFolders().begin(), givenFolders().end());
    }
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const char* home = std::getenv(variable)) {
        folders.push_back(std::string(home) + "/lib64");
        folders.push_back(std::string(home) + "/lib");
      }
    }
    std::vector<std::string> result;
    for (const std::string& folder : folders) {
      const auto found = filesLike(folder + "/libnvrtc*.so*");
      result.insert(result.end(), found.begin(), found.end());
    }
    return result;
  }

  bool open(const std::string& name, int flags) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (library == nullptr) {
      const char* error = dlerror();
      said_ = error == nullptr ? "" : error;
      return false;
    }
    bool complete = true;
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
      complete = complete && function != nullptr;
    };
    find(version, "nvrtcVersion");
    find(count, "nvrtcGetNumSupportedArchs");
    find(supported, "nvrtcGetSupportedArchs");
    find(error_string, "nvrtcGetErrorString");
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(cubin_size, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
    find(ptx_size, "nvrtcGetPTXSize");
    find(ptx, "nvrtcGetPTX");
    if (!complete || version(&major, &minor) != kSuccess) {
      said_ = name + " lacks functions of NVRTC 11.2 or newer";
      return false;
    }
    int number = 0;
    count(&number);
    targets.resize(static_cast<size_t>(number));
    supported(targets.data());
    path = name;
    return true;
  }

 private:
  std::string said_; ///< by the loader, last
};

// Never destroyed: other threads may still compile while the process ends.
const Nvrtc& nvrtc() {
  static const Nvrtc& result = *new Nvrtc;
  return result;
}

const Nvrtc& usableNvrtc() {
  if (!nvrtc().reason.empty()) {
    throw CompileError(nvrtc().reason);
  }
  return nvrtc();
}

} // namespace

void setNvrtcFolders(std::vector<std::string> folders) {
  const std::lock_guard lock(foldersMutex());
  givenFolders() = std::move(folders);
}

const std::string& whyNoNvrtc() {
  return nvrtc().reason;
}

std::pair<int, int> nvrtcVersion() {
  return {usableNvrtc().major, usableNvrtc().minor};
}

const std::string& nvrtcPath() {
  return usableNvrtc().path;
}

std::string nvrtcTarget(int major, int minor) {
  const int wanted = 10 * major + minor;
  int best = 0;
  int newest = 0;
  for (int target : usableNvrtc().targets) {
    newest = std::max(newest, target);
    // Code for a capability runs on later ones of the same generation.
    if (target <= wanted && target / 10 == major) {
      best = std::max(best, target);
    }
  }
  if (best == 0 && newest > 0 && newest < wanted) {
    return "compute_" + std::to_string(newest);
  }
  NVF_CHECK(
      best > 0,
      "NVRTC ",
      nvrtc().major,
      ".",
      nvrtc().minor,
      " does not compile for devices of capability ",
      major,
      ".",
      minor);
  return "sm_" + std::to_string(best);
}

std::string compileCudaText(const KernelSource& source, const std::string& target) {
  const Nvrtc& lib = usableNvrtc();
  Program program = nullptr;
  const auto check = [&](Result result, const char* what) {
    if (result != kSuccess) {
      const std::string said = lib.error_string(result);
      if (program != nullptr) {
        lib.destroy(&program);
      }
      throw CompileError(
          detail::concat("the kernel ", source.name, " cannot be compiled: ", what, ": ", said));
    }
  };
  check(
      lib.create(&program, source.text.c_str(), "kernel.cu", 0, nullptr, nullptr),
      "nvrtcCreateProgram");
  std::vector<std::string> options = {
      "--std=c++17",
      "--gpu-architecture=" + target,
      "--device-as-default-execution-space",
      "--disable-warnings"};
  options.insert(options.end(), source.flags.begin(), source.flags.end());
  std::vector<const char*> words;
  for (const std::string& option : options) {
    words.push_back(option.c_str());
  }
  if (lib.compile(program, static_cast<int>(words.size()), words.data()) != kSuccess) {
    size_t size = 0;
    std::string log;
    if (lib.log_size(program, &size) == kSuccess && size > 0) {
      log.resize(size);
      lib.log(program, log.data());
      log.resize(size - 1);
    }
    lib.destroy(&program);
    std::string command = "NVRTC " + std::to_string(lib.major) + "." + std::to_string(lib.minor);
    for (const std::string& option : options) {
      command += " " + option;
    }
    throw CompileError(
        detail::concat("the kernel ", source.name, " does not compile: ", log, "\n", command));
  }
  const bool is_text = target.starts_with("compute_");
  size_t size = 0;
  check(
      is_text ? lib.ptx_size(program, &size) : lib.cubin_size(program, &size),
      "the size of the code");
  std::string code(size, '\0');
  check(is_text ? lib.ptx(program, code.data()) : lib.cubin(program, code.data()), "the code");
  lib.destroy(&program);
  return code;
}

std::string compileCuda(const KernelSource& source, const std::string& target) {
  const auto [major, minor] = nvrtcVersion();
  std::string key = detail::concat("cuda kernel 1\nNVRTC ", major, ".", minor, " ", target, "\n");
  for (const std::string& flag : source.flags) {
    key += std::to_string(flag.size()) + " " + flag + "\n";
  }
  return cachedCode(key + source.text, source, [&] { return compileCudaText(source, target); });
}

} // namespace nvfuser
