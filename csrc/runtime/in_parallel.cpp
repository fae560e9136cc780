#include <runtime/in_parallel.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace nvfuser {

namespace {

size_t compileThreads() {
  const char* text = std::getenv("NVFUSER_COMPILE_THREADS");
  const int asked = text == nullptr ? 0 : std::atoi(text);
  return asked > 0 ? static_cast<size_t>(asked)
                   : std::max<size_t>(1, std::thread::hardware_concurrency());
}

} // namespace

void inParallel(size_t count, const std::function<void(size_t)>& work) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<size_t> next{0};
  const auto takeNext = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(compileThreads(), count); ++i) {
    try {
      threads.emplace_back(takeNext);
    } catch (const std::system_error&) {
      break; // the others do its part
    }
  }
  takeNext();
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

} // namespace nvfuser
