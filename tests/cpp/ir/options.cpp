// Options of the environment and of a run.
#include <ir/options.h>
#include <ir/runtime_options.h>

#include "../ir_test.h"

#include <thread>

namespace nvfuser {

namespace {
const std::vector<std::string_view> kKnown = {"alpha", "beta", "beta.more"};
}

TEST(Options, ListsAreTakenApart) {
  const auto options = parseOptions("VAR", " alpha , beta(x, y),beta.more() ,", kKnown);
  EXPECT_EQ(options.size(), 3u);
  EXPECT_TRUE(options.at("alpha").empty());
  EXPECT_EQ(options.at("beta"), (OptionArguments{"x", "y"}));
  EXPECT_TRUE(options.at("beta.more").empty());
  EXPECT_TRUE(parseOptions("VAR", "", kKnown).empty());
}

TEST(Options, UnknownNamesListTheKnownOnes) {
  expectUserErrorWith(
      [] { parseOptions("VAR", "alpha,gamma", kKnown); },
      "VAR: unknown option \"gamma\"; known are alpha, beta, beta.more");
  expectUserErrorWith([] { parseOptions("VAR", "beta(x", kKnown); }, "parentheses");
  expectUserErrorWith([] { parseOptions("VAR", "beta)x(", kKnown); }, "parentheses");
  expectUserErrorWith([] { parseOptions("VAR", "beta(x)y", kKnown); }, "after the arguments");
}

TEST(Options, GuardsNestAndEnd) {
  EXPECT_FALSE(isOptionEnabled("fuse_matmul"));
  {
    OptionsGuard outer({"fuse_matmul"}, {});
    {
      OptionsGuard inner({}, {"matmul_expr_eval"});
      EXPECT_TRUE(isOptionEnabled("fuse_matmul"));
      EXPECT_TRUE(isOptionDisabled("matmul_expr_eval"));
    }
    EXPECT_FALSE(isOptionDisabled("matmul_expr_eval"));
  }
  EXPECT_FALSE(isOptionEnabled("fuse_matmul"));
}

TEST(Options, GuardsConcernTheirThreadOnly) {
  OptionsGuard guard({"fuse_matmul"}, {});
  bool seen = true;
  std::thread([&] { seen = isOptionEnabled("fuse_matmul"); }).join();
  EXPECT_FALSE(seen);
}

TEST(Options, GuardsRefuseUnknownNames) {
  expectUserErrorWith([] { OptionsGuard guard({"x"}, {}); }, "Unrecognized enable_option: x");
  expectUserErrorWith([] { OptionsGuard guard({}, {"y"}); }, "Unrecognized disable_option: y");
  EXPECT_FALSE(isOptionEnabled("fuse_matmul"));
}

TEST(Options, AskingForAnUnknownNameIsOurFault) {
  EXPECT_THROW(isOptionEnabled("no_such_option"), InternalError);
  EXPECT_THROW(isOptionDisabled("no_such_option"), InternalError);
}

// On unless disabled; the innermost guard that names it decides, then the process, then the
// environment.
TEST(Options, GeneratedKernelsAreOnUnlessDisabled) {
  const auto is_on = [] {
    const bool on = isOptionEnabled("generated_kernels");
    EXPECT_EQ(on, !isOptionDisabled("generated_kernels"));
    EXPECT_EQ(on, (runtimeOptions() & 1) != 0);
    return on;
  };
  setGeneratedKernels(true);
  EXPECT_TRUE(is_on());
  {
    OptionsGuard off({}, {"generated_kernels"});
    EXPECT_FALSE(is_on());
    const int64_t without_check = runtimeOptions();
    OptionsGuard on({"generated_kernels", "check_kernels"}, {});
    EXPECT_TRUE(is_on());
    OptionsGuard other({"fuse_matmul"}, {});
    EXPECT_TRUE(is_on());
    EXPECT_EQ(runtimeOptions() - without_check, 3);
  }
  setGeneratedKernels(false);
  EXPECT_FALSE(is_on());
  {
    OptionsGuard on({"generated_kernels"}, {});
    EXPECT_TRUE(is_on());
  }
  setGeneratedKernels(std::nullopt);
  EXPECT_EQ(is_on(), isOptionEnabled("generated_kernels"));
}

TEST(Options, EveryNameOfTheInterfaceIsKnown) {
  EXPECT_EQ(enableOptionNames().size(), 28u);
  EXPECT_EQ(disableOptionNames().size(), 23u);
  EXPECT_EQ(profilerOptionNames().size(), 5u);
}

} // namespace nvfuser
