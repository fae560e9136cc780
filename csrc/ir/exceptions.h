// The two kinds of error of the whole core.
//
// A mistake of the user raises UserError with a category that the bindings turn into the Python
// exception of that name; it carries no C++ place. A fault of ours raises InternalError with the
// place.
//
// Folder csrc/ir: the fusion IR itself (values, domains, tensor views, expressions, the fusion that
// owns them, printing, cloning, visiting). It includes nothing but the standard library.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace nvfuser {

enum class ErrorKind { Runtime, Value, Type, Index, NotImplemented };

/// A mistake in what the caller asked for. `kind` chooses the Python exception class.
class UserError : public std::runtime_error {
 public:
  UserError(ErrorKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const {
    return kind_;
  }

 private:
  ErrorKind kind_;
};

/// A fault of this library. The message names the place in the source.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
template <typename... Args>
std::string concat(const Args&... args) {
  std::ostringstream out;
  static_cast<void>((out << ... << args));
  return out.str();
}
[[noreturn]] void throwUserError(ErrorKind kind, const std::string& message);
[[noreturn]] void throwInternalError(
    const char* file,
    int line,
    const char* condition,
    const std::string& message);
} // namespace detail

} // namespace nvfuser

/// User error of class RuntimeError unless `condition` holds. The message parts are streamed.
#define NVF_CHECK(condition, ...)                                                 \
  do {                                                                            \
    if (!(condition)) [[unlikely]] {                                              \
      ::nvfuser::detail::throwUserError(                                          \
          ::nvfuser::ErrorKind::Runtime, ::nvfuser::detail::concat(__VA_ARGS__)); \
    }                                                                             \
  } while (false)

/// As NVF_CHECK, with the Python class named: NVF_CHECK_AS(Type, cond, ...) raises TypeError.
#define NVF_CHECK_AS(kind, condition, ...)                                     \
  do {                                                                         \
    if (!(condition)) [[unlikely]] {                                           \
      ::nvfuser::detail::throwUserError(                                       \
          ::nvfuser::ErrorKind::kind, ::nvfuser::detail::concat(__VA_ARGS__)); \
    }                                                                          \
  } while (false)

/// Internal error unless `condition` holds.
#define NVF_ERROR(condition, ...)                                                  \
  do {                                                                             \
    if (!(condition)) [[unlikely]] {                                               \
      ::nvfuser::detail::throwInternalError(                                       \
          __FILE__, __LINE__, #condition, ::nvfuser::detail::concat(__VA_ARGS__)); \
    }                                                                              \
  } while (false)
