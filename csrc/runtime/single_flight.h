// A map whose values are computed once, whichever thread asks first, and which survives fork().
#pragma once

#include <unistd.h>

#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <unordered_map>

namespace nvfuser {

/// One lock for all maps, held while a process forks so that the child finds it free.
std::mutex& forkSafeMutex();

template <typename Value>
class SingleFlight {
 public:
  /// The value of `key`, from `make` when nobody has it; the others wait for it. What `make` throws
  /// goes to all who wait, and the next call tries again.
  Value get(const std::string& key, const std::function<Value()>& make) {
    std::promise<Value> promise;
    std::shared_future<Value> future;
    bool ours = false;
    {
      std::lock_guard lock(forkSafeMutex());
      const auto it = slots_.find(key);
      // In the child of a fork nobody works on what another thread of the parent has begun.
      if (it != slots_.end() && (it->second.pid == getpid() || isReady(it->second.future))) {
        future = it->second.future;
      } else {
        ours = true;
        future = promise.get_future().share();
        slots_.insert_or_assign(key, Slot{future, getpid()});
      }
    }
    if (ours) {
      try {
        promise.set_value(make());
      } catch (...) {
        std::lock_guard lock(forkSafeMutex());
        slots_.erase(key);
        promise.set_exception(std::current_exception());
      }
    }
    return future.get();
  }

  void forget(const std::string& key) {
    std::lock_guard lock(forkSafeMutex());
    slots_.erase(key);
  }

 private:
  struct Slot {
    std::shared_future<Value> future;
    pid_t pid;
  };
  static bool isReady(const std::shared_future<Value>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  std::unordered_map<std::string, Slot> slots_;
};

} // namespace nvfuser
