// The preamble of CUDA kernels as C++ for the host: what its helpers compute can be tested without
// a GPU. The threads of a block are contexts of one thread, which change only where they wait for
// each other: each runs as far as it can, so what lacks a barrier reads what is not there yet.
#pragma once

#include <runtime/host_compiler.h>
#include <runtime/private_folder.h>

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <string>
#include <vector>

namespace nvfuser {

inline const char* const kCudaOnHost = R"(
#include <cmath>
#include <cstring>
#include <limits>
#include <ucontext.h>
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
template <class To, class From> static To bits_as(From x) { To r; std::memcpy(&r, &x, sizeof r); return r; }
static float __uint_as_float(unsigned x) { return bits_as<float>(x); }
static unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
static double __longlong_as_double(long long x) { return bits_as<double>(x); }
static long long __double_as_longlong(double x) { return bits_as<long long>(x); }
static float rsqrtf(float x) { return 1 / sqrtf(x); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static float erfinvf(float x) { return x; }
static double erfinv(double x) { return x; }
static float erfcinvf(float x) { return x; }
static double erfcinv(double x) { return x; }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long)a * b) >> 32); }
static double __dadd_rn(double a, double b) { return a + b; }
static double __dmul_rn(double a, double b) { return a * b; }
// Saturating; NaN is 0, or for wide types the smallest number.
template <class T, class F> static T saturated(F x) {
  typedef std::numeric_limits<T> limits;
  if (x != x) return sizeof(T) == 4 && sizeof(F) == 4 ? 0 : limits::min();
  return x >= -(F)limits::min() ? limits::max() : x < (F)limits::min() ? limits::min() : (T)x;
}
static int __float2int_rz(float x) { return saturated<int>(x); }
static int __double2int_rz(double x) { return saturated<int>(x); }
static long long __float2ll_rz(float x) { return saturated<long long>(x); }
static long long __double2ll_rz(double x) { return saturated<long long>(x); }
template <class T> static T __ldcs(const T* p) { return *p; }
template <class T> static T __ldg(const T* p) { return *p; }
template <class T> static void __stcs(T* p, T x) { *p = x; }

struct Dim { unsigned x, y, z; };
static Dim threadIdx, blockDim;
struct Thread { ucontext_t context; char stack[1 << 14]; Dim index; int waits_for; unsigned slot; };
static ucontext_t main_context;
static Thread threads[1024];
static int count;
static int current;
static const char* fault;
static void (*kernel)();
static void wait_for(int what) {
  threads[current].waits_for = what;
  swapcontext(&threads[current].context, &main_context);
}
static void __syncthreads() { wait_for(1); }
static unsigned __shfl_xor_sync(unsigned mask, unsigned x, int lanes) {
  const int warp = current / 32 * 32, lane = current % 32, left = count - warp;
  if (mask != (left >= 32 ? ~0u : (1u << left) - 1)) fault = "a mask that names other lanes than there are";
  threads[current].slot = x;
  wait_for(2);
  const int other = lane ^ lanes;
  const unsigned result = other < left ? threads[warp + other].slot : 0xdeadbeefu;
  wait_for(2);
  return result;
}
static void run_thread() {
  kernel();
  threads[current].waits_for = 3;
  swapcontext(&threads[current].context, &main_context);
}
// Runs `f` in every thread of a block; the order of warps is forwards, backwards or from the middle.
static const char* run_block(Dim block, int order, void (*f)()) {
  kernel = f;
  fault = nullptr;
  blockDim = block;
  count = (int)(block.x * block.y * block.z);
  for (int i = 0; i < count; ++i) {
    Thread& t = threads[i];
    t.index = {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
    t.waits_for = 0;
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = t.stack;
    t.context.uc_stack.ss_size = sizeof t.stack;
    t.context.uc_link = &main_context;
    makecontext(&t.context, run_thread, 0);
  }
  const int warps = (count + 31) / 32;
  for (;;) {
    bool moved = false;
    for (int k = 0; k < warps; ++k) {
      const int warp = 32 * (order == 0 ? k : order == 1 ? warps - 1 - k : (k + warps / 2) % warps);
      const int end = warp + 32 < count ? warp + 32 : count;
      // A warp goes on until it waits for others.
      for (bool all = true; all;) {
        for (int i = warp; i < end; ++i) {
          const int thread = order == 1 ? warp + end - 1 - i : i;
          if (threads[thread].waits_for != 0) continue;
          current = thread;
          threadIdx = threads[thread].index;
          swapcontext(&main_context, &threads[thread].context);
          moved = true;
        }
        for (int i = warp; i < end; ++i) all = all && threads[i].waits_for == 2;
        for (int i = warp; all && i < end; ++i) threads[i].waits_for = 0;
      }
    }
    bool all = true, done = true;
    for (int i = 0; i < count; ++i) {
      all = all && threads[i].waits_for == 1;
      done = done && threads[i].waits_for == 3;
    }
    for (int i = 0; all && i < count; ++i) threads[i].waits_for = 0;
    if (done) return fault;
    if (!moved && !all) return "threads that wait for ever";
  }
}
)";

/// A compiled text, loaded.
class HostLibrary {
 public:
  /// Records a failure of the test where the text does not compile.
  explicit HostLibrary(const std::string& text) {
    const auto compiler = hostCompiler();
    if (!*compiler) {
      return;
    }
    const std::string source = folder_.path() + "/text.cpp";
    const std::string library = folder_.path() + "/text.so";
    EXPECT_EQ(writeNewFile(source, text), 0);
    const std::string said = compileFile(
        *compiler,
        {"-std=c++20", "-O1", "-w", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing"},
        source,
        library);
    EXPECT_EQ(said, "");
    handle_ = said.empty() ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  }
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;
  ~HostLibrary() {
    if (handle_ != nullptr) {
      dlclose(handle_);
    }
  }
  explicit operator bool() const {
    return handle_ != nullptr;
  }
  template <typename F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }

 private:
  PrivateFolder folder_;
  void* handle_ = nullptr;
};

} // namespace nvfuser
