// The version of torch, parsed and compared in one place.
#pragma once

#include <cstdint>
#include <string_view>

namespace nvfuser {

struct TorchVersion {
  int64_t major = 0;
  int64_t minor = 0;
  int64_t patch = 0;

  /// Only the release numbers count: pre-releases and local parts ("2.7.0a0+git1a2b",
  /// "2.8.0.dev20250301", "2.7.0+cu126") are at least their release. RuntimeError when `text` does
  /// not begin with a number.
  static TorchVersion parse(std::string_view text);
  bool atLeast(int64_t major, int64_t minor, int64_t patch = 0) const;
};

/// The torch that this library was built with; the package refuses to load with another one.
const TorchVersion& torchVersion();
/// The torch in this process is a ROCm build.
bool torchIsRocm();

} // namespace nvfuser
