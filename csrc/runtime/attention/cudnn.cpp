// cuDNN's fused attention, through torch.
#include <runtime/attention/aten_call.h>
#include <runtime/attention/bias.h>
#include <runtime/attention/cuda_common.h>
#include <runtime/attention/cuda_query.h>
#include <runtime/attention/dropout.h>

#include <ATen/Context.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace nvfuser {

namespace {

constexpr int64_t kHeadSizeMultiple = 8;

class CudnnBackend : public SdpaBackend {
 public:
  std::string_view name() const override {
    return "cudnn";
  }

  bool switchedOn() const override {
    return at::globalContext().userEnabledCuDNNSDP();
  }

  std::string supports(const SdpaProblem& p, SdpaPass pass) const override {
    if (std::string reason = reasonAgainstCudaKernels(p); !reason.empty()) {
      return reason;
    }
    const auto type = p.query.scalar_type();
    if (type != at::kHalf && type != at::kBFloat16) {
      return "takes Half and BFloat16 only";
    }
    const int64_t capability = computeCapability(p.query.device());
    if (capability < 80) {
      return "needs compute capability 8.0 or above";
    }
    const int64_t max_head_size = capability == 90 ? 256 : 128;
    if (std::max(p.headSize(), p.valueHeadSize()) > max_head_size) {
      return max_head_size == 256 ? "takes head sizes up to 256"
                                  : "takes head sizes up to 128 on this device";
    }
    if (p.bias.defined() && p.bias.scalar_type() != type) {
      return "needs the bias in query's dtype";
    }
    if (p.is_causal && p.hasBiasOrMask()) {
      return "takes no bias or mask together with the causal rule";
    }
    if (p.is_causal && p.alignment == CausalAlignment::BottomRight &&
        p.queryLength() != p.keyLength()) {
      return "aligns the causal diagonal top-left";
    }
    if (pass == SdpaPass::Backward && p.bias_grad) {
      return "has no gradient of bias";
    }
    if (at::globalContext().deterministicAlgorithms() &&
        !at::globalContext().deterministicAlgorithmsWarnOnly()) {
      return "is not deterministic, and torch.use_deterministic_algorithms is set";
    }
    return "";
  }

  SdpaForwardResult forward(const SdpaProblem& p) const override {
    const auto out = callAten(
        "aten::_scaled_dot_product_cudnn_attention",
        {{"query", operand(p.query)},
         {"key", operand(p.key)},
         {"value", operand(p.value)},
         {"attn_bias", optionalTensor(bias(p))},
         {"compute_log_sumexp", p.training},
         {"dropout_p", p.dropout_p},
         {"is_causal", p.is_causal},
         {"return_debug_mask", false},
         {"scale", p.scale}});
    SdpaForwardResult result;
    result.attn_out = sliceLast(out[0].toTensor(), p.valueHeadSize());
    if (p.training) {
      result.logsumexp = out[1].toTensor().reshape({p.batch(), p.heads(), p.queryLength()});
    }
    if (p.hasDropout()) {
      result.rng = {out[6].toTensor(), out[7].toTensor()};
    }
    return result;
  }

  SdpaBackwardResult backward(const SdpaProblem& p, const SdpaBackwardInputs& in) const override {
    const auto device = p.query.device();
    const auto scalars = at::TensorOptions().dtype(at::kLong).device(device);
    SdpaRngState rng{at::empty({}, scalars), at::empty({}, scalars)};
    if (p.hasDropout()) {
      const SdpaRngState state = unpackRngScalars(in.rng, /*on_host=*/false);
      rng = {state.seed.to(device), state.offset.to(device)};
    }
    const auto out = callAten(
        "aten::_scaled_dot_product_cudnn_attention_backward",
        {{"grad_out", operand(in.grad_out)},
         {"query", operand(p.query)},
         {"key", operand(p.key)},
         {"value", operand(p.value)},
         {"out", operand(in.attn_out)},
         {"logsumexp", in.logsumexp.contiguous().unsqueeze(-1)},
         {"philox_seed", rng.seed},
         {"philox_offset", rng.offset},
         {"attn_bias", bias(p)},
         {"cum_seq_q", at::Tensor()},
         {"cum_seq_k", at::Tensor()},
         {"max_q", p.queryLength()},
         {"max_k", p.keyLength()},
         {"dropout_p", p.dropout_p},
         {"is_causal", p.is_causal},
         {"scale", p.scale}});
    return {
        sliceLast(out[0].toTensor(), p.headSize()),
        sliceLast(out[1].toTensor(), p.headSize()),
        sliceLast(out[2].toTensor(), p.valueHeadSize()),
        {}};
  }

 private:
  static at::Tensor operand(const at::Tensor& tensor) {
    return kernelOperand(padLast(tensor, kHeadSizeMultiple));
  }

  // Broadcast over batch and heads only, rows and keys written out.
  static at::Tensor bias(const SdpaProblem& p) {
    const at::Tensor additive = kernelBias(p);
    return additive.defined()
        ? additive.expand({-1, -1, p.queryLength(), p.keyLength()}).contiguous()
        : additive;
  }
};

} // namespace

const SdpaBackend& cudnnBackend() {
  static const CudnnBackend backend;
  return backend;
}

} // namespace nvfuser
