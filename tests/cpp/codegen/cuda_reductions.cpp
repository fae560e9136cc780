// Reductions over the threads of a block: every shape of block, several values at a time, several
// calls in a row.
#include <codegen/cuda_preamble.h>

#include "cuda_host.h"

#include <tuple>

namespace nvfuser {

namespace {

// Every thread reduces N values in the wanted direction twice, with other values the second time,
// and notes the results; inputs lie at [call][thread][value].
const char* const kCase = R"(
template <class T> struct Case {
  static inline const T* in;
  static inline T* out;
  static inline char* shared;
  template <int N, int direction, class Op, T (*init)()> static void body() {
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int total = blockDim.x * blockDim.y * blockDim.z;
    for (int call = 0; call < 2; ++call) {
      T values[N];
      for (int i = 0; i < N; ++i) values[i] = in[(call * total + thread) * N + i];
      if (direction == 0) nvf_block_reduce_x(values, Op(), init(), shared);
      if (direction == 1) nvf_block_reduce_y(values, Op(), init(), shared);
      if (direction == 2) nvf_block_reduce_xy(values, Op(), init(), shared);
      for (int i = 0; i < N; ++i) out[(call * total + thread) * N + i] = values[i];
    }
  }
};
#define CASE(name, T, N, FUNCTOR, INIT) \
struct Op_##name { T operator()(T a, T b) const { return FUNCTOR(a, b); } }; \
static T init_##name() { return INIT; } \
extern "C" const char* name(int direction, unsigned x, unsigned y, unsigned z, int order, const void* in, void* out, char* shared) { \
  typedef Case<T> C; \
  C::in = (const T*)in; C::out = (T*)out; C::shared = shared; \
  void (*const bodies[])() = {C::body<N, 0, Op_##name, init_##name>, C::body<N, 1, Op_##name, init_##name>, C::body<N, 2, Op_##name, init_##name>}; \
  return run_block({x, y, z}, order, bodies[direction]); \
}
)";

using CaseFunction = const char*(int, unsigned, unsigned, unsigned, int, const void*, void*, char*);

std::string caseText(
    const std::string& name,
    const std::string& type,
    int count,
    ReductionType reduction,
    DataType dtype,
    const std::string& init) {
  return "\n#define FUNCTOR_" + name + "(a, b) (" + reductionFunctor(reduction, dtype) +
      ")(a, b)\nCASE(" + name + ", " + type + ", " + std::to_string(count) + ", FUNCTOR_" + name +
      ", " + init + ")\n";
}

struct Block {
  int64_t x, y, z;
};

} // namespace

class CudaReductions : public ::testing::Test {
 protected:
  static const HostLibrary& library() {
    static const HostLibrary made(
        std::string(kCudaOnHost) + cudaPreamble() + kCase +
        caseText("sum_long", "long", 2, ReductionType::Sum, DataType::Int, "0") +
        caseText("sum_float", "float", 2, ReductionType::Sum, DataType::Float, "0") +
        caseText("top_double", "double", 1, ReductionType::Max, DataType::Double, "-nvf_inf()") +
        caseText("prod_int", "int", 1, ReductionType::Prod, DataType::Int32, "1") +
        caseText("any", "bool", 5, ReductionType::Sum, DataType::Bool, "false") +
        caseText(
            "top_bf16",
            "nvf_bf16",
            4,
            ReductionType::Max,
            DataType::BFloat16,
            "nvf_to_bf16(-nvf_inff())"));
    return made;
  }

  void SetUp() override {
    if (!*hostCompiler()) {
      GTEST_SKIP() << "no compiler";
    }
    ASSERT_TRUE(library());
  }

  static const std::vector<Block>& blocks() {
    static const std::vector<Block> all = {
        {1, 1, 1},  {32, 1, 1}, {64, 1, 1},  {256, 1, 1}, {1024, 1, 1}, {96, 1, 1},  {5, 1, 1},
        {33, 1, 1}, {40, 1, 1}, {250, 1, 1}, {16, 1, 1},  {8, 4, 1},    {8, 3, 1},   {16, 5, 2},
        {32, 8, 1}, {64, 4, 1}, {32, 3, 2},  {96, 2, 1},  {7, 9, 1},    {33, 5, 1},  {1, 32, 1},
        {1, 64, 1}, {1, 7, 3},  {2, 100, 1}, {4, 128, 1}, {16, 16, 2},  {100, 2, 1}, {8, 40, 1}};
    return all;
  }

