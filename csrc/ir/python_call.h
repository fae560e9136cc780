// Small helpers to write a node's PythonCall.
#pragma once

#include <ir/statement.h>

namespace nvfuser::py {

inline PythonArg arg(const Val* val) {
  return {"", val};
}
inline PythonArg arg(std::string text) {
  return {"", std::move(text)};
}
inline PythonArg kw(std::string_view keyword, const Val* val) {
  return {keyword, val};
}
inline PythonArg kw(std::string_view keyword, std::vector<Val*> vals) {
  return {keyword, std::move(vals)};
}
inline PythonArg kw(std::string_view keyword, std::string text) {
  return {keyword, std::move(text)};
}
inline std::string boolText(bool value) {
  return value ? "True" : "False";
}
std::string listText(const std::vector<int64_t>& values);
std::string listText(const std::vector<bool>& values);
/// "DataType.Float"
std::string dtypeText(DataType dtype);

} // namespace nvfuser::py
