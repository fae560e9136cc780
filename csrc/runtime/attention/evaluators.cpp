// SdpaFwdOp and SdpaBwdOp evaluated through the backend registry, on real and on meta tensors.
#include <ir/sdpa_nodes.h>
#include <runtime/attention/backend.h>
#include <runtime/attention/dropout.h>
#include <runtime/evaluator_registry.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <numeric>

namespace nvfuser {

namespace {

// Evaluation records no gradients and follows no autocast: the nodes state dtypes and gradients
// themselves.
struct PlainDispatch {
  at::NoGradGuard no_grad;
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

// The operands of one node by name.
class NamedOperands {
 public:
  NamedOperands(const Expr& expr, const std::vector<EvalValue>& values)
      : expr_(expr), values_(values) {}

  /// Undefined when absent.
  at::Tensor tensor(std::string_view name) const {
    const EvalValue& value = find(name);
    return value.hasValue() ? value.tensor() : at::Tensor();
  }
  std::optional<double> real(std::string_view name) const {
    const EvalValue& value = find(name);
    return value.hasValue() ? std::optional(toDouble(value.scalar())) : std::nullopt;
  }
  bool flag(std::string_view name) const {
    const EvalValue& value = find(name);
    return value.hasValue() && toBool(value.scalar());
  }

 private:
  const EvalValue& find(std::string_view name) const {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (expr_.operands()[i].name == name) {
        return values_[i];
      }
    }
    NVF_ERROR(false, "no operand ", name);
    std::abort();
  }

