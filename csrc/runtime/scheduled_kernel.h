// A fusion as one kernel, with the schedule that its tensors carry.
#pragma once

#include <runtime/kernel_segment.h>

#include <c10/core/Device.h>

#include <memory>
#include <string>

namespace nvfuser {

/// All of the fusion as one group. RuntimeError, naming the node, when it holds one that is none of
/// generated kernels for the device. Without nodes when the outputs are inputs.
SegmentedGroup wholeFusion(const Fusion& fusion, at::Device device);

/// The kernel of wholeFusion(). RuntimeError when the schedule cannot be carried out.
std::unique_ptr<KernelSegment> scheduledKernel(
    const SegmentedGroup& group,
    const KernelSegment::SizeOf& size_of,
    at::Device device);

/// The C++ text of that kernel. Errors as both.
std::string scheduledKernelText(const Fusion& fusion);

} // namespace nvfuser
