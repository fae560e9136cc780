// The executor's Python class, which two files add methods to.
#pragma once

#include <ir/options.h>
#include <runtime/fusion_executor_cache.h>

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

namespace nvfuser::bindings {

using ExecutorClass = pybind11::class_<FusionExecutorCache, std::shared_ptr<FusionExecutorCache>>;

/// The options of one call, from lists of names or None. TypeError when they are none, RuntimeError
/// for an unknown name.
struct CallOptions {
  CallOptions(const pybind11::object& enable, const pybind11::object& disable);
  std::optional<OptionsGuard> guard;
};

/// Texts, reports and profiles.
void bindExplain(pybind11::module_& m, ExecutorClass& cache);

} // namespace nvfuser::bindings
