#include <ir/exceptions.h>
#include <runtime/aten_helpers.h>
#include <runtime/attention/problem.h>

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nvfuser {

namespace {

std::string named(std::string_view name, const at::Tensor& t) {
  return t.defined() ? detail::concat(", ", name, " ", sizesText(t.sizes())) : "";
}

std::string shapesText(const SdpaArguments& a) {
  return detail::concat("query ", sizesText(a.query.sizes())) + named("key", a.key) +
      named("value", a.value) + named("bias", a.bias) + named("mask", a.mask);
}

void checkArguments(std::string_view op, const SdpaArguments& a) {
  const auto rank = a.query.dim();
  NVF_CHECK(
      rank >= 4 && a.key.dim() == rank && a.value.dim() == rank,
      op,
      ": query, key and value need the same number of dimensions, at least 4. ",
      shapesText(a));
  const auto dtype = a.query.scalar_type();
  NVF_CHECK(
      dtype == at::kHalf || dtype == at::kBFloat16 || dtype == at::kFloat || dtype == at::kDouble,
      op,
      ": query, key and value must be Half, BFloat16, Float or Double, not ",
      dtype);
  NVF_CHECK(
      a.key.scalar_type() == dtype && a.value.scalar_type() == dtype,
      op,
      ": query, key and value need the same dtype, not ",
      dtype,
      ", ",
      a.key.scalar_type(),
      " and ",
      a.value.scalar_type());
  for (const at::Tensor* t : {&a.key, &a.value, &a.bias, &a.mask}) {
    NVF_CHECK(
        !t->defined() || t->device() == a.query.device(),
        op,
        ": the tensors are on different devices, ",
        a.query.device(),
        " and ",
        t->device());
  }
  for (int64_t dim = 0; dim < rank - 3; ++dim) {
    NVF_CHECK(
        a.key.size(dim) == a.query.size(dim) && a.value.size(dim) == a.query.size(dim),
        op,
        ": the batch sizes of query, key and value differ. ",
        shapesText(a));
  }
  NVF_CHECK(
      a.query.size(-1) == a.key.size(-1),
      op,
      ": the head sizes of query and key differ. ",
      shapesText(a));
  NVF_CHECK(
      a.key.size(-2) == a.value.size(-2) && a.key.size(-3) == a.value.size(-3),
      op,
      ": the lengths or head counts of key and value differ. ",
      shapesText(a));
  const int64_t heads = a.query.size(-3);
  const int64_t kv_heads = a.key.size(-3);
  NVF_CHECK(
      kv_heads == 0 ? heads == 0 : heads % kv_heads == 0,
      op,
      ": query has ",
      heads,
      " heads, key has ",
      kv_heads,
      "; query heads must be a multiple of key heads. ",
      shapesText(a));
  NVF_CHECK(
      a.dropout_p >= 0.0 && a.dropout_p <= 1.0,
      op,
      ": dropout_p must lie between 0 and 1, not ",
      a.dropout_p);
  NVF_CHECK(
      !a.bias.defined() || a.bias.scalar_type() == dtype || a.bias.scalar_type() == at::kFloat,
      op,
      ": bias must have query's dtype ",
      dtype,
      " or Float, not ",
      a.bias.scalar_type());
  NVF_CHECK(
      !a.mask.defined() || a.mask.scalar_type() == at::kBool,
      op,
      ": mask must be Bool (true keeps a key), not ",
      a.mask.scalar_type());
}

// `tensor`, which broadcasts to the scores of the call, as 4-D.
at::Tensor flattenScoreOperand(
    std::string_view op,
    std::string_view name,
    const at::Tensor& tensor,
    const SdpaArguments& a) {
  if (!tensor.defined()) {
    return tensor;
  }
  const int64_t rank = a.query.dim();
  std::vector<int64_t> scores = a.query.sizes().vec();
  scores.back() = a.key.size(-2);
  bool fits = tensor.dim() <= rank;
  for (int64_t i = 1; fits && i <= tensor.dim(); ++i) {
    fits = tensor.size(-i) == 1 || tensor.size(-i) == scores[rank - i];
  }
  NVF_CHECK(
      fits,
      op,
      ": ",
      name,
      " ",
      sizesText(tensor.sizes()),
      " does not broadcast to the scores ",
      sizesText(scores),
      ". ",
      shapesText(a));
  std::vector<int64_t> padded(rank - tensor.dim(), 1);
  padded.insert(padded.end(), tensor.sizes().begin(), tensor.sizes().end());
  at::Tensor full_rank = tensor.dim() == rank ? tensor : tensor.view(padded);
  if (rank == 4) {
    return full_rank;
  }
  const auto batch = at::IntArrayRef(scores).slice(0, rank - 3);
  const auto own = at::IntArrayRef(padded).slice(0, rank - 3);
  const bool all_ones = std::all_of(own.begin(), own.end(), [](int64_t n) { return n == 1; });
  if (!all_ones && own != batch) {
    // Broadcast over some of the leading dims only: they must be written out to become one.
    std::copy(batch.begin(), batch.end(), padded.begin());
    full_rank = full_rank.expand(padded);
  }
  return flattenBatch(full_rank, 3);
}

} // namespace

at::Tensor flattenBatch(const at::Tensor& tensor, int64_t keep) {
  const int64_t batch_dims = tensor.dim() - keep;
  return batch_dims == 1 ? tensor : tensor.flatten(0, batch_dims - 1);
}

SdpaProblem makeSdpaProblem(std::string_view op, const SdpaArguments& a) {
  checkArguments(op, a);
  SdpaProblem p;
  p.bias = flattenScoreOperand(op, "bias", a.bias, a);
  p.mask = flattenScoreOperand(op, "mask", a.mask, a);
  p.query = flattenBatch(a.query, 3);
  p.key = flattenBatch(a.key, 3);
  p.value = flattenBatch(a.value, 3);
  p.dropout_p = a.dropout_p;
  p.is_causal = a.is_causal;
  p.alignment = a.alignment;
  p.scale = a.scale.value_or(1.0 / std::sqrt(static_cast<double>(p.headSize())));
  p.training = a.training;
  p.bias_grad = a.bias_grad;
  return p;
}

SdpaProblem SdpaProblem::narrowBatch(int64_t begin, int64_t count) const {
  const auto part = [&](const at::Tensor& t) {
    return !t.defined() || t.size(0) == 1 ? t : t.narrow(0, begin, count);
  };
  SdpaProblem result = *this;
  result.query = query.narrow(0, begin, count);
  result.key = key.narrow(0, begin, count);
  result.value = value.narrow(0, begin, count);
  result.bias = part(bias);
  result.mask = part(mask);
  return result;
}

std::string SdpaProblem::toString() const {
  std::string text = detail::concat("query ", sizesText(query.sizes())) + named("key", key) +
      named("value", value) + named("bias", bias) + named("mask", mask);
  text += detail::concat(", ", query.scalar_type(), " on ", query.device(), ", scale ", scale);
  if (is_causal) {
    text += alignment == CausalAlignment::TopLeft ? ", causal top-left" : ", causal bottom-right";
  }
  if (hasDropout()) {
    text += detail::concat(", dropout_p ", dropout_p);
  }
  return text;
}

std::vector<int64_t> memoryOrder(const at::Tensor& tensor) {
  const int64_t rank = tensor.dim();
  std::vector<int64_t> order(rank); // innermost first while sorting
  std::iota(order.rbegin(), order.rend(), 0);
  const auto strides = tensor.strides();
  // 1: a must move inward past b; -1: they are in order; 0: the strides do not tell.
  const auto compare = [&](int64_t a, int64_t b) {
    if (strides[a] == 0 || strides[b] == 0) {
      return 0;
    }
    if (strides[a] != strides[b]) {
      return strides[a] < strides[b] ? -1 : 1;
    }
    return tensor.size(a) > tensor.size(b) ? 1 : 0;
  };
  for (int64_t i = 1; i < rank; ++i) {
    int64_t moving = i;
    for (int64_t at = i - 1; at >= 0; --at) {
      const int how = compare(order[at], order[moving]);
      if (how > 0) {
        std::swap(order[at], order[moving]);
        moving = at;
      } else if (how < 0) {
        break;
      }
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

at::Tensor emptyInOrder(
    at::IntArrayRef sizes,
    const std::vector<int64_t>& order,
    const at::TensorOptions& options) {
  return at::empty_strided(sizes, stridesInOrder(sizes, order, {}), options);
}

at::Tensor inOrder(const at::Tensor& tensor, const std::vector<int64_t>& order) {
  const auto wanted = stridesInOrder(tensor.sizes(), order, {});
  if (tensor.strides() == at::IntArrayRef(wanted)) {
    return tensor;
  }
  if (sameStrides(tensor.sizes(), tensor.strides(), wanted)) {
    return tensor.as_strided(tensor.sizes(), wanted, tensor.storage_offset());
  }
  return restrided(tensor, wanted);
}

} // namespace nvfuser
