// Small helpers shared by the evaluators.
#pragma once

#include <runtime/value.h>

#include <string>
#include <vector>

namespace nvfuser {

/// The tensor in the ATen type of `dtype`; the same tensor when it has it.
at::Tensor withType(const at::Tensor& tensor, DataType dtype);
/// The integers among operands[first .. first + count).
std::vector<int64_t> intsOf(const std::vector<EvalValue>& operands, size_t first, size_t count);
/// "[2, 3]"
std::string sizesText(at::IntArrayRef sizes);
/// Row-major strides of `sizes` in memory order `order` (logical dims, outermost first). Dims
/// flagged in `expanded` have stride 0 and take no room.
std::vector<int64_t> stridesInOrder(
    at::IntArrayRef sizes,
    const std::vector<int64_t>& order,
    const std::vector<bool>& expanded);
/// Whether two strides address the elements of `sizes` alike (dims of size 1 do not matter).
bool sameStrides(at::IntArrayRef sizes, at::IntArrayRef a, at::IntArrayRef b);
/// A copy of `tensor` with these strides.
at::Tensor restrided(const at::Tensor& tensor, at::IntArrayRef strides);

} // namespace nvfuser
