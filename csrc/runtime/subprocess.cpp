#include <runtime/subprocess.h>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

extern char** environ;

namespace nvfuser {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) {
    result.push_back(word.data());
  }
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environmentWith(
    const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool replaced = std::any_of(settings.begin(), settings.end(), [&](const auto& setting) {
      return text.starts_with(setting.first + "=");
    });
    if (!replaced) {
      result.push_back(text);
    }
  }
  for (const auto& [name, value] : settings) {
    result.push_back(name + "=" + value);
  }
  return result;
}

int millisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1000 * 1000));
}

// False at the deadline.
bool readAll(int fd, std::string& text, Clock::time_point deadline) {
  char buffer[4096];
  while (true) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, millisecondsUntil(deadline));
    if (ready == 0) {
      return false;
    }
    if (ready < 0) {
      if (errno == EINTR) {
        continue;
      }
      return true;
    }
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return true;
    }
    text.append(buffer, static_cast<size_t>(count));
  }
}

// Sets end and code; false while the child runs.
bool takeStatus(pid_t pid, int options, ProcessResult& result) {
  int status = 0;
  pid_t taken = -1;
  do {
    taken = waitpid(pid, &status, options);
  } while (taken < 0 && errno == EINTR);
  if (taken == 0) {
    return false;
  }
  if (taken < 0) {
    result.end = ProcessResult::End::Unknown;
  } else if (WIFSIGNALED(status)) {
    result.end = ProcessResult::End::Killed;
    result.code = WTERMSIG(status);
  } else {
    result.end = ProcessResult::End::Exited;
    result.code = WEXITSTATUS(status);
  }
  return true;
}

// What the child inherits: no blocked signals, no ignored ones (the driver waits for its own
// children), its own group so that a timeout ends all of it.
void setAttributes(posix_spawnattr_t& attributes) {
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (int signal : {SIGCHLD, SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGALRM}) {
    sigaddset(&defaults, signal);
  }
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

} // namespace

ProcessResult runProcess(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& settings,
    std::chrono::milliseconds timeout) {
  ProcessResult result;
  int ends[2];
  if (command.empty() || pipe2(ends, O_CLOEXEC) != 0) {
    result.output = command.empty() ? "no command" : std::strerror(errno);
    return result;
  }
  // Copies above 2: a host program may have closed its standard streams.
  const int from = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
  const int to = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
  close(ends[0]);
  close(ends[1]);
  if (from < 0 || to < 0) {
    result.output = std::strerror(errno);
    close(from);
    close(to);
    return result;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, to, 1);
  posix_spawn_file_actions_adddup2(&actions, to, 2);
  posix_spawnattr_t attributes;
  setAttributes(attributes);
  std::vector<std::string> words = command;
  std::vector<std::string> variables = environmentWith(settings);
  pid_t pid = 0;
  const int failed = posix_spawn(
      &pid,
      words[0].c_str(),
      &actions,
      &attributes,
      pointers(words).data(),
      pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(to);
  if (failed != 0) {
    close(from);
    result.output = std::strerror(failed);
    return result;
  }
  const auto deadline = Clock::now() + timeout;
  bool in_time = readAll(from, result.output, deadline);
  close(from);
  while (in_time && !takeStatus(pid, WNOHANG, result)) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    in_time = Clock::now() < deadline;
  }
  // The group is still ours as long as its leader has not been waited for.
  if (!in_time && !takeStatus(pid, WNOHANG, result)) {
    kill(-pid, SIGKILL);
    takeStatus(pid, 0, result);
    result.end = ProcessResult::End::TimedOut;
  }
  return result;
}

} // namespace nvfuser
