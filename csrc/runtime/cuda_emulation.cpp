// Threads of a block are contexts that take turns: each runs until it waits for others.
#include <runtime/cuda_target.h>

#include <ATen/ATen.h>
#include <ucontext.h>

#include <cstring>
#include <mutex>

namespace nvfuser {

namespace {

// What the text needs of a GPU, as C++ for the host compiler. nvf_emulated is the host's side, laid
// out as struct Emulated below.
constexpr const char* kShim = R"(
typedef unsigned long nvf_size_t;
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct nvf_dim3 { unsigned x, y, z; };
struct nvf_emulated {
  nvf_dim3 thread, block, block_size, grid_size;
  char* shared;
  unsigned long long slots[1024];
  void (*wait)(nvf_emulated*, int);
  unsigned lane() const { return thread.x + block_size.x * (thread.y + block_size.y * thread.z); }
};
static nvf_emulated* nvf_here;
#define threadIdx (nvf_here->thread)
#define blockIdx (nvf_here->block)
#define blockDim (nvf_here->block_size)
#define gridDim (nvf_here->grid_size)
#define __device__
#define __global__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __grid_constant__
#define __launch_bounds__(n)
#define __shared__ static
#define __noinline__
static inline void __syncthreads() { nvf_here->wait(nvf_here, 0); }
static inline void __syncwarp(unsigned = 0) { nvf_here->wait(nvf_here, 1); }
static inline unsigned __shfl_xor_sync(unsigned, unsigned x, int lanes, int = 32) {
  const unsigned me = nvf_here->lane();
  nvf_here->slots[me] = x;
  nvf_here->wait(nvf_here, 1);
  const unsigned result = (unsigned)nvf_here->slots[(me & ~31u) | ((me ^ (unsigned)lanes) & 31u)];
  nvf_here->wait(nvf_here, 1);
  return result;
}
static inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
static inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
static inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
static inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
template <typename T> static inline T __ldg(const T* p) { return *p; }
template <typename T> static inline T __ldcs(const T* p) { return *p; }
template <typename T> static inline void __stcs(T* p, T x) { *p = x; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long)a * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
#define NVF_SATURATED(name, F, T, lowest, highest) \
static inline T name(F x) { return x != x ? 0 : x <= (F)lowest ? lowest : x >= (F)highest ? highest : (T)x; }
NVF_SATURATED(__float2int_rz, float, int, -2147483647 - 1, 2147483647)
NVF_SATURATED(__double2int_rz, double, int, -2147483647 - 1, 2147483647)
NVF_SATURATED(__float2ll_rz, float, long long, -9223372036854775807ll - 1, 9223372036854775807ll)
NVF_SATURATED(__double2ll_rz, double, long long, -9223372036854775807ll - 1, 9223372036854775807ll)
extern "C" {
#define NVF_F1(name) float name##f(float) noexcept; double name(double) noexcept;
#define NVF_F2(name) float name##f(float, float) noexcept; double name(double, double) noexcept;
NVF_F1(exp) NVF_F1(log) NVF_F1(sin) NVF_F1(cos) NVF_F1(tan) NVF_F1(tanh) NVF_F1(sinh) NVF_F1(cosh)
NVF_F1(asin) NVF_F1(acos) NVF_F1(atan) NVF_F1(asinh) NVF_F1(acosh) NVF_F1(atanh) NVF_F1(erf) NVF_F1(erfc)
NVF_F1(exp2) NVF_F1(expm1) NVF_F1(log1p) NVF_F1(log2) NVF_F1(log10) NVF_F1(lgamma) NVF_F1(sqrt)
NVF_F1(fabs) NVF_F1(ceil) NVF_F1(floor) NVF_F1(trunc) NVF_F1(rint) NVF_F1(nearbyint) NVF_F1(round)
NVF_F2(pow) NVF_F2(atan2) NVF_F2(fmod) NVF_F2(nextafter) NVF_F2(fmax) NVF_F2(fmin) NVF_F2(copysign)
float fmaf(float, float, float) noexcept; double fma(double, double, double) noexcept;
}
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline double nvf_inverse_erf(double y, double c) {
  double x = __builtin_sqrt(__builtin_sqrt(0.25 * (log(c * (2 - c)) + 4.33) * (log(c * (2 - c)) + 4.33) - log(c * (2 - c)) / 0.147) - 0.5 * (log(c * (2 - c)) + 4.33));
  for (int i = 0; i < 6 && y != 0; ++i) {
    const double excess = y < 0.5 ? erf(x) - y : c - erfc(x);
    const double step = excess * exp(x * x) * 0.88622692545275801;
    x -= step / (1 + x * step);
  }
  return c == 0 ? __builtin_inf() : y == 0 ? 0 : x;
}
static inline double erfinv(double x) { return copysign(nvf_inverse_erf(fabs(x), 1 - fabs(x)), x); }
static inline double erfcinv(double x) { return x > 1 ? -nvf_inverse_erf(x - 1, 2 - x) : nvf_inverse_erf(1 - x, x); }
static inline float erfinvf(float x) { return (float)erfinv((double)x); }
static inline float erfcinvf(float x) { return (float)erfcinv((double)x); }
)";

constexpr const char* kDynamicShared = "extern __shared__ uint4 nvf_shared[];";

struct Dim3 {
  unsigned x, y, z;
};

struct Emulated {
  Dim3 thread, block, block_size, grid_size;
  char* shared;
  unsigned long long slots[1024];
  void (*wait)(Emulated*, int);
};

constexpr size_t kStackBytes = 256 << 10;

// Waiting threads of a block or of a warp.
struct Barrier {
  int members = 0;
  int arrived = 0;
  int round = 0;
};

// One block at a time.
class BlockRunner {
 public:
  using Stage = void (*)(Emulated*, const void*);

