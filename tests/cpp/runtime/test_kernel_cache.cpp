// Compiled kernels: once a text, in parallel, through fork, and the rules of the folder on disk.
#include <runtime/host_compiler.h>
#include <runtime/kernel_cache.h>
#include <runtime/kernel_disk.h>
#include <runtime/private_folder.h>
#include <runtime/single_flight.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace nvfuser {

namespace fs = std::filesystem;

class KernelDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/nvf-disk-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = fs::canonical(name).string();
  }
  void TearDown() override {
    fs::remove_all(root_);
  }
  static constexpr uint64_t kLimit = 1 << 20;
  std::string root_;
};

TEST_F(KernelDiskTest, GivesBackWhatWasStored) {
  const KernelDisk disk(root_ + "/a/b", kLimit);
  EXPECT_EQ(disk.refusal(), "");
  EXPECT_FALSE(disk.findLibrary("key"));
  const auto path = disk.storeLibrary("key", "library");
  ASSERT_TRUE(path);
  EXPECT_EQ(disk.findLibrary("key"), path);
  EXPECT_FALSE(disk.findLibrary("other key"));
  EXPECT_TRUE(readFile(*path)->starts_with("librarykey"));
  disk.writeNote("key", "a note");
  EXPECT_EQ(disk.readNote("key"), "a note");
  struct stat about{};
  ASSERT_EQ(stat((root_ + "/a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

TEST_F(KernelDiskTest, EveryTruncationAndEveryFlippedBitIsSeen) {
  const KernelDisk disk(root_, kLimit);
  const std::string path = *disk.storeLibrary("key", "some bytes of a library");
  const std::string good = *readFile(path);
  const auto put = [&](const std::string& bytes) {
    unlink(path.c_str());
    ASSERT_EQ(writeNewFile(path, bytes), 0);
  };
  for (size_t i = 0; i < good.size(); ++i) {
    put(good.substr(0, i));
    EXPECT_FALSE(disk.findLibrary("key")) << i;
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    put(bad);
    EXPECT_FALSE(disk.findLibrary("key")) << i;
  }
  put(good);
  EXPECT_TRUE(disk.findLibrary("key"));
}

TEST_F(KernelDiskTest, AFolderThatOthersCanWriteIsRefused) {
  ASSERT_EQ(chmod(root_.c_str(), 0770), 0);
  const KernelDisk disk(root_, kLimit);
  EXPECT_NE(disk.refusal().find("other users"), std::string::npos);
  EXPECT_EQ(disk.folder(), "");
  EXPECT_FALSE(disk.storeLibrary("key", "library"));
  EXPECT_EQ(disk.clear(), 0);
}

TEST_F(KernelDiskTest, EvictsTheLeastRecentlyUsed) {
  const std::string library(1000, 'x');
  const KernelDisk large(root_, kLimit);
  for (int i = 0; i < 5; ++i) {
    const std::string path = *large.storeLibrary("key" + std::to_string(i), library);
    const timespec times[2] = {{1000000 - i, 0}, {1000000 - i, 0}};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  EXPECT_TRUE(large.findLibrary("key4")); // marks it as used
  KernelDisk(root_, 3200).evict();
  EXPECT_TRUE(large.findLibrary("key0"));
  EXPECT_TRUE(large.findLibrary("key1"));
  EXPECT_FALSE(large.findLibrary("key2"));
  EXPECT_FALSE(large.findLibrary("key3"));
  EXPECT_TRUE(large.findLibrary("key4"));
}

TEST_F(KernelDiskTest, ClearLeavesOtherFiles) {
  const KernelDisk disk(root_, kLimit);
  disk.storeLibrary("a", "library");
  disk.writeNote("b", "note");
  for (const char* name : {"/theirs.so", "/nvf-.so", "/nvf-xyz.so", "/nvf-12.so.bak"}) {
    ASSERT_EQ(writeNewFile(root_ + name, ""), 0);
  }
  ASSERT_EQ(symlink("/etc/passwd", (root_ + "/nvf-12.so").c_str()), 0);
  EXPECT_EQ(disk.usage().entries, 1u);
  EXPECT_EQ(disk.clear(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 5);
}

TEST(SingleFlight, OneThreadComputes) {
  SingleFlight<int> flight;
  std::atomic<int> computed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(flight.get("key", [&] { return ++computed; }), 1); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(SingleFlight, AFailureIsNotKept) {
  SingleFlight<int> flight;
  EXPECT_THROW(
      flight.get("key", []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(flight.get("key", [] { return 2; }), 2);
}

TEST(SingleFlight, TheChildOfAForkDoesNotWaitForThreadsThatItLacks) {
  SingleFlight<int> flight;
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  std::thread slow([&] {
    flight.get("key", [&] {
      inside = true;
      while (!leave) {
        std::this_thread::yield();
      }
      return 1;
    });
  });
  while (!inside) {
    std::this_thread::yield();
  }
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    _exit(flight.get("key", [] { return 2; }) == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  leave = true;
  slow.join();
}

class KernelCacheTest : public KernelDiskTest {
 protected:
  void SetUp() override {
    KernelDiskTest::SetUp();
    setenv("NVFUSER_CACHE_DIR", root_.c_str(), 1);
    if (!*hostCompiler()) {
      GTEST_SKIP() << hostCompiler()->reason;
    }
  }
  void TearDown() override {
    unsetenv("NVFUSER_CACHE_DIR");
    KernelDiskTest::TearDown();
  }
  static KernelSource source(int number) {
    const std::string text = std::to_string(getpid()) + std::to_string(number);
    return {"test", "extern \"C\" long nvf_answer() { return " + text + "; }\n", {}};
  }
  static bool isRight(const std::shared_ptr<LoadedLibrary>& library, int number) {
    const std::string text = std::to_string(getpid()) + std::to_string(number);
    return reinterpret_cast<long (*)()>(library->symbol("nvf_answer"))() == std::stol(text);
  }
};

TEST_F(KernelCacheTest, CompilesSeveralAtOnceAndEachTextOnce) {
  const auto before = kernelCacheCounts();
  const auto libraries = compileAndLoadAll({source(1), source(2), source(1), source(3)});
  EXPECT_EQ(kernelCacheCounts().compiled - before.compiled, 3);
  EXPECT_EQ(libraries[0], libraries[2]);
  EXPECT_TRUE(isRight(libraries[1], 2));
  EXPECT_TRUE(isRight(libraries[3], 3));
  EXPECT_EQ(compileAndLoad(source(3)), libraries[3]);
}

TEST_F(KernelCacheTest, StaysLoadedWhenTheFileGoes) {
  const auto library = compileAndLoad(source(4));
  EXPECT_EQ(kernelDisk().clear(), 1u);
  EXPECT_TRUE(isRight(library, 4));
  EXPECT_THROW(library->symbol("nvf_nothing"), UserError);
}

TEST_F(KernelCacheTest, ErrorsOfOneTextAreItsOwn) {
  KernelSource bad = source(5);
  bad.text += "and this is no C++";
  EXPECT_THROW(compileAndLoadAll({bad, source(6)}), CompileError);
  const auto before = kernelCacheCounts();
  EXPECT_TRUE(isRight(compileAndLoad(source(6)), 6));
  EXPECT_EQ(kernelCacheCounts().compiled, before.compiled);
}

} // namespace nvfuser
