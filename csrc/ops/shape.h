// Shape operators.
#pragma once

#include <ir/nodes.h>

#include <optional>

namespace nvfuser {

/// One flag per output dim; new dims have size 1. RuntimeError unless the false flags number the
/// rank.
TensorView* broadcast(TensorView* x, const std::vector<bool>& is_broadcast_dim);
/// torch.broadcast_to with explicit places: broadcast_dims[i] is the output dim of x's dim i.
/// -1 in shape keeps the operand's size.
TensorView* broadcastInDim(
    TensorView* x,
    const std::vector<Val*>& shape,
    const std::vector<int64_t>& broadcast_dims);
/// -1 keeps; leading dims may be added.
TensorView* expand(TensorView* x, const std::vector<Val*>& shape);
/// At most one -1. Size counts are checked where they are constant.
TensorView* reshape(TensorView* x, const std::vector<Val*>& new_shape);
TensorView* permute(TensorView* x, const std::vector<int64_t>& new_to_old);
TensorView* squeeze(TensorView* x, const std::vector<int64_t>& dims, bool squeeze_expanded = false);
/// Elements start .. stop of every dim. Without manual_normalization both are clamped to the extent
/// (negative ones count from the end, as in Python).
TensorView* slice(
    TensorView* x,
    const std::vector<Val*>& starts,
    const std::vector<Val*>& stops,
    const std::vector<Val*>& strides = {},
    bool manual_normalization = false);
/// Widths (before, after), innermost dim first; negatives crop. nullptr value: 0.
TensorView* pad(TensorView* x, const std::vector<Val*>& widths, Val* value = nullptr);
TensorView* cat(const std::vector<TensorView*>& tensors, int64_t dim, bool manual_padding = false);
/// A copy laid out in memory as stride_order says (0 = fastest).
TensorView* strideOrder(TensorView* x, const std::vector<int64_t>& stride_order);
Val* size(TensorView* x, int64_t dim);

} // namespace nvfuser
