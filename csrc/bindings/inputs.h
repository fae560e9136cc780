// The inputs of a run: Python objects as EvalValues.
#pragma once

#include <bindings/torch_conversion.h>

#include <vector>

namespace nvfuser::bindings {

struct RuntimeInputs {
  std::vector<EvalValue> values;
  /// A tensor of a subclass that has __torch_dispatch__ is among them.
  bool has_dispatch_subclass = false;
};

/// Tensors and Python numbers; nested lists and tuples are flattened. TypeError when `inputs` is no
/// iterable of these, RuntimeError for an element of another type or an int beyond 64 bits.
RuntimeInputs flattenInputs(pybind11::handle inputs);

} // namespace nvfuser::bindings
