// Reports of segments, and profiles of runs, as a C++ caller gets them.
#include <ir/options.h>
#include <ops/matmul.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/profiler.h>

#include "../ops/op_test.h"

#include <ATen/ATen.h>

namespace nvfuser {

namespace {

// x @ x + x @ x, and the sums of its rows.
std::shared_ptr<Fusion> productAndSums() {
  auto fusion = std::make_shared<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = TensorViewBuilder().shape({-1, -1}).contiguity(true).build();
  fusion->addInput(x);
  TensorView* product = matmul(x, x);
  fusion->addOutput(sum(add(product, product), {1}));
  return fusion;
}

} // namespace

TEST(SegmentReport, NamesKindsSizesAndBytes) {
  const OptionsGuard options({"generated_kernels"}, {});
  FusionExecutorCache cache(productAndSums());
  const std::vector<EvalValue> inputs = {at::randn({6, 6})};
  const auto launch = cache.prepare(inputs);
  const auto reports =
      reportSegments(*launch.runtime, launch.runtime->sizesFrom(inputs), launch.plan.get());
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(kindName(reports[0].kind), "library call");
  EXPECT_EQ(reports[0].ops, std::vector<std::string>{"matmul"});
  EXPECT_EQ(reports[0].bytes_written, 6 * 6 * 4);
  if (reports[1].kind == SegmentReport::Kind::Kernel) { // there is a compiler
    EXPECT_EQ(reports[1].scheduler, "inner reduction");
    EXPECT_EQ(reports[1].bytes_read, 6 * 6 * 4);
    EXPECT_EQ(reports[1].bytes_written, 6 * 4);
    EXPECT_EQ(reports[1].stages.size(), 1u);
    ASSERT_EQ(reports[1].apart.size(), 1u);
    EXPECT_NE(reports[1].apart[0].find("segment 0, a library call"), std::string::npos);
  }
}

TEST(SegmentReport, PlansWithoutSizes) {
  const OptionsGuard options({"generated_kernels"}, {});
  const auto reports = planSegments(*productAndSums());
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(kindName(reports[1].kind), "kernel");
  EXPECT_TRUE(std::holds_alternative<std::string>(reports[0].inputs[0].sizes[0]));
  EXPECT_EQ(reports[0].bytes_read, 0);
}

TEST(Profiler, KeepsTheLastRun) {
  FusionExecutorCache cache(productAndSums(), 5);
  const std::vector<EvalValue> inputs = {at::randn({6, 6})};
  resetProfiler();
  cache.execute(inputs);
  EXPECT_FALSE(lastProfile().has_value());
  startProfiling();
  cache.execute(inputs);
  stopProfiling();
  const auto profile = lastProfile();
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->fusion_id, 5);
  EXPECT_GE(profile->segments, 2);
  EXPECT_EQ(profile->kernel_profiles[0].name, "matmul");
  EXPECT_GT(profile->kernel_time_ms, 0);
  EXPECT_GE(profile->host_time_ms, profile->kernel_time_ms);
}

TEST(Profiler, MeasuresEachSegment) {
  FusionExecutorCache cache(productAndSums());
  const auto measured = measureSegments(cache, {at::randn({6, 6})}, std::nullopt, 3);
  EXPECT_GE(measured.seconds.size(), 2u);
  for (double seconds : measured.seconds) {
    EXPECT_GT(seconds, 0);
  }
  EXPECT_GT(measured.total_seconds, 0);
}

} // namespace nvfuser
