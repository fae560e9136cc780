// The passes that run on an unscheduled fusion, in order; pipeline.cpp shows the list.
//
// Folder csrc/passes: rewrites of an unscheduled fusion, each one function Fusion -> void. It may
// include csrc/ir, csrc/ops and csrc/analysis.
#pragma once

#include <string_view>
#include <vector>

namespace nvfuser {

class Fusion;

struct FusionPass {
  /// Dump label, test file and source file of the pass.
  std::string_view name;
  void (*run)(Fusion&);
};

const std::vector<FusionPass>& fusionPasses();

/// Runs every pass on `fusion`. In debug builds, and where the environment has
/// NVFUSER_CHECK_PASSES=1, the fusion is checked (check_fusion.h) before the first pass and after
/// each: InternalError that names the pass which broke a rule. NVFUSER_DUMP=<pass>,... prints the
/// fusion to stdout after these passes; fusion_ir_original and fusion_ir print it before the first
/// and after the last one.
void runPipeline(Fusion& fusion);

} // namespace nvfuser
