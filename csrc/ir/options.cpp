#include <ir/exceptions.h>
#include <ir/options.h>
#include <ir/runtime_options.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace nvfuser {

namespace {

using Names = std::vector<std::string_view>;

bool isKnown(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string joined(const Names& names) {
  std::string text;
  for (std::string_view name : names) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n");
  const auto end = text.find_last_not_of(" \t\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

// Cuts at commas that stand in no parentheses.
std::vector<std::string_view> cutAtCommas(std::string_view variable, std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    NVF_CHECK(depth == 0 || depth == 1, variable, ": parentheses do not match in \"", text, "\"");
    if (text[i] == ',' && depth == 0) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  NVF_CHECK(depth == 0, variable, ": parentheses do not match in \"", text, "\"");
  parts.push_back(text.substr(begin));
  return parts;
}

OptionMap fromEnvironment(const char* variable, const Names& known) {
  const char* text = std::getenv(variable);
  return text == nullptr ? OptionMap{} : parseOptions(variable, text, known);
}

Names& announcedDumps() {
  static Names names;
  return names;
}

const OptionMap& enabledByEnvironment() {
  static const OptionMap options = fromEnvironment("NVFUSER_ENABLE", enableOptionNames());
  return options;
}

const OptionMap& disabledByEnvironment() {
  static const OptionMap options = fromEnvironment("NVFUSER_DISABLE", disableOptionNames());
  return options;
}

thread_local const OptionsGuard* innermost = nullptr;

// An option in both lists is on unless it is disabled.
constexpr std::string_view kGeneratedKernels = "generated_kernels";
constexpr std::string_view kCheckKernels = "check_kernels";
constexpr std::string_view kEmulateCuda = "emulate_cuda";

constexpr int kByEnvironment = -1;
std::atomic<int> generated_kernels{kByEnvironment};

bool generatesKernelsByDefault() {
  static const bool of_environment =
      !disabledByEnvironment().contains(std::string(kGeneratedKernels));
  const int chosen = generated_kernels.load(std::memory_order_relaxed);
  return chosen == kByEnvironment ? of_environment : chosen != 0;
}

} // namespace

const Names& enableOptionNames() {
  static const Names names = {
      "check_kernels",
      "cutlass_scheduler",
      "emulate_cuda",
      "fast_math",
      "fuse_matmul",
      "fuse_multiple_matmuls",
      "generated_kernels",
      "host_ir_jit",
      "host_ir_lowering",
      "id_model_extra_validation",
      "insert_resharding_after",
      "io_to_lower_precision",
      "kernel_db",
      "kernel_debug",
      "kernel_lineinfo",
      "kernel_profile",
      "memory_promotion",
      "multicast_protocol",
      "p2p_protocol",
      "p2p_transport",
      "reuse_zeroed_memory",
      "static_fusion_count",
      "tma_inner_persistent",
      "tma_pointwise",
      "tma_reduction",
      "wait_debugger",
      "warn_register_spill",
      "ws_normalization",
  };
  return names;
}

const Names& disableOptionNames() {
  static const Names names = {
      "compile_to_sass",
      "contig_indexing",
      "expr_simplify",
      "fallback",
      "fma",
      "generated_kernels",
      "greedy_scheduler",
      "grouped_grid_welford_outer_opt",
      "index_hoist",
      "infer_contiguity",
      "kernel_reuse",
      "magic_zero",
      "matmul_expr_eval",
      "multidevice",
      "nvrtc_caching",
      "nvtx",
      "parallel_compile",
      "predicate_elimination",
      "python_inline_definitions",
      "resize_scheduler",
      "reuse_mismatched_type_registers",
      "var_name_remapping",
      "welford_vectorization",
  };
  return names;
}

const Names& profilerOptionNames() {
  static const Names names = {
      "enable", "enable.nocupti", "print", "print.nocupti", "print.verbose"};
  return names;
}

const Names& dumpOptionNames() {
  return announcedDumps();
}

RegisterDumpOptions::RegisterDumpOptions(std::initializer_list<std::string_view> names)
    : RegisterDumpOptions(Names(names)) {}

RegisterDumpOptions::RegisterDumpOptions(const Names& names) {
  for (std::string_view name : names) {
    if (!isKnown(announcedDumps(), name)) {
      announcedDumps().push_back(name);
    }
  }
}

OptionMap parseOptions(std::string_view variable, std::string_view text, const Names& known) {
  OptionMap options;
  for (std::string_view part : cutAtCommas(variable, text)) {
    part = trimmed(part);
    if (part.empty()) {
      continue;
    }
    const auto open = part.find('(');
    const std::string_view name = trimmed(part.substr(0, open));
    NVF_CHECK(
        isKnown(known, name),
        variable,
        ": unknown option \"",
        name,
        "\"; known are ",
        joined(known));
    OptionArguments arguments;
    if (open != std::string_view::npos) {
      NVF_CHECK(part.back() == ')', variable, ": text after the arguments in \"", part, "\"");
      const auto inside = part.substr(open + 1, part.size() - open - 2);
      for (std::string_view argument : cutAtCommas(variable, inside)) {
        if (!trimmed(argument).empty()) {
          arguments.emplace_back(trimmed(argument));
        }
      }
    }
    options[std::string(name)] = std::move(arguments);
  }
  return options;
}

void checkOptionsOfEnvironment() {
  enabledByEnvironment();
  disabledByEnvironment();
}

bool isOptionEnabled(std::string_view name) {
  NVF_ERROR(isKnown(enableOptionNames(), name), name);
  for (const OptionsGuard* guard = innermost; guard != nullptr; guard = guard->previous_) {
    if (guard->enabled_.contains(std::string(name))) {
      return true;
    }
    if (name == kGeneratedKernels && guard->disabled_.contains(std::string(name))) {
      return false;
    }
  }
  return name == kGeneratedKernels ? generatesKernelsByDefault()
                                   : enabledByEnvironment().contains(std::string(name));
}

bool isOptionDisabled(std::string_view name) {
  NVF_ERROR(isKnown(disableOptionNames(), name), name);
  for (const OptionsGuard* guard = innermost; guard != nullptr; guard = guard->previous_) {
    if (guard->disabled_.contains(std::string(name))) {
      return true;
    }
    if (name == kGeneratedKernels && guard->enabled_.contains(std::string(name))) {
      return false;
    }
  }
  return name == kGeneratedKernels ? !generatesKernelsByDefault()
                                   : disabledByEnvironment().contains(std::string(name));
}

int64_t runtimeOptions() {
  static const bool checks = enabledByEnvironment().contains(std::string(kCheckKernels));
  static const bool emulates = enabledByEnvironment().contains(std::string(kEmulateCuda));
  const auto bits = [](bool generated, bool checked, bool emulated) {
    return int64_t{generated} | int64_t{checked} << 1 | int64_t{emulated} << 2;
  };
  if (innermost == nullptr) {
    return bits(generatesKernelsByDefault(), checks, emulates);
  }
  return bits(
      isOptionEnabled(kGeneratedKernels),
      isOptionEnabled(kCheckKernels),
      isOptionEnabled(kEmulateCuda));
}

void setGeneratedKernels(std::optional<bool> generated) {
  generated_kernels = generated.has_value() ? int{*generated} : kByEnvironment;
}

bool isDumpEnabled(std::string_view name) {
  static const OptionMap options = fromEnvironment("NVFUSER_DUMP", dumpOptionNames());
  NVF_ERROR(isKnown(dumpOptionNames(), name), name);
  return !options.empty() && options.contains(std::string(name));
}

bool isProfilerOptionEnabled(std::string_view name) {
  static const OptionMap options = fromEnvironment("NVFUSER_PROF", profilerOptionNames());
  NVF_ERROR(isKnown(profilerOptionNames(), name), name);
  return options.contains(std::string(name));
}

OptionArguments enableOptionArguments(std::string_view name) {
  NVF_ERROR(isKnown(enableOptionNames(), name), name);
  const auto it = enabledByEnvironment().find(std::string(name));
  return it == enabledByEnvironment().end() ? OptionArguments{} : it->second;
}

OptionsGuard::OptionsGuard(
    const std::vector<std::string>& enable,
    const std::vector<std::string>& disable)
    : previous_(innermost) {
  for (const std::string& name : enable) {
    NVF_CHECK(isKnown(enableOptionNames(), name), "Unrecognized enable_option: ", name);
    enabled_[name];
  }
  for (const std::string& name : disable) {
    NVF_CHECK(isKnown(disableOptionNames(), name), "Unrecognized disable_option: ", name);
    disabled_[name];
  }
  innermost = this;
}

OptionsGuard::~OptionsGuard() {
  innermost = previous_;
}

} // namespace nvfuser
