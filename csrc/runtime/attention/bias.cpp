#include <runtime/attention/bias.h>

#include <ATen/ExpandUtils.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

namespace nvfuser {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

} // namespace

at::Tensor additiveBias(const SdpaProblem& p) {
  if (!p.mask.defined()) {
    return p.bias;
  }
  if (!p.bias.defined()) {
    return at::zeros(p.mask.sizes(), p.query.options()).masked_fill_(p.mask.logical_not(), -kInf);
  }
  // A sum, not a fill: what is NaN in the bias stays NaN, as in torch.
  const at::Tensor additive =
      at::zeros(p.mask.sizes(), p.bias.options()).masked_fill_(p.mask.logical_not(), -kInf);
  return p.bias + additive;
}

int64_t additiveBiasCost(const SdpaProblem& p) {
  if (!p.bias.defined() || !p.mask.defined()) {
    return 0;
  }
  int64_t sum = 1;
  for (const auto size : at::infer_size(p.bias.sizes(), p.mask.sizes())) {
    sum *= size;
  }
  const int64_t stored = std::max(p.bias.numel(), p.mask.numel());
  return sum > stored ? sum : 0;
}

at::Tensor rowsWithoutKey(const SdpaProblem& p, const at::Tensor& additive) {
  if (!additive.defined() && !p.is_causal) {
    return {};
  }
  at::Tensor seen;
  if (additive.defined()) {
    seen = additive.ne(-kInf);
  }
  if (p.is_causal) {
    const auto options = p.query.options().dtype(at::kBool);
    const at::Tensor causal =
        at::ones({p.queryLength(), p.keyLength()}, options).tril(p.causalShift());
    seen = seen.defined() ? seen.logical_and(causal) : causal.view({1, 1, p.queryLength(), -1});
  }
  return seen.any(-1).logical_not();
}

at::Tensor repeatHeads(const at::Tensor& tensor, int64_t heads) {
  const int64_t kv_heads = tensor.size(1);
  if (kv_heads == heads) {
    return tensor;
  }
  const int64_t group = heads / kv_heads;
  return tensor.unsqueeze(2)
      .expand({tensor.size(0), kv_heads, group, tensor.size(2), tensor.size(3)})
      .reshape({tensor.size(0), heads, tensor.size(2), tensor.size(3)});
}

at::Tensor sumHeads(const at::Tensor& tensor, int64_t kv_heads) {
  const int64_t heads = tensor.size(1);
  if (kv_heads == heads) {
    return tensor;
  }
  return tensor.unflatten(1, {kv_heads, heads / kv_heads}).sum(2);
}

at::Tensor padLast(const at::Tensor& tensor, int64_t multiple, double fill) {
  const int64_t rest = tensor.size(-1) % multiple;
  return rest == 0 ? tensor : at::constant_pad_nd(tensor, {0, multiple - rest}, fill);
}

} // namespace nvfuser
