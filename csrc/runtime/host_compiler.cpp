#include <runtime/host_compiler.h>
#include <runtime/kernel_disk.h>
#include <runtime/private_folder.h>
#include <runtime/single_flight.h>
#include <runtime/subprocess.h>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <iostream>
#include <set>

namespace nvfuser {

namespace {

using namespace std::chrono_literals;

// One line a demand; the first accepted word of a line is taken, a line without one is left out.
const std::vector<std::vector<std::string>> kFlags = {
    {"-std=c++20", "-std=c++2a", "-std=c++17"},
    {"-O3"},
    {"-march=native", "-mcpu=native"},
    {"-fopenmp-simd"},
    {"-fno-math-errno"},
    {"-fno-trapping-math"},
    {"-fwrapv"},
    {"-w"},
};

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string findProgram(const std::string& name) {
  const auto usable = [](const std::string& path) {
    struct stat about{};
    return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
        access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    return usable(name) ? name : "";
  }
  const std::string path = variable("PATH");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/" + name;
    // An empty entry means the current folder, from which nothing is run.
    if (candidate[0] == '/' && candidate != "/" + name && usable(candidate)) {
      return candidate;
    }
    begin = end + 1;
  }
  return "";
}

std::string firstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// The compiler file's identity, or nothing for a script or a wrapper, behind which the compiler may
// change unseen.
std::string fileIdentity(const HostCompiler& compiler) {
  char real[PATH_MAX];
  struct stat about{};
  if (compiler.command.size() > 1 || realpath(compiler.command[0].c_str(), real) == nullptr ||
      stat(real, &about) != 0) {
    return "";
  }
  const std::string path = real;
  const std::string base = path.substr(path.rfind('/') + 1);
  for (const char* wrapper : {"cache", "distcc", "icecc"}) {
    if (base.find(wrapper) != std::string::npos) {
      return "";
    }
  }
  char magic[4] = {};
  const int fd = open(real, O_RDONLY | O_CLOEXEC);
  const bool is_program = fd >= 0 && read(fd, magic, 4) == 4 && std::string(magic, 4) == "\177ELF";
  if (fd >= 0) {
    close(fd);
  }
  return !is_program
      ? ""
      : path + "\n" + std::to_string(about.st_size) + " " + std::to_string(about.st_ino) + " " +
          std::to_string(about.st_mtim.tv_sec) + "." + std::to_string(about.st_mtim.tv_nsec);
}

std::string tryFlags(const HostCompiler& compiler, const std::vector<std::string>& flags) {
  const PrivateFolder folder;
  const std::string stem = folder.path() + "/probe";
  const std::string text =
      "extern \"C\" void nvf_probe(float* x, long n) {\n#pragma omp simd\n"
      "  for (long i = 0; i < n; ++i) x[i] += 1.0f;\n}\n";
  if (writeNewFile(stem + ".cpp", text) != 0) {
    return "the temporary folder " + folder.path() + " cannot be written";
  }
  return compileFile(compiler, flags, stem + ".cpp", stem + ".so");
}

// Fills in the flags; returns why the compiler is of no use, or nothing.
std::string probeFlags(HostCompiler& compiler) {
  auto lines = kFlags;
  const bool clang = compiler.version.find("clang") != std::string::npos;
  if (clang) {
    lines.push_back({"-fveclib=libmvec"});
  }
  // clang passes over some flags with a warning only, so its flags are tried one by one.
  if (!clang) {
    std::vector<std::string> all;
    for (const auto& choices : lines) {
      all.push_back(choices.front());
    }
    if (tryFlags(compiler, all).empty()) {
      compiler.flags = all;
      return "";
    }
  }
  const std::string said = tryFlags(compiler, {});
  if (!said.empty()) {
    return said;
  }
  for (const auto& choices : lines) {
    for (const std::string& flag : choices) {
      if (tryFlags(compiler, {"-Werror", flag}).empty()) {
        compiler.flags.push_back(flag);
        break;
      }
    }
  }
  return "";
}

std::string joined(const std::vector<std::string>& words, char between) {
  std::string text;
  for (const std::string& word : words) {
    text += word + between;
  }
  return text;
}

// Fills in version and flags from the disk or by asking; returns why the compiler is of no use.
std::string describe(HostCompiler& compiler) {
  const std::string identity = fileIdentity(compiler);
  const auto ask_version = [&] {
    const auto done =
        runProcess(joinWords(compiler.command, {"--version"}), {{"LC_ALL", "C"}}, 20s);
    compiler.version = firstLine(done.output);
    return done.end == ProcessResult::End::NotStarted
        ? "cannot be started: " + done.output
        : std::string(compiler.version.empty() ? "prints no version" : "");
  };
  if (identity.empty()) {
    const std::string failed = ask_version();
    if (!failed.empty()) {
      return failed;
    }
  }
  const std::string key = "probe\n" + joined(compiler.command, '\n') + identity + "\n" +
      compiler.version + "\n" + cpuKey();
  const KernelDisk disk = kernelDisk();
  if (const auto known = disk.readNote(key)) {
    const size_t end = known->find('\n');
    compiler.version = known->substr(0, end);
    compiler.flags = splitWords(known->substr(end + 1));
    return "";
  }
  if (!identity.empty()) {
    const std::string failed = ask_version();
    if (!failed.empty()) {
      return failed;
    }
  }
  const std::string failed = probeFlags(compiler);
  if (failed.empty()) {
    disk.writeNote(key, compiler.version + "\n" + joined(compiler.flags, ' '));
  }
  return failed;
}

// Adds the flags of the environment; returns why the compiler does not take them, or nothing.
std::string addFlags(HostCompiler& compiler, const std::string& extra) {
  const auto words = splitWords(extra);
  if (words.empty()) {
    return "";
  }
  compiler.flags = joinWords(compiler.flags, words);
  const std::string failed = tryFlags(compiler, compiler.flags);
  return failed.empty() ? "" : "NVFUSER_CXXFLAGS: " + failed;
}

// Once per process: whoever names a compiler wants to know that another one is used.
void warnOnceOtherCompiler(
    const std::string& name,
    const std::string& why,
    const std::string& used) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) {
    std::cerr << "nvfuser: CXX names " << name << ", which is not usable: " << why << "; " << used
              << " compiles kernels instead\n";
  }
}

