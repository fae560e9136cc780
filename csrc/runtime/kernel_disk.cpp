#include <runtime/kernel_disk.h>
#include <runtime/private_folder.h>

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <thread>
#include <vector>

namespace nvfuser {

namespace {

constexpr time_t kTouchSeconds = 300;
constexpr time_t kStaleSeconds = 600;
constexpr int kStoresBetweenScans = 32;
constexpr uint64_t kDefaultLimit = uint64_t{1} << 30;

struct Trailer {
  uint64_t bytes;
  uint64_t key;
  uint64_t hash;
  char magic[8];
};
constexpr char kMagic[8] = {'n', 'v', 'f', 'k', 'r', 'n', 'l', '1'};

void warnOnce(std::atomic<bool>& warned, const std::string& text) {
  if (!warned.exchange(true)) {
    std::cerr << "nvfuser: " << text << "; compiled kernels are kept in memory only\n";
  }
}

std::string withTrailer(std::string_view key, std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() + key.size() + sizeof(Trailer));
  text.append(bytes).append(key);
  Trailer trailer{bytes.size(), key.size(), hashBytes(text, 0), {}};
  std::memcpy(trailer.magic, kMagic, sizeof kMagic);
  return text.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
}

// The length of what was stored under the key, or nothing when the file is damaged or another's.
std::optional<size_t> checkTrailer(std::string_view file, std::string_view key) {
  Trailer trailer;
  if (file.size() < sizeof trailer) {
    return std::nullopt;
  }
  const std::string_view text = file.substr(0, file.size() - sizeof trailer);
  std::memcpy(&trailer, file.data() + text.size(), sizeof trailer);
  const bool good = std::memcmp(trailer.magic, kMagic, sizeof kMagic) == 0 &&
      trailer.key == key.size() && trailer.key <= text.size() &&
      trailer.bytes == text.size() - trailer.key && trailer.hash == hashBytes(text, 0) &&
      text.substr(trailer.bytes) == key;
  return good ? std::optional<size_t>(trailer.bytes) : std::nullopt;
}

// The endings of our files' names; between "nvf-" and them stand digits and dashes only.
std::string_view endingOfOurs(std::string_view name) {
  for (std::string_view ending : {".so", ".txt", ".lock", ".tmp", ".cpp"}) {
    if (!name.starts_with("nvf-") || !name.ends_with(ending)) {
      continue;
    }
    const auto middle = name.substr(4, name.size() - 4 - ending.size());
    const bool plain = !middle.empty() && std::all_of(middle.begin(), middle.end(), [](char c) {
      return std::isxdigit(static_cast<unsigned char>(c)) || c == '-';
    });
    return plain ? ending : std::string_view();
  }
  return {};
}

struct File {
  std::string name;
  std::string_view ending;
  uint64_t bytes;
  timespec used;
};

std::vector<File> filesOf(const std::string& folder) {
  std::vector<File> files;
  DIR* listing = folder.empty() ? nullptr : opendir(folder.c_str());
  if (listing == nullptr) {
    return files;
  }
  while (const dirent* entry = readdir(listing)) {
    struct stat about{};
    const std::string_view ending = endingOfOurs(entry->d_name);
    if (!ending.empty() &&
        fstatat(dirfd(listing), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(about.st_mode)) {
      files.push_back({entry->d_name, ending, static_cast<uint64_t>(about.st_size), about.st_mtim});
    }
  }
  closedir(listing);
  return files;
}

bool isOld(const timespec& used, time_t seconds) {
  return used.tv_sec + seconds < time(nullptr);
}

int makeFolders(const std::string& path) {
  for (size_t end = 1; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    struct stat about{};
    if (stat(part.c_str(), &about) != 0 && mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return errno;
    }
  }
  return 0;
}

// Why others could change what lies in the folder, or nothing.
std::string whyNotSafe(const std::string& real) {
  struct stat about{};
  if (lstat(real.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) {
    return "is no folder";
  }
  if (about.st_uid != geteuid()) {
    return "belongs to another user";
  }
  if ((about.st_mode & 022) != 0) {
    return "can be written by other users (chmod 700 makes it usable)";
  }
  // Whoever may rename entries of a parent can put another folder in place of this one.
  for (size_t end = real.rfind('/'); end != std::string::npos;
       end = end == 0 ? std::string::npos : real.rfind('/', end - 1)) {
    const std::string parent = end == 0 ? "/" : real.substr(0, end);
    if (stat(parent.c_str(), &about) != 0 ||
        ((about.st_mode & S_IWOTH) != 0 && (about.st_mode & S_ISVTX) == 0)) {
      return "lies in " + parent + ", which other users can write";
    }
  }
  return "";
}

std::string folderOfEnvironment() {
  const auto absolute = [](const char* name) -> std::string {
    const char* text = std::getenv(name);
    return text != nullptr && text[0] == '/' ? text : "";
  };
  const char* named = std::getenv("NVFUSER_CACHE_DIR");
  if (named != nullptr && named[0] != 0) {
    char here[PATH_MAX];
    return named[0] == '/' || getcwd(here, sizeof here) == nullptr
        ? std::string(named)
        : std::string(here) + "/" + named;
  }
  if (const std::string base = absolute("XDG_CACHE_HOME"); !base.empty()) {
    return base + "/nvfuser";
  }
  std::string home = absolute("HOME");
  if (home.empty()) {
    passwd entry{};
    passwd* found = nullptr;
    char buffer[4096];
    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) {
      home = found->pw_dir;
    }
  }
  return home.empty() ? "" : home + "/.cache/nvfuser";
}

uint64_t limitOfEnvironment() {
  const char* text = std::getenv("NVFUSER_CACHE_SIZE");
  if (text == nullptr || text[0] == 0) {
    return kDefaultLimit;
  }
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text, &end, 10);
  const std::string unit = end;
  const int shift = unit.empty() || unit == "B" ? 0
      : unit == "K" || unit == "k"              ? 10
      : unit == "M" || unit == "m"              ? 20
      : unit == "G" || unit == "g"              ? 30
                                                : -1;
  if (std::isdigit(static_cast<unsigned char>(text[0])) == 0 || errno != 0 || shift < 0 ||
      number > (ULLONG_MAX >> std::max(shift, 0))) {
    static std::atomic<bool> warned{false};
    if (!warned.exchange(true)) {
      std::cerr << "nvfuser: NVFUSER_CACHE_SIZE=\"" << text
                << "\" is no size (bytes, or a number with K, M or G); 1G is used\n";
    }
    return kDefaultLimit;
  }
  return number << shift;
}

} // namespace

