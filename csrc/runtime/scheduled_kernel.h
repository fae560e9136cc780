// A fusion as one kernel, with the schedule that its tensors carry.
#pragma once

#include <runtime/cpu_segment.h>

#include <memory>
#include <string>

namespace nvfuser {

/// All of the fusion as one group. RuntimeError, naming the node, when it holds one that is none of
/// generated kernels. Without nodes when the outputs are inputs.
SegmentedGroup wholeFusion(const Fusion& fusion);

/// The kernel of wholeFusion(). RuntimeError when the schedule cannot be carried out.
std::unique_ptr<CpuSegment> scheduledKernel(
    const SegmentedGroup& group,
    const CpuSegment::SizeOf& size_of);

/// The C++ text of that kernel. Errors as both.
std::string scheduledKernelText(const Fusion& fusion);

} // namespace nvfuser
