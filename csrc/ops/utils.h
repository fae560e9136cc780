// Helpers of the builders: output tensors, dimensions, sizes.
#pragma once

#include <ir/builder.h>
#include <ir/tensor_view.h>

namespace nvfuser::ops {

/// "sum: dim 3 is out of range for T0 [2, 4]" unless -rank <= dim < rank; the dim counted from the
/// left.
int64_t normalizeDim(std::string_view op, int64_t dim, int64_t rank);
/// All of them; RuntimeError on duplicates too.
std::vector<int64_t> normalizeDims(
    std::string_view op,
    const std::vector<int64_t>& dims,
    int64_t rank);

/// A new tensor with this logical domain (contiguous) and, if given, this root domain.
TensorView* newTensor(
    std::vector<IterDomain*> logical,
    DataType dtype,
    std::vector<IterDomain*> root = {});
/// A new tensor with these extents (a constant 1 becomes a broadcast; a symbolic one stays an
/// iteration).
TensorView* newTensorOfShape(const std::vector<Val*>& shape, DataType dtype);
/// A domain of this extent: broadcast when it is the constant 1.
IterDomain* newDomain(Val* extent);
/// Copies of the logical domain of `tv` without its reductions.
std::vector<IterDomain*> copyDomain(const TensorView* tv);
/// The domain that a pointwise op over equally ranked tensors has. RuntimeError, naming `op` and
/// the shapes, when two constant sizes differ and neither is 1.
std::vector<IterDomain*> broadcastDomains(
    std::string_view op,
    const std::vector<TensorView*>& tensors);

/// Throws RuntimeError, naming `op`, when two extents are constants and differ.
void checkSameExtent(std::string_view op, const Val* a, const Val* b, std::string_view what);
/// `val` as an Index scalar (Int, Int32 and Index pass; others: RuntimeError naming `op`).
Val* asIndex(std::string_view op, Val* val);

} // namespace nvfuser::ops
