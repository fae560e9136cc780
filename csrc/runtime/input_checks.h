// Checks of the inputs of a run against the fusion's definition.
#pragma once

#include <ir/fusion.h>
#include <runtime/value.h>

#include <optional>
#include <unordered_map>
#include <vector>

namespace nvfuser {

/// RuntimeError, naming input number, expected and actual, for a wrong count, kind, rank, dtype,
/// size, or strides that contradict the declared contiguity.
void checkInputs(const Fusion& fusion, const std::vector<EvalValue>& inputs);

/// The positions of the integer inputs that sizes of tensors are computed from.
std::vector<size_t> sizeInputs(const Fusion& fusion);

/// The sizes of tensor inputs: the value of each extent of their logical domains. One size for each
/// tensor dim, so the inputs must have been checked.
std::unordered_map<const Val*, ScalarValue> sizesOfInputs(
    const Fusion& fusion,
    const std::vector<EvalValue>& inputs);

/// The device a run uses: `requested`, else the common device of the tensors that are not declared
/// as CPU scalars, else CPU; without any tensor the first CUDA device, if there is one.
/// RuntimeError for tensors of several devices, naming the inputs.
at::Device runDevice(
    const Fusion& fusion,
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> requested);

} // namespace nvfuser
