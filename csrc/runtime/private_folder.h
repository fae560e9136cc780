// Small file helpers, and a folder of temporary files that belongs to this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nvfuser {

/// A folder that only this user can enter, below $TMPDIR, /tmp or /dev/shm; removed at exit, or by
/// a later process after a kill. The child of a fork gets its own. RuntimeError when none can be
/// made.
std::string privateFolder();

/// The whole regular file, no symbolic link followed; none when it cannot be read, or with
/// `ours_only` when another user owns it or can write it.
std::optional<std::string> readFile(const std::string& path, bool ours_only = false);
/// Creates `path`, which must not exist, with mode 0600. 0 or errno; nothing is left on failure.
int writeNewFile(const std::string& path, std::string_view bytes);

/// 64 bits for telling damage and names apart; no protection against an attacker.
uint64_t hashBytes(std::string_view bytes, uint64_t seed);
std::string hexText(uint64_t number);

} // namespace nvfuser