KernelDisk::KernelDisk(const std::string& folder, uint64_t limit) : limit_(limit) {
  if (folder.empty()) {
    refusal_ = "there is no home folder and NVFUSER_CACHE_DIR is not set";
    return;
  }
  if (limit == 0) {
    refusal_ = "its size limit is 0";
    return;
  }
  const int error = makeFolders(folder);
  char real[PATH_MAX];
  if (error != 0 || realpath(folder.c_str(), real) == nullptr) {
    refusal_ = folder + " cannot be made: " + std::strerror(error != 0 ? error : errno);
  } else if (const std::string reason = whyNotSafe(real); !reason.empty()) {
    refusal_ = folder + " " + reason;
  } else {
    folder_ = real;
  }
}

std::string KernelDisk::pathOf(std::string_view key, const char* ending) const {
  return folder_ + "/nvf-" + hexText(hashBytes(key, 1)) + hexText(hashBytes(key, 2)) + ending;
}

std::optional<std::string> KernelDisk::findLibrary(std::string_view key) const {
  return readLibrary(key) ? std::optional<std::string>(pathOf(key, ".so")) : std::nullopt;
}

std::optional<std::string> KernelDisk::readLibrary(std::string_view key) const {
  if (folder_.empty()) {
    return std::nullopt;
  }
  const std::string path = pathOf(key, ".so");
  auto file = readFile(path, true);
  const auto length = file ? checkTrailer(*file, key) : std::nullopt;
  if (!length) {
    return std::nullopt;
  }
  struct stat about{};
  if (stat(path.c_str(), &about) == 0 && isOld(about.st_mtim, kTouchSeconds)) {
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  }
  file->resize(*length);
  return file;
}

