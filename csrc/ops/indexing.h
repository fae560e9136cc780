// Indexing, search and scans.
#pragma once

#include <ir/index_nodes.h>

namespace nvfuser {

TensorView* select(TensorView* x, Val* index, int64_t dim);
TensorView* indexSelect(TensorView* x, TensorView* index, int64_t dim);
TensorView* gather(TensorView* x, TensorView* index, int64_t dim);
TensorView* takeAlongAxis(TensorView* x, TensorView* index, int64_t dim);
/// `src`: tensor of the index's rank, or scalar.
TensorView* scatter(TensorView* x, TensorView* index, Val* src, int64_t dim);
TensorView* embeddingFwd(
    TensorView* x,
    TensorView* weight,
    Val* padding_idx = nullptr,
    Val* max_norm = nullptr,
    Val* norm_type = nullptr,
    Val* scale_grad_by_freq = nullptr,
    Val* sparse = nullptr);

struct TopK {
  TensorView* values;
  TensorView* indices;
};
TopK topk(TensorView* x, Val* k, int64_t dim, bool largest, bool sorted);
TensorView* argsort(TensorView* x, int64_t dim, bool descending, bool stable);
/// Inclusive scan; `init` (a scalar or nullptr) is combined before the first element.
TensorView* scan(ScanType type, TensorView* x, int64_t dim, Val* init = nullptr);

} // namespace nvfuser
