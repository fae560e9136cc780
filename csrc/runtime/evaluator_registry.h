// One evaluation function per node class, found by the node's name.
#pragma once

#include <ir/statement.h>
#include <runtime/value.h>

#include <optional>
#include <vector>

namespace nvfuser {

/// What an evaluation may need beside the operands.
struct EvalContext {
  /// Where factories allocate: the common device of the fusion's tensor inputs, or the one asked
  /// for.
  at::Device device = at::kCPU;
  /// Seed and offset of this run's random numbers, drawn from torch's generator when first needed;
  /// see rng_state.h. A node with rng_id i uses offset / 4 + i.
  std::optional<std::pair<uint64_t, uint64_t>> philox;
  /// How many random nodes the fusion has: the generator advances by 4 for each.
  int64_t random_nodes = 0;
};

/// `operands` stands in the order of expr.operands(), absent ones without a value. Tensors may live
/// on CPU, CUDA or meta. `outputs` has one entry per output of the node, to be filled in.
using Evaluator = void (*)(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext& context);

/// Registers at static-initialisation time: `static RegisterEvaluator r("TopKOp", &evaluateTopK);`
struct RegisterEvaluator {
  RegisterEvaluator(std::string_view op_name, Evaluator evaluator);
};

/// InternalError when the node class has none.
Evaluator evaluatorOf(const Expr& expr);

} // namespace nvfuser
