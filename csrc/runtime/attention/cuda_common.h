// What the three fused CUDA kernels have in common.
#pragma once

#include <runtime/attention/backend.h>

namespace nvfuser {

/// Empty, or why no fused CUDA kernel of torch takes this problem.
std::string reasonAgainstCudaKernels(const SdpaProblem& problem);
/// Rows with stride 1, no stride 0 and starts aligned to 16 bytes: the tensor itself or a copy.
at::Tensor kernelOperand(const at::Tensor& tensor);
/// bias and mask summed, in query's dtype. Finite entries below what the kernels' base-2 exponent
/// can hold are raised to it: they would act as -inf. Undefined when there is neither.
at::Tensor kernelBias(const SdpaProblem& problem);
/// logsumexp as kernels keep it for rows without a key, from ours; and ours from theirs.
at::Tensor logsumexpForKernel(const at::Tensor& logsumexp);
at::Tensor logsumexpFromKernel(const at::Tensor& logsumexp);
/// The first `size` entries of the last dimension.
at::Tensor sliceLast(const at::Tensor& tensor, int64_t size);

} // namespace nvfuser
