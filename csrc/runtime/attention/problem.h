// What an attention call is, as far as a backend needs to know, and how its tensors lie in memory.
#pragma once

#include <ir/type.h>

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

enum class SdpaPass { Forward, Backward };

/// One attention call. Leading dimensions are flattened into one batch dimension N; a bias or mask
/// is 4-D with each dimension 1 or that of the scores [N, H, L, S].
struct SdpaProblem {
  at::Tensor query; ///< [N, H, L, E]
  at::Tensor key;   ///< [N, Hk, S, E]
  at::Tensor value; ///< [N, Hk, S, Ev]
  at::Tensor bias;  ///< undefined when absent
  at::Tensor mask;  ///< undefined when absent; Bool, true keeps
  double dropout_p = 0.0;
  bool is_causal = false;
  CausalAlignment alignment = CausalAlignment::TopLeft;
  double scale = 0.0; ///< always set: 1 / sqrt(E) of the caller's E when the caller gave none
  /// The forward also returns logsumexp and a backward may follow.
  bool training = true;
  /// The backward returns the gradient of bias.
  bool bias_grad = false;

  int64_t batch() const {
    return query.size(0);
  }
  int64_t heads() const {
    return query.size(1);
  }
  int64_t kvHeads() const {
    return key.size(1);
  }
  int64_t queryLength() const {
    return query.size(2);
  }
  int64_t keyLength() const {
    return key.size(2);
  }
  int64_t headSize() const {
    return query.size(3);
  }
  int64_t valueHeadSize() const {
    return value.size(3);
  }
  bool isGrouped() const {
    return heads() != kvHeads();
  }
  bool hasBiasOrMask() const {
    return bias.defined() || mask.defined();
  }
  bool hasDropout() const {
    return dropout_p > 0.0;
  }
  /// There is no row, or no key to see: the results are empty or zero.
  bool isEmpty() const {
    return batch() == 0 || heads() == 0 || queryLength() == 0 || keyLength() == 0;
  }
  /// Query i sees keys up to i + causalShift().
  int64_t causalShift() const {
    return alignment == CausalAlignment::BottomRight ? keyLength() - queryLength() : 0;
  }
  /// Batch rows [begin, begin + count).
  SdpaProblem narrowBatch(int64_t begin, int64_t count) const;
  /// "query [2, 8, 16, 64] (stride [...]), key ..., BFloat16 on cuda:0, causal top-left, dropout_p
  /// 0.1"
  std::string toString() const;
};

/// The tensors of a call before flattening, and its settings.
struct SdpaArguments {
  at::Tensor query, key, value, bias, mask;
  double dropout_p = 0.0;
  bool is_causal = false;
  CausalAlignment alignment = CausalAlignment::TopLeft;
  std::optional<double> scale;
  bool training = true;
  bool bias_grad = false;
};

/// Checks and flattens. RuntimeError, naming `op` and the shapes, dtypes or devices, when they do
/// not fit.
SdpaProblem makeSdpaProblem(std::string_view op, const SdpaArguments& arguments);

/// [A.., x, y, z] -> [product of A, x, y, z], keeping the last `keep` dims. A view where strides
/// allow it.
at::Tensor flattenBatch(const at::Tensor& tensor, int64_t keep);

/// Dims from outermost to innermost in memory, as an elementwise result of `tensor` would have
/// them.
std::vector<int64_t> memoryOrder(const at::Tensor& tensor);
/// An uninitialised dense tensor whose dims lie in memory in `order`.
at::Tensor emptyInOrder(
    at::IntArrayRef sizes,
    const std::vector<int64_t>& order,
    const at::TensorOptions& options);
/// `tensor` when it is dense in that order, else a copy that is.
at::Tensor inOrder(const at::Tensor& tensor, const std::vector<int64_t>& order);

} // namespace nvfuser
