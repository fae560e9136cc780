#include <ir/exceptions.h>
#include <runtime/attention/aten_call.h>

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

namespace nvfuser {

std::vector<c10::IValue> callAten(
    const char* op,
    std::initializer_list<std::pair<std::string_view, c10::IValue>> arguments) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(op, "");
  std::vector<c10::IValue> stack;
  size_t used = 0;
  for (const c10::Argument& argument : handle.schema().arguments()) {
    const auto* given = std::find_if(arguments.begin(), arguments.end(), [&](const auto& pair) {
      return pair.first == argument.name();
    });
    if (given != arguments.end()) {
      stack.push_back(given->second);
      ++used;
    } else {
      NVF_ERROR(argument.default_value().has_value(), op, " needs ", argument.name());
      stack.push_back(*argument.default_value());
    }
  }
  NVF_ERROR(used == arguments.size(), op, " lacks an argument: ", handle.schema());
  handle.callBoxed(stack);
  return stack;
}

c10::IValue optionalTensor(const at::Tensor& tensor) {
  return tensor.defined() ? c10::IValue(tensor) : c10::IValue();
}

} // namespace nvfuser