  BlockRunner(Stage stage, const CudaGridShape& shape, const void* args)
      : stage_(stage), args_(args) {
    here_.block_size = {shape.block[0], shape.block[1], shape.block[2]};
    here_.grid_size = {shape.grid[0], shape.grid[1], shape.grid[2]};
    here_.wait = &BlockRunner::wait;
    shared_.resize(static_cast<size_t>(shape.shared_bytes) + 64);
    shared_memory_ =
        reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(shared_.data()) + 63) / 64 * 64);
    here_.shared = shared_memory_;
    threads_.resize(size_t{shape.block[0]} * shape.block[1] * shape.block[2]);
    stacks_.resize(threads_.size());
    for (auto& stack : stacks_) {
      stack.reset(new char[kStackBytes]);
    }
  }

  void run() {
    BlockRunner* const before = current;
    current = this;
    for (unsigned z = 0; z < here_.grid_size.z; ++z) {
      for (unsigned y = 0; y < here_.grid_size.y; ++y) {
        for (unsigned x = 0; x < here_.grid_size.x; ++x) {
          here_.block = {x, y, z};
          runBlock();
        }
      }
    }
    current = before;
  }

 private:
  struct Thread {
    ucontext_t context;
    bool is_done = false;
  };

  void runBlock() {
    block_ = Barrier{static_cast<int>(threads_.size())};
    warps_.assign((threads_.size() + 31) / 32, Barrier{});
    for (size_t i = 0; i < threads_.size(); ++i) {
      ++warps_[i / 32].members;
      Thread& thread = threads_[i];
      thread.is_done = false;
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = stacks_[i].get();
      thread.context.uc_stack.ss_size = kStackBytes;
      thread.context.uc_link = &scheduler_;
      makecontext(&thread.context, reinterpret_cast<void (*)()>(&BlockRunner::enter), 0);
    }
    for (bool any = true; any;) {
      any = false;
      for (running_ = 0; running_ < threads_.size(); ++running_) {
        if (!threads_[running_].is_done) {
          any = true;
          place(running_);
          swapcontext(&scheduler_, &threads_[running_].context);
        }
      }
    }
  }

  void place(size_t thread) {
    const auto number = static_cast<unsigned>(thread);
    here_.thread = {
        number % here_.block_size.x,
        number / here_.block_size.x % here_.block_size.y,
        number / here_.block_size.x / here_.block_size.y};
  }

  static void enter() {
    BlockRunner& runner = *current;
    runner.stage_(&runner.here_, runner.args_);
    const size_t me = runner.running_;
    runner.threads_[me].is_done = true;
    // Those who wait do so for the others.
    runner.leave(runner.block_);
    runner.leave(runner.warps_[me / 32]);
  }

  static void wait(Emulated* /*here*/, int level) {
    BlockRunner& runner = *current;
    const size_t me = runner.running_;
    Barrier& barrier = level == 0 ? runner.block_ : runner.warps_[me / 32];
    const int round = barrier.round;
    ++barrier.arrived;
    runner.open(barrier);
    while (barrier.round == round) {
      swapcontext(&runner.threads_[me].context, &runner.scheduler_);
    }
  }

  void leave(Barrier& barrier) {
    --barrier.members;
    open(barrier);
  }

  static void open(Barrier& barrier) {
    if (barrier.arrived > 0 && barrier.arrived >= barrier.members) {
      barrier.arrived = 0;
      ++barrier.round;
    }
  }

  static thread_local BlockRunner* current;

  Stage stage_;
  const void* args_;
  Emulated here_{};
  std::vector<char> shared_;
  char* shared_memory_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<char[]>> stacks_;
  Barrier block_;
  std::vector<Barrier> warps_;
  ucontext_t scheduler_{};
  size_t running_ = 0;
};

