// Child processes, started without a shell.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace nvfuser {

struct ProcessResult {
  enum class End {
    Exited,
    Killed,
    TimedOut,
    NotStarted,
    Unknown ///< a SIGCHLD handler of the host program took the status away
  };
  End end = End::NotStarted;
  int code = -1;      ///< exit status or signal
  std::string output; ///< stdout and stderr together; for NotStarted the reason
  bool succeeded() const {
    return end == End::Exited && code == 0;
  }
};

/// Runs `command`, whose first word is a path, with stdin empty, and waits for its end. `settings`
/// replace variables of the environment. Never throws; kills the child's whole group at `timeout`.
ProcessResult runProcess(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& settings,
    std::chrono::milliseconds timeout);

} // namespace nvfuser
