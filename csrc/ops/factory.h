// Tensors from nothing: full, iota, random.
#pragma once

#include <ir/nodes.h>
#include <ir/random_nodes.h>

namespace nvfuser {

TensorView* full(const std::vector<Val*>& shape, Val* fill_value, DataType dtype);
/// start, start + step, ...; nullptr: 0 and 1. RuntimeError: step 0, or kinds that do not match
/// dtype.
TensorView* iota(Val* length, Val* start, Val* step, DataType dtype);
/// Uniform in [low, high). seed and offset: both or neither.
TensorView* uniform(
    const std::vector<Val*>& shape,
    Val* low,
    Val* high,
    DataType dtype,
    Val* seed = nullptr,
    Val* offset = nullptr);
TensorView* normal(
    const std::vector<Val*>& shape,
    Val* mean,
    Val* deviation,
    DataType dtype,
    Val* seed = nullptr,
    Val* offset = nullptr);
/// Uniform in [0, 1), or standard normal, of the shape and dtype of x.
TensorView* randLike(TensorView* x);
TensorView* randnLike(TensorView* x);
/// Lower elements zeroed: keeps x[..., i, j] where j - i >= diagonal.
TensorView* triu(TensorView* x, Val* diagonal);

} // namespace nvfuser