thread_local BlockRunner* BlockRunner::current = nullptr;

class EmulatedProgram : public CudaProgram {
 public:
  explicit EmulatedProgram(std::shared_ptr<LoadedLibrary> library) : library_(std::move(library)) {}

  void launch(size_t number, const CudaGridShape& shape, void* args) const override {
    // What lies in shared memory is one for all blocks of a text.
    const std::lock_guard lock(mutex_);
    const std::string name = "nvf_emulate" + std::to_string(number);
    auto* stage = reinterpret_cast<BlockRunner::Stage>(library_->symbol(name.c_str()));
    BlockRunner(stage, shape, args).run();
  }

 private:
  std::shared_ptr<LoadedLibrary> library_;
  mutable std::mutex mutex_;
};

class Emulation : public CudaTarget {
 public:
  CudaLimits limits() const override {
    return {4, 1024, 16};
  }

  std::shared_ptr<CudaProgram> compile(const KernelSource& source) const override {
    std::string text = source.text;
    for (size_t at = text.find(kDynamicShared); at != std::string::npos;
         at = text.find(kDynamicShared)) {
      text.replace(
          at, std::strlen(kDynamicShared), "uint4* nvf_shared = (uint4*)nvf_here->shared;");
    }
    std::string entries;
    for (size_t i = 0;; ++i) {
      const std::string stage = "nvf_stage" + std::to_string(i);
      if (text.find(stage + "(") == std::string::npos) {
        break;
      }
      entries += "extern \"C\" void nvf_emulate" + std::to_string(i) +
          "(nvf_emulated* here, const void* args) { nvf_here = here; " + stage +
          "(*(const nvf_args*)args); }\n";
    }
    return std::make_shared<EmulatedProgram>(
        compileAndLoad({source.name, kShim + text + entries, {"-O1", "-ffp-contract=off", "-w"}}));
  }

  at::Tensor makeErrorWord() const override {
    return at::zeros({1}, at::kLong);
  }
};

} // namespace

std::shared_ptr<CudaTarget> cudaEmulation() {
  static const auto emulation = std::make_shared<Emulation>();
  return emulation;
}

} // namespace nvfuser
