#include <runtime/kernel_cache.h>

#include <ir/exceptions.h>
#include <runtime/host_compiler.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <thread>
#include <unordered_map>

extern char** environ;

namespace nvfuser {

void* LoadedLibrary::symbol(const char* name) const {
  void* result = dlsym(handle_, name);
  NVF_CHECK(result != nullptr, "a compiled kernel has no function ", name);
  return result;
}

void warnOnceNoCompiler(const std::string& reason) {
  static std::once_flag once;
  std::call_once(once, [&] {
    std::cerr << "nvfuser: kernels are not generated, every segment is evaluated through ATen: "
              << reason << "\n";
  });
}

namespace {

std::string privateFolder() {
  static const std::string folder = [] {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base == nullptr ? "/tmp" : base) + "/nvfuser-XXXXXX";
    NVF_CHECK(mkdtemp(name.data()) != nullptr, "no temporary folder: ", name);
    return name;
  }();
  return folder;
}

int spawnAndWait(std::vector<std::string> command, const std::string& log) {
  std::vector<char*> argv;
  for (std::string& part : command) {
    argv.push_back(part.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  NVF_CHECK(failed == 0, "no C++ compiler: ", argv[0], " cannot be started");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::shared_ptr<LoadedLibrary> compile(const KernelSource& source, size_t number) {
  const std::string stem = privateFolder() + "/" + std::to_string(number);
  std::ofstream(stem + ".cpp") << source.text;
  std::vector<std::string> command = {
      "g++",
      "-std=c++20",
      "-O3",
      "-march=native",
      "-fopenmp-simd",
      "-fno-math-errno",
      "-fno-trapping-math",
      "-fwrapv",
      "-fPIC",
      "-shared",
      "-w"};
  command.insert(command.end(), source.flags.begin(), source.flags.end());
  command.insert(command.end(), {"-o", stem + ".so", stem + ".cpp"});
  const int status = spawnAndWait(command, stem + ".log");
  std::ifstream log(stem + ".log");
  const std::string message((std::istreambuf_iterator<char>(log)), {});
  NVF_CHECK(status == 0, "the kernel ", stem, ".cpp does not compile: ", message);
  void* handle = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  NVF_CHECK(handle != nullptr, "a compiled kernel cannot be loaded: ", dlerror());
  return std::make_shared<LoadedLibrary>(handle);
}

} // namespace

std::shared_ptr<LoadedLibrary> compileAndLoad(const KernelSource& source) {
  struct Entry {
    std::once_flag once;
    std::shared_ptr<LoadedLibrary> library;
    size_t number;
  };
  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<Entry>> entries;
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex);
    auto& place = entries[source.text];
    if (place == nullptr) {
      place = std::make_shared<Entry>();
      place->number = entries.size();
    }
    entry = place;
  }
  std::call_once(entry->once, [&] { entry->library = compile(source, entry->number); });
  return entry->library;
}

std::vector<std::shared_ptr<LoadedLibrary>> compileAndLoadAll(
    const std::vector<KernelSource>& sources) {
  std::vector<std::shared_ptr<LoadedLibrary>> result;
  for (const KernelSource& source : sources) {
    result.push_back(compileAndLoad(source));
  }
  return result;
}

} // namespace nvfuser
