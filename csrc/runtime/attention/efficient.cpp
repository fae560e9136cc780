// torch's memory-efficient attention.
#include <runtime/attention/aten_call.h>
#include <runtime/attention/bias.h>
#include <runtime/attention/cuda_common.h>
#include <runtime/attention/cuda_query.h>
#include <runtime/attention/dropout.h>

#include <ATen/Context.h>

#include <algorithm>
#include <limits>

namespace nvfuser {

namespace {

constexpr int64_t kMaxLength = 65535; // beyond it the kernel's indices have been seen to wrap
constexpr int64_t kBiasMultiple = 8;
constexpr int64_t kLogsumexpMultiple = 32;
constexpr double kInf = std::numeric_limits<double>::infinity();

class EfficientBackend : public SdpaBackend {
 public:
  std::string_view name() const override {
    return "efficient";
  }

  bool switchedOn() const override {
    return at::globalContext().userEnabledMemEfficientSDP();
  }

  std::string supports(const SdpaProblem& p, SdpaPass pass) const override {
    if (std::string reason = reasonAgainstCudaKernels(p); !reason.empty()) {
      return reason;
    }
    const auto type = p.query.scalar_type();
    if (type == at::kDouble) {
      return "takes no Double";
    }
    const int64_t capability = computeCapability(p.query.device());
    if (type == at::kBFloat16 && capability != 0 && capability < 80) {
      return "needs compute capability 8.0 or above for BFloat16";
    }
    if (p.bias.defined() && p.bias.scalar_type() != type) {
      return "needs the bias in query's dtype";
    }
    if (std::max(p.queryLength(), p.keyLength()) > kMaxLength) {
      return "takes lengths up to 65535";
    }
    if (p.is_causal && p.alignment == CausalAlignment::BottomRight &&
        p.queryLength() != p.keyLength()) {
      return "aligns the causal diagonal top-left";
    }
    const bool needs_backward = pass == SdpaPass::Backward || (p.training && p.hasDropout());
    if (needs_backward && at::globalContext().deterministicAlgorithms() &&
        !at::globalContext().deterministicAlgorithmsWarnOnly()) {
      return "has no deterministic backward, and torch.use_deterministic_algorithms is set";
    }
    return "";
  }

  SdpaForwardResult forward(const SdpaProblem& p) const override {
    const at::Tensor additive = kernelBias(p);
    const auto out = callAten(
        "aten::_scaled_dot_product_efficient_attention",
        {{"query", operand(p.query)},
         {"key", operand(repeatHeads(p.key, p.heads()))},
         {"value", operand(repeatHeads(p.value, p.heads()))},
         {"attn_bias", optionalTensor(bias(p, additive))},
         {"compute_log_sumexp", p.training},
         {"dropout_p", p.dropout_p},
         {"is_causal", p.is_causal},
         {"scale", p.scale}});
    SdpaForwardResult result;
    result.attn_out = sliceLast(out[0].toTensor(), p.valueHeadSize());
    if (p.training) {
      // The kernel pads the rows to a multiple of 32, with infinity.
      result.logsumexp = sliceLast(out[1].toTensor(), p.queryLength());
      if (additive.defined()) {
        // The kernel writes 0 for rows in which the bias hides every key.
        result.logsumexp = result.logsumexp.masked_fill(rowsWithoutKey(p, additive), -kInf);
      }
    }
    if (p.hasDropout()) {
      result.rng = {out[2].toTensor(), out[3].toTensor()};
    }
    return result;
  }

  SdpaBackwardResult backward(const SdpaProblem& p, const SdpaBackwardInputs& in) const override {
    const auto device = p.query.device();
    // Without a capture the kernel's launcher reads the state on the host.
    const SdpaRngState rng = p.hasDropout()
        ? unpackRngScalars(in.rng, /*on_host=*/!isStreamCapturing(device))
        : emptyRngState(/*vector_form=*/false, device);
    const auto out = callAten(
        "aten::_scaled_dot_product_efficient_attention_backward",
        {{"grad_out_", operand(in.grad_out)},
         {"query", operand(p.query)},
         {"key", operand(repeatHeads(p.key, p.heads()))},
         {"value", operand(repeatHeads(p.value, p.heads()))},
         {"attn_bias", bias(p, kernelBias(p))},
         {"out", inKernelOrder(operand(in.attn_out))},
         {"logsumexp", padLast(logsumexpForKernel(in.logsumexp), kLogsumexpMultiple, kInf)},
         {"philox_seed", rng.seed},
         {"philox_offset", rng.offset},
         {"dropout_p", p.dropout_p},
         {"grad_input_mask", c10::List<bool>({true, true, true, p.bias_grad})},
         {"is_causal", p.is_causal},
         {"scale", p.scale}});
    SdpaBackwardResult result;
    result.grad_query = sliceLast(out[0].toTensor(), p.headSize());
    result.grad_key = sliceLast(sumHeads(out[1].toTensor(), p.kvHeads()), p.headSize());
    result.grad_value = sliceLast(sumHeads(out[2].toTensor(), p.kvHeads()), p.valueHeadSize());
    if (p.bias_grad) {
      const at::Tensor full = sliceLast(out[3].toTensor(), p.keyLength());
      result.grad_bias = full.sum_to_size(p.bias.sizes());
    }
    return result;
  }

 private:
  static at::Tensor operand(const at::Tensor& tensor) {
    const int64_t multiple = tensor.scalar_type() == at::kFloat ? 4 : 8;
    return kernelOperand(padLast(tensor, multiple));
  }

  // The backward takes the output's strides for granted: those of [N, L, H, Ev] in memory.
  static at::Tensor inKernelOrder(const at::Tensor& tensor) {
    return tensor.transpose(1, 2).contiguous().transpose(1, 2);
  }

  // As the kernel wants it: of the scores' shape, with rows that start at aligned addresses.
  // Broadcast dimensions stay unstored.
  static at::Tensor bias(const SdpaProblem& p, at::Tensor additive) {
    if (!additive.defined()) {
      return additive;
    }
    if (additive.size(-1) == 1 && p.keyLength() != 1) {
      additive = additive.expand({-1, -1, -1, p.keyLength()}).contiguous();
    }
    bool aligned = additive.stride(-1) == 1 &&
        reinterpret_cast<uintptr_t>(additive.const_data_ptr()) % 16 == 0;
    for (int64_t dim = 0; dim < 3; ++dim) {
      aligned = aligned && (additive.size(dim) == 1 || additive.stride(dim) % kBiasMultiple == 0);
    }
    if (!aligned) {
      const at::Tensor padded = padLast(additive, kBiasMultiple);
      // A padded tensor is a fresh one; one that needs no padding but has odd strides is copied.
      additive = (padded.is_same(additive) ? additive.clone(at::MemoryFormat::Contiguous) : padded)
                     .narrow(-1, 0, p.keyLength());
    }
    return additive.expand({p.batch(), p.heads(), p.queryLength(), p.keyLength()});
  }
};

} // namespace

const SdpaBackend& efficientBackend() {
  static const EfficientBackend backend;
  return backend;
}

} // namespace nvfuser
