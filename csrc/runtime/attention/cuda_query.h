// What attention must know of a CUDA device, asked without CUDA headers.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace nvfuser {

/// 10 * major + minor of the device's compute capability; 0 when it is no CUDA device or unknown.
int64_t computeCapability(c10::Device device);
/// The current stream of the device is being captured into a graph: the host may not read device
/// memory.
bool isStreamCapturing(c10::Device device);

} // namespace nvfuser
