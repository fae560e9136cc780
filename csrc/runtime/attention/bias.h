// Bias and mask of an attention call in the forms that kernels take.
#pragma once

#include <runtime/attention/problem.h>

namespace nvfuser {

/// bias + (mask ? 0 : -inf) in the dtype of the bias (query's when there is only a mask); undefined
/// when neither is given. Its shape is the smallest that both broadcast to.
at::Tensor additiveBias(const SdpaProblem& problem);
/// Elements of that sum which neither operand has stored: what materialising it costs.
int64_t additiveBiasCost(const SdpaProblem& problem);
/// Rows [N or 1, H or 1, L or 1] in which `additive` and the causal rule leave no key; undefined
/// when there is neither.
at::Tensor rowsWithoutKey(const SdpaProblem& problem, const at::Tensor& additive);
/// Heads repeated so that key or value [N, Hk, S, E] has the query's heads.
at::Tensor repeatHeads(const at::Tensor& tensor, int64_t heads);
/// The sum over each group of heads: [N, H, S, E] -> [N, Hk, S, E].
at::Tensor sumHeads(const at::Tensor& tensor, int64_t kv_heads);
/// The last dimension widened with `fill` to a multiple of `multiple`; the tensor itself when it is
/// one.
at::Tensor padLast(const at::Tensor& tensor, int64_t multiple, double fill = 0.0);

} // namespace nvfuser