  const Expr& expr_;
  const std::vector<EvalValue>& values_;
};

SdpaArguments argumentsOf(const NamedOperands& in, CausalAlignment alignment) {
  SdpaArguments a;
  a.query = in.tensor("query");
  a.key = in.tensor("key");
  a.value = in.tensor("value");
  a.bias = in.tensor("bias");
  a.mask = in.tensor("mask");
  a.dropout_p = in.real("dropout_p").value_or(0.0);
  a.is_causal = in.flag("is_causal");
  a.scale = in.real("scale");
  a.alignment = alignment;
  return a;
}

// The op's name as users wrote it: the flash-named ops are bottom right and have no other options.
template <typename Node>
std::string_view opText(const Node& node, std::string_view general, std::string_view flash_named) {
  const bool is_flash = node.causalAlignment() == CausalAlignment::BottomRight &&
      node.backend() == "auto" && node.operand("bias") == nullptr &&
      node.operand("mask") == nullptr;
  return is_flash ? flash_named : general;
}

// The declared memory order of an output, else that of the tensor it resembles.
std::vector<int64_t> orderOf(const Val* output, const at::Tensor& like) {
  const auto* tv = output->as<TensorView>();
  const auto rank = like.dim();
  if (!tv->hasAllocation()) {
    return memoryOrder(like);
  }
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const auto places = tv->domain()->strideOrder();
  for (size_t dim = 0; dim < places.size(); ++dim) {
    order[rank - 1 - places[dim]] = static_cast<int64_t>(dim);
  }
  return order;
}

// A flattened result with the leading dims of `like` again, in the memory order of the output.
at::Tensor restored(
    const at::Tensor& result,
    const at::Tensor& like,
    const Val* output,
    int64_t keep) {
  std::vector<int64_t> sizes(like.sizes().begin(), like.sizes().end() - 3);
  const auto kept = result.sizes().slice(result.dim() - keep);
  sizes.insert(sizes.end(), kept.begin(), kept.end());
  at::Tensor full =
      result.dim() == static_cast<int64_t>(sizes.size()) ? result : result.reshape(sizes);
  if (keep == 2) {
    return full.contiguous();
  }
  return inOrder(full, orderOf(output, like));
}

bool hasVectorForm(const Val* philox_seed) {
  return philox_seed->dtype() == DataType::UInt64;
}

void evaluateSdpaFwd(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const PlainDispatch plain;
  const auto& node = *expr.as<SdpaFwdOp>();
  const std::string_view op = opText(node, "sdpa_fwd", "sdpfa_fwd");
  SdpaArguments a = argumentsOf({expr, operands}, node.causalAlignment());
  a.training = !node.isInference();
  const SdpaProblem problem = makeSdpaProblem(op, a);

  SdpaForwardResult result;
  if (a.query.is_meta()) {
    checkSdpaBackendName(op, node.backend());
    const auto options = a.query.options();
    std::vector<int64_t> sizes = problem.query.sizes().vec();
    sizes.pop_back();
    result.logsumexp = at::empty(sizes, options.dtype(at::kFloat));
    sizes.push_back(problem.valueHeadSize());
    result.attn_out = at::empty(sizes, options);
  } else {
    result = runSdpaForward(op, problem, node.backend());
  }
  outputs[0] = restored(result.attn_out, a.query, expr.output(0), 3);
  if (node.isInference()) {
    return;
  }
  outputs[1] = restored(result.logsumexp, a.query, expr.output(1), 2);
  const bool vector_form = hasVectorForm(expr.output(2));
  const auto device = a.query.device();
  SdpaRngState rng = result.rng.seed.defined() ? packRngState(result.rng, vector_form, device)
                                               : emptyRngState(vector_form, device);
  if (result.rng_origin != nullptr) {
    rememberRngOrigin(rng, *result.rng_origin);
  }
  outputs[2] = std::move(rng.seed);
  outputs[3] = std::move(rng.offset);
}

// The saved tensors of the forward must fit the problem.
void checkSaved(
    std::string_view op,
    std::string_view name,
    const at::Tensor& tensor,
    const SdpaArguments& a,
    bool has_last) {
  std::vector<int64_t> wanted(a.query.sizes().begin(), a.query.sizes().end() - 1);
  if (has_last) {
    wanted.push_back(a.value.size(-1));
  }
  const auto dtype = has_last ? a.query.scalar_type() : at::kFloat;
  NVF_CHECK(
      tensor.sizes() == at::IntArrayRef(wanted) && tensor.scalar_type() == dtype,
      op,
      ": ",
      name,
      " must be ",
      dtype,
      " ",
      at::IntArrayRef(wanted),
      ", not ",
      tensor.scalar_type(),
      " ",
      tensor.sizes());
  NVF_CHECK(
      tensor.device() == a.query.device(),
      op,
      ": the tensors are on different devices, ",
      a.query.device(),
      " and ",
      tensor.device());
}

void evaluateSdpaBwd(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const PlainDispatch plain;
  const auto& node = *expr.as<SdpaBwdOp>();
  const std::string_view op = opText(node, "sdpa_bwd", "sdpfa_bwd");
  const NamedOperands in(expr, operands);
  SdpaArguments a = argumentsOf(in, node.causalAlignment());
  a.bias_grad = node.hasBiasGrad();
  const SdpaProblem problem = makeSdpaProblem(op, a);
  const at::Tensor grad_out = in.tensor("grad_out");
  const at::Tensor attn_out = in.tensor("attn_out");
  const at::Tensor logsumexp = in.tensor("logsumexp");
  checkSaved(op, "grad_output", grad_out, a, true);
  checkSaved(op, "output", attn_out, a, true);
  checkSaved(op, "logsumexp", logsumexp, a, false);

  SdpaBackwardResult result;
  if (a.query.is_meta()) {
    checkSdpaBackendName(op, node.backend());
    const auto like = [](const at::Tensor& t) { return at::empty(t.sizes(), t.options()); };
    result = {like(problem.query), like(problem.key), like(problem.value), {}};
  } else {
    const SdpaBackwardInputs saved{
        flattenBatch(grad_out, 3),
        flattenBatch(attn_out, 3),
        flattenBatch(logsumexp, 2),
        {in.tensor("philox_seed"), in.tensor("philox_offset")}};
    result = runSdpaBackward(op, problem, saved, node.backend());
  }
  outputs[0] = restored(result.grad_query, a.query, expr.output(0), 3);
  outputs[1] = restored(result.grad_key, a.key, expr.output(1), 3);
  outputs[2] = restored(result.grad_value, a.value, expr.output(2), 3);
  if (!a.bias_grad) {
    return;
  }
  // The bias may have fewer dimensions, and broadcast ones among the leading.
  if (!result.grad_bias.defined()) {
    outputs[3] =
        inOrder(at::empty(a.bias.sizes(), a.bias.options()), orderOf(expr.output(3), a.bias));
    return;
  }
  at::Tensor grad = result.grad_bias;
  if (a.query.dim() > 4) {
    const auto batch = a.query.sizes().slice(0, a.query.dim() - 3);
    std::vector<int64_t> sizes =
        grad.size(0) == problem.batch() ? batch.vec() : std::vector<int64_t>(batch.size(), 1);
    sizes.insert(sizes.end(), grad.sizes().begin() + 1, grad.sizes().end());
    grad = grad.reshape(sizes);
  }
  outputs[3] = inOrder(grad.sum_to_size(a.bias.sizes()), orderOf(expr.output(3), a.bias));
}

const RegisterEvaluator forward_registration("SdpaFwdOp", &evaluateSdpaFwd);
const RegisterEvaluator backward_registration("SdpaBwdOp", &evaluateSdpaBwd);

} // namespace

} // namespace nvfuser
