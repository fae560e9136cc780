// Switches of the environment and of a single run.
//
// NVFUSER_ENABLE, NVFUSER_DISABLE, NVFUSER_DUMP and NVFUSER_PROF hold comma lists of names; a name
// may carry arguments in parentheses: NVFUSER_ENABLE="fast_math,kernel_debug(full,verbose)". They
// are read once, at the first question. An unknown name is a RuntimeError that lists the known
// ones.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nvfuser {

using OptionArguments = std::vector<std::string>;
using OptionMap = std::unordered_map<std::string, OptionArguments>;

/// Takes "a,b(x,y)" apart. RuntimeError, naming `variable`: an unknown name, or parentheses that do
/// not match.
OptionMap parseOptions(
    std::string_view variable,
    std::string_view text,
    const std::vector<std::string_view>& known);

const std::vector<std::string_view>& enableOptionNames();
const std::vector<std::string_view>& disableOptionNames();
const std::vector<std::string_view>& profilerOptionNames();
/// Known names of NVFUSER_DUMP: those that the stages have announced.
const std::vector<std::string_view>& dumpOptionNames();

/// A stage announces what it can print at static-initialisation time.
struct RegisterDumpOptions {
  explicit RegisterDumpOptions(std::initializer_list<std::string_view> names);
  explicit RegisterDumpOptions(const std::vector<std::string_view>& names);
};

/// Reads NVFUSER_ENABLE and NVFUSER_DISABLE, so that unknown names are refused before they are
/// asked for.
void checkOptionsOfEnvironment();

/// Enabled by the environment or by the innermost guard. InternalError when the name is not in the
/// list.
bool isOptionEnabled(std::string_view name);
bool isOptionDisabled(std::string_view name);
bool isDumpEnabled(std::string_view name);
bool isProfilerOptionEnabled(std::string_view name);
/// The arguments of an enabled option; empty when it has none or is not enabled.
OptionArguments enableOptionArguments(std::string_view name);

/// Adds options for this thread while alive; guards nest. RuntimeError "Unrecognized enable_option:
/// X" or "Unrecognized disable_option: X".
class OptionsGuard {
 public:
  OptionsGuard(const std::vector<std::string>& enable, const std::vector<std::string>& disable);
  ~OptionsGuard();
  OptionsGuard(const OptionsGuard&) = delete;
  OptionsGuard& operator=(const OptionsGuard&) = delete;

 private:
  OptionMap enabled_;
  OptionMap disabled_;
  const OptionsGuard* previous_;
  friend bool isOptionEnabled(std::string_view name);
  friend bool isOptionDisabled(std::string_view name);
};

} // namespace nvfuser
