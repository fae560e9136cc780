#include <ir/exceptions.h>
#include <runtime/torch_version.h>

#include <dlfcn.h>

#include <charconv>
#include <tuple>

namespace nvfuser {

TorchVersion TorchVersion::parse(std::string_view text) {
  TorchVersion version;
  std::string_view rest = text;
  for (int64_t* part : {&version.major, &version.minor, &version.patch}) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *part);
    if (error != std::errc()) {
      NVF_CHECK(part != &version.major, "\"", text, "\" is not a version of torch");
      break;
    }
    rest.remove_prefix(end - rest.data());
    if (rest.empty() || rest.front() != '.') {
      break;
    }
    rest.remove_prefix(1);
  }
  return version;
}

bool TorchVersion::atLeast(int64_t a, int64_t b, int64_t c) const {
  return std::tie(major, minor, patch) >= std::tie(a, b, c);
}

const TorchVersion& torchVersion() {
  static const TorchVersion version = TorchVersion::parse(NVFUSER_BUILT_WITH_TORCH);
  return version;
}

bool torchIsRocm() {
  // Asks whether the library is loaded, without loading it: torch's own hooks would fix their
  // answer before a CUDA library that is loaded later could register.
  void* handle = dlopen("libc10_hip.so", RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) {
    dlclose(handle);
  }
  return handle != nullptr;
}

} // namespace nvfuser
