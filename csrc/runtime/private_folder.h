// Small file helpers, and a folder for temporary files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nvfuser {

/// A folder that only this user can enter, below $TMPDIR, /tmp or /dev/shm. It goes with the
/// object, or, after a kill, by the hand of a later process.
class PrivateFolder {
 public:
  /// RuntimeError when none can be made.
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const {
    return path_;
  }

 private:
  std::string path_;
  int lock_ = -1; // held as long as the process lives and the object does
};

/// The whole regular file, no symbolic link followed; none when it cannot be read, or with
/// `ours_only` when another user owns it or can write it.
std::optional<std::string> readFile(const std::string& path, bool ours_only = false);
/// Creates `path`, which must not exist, with mode 0600. 0 or errno; nothing is left on failure.
int writeNewFile(const std::string& path, std::string_view bytes);

/// 64 bits for telling damage and names apart; no protection against an attacker.
uint64_t hashBytes(std::string_view bytes, uint64_t seed);
std::string hexText(uint64_t number);

} // namespace nvfuser