  // Runs the case for every block (of at most so many threads), direction and order. `make` gives
  // the values by number, `combine` what the reduction does with two of them.
  template <typename T, typename Make, typename Combine>
  void check(const char* name, int count, int64_t threads, Make make, Combine combine) {
    auto* run = library().function<CaseFunction>(name);
    for (const auto& [x, y, z] : blocks()) {
      const int64_t total = x * y * z;
      if (total > threads) {
        continue;
      }
      std::vector<T> in;
      for (int64_t k = 0; k < 2 * total * count; ++k) {
        in.push_back(make(k));
      }
      for (int direction = 0; direction < 3; ++direction) {
        const bool over_x = direction != 1;
        const bool over_y = direction != 0;
        const int64_t bytes = blockReduceScratch(over_x, over_y, count, sizeof(T), x, y, z);
        EXPECT_LE(bytes, total * count * static_cast<int64_t>(sizeof(T)));
        for (int order = total > 300 ? 2 : 0; order < 3; ++order) {
          SCOPED_TRACE(
              ::testing::Message() << name << " of " << x << "x" << y << "x" << z << ", direction "
                                   << direction << ", order " << order);
          std::vector<char> shared(bytes + 64, char{77});
          std::vector<T> out(in.size());
          const char* fault =
              run(direction,
                  static_cast<unsigned>(x),
                  static_cast<unsigned>(y),
                  static_cast<unsigned>(z),
                  order,
                  in.data(),
                  out.data(),
                  shared.data());
          ASSERT_EQ(fault, nullptr) << fault;
          for (int64_t k = bytes; k < bytes + 64; ++k) {
            ASSERT_EQ(shared[k], char{77}) << "beyond the scratch";
          }
          const auto group = [&](int64_t thread) {
            const int64_t row = thread / x;
            const int64_t slice = thread / (x * y);
            return over_x ? (over_y ? slice : row) : thread % x + x * slice;
          };
          for (int64_t call = 0; call < 2; ++call) {
            for (int i = 0; i < count; ++i) {
              std::vector<T> sums(total);
              std::vector<int64_t> first(total, -1);
              const auto at = [&](int64_t thread) { return (call * total + thread) * count + i; };
              for (int64_t thread = 0; thread < total; ++thread) {
                const int64_t g = group(thread);
                sums[g] = first[g] < 0 ? in[at(thread)] : combine(sums[g], in[at(thread)]);
                first[g] = first[g] < 0 ? thread : first[g];
              }
              for (int64_t thread = 0; thread < total; ++thread) {
                const int64_t g = group(thread);
                ASSERT_EQ(out[at(thread)], out[at(first[g])]) << "threads differ";
                ASSERT_EQ(out[at(thread)], sums[g]) << "thread " << thread << ", call " << call;
              }
            }
          }
        }
      }
    }
  }
};

TEST_F(CudaReductions, OfLongs) {
  check<int64_t>(
      "sum_long",
      2,
      1024,
      [](int64_t k) { return static_cast<int64_t>((k + 1) * uint64_t{0x9E3779B97F4A7C15}); },
      [](int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      });
}

TEST_F(CudaReductions, OfFloats) {
  // Whole numbers: every order gives the same sum.
  check<float>(
      "sum_float",
      2,
      160,
      [](int64_t k) { return static_cast<float>(k * 37 % 1001 - 500); },
      [](float a, float b) { return a + b; });
}

TEST_F(CudaReductions, OfDoubles) {
  check<double>(
      "top_double",
      1,
      160,
      [](int64_t k) { return static_cast<double>(k * 73 % 977) - 500; },
      [](double a, double b) { return a > b ? a : b; });
}

TEST_F(CudaReductions, OfInts) {
  check<int32_t>(
      "prod_int",
      1,
      160,
      [](int64_t k) { return static_cast<int32_t>(2 * k + 1); },
      [](int32_t a, int32_t b) {
        return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
      });
}

TEST_F(CudaReductions, OfBools) {
  check<uint8_t>(
      "any",
      5,
      100,
      [](int64_t k) { return static_cast<uint8_t>(k % 61 == 0); },
      [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); });
}

TEST_F(CudaReductions, OfHalfTypes) {
  // The bits of positive numbers are ordered as they are.
  check<uint16_t>(
      "top_bf16",
      4,
      256,
      [](int64_t k) { return static_cast<uint16_t>(k * 173 % 0x7f00); },
      [](uint16_t a, uint16_t b) { return a > b ? a : b; });
}

} // namespace nvfuser
