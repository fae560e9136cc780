// Flash attention as torch carries it.
#include <runtime/attention/aten_call.h>
#include <runtime/attention/bias.h>
#include <runtime/attention/cuda_common.h>
#include <runtime/attention/cuda_query.h>
#include <runtime/attention/dropout.h>
#include <runtime/rng_state.h>

#include <ATen/Context.h>

namespace nvfuser {

namespace {

constexpr int64_t kMaxHeadSize = 256;
constexpr int64_t kHeadSizeMultiple = 8;

class FlashBackend : public SdpaBackend {
 public:
  std::string_view name() const override {
    return "flash";
  }

  bool switchedOn() const override {
    return at::globalContext().userEnabledFlashSDP();
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
    if (capability != 0 && capability < 80) {
      return "needs compute capability 8.0 or above";
    }
    if (p.hasBiasOrMask()) {
      return "takes no bias or mask";
    }
    if (p.headSize() != p.valueHeadSize()) {
      return "needs equal head sizes of query and value";
    }
    if (p.headSize() > kMaxHeadSize) {
      return "takes head sizes up to 256";
    }
    const bool small_shared_memory = capability > 80 && capability < 90;
    const bool needs_backward = pass == SdpaPass::Backward || (p.training && p.hasDropout());
    if (small_shared_memory && needs_backward && p.headSize() > 192 && p.hasDropout()) {
      return "has no backward with dropout for head sizes above 192 on this device";
    }
    if (p.is_causal && p.alignment == CausalAlignment::TopLeft &&
        p.queryLength() != p.keyLength()) {
      return "aligns the causal diagonal bottom-right";
    }
    return "";
  }

  SdpaForwardResult forward(const SdpaProblem& p) const override {
    const auto out = callAten(
        "aten::_scaled_dot_product_flash_attention",
        {{"query", operand(p.query)},
         {"key", operand(p.key)},
         {"value", operand(p.value)},
         {"dropout_p", p.dropout_p},
         {"is_causal", p.is_causal},
         {"return_debug_mask", false},
         {"scale", p.scale}});
    SdpaForwardResult result;
    result.attn_out = sliceLast(out[0].toTensor(), p.valueHeadSize());
    if (p.training) {
      // Only a causal call with more queries than keys has rows without a key.
      const bool all_rows_see = !p.is_causal || p.queryLength() <= p.keyLength();
      result.logsumexp = all_rows_see ? out[1].toTensor() : logsumexpFromKernel(out[1].toTensor());
    }
    if (p.hasDropout()) {
      result.rng = {out[6].toTensor(), out[7].toTensor()};
    }
    return result;
  }

  SdpaBackwardResult backward(const SdpaProblem& p, const SdpaBackwardInputs& in) const override {
    const auto device = p.query.device();
    SdpaRngState rng;
    if (!p.hasDropout()) {
      rng = emptyRngState(rngStateFormOfThisTorch().is_vector, device);
    } else if (rngStateFormOfThisTorch().is_vector) {
      rng = unpackRngVector(in.rng, device);
    } else {
      rng = unpackRngScalars(in.rng, /*on_host=*/!isStreamCapturing(device));
    }
    const auto out = callAten(
        "aten::_scaled_dot_product_flash_attention_backward",
        {{"grad_out", operand(in.grad_out)},
         {"query", operand(p.query)},
         {"key", operand(p.key)},
         {"value", operand(p.value)},
         {"out", operand(in.attn_out)},
         {"logsumexp",
          everyRowSeesAKey(p) ? in.logsumexp.contiguous() : logsumexpForKernel(in.logsumexp)},
         {"cum_seq_q", at::Tensor()},
         {"cum_seq_k", at::Tensor()},
         {"max_q", p.queryLength()},
         {"max_k", p.keyLength()},
         {"dropout_p", p.dropout_p},
         {"is_causal", p.is_causal},
         {"philox_seed", rng.seed},
         {"philox_offset", rng.offset},
         {"scale", p.scale}});
    return {
        sliceLast(out[0].toTensor(), p.headSize()),
        sliceLast(out[1].toTensor(), p.headSize()),
        sliceLast(out[2].toTensor(), p.valueHeadSize()),
        {}};
  }

 private:
  // Only a causal call with more queries than keys has rows without a key.
  static bool everyRowSeesAKey(const SdpaProblem& p) {
    return !p.is_causal || p.queryLength() <= p.keyLength();
  }

  // Zeros beyond the head size change neither the scores nor the wanted columns of the output.
  static at::Tensor operand(const at::Tensor& tensor) {
    return kernelOperand(padLast(tensor, kHeadSizeMultiple));
  }
};

} // namespace

const SdpaBackend& flashBackend() {
  static const FlashBackend backend;
  return backend;
}

} // namespace nvfuser
