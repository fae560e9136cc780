// The folder in which compiled kernels outlive the process.
//
// What lies in it is executed, so it is used only when no other user can write it. Each file ends
// with its key, its length and a hash; whatever does not match is as good as not there. Files come
// into being by rename, so a process that is killed leaves a temporary file at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nvfuser {

class KernelDisk {
 public:
  struct Usage {
    size_t entries = 0; ///< compiled kernels
    uint64_t bytes = 0; ///< of all files of ours
  };

  /// Makes the folder when it is not there. An empty name, or a folder that must not be used, gives
  /// a disk that finds nothing and stores nothing.
  KernelDisk(const std::string& folder, uint64_t limit);

  /// Empty: nothing is kept on disk.
  const std::string& folder() const {
    return folder_;
  }
  /// Why the folder is not used.
  const std::string& refusal() const {
    return refusal_;
  }
  uint64_t limit() const {
    return limit_;
  }

  /// The path of the library stored under `key`, checked from end to end; marks it as used.
  std::optional<std::string> findLibrary(std::string_view key) const;
  /// The bytes of what storeLibrary() has kept under `key`; marks it as used.
  std::optional<std::string> readLibrary(std::string_view key) const;
  /// Keeps the library; the path, or nothing (with one warning a process) when the disk is full or
  /// cannot be written.
  std::optional<std::string> storeLibrary(std::string_view key, std::string_view library) const;
  /// The same for a small text.
  std::optional<std::string> readNote(std::string_view key) const;
  void writeNote(std::string_view key, std::string_view text) const;
  /// Keeps the text of a kernel that does not compile; its path, or nothing.
  std::optional<std::string> keepText(std::string_view key, std::string_view text) const;

  /// Held by one process at a time, so that several do not compile the same kernel. Gives up after
  /// some seconds: two that compile the same are no harm. -1: not locked.
  int lock(std::string_view key) const;
  void unlock(std::string_view key, int lock) const;

  /// Removes the least recently used files until the rest fits the limit, and what killed processes
  /// left.
  void evict() const;
  Usage usage() const;
  /// Removes every file of ours and nothing else; the number of kernels removed.
  size_t clear() const;

 private:
  std::string pathOf(std::string_view key, const char* ending) const;
  std::optional<std::string> store(
      const std::string& path,
      std::string_view key,
      std::string_view bytes) const;

  std::string folder_;
  std::string refusal_;
  uint64_t limit_;
};

/// From NVFUSER_CACHE_DIR (else $XDG_CACHE_HOME/nvfuser, else ~/.cache/nvfuser) and
/// NVFUSER_CACHE_SIZE (bytes, or with K, M or G; 1G when not set; 0: nothing on disk).
KernelDisk kernelDisk();

} // namespace nvfuser
