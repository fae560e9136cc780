#include <ir/fusion.h>
#include <ir/options.h>
#include <passes/allocation_order.h>
#include <passes/check_fusion.h>
#include <passes/common_subexpressions.h>
#include <passes/dead_code.h>
#include <passes/fold_scalars.h>
#include <passes/mark_aliases.h>
#include <passes/number_random_nodes.h>
#include <passes/pipeline.h>

#include <cstdlib>
#include <iostream>

namespace nvfuser {

const std::vector<FusionPass>& fusionPasses() {
  static const std::vector<FusionPass> passes = {
      {"dead_code", removeDeadCode}, // first: the others need not look at what nobody asks for
      {"number_random_nodes", numberRandomNodes}, // when only the nodes that draw are left
      {"fold_scalars",
       foldScalars}, // before comparing expressions, so that equal constants are equal
      {"common_subexpressions", mergeCommonSubexpressions},
      {"mark_aliases", markAliases}, // on the final graph: which outputs are views of inputs
      {"allocation_order", setAllocationOrders}, // last: views keep the layout they have
  };
  return passes;
}

namespace {

constexpr std::string_view kBefore = "fusion_ir_original";
constexpr std::string_view kAfter = "fusion_ir";

std::vector<std::string_view> dumpNames() {
  std::vector<std::string_view> names = {kBefore, kAfter};
  for (const FusionPass& pass : fusionPasses()) {
    names.push_back(pass.name);
  }
  return names;
}

const RegisterDumpOptions register_dumps(dumpNames());

bool checksPasses() {
#ifdef NVFUSER_DEBUG
  return true;
#else
  static const bool asked = [] {
    const char* text = std::getenv("NVFUSER_CHECK_PASSES");
    return text != nullptr && std::string_view(text) == "1";
  }();
  return asked;
#endif
}

void dump(std::string_view label, const Fusion& fusion) {
  if (isDumpEnabled(label)) {
    // Flushed, so that the text is there when the next pass crashes.
    std::cout << "---- " << label << " ----\n" << fusion.printMath() << std::flush;
  }
}

} // namespace

void runPipeline(Fusion& fusion) {
  FusionGuard guard(&fusion);
  const bool scheduled = checksPasses() && isScheduled(fusion);
  const auto check = [&](const std::string& when) {
    if (checksPasses()) {
      checkFusion(fusion, when, scheduled);
    }
  };
  check("before the first pass");
  dump(kBefore, fusion);
  for (const FusionPass& pass : fusionPasses()) {
    pass.run(fusion);
    check("after pass \"" + std::string(pass.name) + "\"");
    dump(pass.name, fusion);
  }
  dump(kAfter, fusion);
}

} // namespace nvfuser
