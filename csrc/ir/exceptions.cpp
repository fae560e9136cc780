#include <ir/exceptions.h>

namespace nvfuser::detail {

void throwUserError(ErrorKind kind, const std::string& message) {
  throw UserError(kind, message);
}

void throwInternalError(
    const char* file,
    int line,
    const char* condition,
    const std::string& message) {
  throw InternalError(concat(
      "internal error at ",
      file,
      ":",
      line,
      ": expected ",
      condition,
      message.empty() ? "" : ". ",
      message));
}

} // namespace nvfuser::detail