std::optional<std::string> KernelDisk::store(
    const std::string& path,
    std::string_view key,
    std::string_view bytes) const {
  if (folder_.empty()) {
    return std::nullopt;
  }
  static std::atomic<unsigned> number{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::string temporary = folder_ + "/nvf-" + std::to_string(getpid()) + "-" +
      std::to_string(number++) + "-" + std::to_string(now.tv_sec) + std::to_string(now.tv_nsec) +
      ".tmp";
  int error = writeNewFile(temporary, withTrailer(key, bytes));
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
    unlink(temporary.c_str());
  }
  if (error != 0) {
    static std::atomic<bool> warned{false};
    warnOnce(warned, "the kernel cache " + folder_ + " cannot be written: " + std::strerror(error));
    return std::nullopt;
  }
  return path;
}

std::optional<std::string> KernelDisk::storeLibrary(std::string_view key, std::string_view library)
    const {
  if (library.size() > limit_) {
    return std::nullopt;
  }
  const auto path = store(pathOf(key, ".so"), key, library);
  // A scan costs a stat a file, so the limit is exceeded by some kernels at most in between.
  static std::atomic<int> stores{0};
  if (path && (stores++ % kStoresBetweenScans == 0 || library.size() * 64 > limit_)) {
    evict();
  }
  return path;
}

std::optional<std::string> KernelDisk::readNote(std::string_view key) const {
  if (folder_.empty()) {
    return std::nullopt;
  }
  auto file = readFile(pathOf(key, ".txt"), true);
  const auto length = file ? checkTrailer(*file, key) : std::nullopt;
  return length ? std::optional<std::string>(file->substr(0, *length)) : std::nullopt;
}

void KernelDisk::writeNote(std::string_view key, std::string_view text) const {
  store(pathOf(key, ".txt"), key, text);
}

std::optional<std::string> KernelDisk::keepText(std::string_view key, std::string_view text) const {
  if (folder_.empty()) {
    return std::nullopt;
  }
  const std::string path = pathOf(key, ".cpp");
  unlink(path.c_str());
  const int error = writeNewFile(path, text);
  return error == 0 ? std::optional<std::string>(path) : std::nullopt;
}

int KernelDisk::lock(std::string_view key) const {
  if (folder_.empty()) {
    return -1;
  }
  const std::string path = pathOf(key, ".lock");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    return -1;
  }
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const bool others_hold_it = errno == EWOULDBLOCK || errno == EINTR;
    if (!others_hold_it || std::chrono::steady_clock::now() > deadline) {
      close(fd);
      return -1;
    }
    std::this_thread::sleep_for(2ms);
  }
  return fd;
}

void KernelDisk::unlock(std::string_view key, int lock) const {
  if (lock < 0) {
    return;
  }
  unlink(pathOf(key, ".lock").c_str());
  // Explicitly: a child that was forked meanwhile holds a copy of the descriptor.
  flock(lock, LOCK_UN);
  close(lock);
}

void KernelDisk::evict() const {
  std::vector<File> files = filesOf(folder_);
  uint64_t total = 0;
  std::erase_if(files, [&](const File& file) {
    const bool passing = file.ending == ".tmp" || file.ending == ".lock";
    if (passing && isOld(file.used, kStaleSeconds)) {
      unlink((folder_ + "/" + file.name).c_str());
      return true;
    }
    total += file.bytes;
    return passing;
  });
  if (total <= limit_) {
    return;
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                          : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const File& file : files) {
    if (total <= limit_) {
      return;
    }
    // Who has loaded it keeps it: the mapping outlives the name.
    if (unlink((folder_ + "/" + file.name).c_str()) == 0) {
      total -= file.bytes;
    }
  }
}

KernelDisk::Usage KernelDisk::usage() const {
  Usage usage;
  for (const File& file : filesOf(folder_)) {
    usage.entries += file.ending == ".so" ? 1 : 0;
    usage.bytes += file.bytes;
  }
  return usage;
}

size_t KernelDisk::clear() const {
  size_t removed = 0;
  for (const File& file : filesOf(folder_)) {
    const bool done = unlink((folder_ + "/" + file.name).c_str()) == 0;
    removed += done && file.ending == ".so" ? 1 : 0;
  }
  return removed;
}

KernelDisk kernelDisk() {
  KernelDisk disk(folderOfEnvironment(), limitOfEnvironment());
  if (disk.folder().empty() && disk.limit() != 0) {
    static std::atomic<bool> warned{false};
    warnOnce(warned, "the kernel cache is not used: " + disk.refusal());
  }
  return disk;
}

} // namespace nvfuser
