#include <ir/exceptions.h>
#include <runtime/aten_helpers.h>

#include <ATen/ATen.h>

#include <numeric>

namespace nvfuser {

at::Tensor withType(const at::Tensor& tensor, DataType dtype) {
  const at::ScalarType type = toAtenType(dtype);
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
}

std::vector<int64_t> intsOf(const std::vector<EvalValue>& operands, size_t first, size_t count) {
  std::vector<int64_t> result;
  result.reserve(count);
  for (size_t i = first; i < first + count; ++i) {
    result.push_back(toInt(operands[i].scalar()));
  }
  return result;
}

std::string sizesText(at::IntArrayRef sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  return text + "]";
}

std::vector<int64_t> stridesInOrder(
    at::IntArrayRef sizes,
    const std::vector<int64_t>& order,
    const std::vector<bool>& expanded) {
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(order[i]);
    if (!expanded.empty() && expanded[dim]) {
      continue;
    }
    strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}

bool sameStrides(at::IntArrayRef sizes, at::IntArrayRef a, at::IntArrayRef b) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      return true;
    }
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

at::Tensor restrided(const at::Tensor& tensor, at::IntArrayRef strides) {
  at::Tensor out = at::empty_strided(tensor.sizes(), strides, tensor.options());
  // An expanded dimension is written once, through its first index.
  at::Tensor target = out;
  at::Tensor source = tensor;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (strides[dim] == 0 && tensor.size(dim) > 1) {
      target = target.narrow(dim, 0, 1);
      source = source.narrow(dim, 0, 1);
    }
  }
  target.copy_(source);
  return out;
}

} // namespace nvfuser
