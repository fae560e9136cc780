#include <ir/exceptions.h>
#include <runtime/private_folder.h>
#include <runtime/single_flight.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace nvfuser {

std::mutex& forkSafeMutex() {
  // Never destroyed: the handlers outlive static destruction.
  static std::mutex* mutex = [] {
    static std::mutex* made = new std::mutex;
    pthread_atfork([] { made->lock(); }, [] { made->unlock(); }, [] { made->unlock(); });
    return made;
  }();
  return *mutex;
}

uint64_t hashBytes(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15;
  uint64_t state = (seed + 1) * factor ^ bytes.size();
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    state = (state ^ word) * factor;
    state ^= state >> 29;
  }
  state *= 0xbf58476d1ce4e5b9;
  return state ^ (state >> 32);
}

std::string hexText(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 0; i < 16; ++i) {
    text[15 - i] = "0123456789abcdef"[number >> (4 * i) & 15];
  }
  return text;
}

std::optional<std::string> readFile(const std::string& path, bool ours_only) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return std::nullopt;
  }
  struct stat about{};
  std::optional<std::string> bytes;
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
      (!ours_only || (about.st_uid == geteuid() && (about.st_mode & 022) == 0))) {
    bytes.emplace(static_cast<size_t>(about.st_size), '\0');
    size_t done = 0;
    while (done < bytes->size()) {
      const ssize_t count = read(fd, bytes->data() + done, bytes->size() - done);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count <= 0) {
        break;
      }
      done += static_cast<size_t>(count);
    }
    bytes->resize(done);
  }
  close(fd);
  return bytes;
}

int writeNewFile(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    return errno;
  }
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0) {
      error = errno == EINTR ? 0 : errno;
    } else {
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }
  if (close(fd) != 0 && error == 0 && errno != EINTR) {
    error = errno; // network file systems report a full disk here
  }
  if (error != 0) {
    unlink(path.c_str());
  }
  return error;
}

namespace {

constexpr time_t kStaleSeconds = 600;

void removeFolder(const std::string& folder) {
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) {
    return;
  }
  while (const dirent* entry = readdir(listing)) {
    unlinkat(dirfd(listing), entry->d_name, 0);
  }
  closedir(listing);
  rmdir(folder.c_str());
}

// The descriptor that holds the lock, which a kill gives back; -1 when another process has it.
int lockFolder(const std::string& folder) {
  const int fd = open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

void removeStaleFolders(const std::string& base, const std::string& prefix) {
  DIR* listing = opendir(base.c_str());
  if (listing == nullptr) {
    return;
  }
  std::vector<std::string> stale;
  while (const dirent* entry = readdir(listing)) {
    struct stat about{};
    if (std::string_view(entry->d_name).starts_with(prefix) &&
        fstatat(dirfd(listing), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
        about.st_mtime + kStaleSeconds < time(nullptr)) {
      stale.push_back(base + "/" + entry->d_name);
    }
  }
  closedir(listing);
  for (const std::string& folder : stale) {
    const int fd = lockFolder(folder);
    if (fd >= 0) {
      removeFolder(folder);
      close(fd);
    }
  }
}

} // namespace

PrivateFolder::PrivateFolder() {
  const char* named = std::getenv("TMPDIR");
  const std::string prefix = "nvfuser-" + std::to_string(geteuid()) + "-";
  const std::string bases[] = {named == nullptr ? "" : named, "/tmp", "/dev/shm"};
  for (const std::string& base : bases) {
    // A relative name would change its meaning with the next chdir.
    if (!base.starts_with('/')) {
      continue;
    }
    path_ = base + "/" + prefix + "XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) {
      continue;
    }
    lock_ = lockFolder(path_);
    if (lock_ < 0) {
      removeFolder(path_);
      continue;
    }
    static std::atomic<bool> swept{false};
    if (!swept.exchange(true)) {
      removeStaleFolders(base, prefix);
    }
    return;
  }
  NVF_CHECK(false, "no temporary folder can be made below $TMPDIR, /tmp or /dev/shm");
}

PrivateFolder::~PrivateFolder() {
  removeFolder(path_);
  close(lock_);
}

} // namespace nvfuser
