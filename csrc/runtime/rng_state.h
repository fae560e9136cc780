// The form in which attention's random state travels between a forward and a backward node.
//
//   torch           philox_seed             philox_offset         device
//   below 2.7.0     int64 []                int64 []              CPU (CUDA while a graph is
//   captured) 2.7.0 and up    uint64 [2]: seed and    uint64 [], unused     query's
//                   offset of the state
//   ROCm, any       int64 []                int64 []              as below 2.7.0
#pragma once

#include <ops/sdpa.h>

#include <string_view>

namespace nvfuser {

/// The form that flash attention of this torch has; nodes use it whatever backend runs.
/// RuntimeError when `torch_version` is not a version.
RngStateForm rngStateFormOf(std::string_view torch_version, bool is_rocm);
/// The form of the torch in this process.
RngStateForm rngStateFormOfThisTorch();

} // namespace nvfuser
