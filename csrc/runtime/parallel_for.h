// Work shared out over torch's own threads.
#pragma once

#include <cstdint>

namespace nvfuser {

/// Calls `work(begin, end, data)` for ranges that together are [0, count), each of at least `grain`
/// where there is that much, on as many threads as torch.get_num_threads() says. `work` must not
/// throw. Inside a parallel region, and where torch has no OpenMP, the calling thread does it all.
void parallelFor(
    int64_t count,
    int64_t grain,
    void (*work)(int64_t begin, int64_t end, void* data),
    void* data);

} // namespace nvfuser