std::shared_ptr<const HostCompiler> findCompiler(const std::string& cxx, const std::string& extra) {
  HostCompiler result;
  std::vector<std::vector<std::string>> candidates;
  for (const std::string& name :
       {cxx, std::string("c++"), std::string("g++"), std::string("clang++")}) {
    candidates.push_back(splitWords(name));
  }
  std::string reasons;
  std::string why_not_named;
  std::set<std::string> tried;
  for (const auto& words : candidates) {
    if (words.empty() || !tried.insert(joined(words, ' ')).second) {
      continue;
    }
    result = {};
    const std::string path = findProgram(words[0]);
    std::string failed = "not found";
    if (!path.empty()) {
      result.command = words;
      result.command[0] = path;
      failed = describe(result);
      failed = failed.empty() ? addFlags(result, extra) : failed;
      if (failed.empty()) {
        if (!why_not_named.empty()) {
          warnOnceOtherCompiler(cxx, why_not_named, path);
        }
        return std::make_shared<const HostCompiler>(result);
      }
    }
    if (words == candidates.front()) {
      why_not_named = failed;
    }
    reasons += (reasons.empty() ? "" : "; ") + words[0] + ": " + failed;
  }
  result = {};
  result.reason = "no C++ compiler is usable (" + reasons + ")";
  return std::make_shared<const HostCompiler>(result);
}

std::string readCpuKey() {
  std::string text;
  // The first processor only: the file has a record for each, and some machines have hundreds.
  const int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    char buffer[8192];
    ssize_t count = 0;
    while (text.size() < sizeof buffer && text.find("\n\n") == std::string::npos &&
           (count = read(fd, buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<size_t>(count));
    }
    close(fd);
  }
  text = text.substr(0, text.find("\n\n"));
  std::string key = "hwcap " + hexText(getauxval(AT_HWCAP)) + " " + hexText(getauxval(AT_HWCAP2));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    for (const char* name :
         {"vendor_id", "cpu family", "model", "flags", "Features", "CPU ", "cpu\t", "isa"}) {
      if (line.starts_with(name)) {
        key += "\n" + line;
        break;
      }
    }
    begin = end + 1;
  }
  return key;
}

} // namespace

std::vector<std::string> joinWords(
    std::vector<std::string> first,
    const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<std::string> splitWords(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      c == quote ? void(quote = 0) : void(word += c);
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) {
        words.push_back(word);
      }
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) {
    words.push_back(word);
  }
  return words;
}

const std::string& cpuKey() {
  static const std::string key = readCpuKey();
  return key;
}

std::shared_ptr<const HostCompiler> hostCompiler() {
  static auto& found = *new SingleFlight<std::shared_ptr<const HostCompiler>>;
  const std::string cxx = variable("CXX");
  const std::string extra = variable("NVFUSER_CXXFLAGS");
  const std::string key = cxx + "\n" + variable("PATH") + "\n" + extra;
  return found.get(key, [&] { return findCompiler(cxx, extra); });
}

std::string compileFile(
    const HostCompiler& compiler,
    const std::vector<std::string>& flags,
    const std::string& source,
    const std::string& output) {
  const auto command =
      joinWords(joinWords(compiler.command, flags), {"-fPIC", "-shared", "-o", output, source});
  // The compiler's own temporary files lie with ours, so that those of a killed one go with them.
  const auto done =
      runProcess(command, {{"LC_ALL", "C"}, {"TMPDIR", source.substr(0, source.rfind('/'))}}, 300s);
  if (done.succeeded() ||
      (done.end == ProcessResult::End::Unknown && access(output.c_str(), R_OK) == 0)) {
    return "";
  }
  std::string said = done.output;
  switch (done.end) {
    case ProcessResult::End::Killed:
      said += "\nended by signal " + std::to_string(done.code);
      break;
    case ProcessResult::End::TimedOut:
      said += "\nstopped after 300 s";
      break;
    case ProcessResult::End::NotStarted:
      said = "cannot be started: " + said;
      break;
    default:
      said += "\nended with status " + std::to_string(done.code);
  }
  return said + "\ncommand: " + joined(command, ' ');
}

void warnOnceNoCompiler(const std::string& reason) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) {
    std::cerr << "nvfuser: kernels are not generated, every segment is evaluated through ATen: "
              << reason
              << ". To get generated kernels, install a C++ compiler (Debian, Ubuntu: apt-get "
                 "install g++; Fedora: dnf install gcc-c++; conda: conda install cxx-compiler) or "
                 "name one in CXX.\n";
  }
}

} // namespace nvfuser
