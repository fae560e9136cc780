// Child processes, words of $CXX, the processor's key, and what a compiler is asked for.
#include <runtime/host_compiler.h>
#include <runtime/subprocess.h>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace nvfuser {

using namespace std::chrono_literals;
using End = ProcessResult::End;

TEST(Subprocess, GivesStatusAndOutput) {
  const auto done = runProcess({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, {}, 20s);
  EXPECT_EQ(done.end, End::Exited);
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.output, "out\nerr\n");
}

TEST(Subprocess, ReadsMoreThanAPipeHolds) {
  const auto done = runProcess({"/bin/sh", "-c", "head -c 300000 /dev/zero"}, {}, 20s);
  EXPECT_TRUE(done.succeeded());
  EXPECT_EQ(done.output.size(), 300000);
}

TEST(Subprocess, NamesTheSignal) {
  const auto done = runProcess({"/bin/sh", "-c", "kill -9 $$"}, {}, 20s);
  EXPECT_EQ(done.end, End::Killed);
  EXPECT_EQ(done.code, SIGKILL);
}

TEST(Subprocess, TimeoutEndsTheWholeGroup) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(runProcess({"/bin/sh", "-c", "sleep 30 & sleep 30"}, {}, 100ms).end, End::TimedOut);
  EXPECT_EQ(runProcess({"/bin/sh", "-c", "exec >&- 2>&-; sleep 30"}, {}, 100ms).end, End::TimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(Subprocess, SaysWhyNothingStarts) {
  const auto done = runProcess({"/nowhere/program"}, {}, 20s);
  EXPECT_EQ(done.end, End::NotStarted);
  EXPECT_NE(done.output.find("No such file"), std::string::npos);
}

TEST(Subprocess, SettingsReplaceVariables) {
  const auto done =
      runProcess({"/bin/sh", "-c", "echo $HOME$NVF_X"}, {{"HOME", "a"}, {"NVF_X", "b"}}, 20s);
  EXPECT_EQ(done.output, "ab\n");
}

TEST(Subprocess, IgnoredSigchldHidesOnlyTheStatus) {
  const auto previous = std::signal(SIGCHLD, SIG_IGN);
  const auto done = runProcess({"/bin/sh", "-c", "/bin/true && echo here"}, {}, 20s);
  std::signal(SIGCHLD, previous);
  EXPECT_EQ(done.end, End::Unknown);
  EXPECT_EQ(done.output, "here\n");
}

TEST(Subprocess, ManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([i] {
      const std::string word = std::to_string(i);
      EXPECT_EQ(runProcess({"/bin/sh", "-c", "echo " + word}, {}, 20s).output, word + "\n");
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(HostCompiler, CutsWordsAsAShellDoes) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(splitWords("  ccache g++  -O2 "), (Words{"ccache", "g++", "-O2"}));
  EXPECT_EQ(splitWords("'/a b/g++' \"-D'x'\" c\\ d ''"), (Words{"/a b/g++", "-D'x'", "c d", ""}));
  EXPECT_EQ(splitWords(""), Words{});
}

TEST(HostCompiler, TheKeyNamesTheProcessor) {
  EXPECT_TRUE(cpuKey().starts_with("hwcap "));
  EXPECT_EQ(&cpuKey(), &cpuKey());
}

TEST(HostCompiler, IsFoundOnceWithItsFlags) {
  const auto compiler = hostCompiler();
  if (!*compiler) {
    GTEST_SKIP() << compiler->reason;
  }
  EXPECT_EQ(compiler, hostCompiler());
  EXPECT_TRUE(compiler->command[0].starts_with('/'));
  EXPECT_FALSE(compiler->version.empty());
  EXPECT_NE(
      std::find(compiler->flags.begin(), compiler->flags.end(), "-O3"), compiler->flags.end());
}

TEST(HostCompiler, DropsWhatAnOldCompilerRefuses) {
  if (!*hostCompiler()) {
    GTEST_SKIP() << hostCompiler()->reason;
  }
  // A compiler in front of the real one, which knows neither C++20 nor -fopenmp-simd.
  std::string folder = ::testing::TempDir() + "/nvf-old-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/old g++";
  FILE* script = std::fopen(path.c_str(), "w");
  ASSERT_NE(script, nullptr);
  std::fprintf(
      script,
      "#!/bin/sh\nfor word; do case $word in -std=c++2*|-fopenmp-simd) exit 1;; esac; done\n"
      "exec '%s' \"$@\"\n",
      hostCompiler()->command[0].c_str());
  std::fclose(script);
  chmod(path.c_str(), 0700);
  const char* before = std::getenv("CXX");
  const std::string saved = before == nullptr ? "" : before;
  setenv("CXX", ("'" + path + "'").c_str(), 1);
  const auto compiler = hostCompiler();
  before == nullptr ? unsetenv("CXX") : setenv("CXX", saved.c_str(), 1);
  const auto has = [&](const char* flag) {
    return std::find(compiler->flags.begin(), compiler->flags.end(), flag) != compiler->flags.end();
  };
  EXPECT_EQ(compiler->command[0], path);
  EXPECT_TRUE(has("-std=c++17"));
  EXPECT_FALSE(has("-fopenmp-simd"));
  EXPECT_TRUE(has("-O3"));
  unlink(path.c_str());
  rmdir(folder.c_str());
}

} // namespace nvfuser
