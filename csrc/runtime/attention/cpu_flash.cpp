// torch's fused attention for the CPU.
#include <runtime/attention/aten_call.h>
#include <runtime/attention/backend.h>
#include <runtime/attention/bias.h>

#include <ATen/Context.h>

#include <limits>

namespace nvfuser {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The kernel reads rows with stride 1 and, in the backward, wrongly with stride 0 elsewhere.
at::Tensor unitRows(const at::Tensor& tensor) {
  bool plain = tensor.size(-1) == 1 || tensor.stride(-1) == 1;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    plain = plain && (tensor.size(dim) == 1 || tensor.stride(dim) != 0);
  }
  return plain ? tensor : tensor.contiguous();
}

class CpuFlashBackend : public SdpaBackend {
 public:
  std::string_view name() const override {
    return "cpu_flash";
  }

  bool switchedOn() const override {
    return at::globalContext().userEnabledFlashSDP();
  }

  std::string supports(const SdpaProblem& p, SdpaPass pass) const override {
    if (!p.query.device().is_cpu()) {
      return "runs on the CPU only";
    }
    if (p.hasDropout()) {
      return "has no dropout";
    }
    if (p.headSize() == 0 || p.valueHeadSize() == 0) {
      return "needs head sizes above 0";
    }
    if (p.headSize() != p.valueHeadSize()) {
      return "needs equal head sizes of query and value";
    }
    if (p.is_causal && p.alignment == CausalAlignment::BottomRight &&
        p.queryLength() != p.keyLength()) {
      return "aligns the causal diagonal top-left";
    }
    if (p.is_causal && !(p.scale > 0.0)) {
      return "gives NaN for a causal call with a scale that is not positive";
    }
    if (pass == SdpaPass::Backward && p.bias_grad) {
      return "has no gradient of bias";
    }
    return "";
  }

  SdpaForwardResult forward(const SdpaProblem& p) const override {
    const at::Tensor additive = kernelBias(p, p.query.scalar_type());
    const auto out = callAten(
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        {{"query", unitRows(p.query)},
         {"key", unitRows(repeatHeads(p.key, p.heads()))},
         {"value", unitRows(repeatHeads(p.value, p.heads()))},
         {"is_causal", p.is_causal},
         {"attn_mask", optionalTensor(additive)},
         {"scale", p.scale}});
    SdpaForwardResult result{out[0].toTensor(), {}, {}};
    if (p.training) {
      result.logsumexp = out[1].toTensor().to(at::kFloat).contiguous();
      // The kernel writes 0 for rows in which the bias hides every key.
      if (additive.defined()) {
        result.logsumexp.masked_fill_(rowsWithoutKey(p, additive), -kInf);
      }
    }
    return result;
  }

  SdpaBackwardResult backward(const SdpaProblem& p, const SdpaBackwardInputs& in) const override {
    // Half types run in float32: the kernel's own products of half types are several times slower,
    // and it would add up the gradients in the half type.
    const auto type = p.query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto input = [&](const at::Tensor& t) { return unitRows(t.to(type)); };
    const at::Tensor lse = in.logsumexp.masked_fill(in.logsumexp.eq(-kInf), kInf).to(type);
    const auto out = callAten(
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
        {{"grad_out", input(in.grad_out)},
         {"query", input(p.query)},
         {"key", input(repeatHeads(p.key, p.heads()))},
         {"value", input(repeatHeads(p.value, p.heads()))},
         {"out", input(in.attn_out)},
         {"logsumexp", lse},
         {"dropout_p", 0.0},
         {"is_causal", p.is_causal},
         {"attn_mask", optionalTensor(kernelBias(p, type))},
         {"scale", p.scale}});
    const auto output = [&](size_t i, int64_t heads) {
      return sumHeads(out[i].toTensor(), heads).to(p.query.scalar_type());
    };
    return {output(0, p.heads()), output(1, p.kvHeads()), output(2, p.kvHeads()), {}};
  }

 private:
  // The bias in a type that the kernel takes beside operands of `type`.
  static at::Tensor kernelBias(const SdpaProblem& p, at::ScalarType type) {
    const at::Tensor additive = additiveBias(p);
    if (!additive.defined() || additive.scalar_type() == type) {
      return additive;
    }
    return additive.to(type == at::kDouble ? at::kDouble : at::kFloat);
  }
};

} // namespace

const SdpaBackend& cpuFlashBackend() {
  static const CpuFlashBackend backend;
  return backend;
}

} // namespace nvfuser
