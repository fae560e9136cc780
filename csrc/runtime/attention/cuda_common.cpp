#include <runtime/attention/bias.h>
#include <runtime/attention/cuda_common.h>
#include <runtime/attention/cuda_query.h>

#include <ATen/ops/where.h>

#include <limits>

namespace nvfuser {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Times log2(e) it is still finite in float32 and bfloat16, and no real score comes near it.
constexpr double kLowestBias = -1e38;
constexpr int64_t kAlignment = 16;
constexpr int64_t kMaxGrid = 65535;

} // namespace

std::string reasonAgainstCudaKernels(const SdpaProblem& p) {
  if (!p.query.device().is_cuda()) {
    return "runs on CUDA only";
  }
  if (p.headSize() == 0 || p.valueHeadSize() == 0) {
    return "needs head sizes above 0";
  }
  if (p.hasDropout() && p.dropout_p >= 1.0) {
    return "cannot drop everything (dropout_p = 1)";
  }
  if (p.batch() > kMaxGrid || p.heads() > kMaxGrid) {
    return "takes at most 65535 batch rows and heads";
  }
  if (!(p.scale > 0.0) || p.scale == kInf) {
    return "needs a positive scale";
  }
  return "";
}

at::Tensor kernelOperand(const at::Tensor& tensor) {
  const int64_t size = tensor.element_size();
  bool fits = tensor.stride(-1) == 1 &&
      reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % kAlignment == 0;
  for (int64_t dim = 0; fits && dim < tensor.dim() - 1; ++dim) {
    fits = tensor.size(dim) == 1 ||
        (tensor.stride(dim) != 0 && tensor.stride(dim) * size % kAlignment == 0);
  }
  return fits ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
}

at::Tensor kernelBias(const SdpaProblem& p) {
  at::Tensor additive = additiveBias(p);
  if (p.bias.defined() && additive.scalar_type() != at::kHalf) {
    additive = at::where(additive.eq(-kInf), additive, additive.clamp_min(kLowestBias));
  }
  return additive;
}

at::Tensor logsumexpForKernel(const at::Tensor& logsumexp) {
  return logsumexp.masked_fill(logsumexp.eq(-kInf), kInf).contiguous();
}

at::Tensor logsumexpFromKernel(const at::Tensor& logsumexp) {
  return logsumexp.masked_fill(logsumexp.eq(kInf), -kInf);
}

at::Tensor sliceLast(const at::Tensor& tensor, int64_t size) {
  return tensor.size(-1) == size ? tensor : tensor.narrow(-1, 0, size);
}

} // namespace nvfuser
