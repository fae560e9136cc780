#include <runtime/parallel_for.h>

#include <ATen/Parallel.h>

#include <dlfcn.h>

#include <algorithm>

namespace nvfuser {

namespace {

// at::parallel_for is inline code that is serial unless compiled with OpenMP, and to link another
// OpenMP beside torch's would mean a second set of threads that torch.set_num_threads does not
// know. So the entry points are those of the library that torch has loaded.
struct OpenMp {
  void (*parallel)(void (*)(void*), void*, unsigned, unsigned);
  int (*thread)();
  int (*threads)();

  static const OpenMp& ofTorch() {
    static const OpenMp found = [] {
      OpenMp api{};
      api.parallel = reinterpret_cast<decltype(api.parallel)>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
      api.thread =
          reinterpret_cast<decltype(api.thread)>(dlsym(RTLD_DEFAULT, "omp_get_thread_num"));
      api.threads =
          reinterpret_cast<decltype(api.threads)>(dlsym(RTLD_DEFAULT, "omp_get_num_threads"));
      return api;
    }();
    return found;
  }
  explicit operator bool() const {
    return parallel != nullptr && thread != nullptr && threads != nullptr;
  }
};

struct Job {
  int64_t count;
  int64_t grain;
  void (*work)(int64_t, int64_t, void*);
  void* data;
};

void runShare(void* address) {
  const Job& job = *static_cast<const Job*>(address);
  const OpenMp& openmp = OpenMp::ofTorch();
  const int64_t useful = (job.count + job.grain - 1) / job.grain;
  const int64_t threads = std::min<int64_t>(openmp.threads(), useful);
  const int64_t share = (job.count + threads - 1) / threads;
  const int64_t begin = openmp.thread() * share;
  if (begin < job.count) {
    job.work(begin, std::min(job.count, begin + share), job.data);
  }
}

} // namespace

void parallelFor(
    int64_t count,
    int64_t grain,
    void (*work)(int64_t begin, int64_t end, void* data),
    void* data) {
  if (count <= 0) {
    return;
  }
  grain = std::max<int64_t>(grain, 1);
  const OpenMp& openmp = OpenMp::ofTorch();
  if (count <= grain || !openmp || at::get_num_threads() == 1 || at::in_parallel_region()) {
    work(0, count, data);
    return;
  }
  Job job{count, grain, work, data};
  openmp.parallel(&runShare, &job, static_cast<unsigned>(at::get_num_threads()), 0);
}

} // namespace nvfuser
