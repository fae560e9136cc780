// Compares what a generated kernel has written with ATen's evaluation of the same nodes.
#pragma once

#include <runtime/evaluator_registry.h>
#include <runtime/kernel_segment.h>

#include <functional>

namespace nvfuser {

/// Evaluates the group's nodes through ATen on the inputs of a kernel, in the order of
/// group.inputs, and compares with the kernel's outputs. InternalError, with the node, the place of
/// the first difference and the kernel's text, when they do not agree to within rounding. `scalars`
/// gives the value of a scalar of the whole fusion.
void checkKernel(
    const SegmentedGroup& group,
    const KernelSegment& kernel,
    const std::vector<at::Tensor>& inputs,
    const std::vector<at::Tensor>& outputs,
    const std::function<EvalValue(const Val*)>& scalars,
    EvalContext& context);

} // namespace nvfuser
