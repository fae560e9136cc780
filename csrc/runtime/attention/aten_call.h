// Calls of ATen ops by name, so that one build works although signatures differ between torch
// releases, and so that no CUDA header is needed.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace nvfuser {

/// Calls "aten::<op>" (its default overload) through the dispatcher. Arguments that are not named
/// take the schema's default. InternalError when the schema lacks a named argument or needs another
/// one.
std::vector<c10::IValue> callAten(
    const char* op,
    std::initializer_list<std::pair<std::string_view, c10::IValue>> arguments);

/// What an optional tensor argument takes: None when `tensor` is undefined.
c10::IValue optionalTensor(const at::Tensor& tensor);

} // namespace nvfuser
