// What stands before the kernels of a generated CUDA file.
#pragma once

#include <ir/nodes.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

/// Types, conversions and functions that the texts of text.h name, memory accesses of several
/// elements, and reductions over the threads of a block; needs no header at all.
///
/// Accesses, of N elements (a power of two) that are aligned to their common size or to 16 bytes:
///   nvf_vec<T, N>                        N elements in registers: member v, operator[]
///   nvf_load<N>(const T*)                one ld of up to 16 bytes (more: several)
///   nvf_read<N>, nvf_read_const<N>       the same as nvf_words<T, N>: get(i), of narrow types
///   cheaper nvf_load_const<N>(const T*)          through the read-only path: memory nobody writes
///   meanwhile nvf_load_stream<N>(const T*)         evicted first: memory that nobody reads again
///   nvf_store<N>(T*, nvf_vec<T, N>), nvf_store_stream<N>(T*, nvf_vec<T, N>)
///   nvf_pack_bf16x2(low, high), nvf_pack_f16x2(low, high)  two floats as the bits of two halves
///
/// Reductions of N values of every thread at a time, in place. They must be reached by all threads
/// of the block. `op` is associative and commutative with the neutral element `init`, `shared` is
/// blockReduceScratch() bytes of shared memory, which may be used again by the next call; whoever
/// uses it for anything else synchronises first. The order of the combinations is fixed, and all
/// threads get the same bits.
///   nvf_warp_reduce(values, op, width = 32)         over `width` (a power of two) lanes
///   nvf_block_reduce_x(values, op, init, shared)    over threadIdx.x
///   nvf_block_reduce_y(values, op, init, shared)    over threadIdx.y
///   nvf_block_reduce_xy(values, op, init, shared)   over both
/// with `T (&values)[N]`. Block sizes that are known when the text is written can follow as
/// constants (block x, y, z), which removes branches.
std::string cudaPreamble();

/// Shared memory in bytes that a reduction of `count` values of `bytes` bytes takes.
int64_t blockReduceScratch(
    bool over_x,
    bool over_y,
    int64_t count,
    int64_t bytes,
    int64_t block_x,
    int64_t block_y,
    int64_t block_z);

/// A function object that combines two values of a reduction, for the calls above.
std::string reductionFunctor(ReductionType type, DataType dtype);

/// Flags that the texts need, beside those that the compiler is given in any case.
std::vector<std::string> cudaTextFlags();

} // namespace nvfuser
