// FusionExecutorCache: classes and plans, aliases, layouts, memory, threads.
#include <ops/pointwise.h>
#include <ops/shape.h>
#include <runtime/fusion_executor_cache.h>

#include "../ops/op_test.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <thread>

namespace nvfuser {

namespace {

TensorView* floatInput(const std::vector<int64_t>& shape) {
  auto* tv = TensorViewBuilder().shape(shape).contiguity(true).build();
  FusionGuard::active()->addInput(tv);
  return tv;
}

Val* one() {
  return IrBuilder::constant(1.0);
}

// Sums what the CPU allocator hands out and takes back while it is installed.
class MemoryMeter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  bool memoryProfilingEnabled() const override {
    return true;
  }
  int64_t peak() const {
    return peak_;
  }

 private:
  int64_t now_ = 0;
  int64_t peak_ = 0;
};

} // namespace

TEST(FusionExecutorCache, OneRuntimeServesAllSizesOfAClass) {
  auto fusion = std::make_shared<Fusion>();
  {
    FusionGuard guard(fusion.get());
    fusion->addOutput(add(mul(floatInput({-1, -1}), one()), one()));
  }
  FusionExecutorCache cache(fusion);
  for (int64_t rows : {2, 3, 100, 3}) {
    const at::Tensor x = at::randn({rows, 5});
    EXPECT_TRUE(at::equal(cache.execute({x})[0].tensor(), x * 1 + 1));
  }
  EXPECT_EQ(cache.numRuntimes(), 1);
  EXPECT_FALSE(cache.isCompiled({at::randn({1, 5})}));
  cache.execute({at::randn({1, 5})});
  EXPECT_EQ(cache.numRuntimes(), 2);
}

TEST(FusionExecutorCache, InputsAreCheckedOnCachedPathsToo) {
  auto fusion = std::make_shared<Fusion>();
  {
    FusionGuard guard(fusion.get());
    fusion->addOutput(unaryOp(UnaryOpType::Sin, floatInput({-1, -1})));
  }
  FusionExecutorCache cache(fusion);
  cache.execute({at::randn({3, 3})});
  EXPECT_THROW(cache.execute({at::randn({}).expand({3, 3})}), UserError);
  EXPECT_THROW(cache.execute({at::randn({3, 3}).t()}), UserError);
  EXPECT_THROW(cache.execute({at::randn({3, 3}, at::kDouble)}), UserError);
  EXPECT_THROW(cache.execute({}), UserError);
  EXPECT_THROW(cache.execute({ScalarValue(1.0)}), UserError);
}

TEST(FusionExecutorCache, SymbolicSizesDoNotBroadcastSilently) {
  auto fusion = std::make_shared<Fusion>();
  {
    FusionGuard guard(fusion.get());
    TensorView* a = floatInput({-1});
    TensorView* b = floatInput({-1});
    fusion->addOutput(add(a, b));
  }
  FusionExecutorCache cache(fusion);
  EXPECT_THROW(cache.execute({at::randn({1}), at::randn({5})}), UserError);
  EXPECT_EQ(cache.execute({at::randn({5}), at::randn({5})})[0].tensor().numel(), 5);
}

TEST(FusionExecutorCache, InPlaceOutputsAreWrittenAfterAllReads) {
  auto fusion = std::make_shared<Fusion>();
  {
    FusionGuard guard(fusion.get());
    TensorView* x = floatInput({2, 2});
    fusion->addOutput(permute(x, {1, 0})); // a view of the old x
    fusion->addAliasOutput(mul(x, IrBuilder::constant(2.0)), x);
  }
  FusionExecutorCache cache(fusion);
  const at::Tensor x = at::arange(4, at::kFloat).reshape({2, 2});
  const at::Tensor before = x.clone();
  const auto outputs = cache.execute({x});
  ASSERT_EQ(outputs.size(), 1);
  EXPECT_TRUE(at::equal(outputs[0].tensor(), before.t()));
  EXPECT_TRUE(at::equal(x, before * 2));
}

TEST(FusionExecutorCache, IntermediatesAreFreedAtTheirLastUse) {
  auto fusion = std::make_shared<Fusion>();
  {
    FusionGuard guard(fusion.get());
    Val* y = floatInput({-1});
    for (int i = 0; i < 20; ++i) {
      y = unaryOp(UnaryOpType::Sin, y);
    }
    fusion->addOutput(y);
  }
  FusionExecutorCache cache(fusion);
  const at::Tensor x = at::randn({1 << 18});
  cache.execute({x});
  const auto bytes = static_cast<int64_t>(x.nbytes());
  const auto meter = std::make_shared<MemoryMeter>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, meter);
    cache.execute({x});
  }
  EXPECT_GE(meter->peak(), bytes);
  EXPECT_LE(meter->peak(), 3 * bytes);
}

TEST(FusionExecutorCache, ManyThreadsShareOneCache) {
  auto fusion = std::make_shared<Fusion>();
  {
    FusionGuard guard(fusion.get());
    fusion->addOutput(add(floatInput({-1}), one()));
  }
  FusionExecutorCache cache(fusion);
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int64_t n = 0; n < 50; ++n) {
        const at::Tensor x = at::full({n % 7}, static_cast<double>(t));
        wrong[t] += !at::equal(cache.execute({x})[0].tensor(), x + 1);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(std::count(wrong.begin(), wrong.end(), 0), 8);
}

} // namespace nvfuser
