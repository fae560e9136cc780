// The options that decide what a runtime is made of.
#pragma once

#include <cstdint>
#include <optional>

namespace nvfuser {

/// Which of them are in force for this thread, a bit each: part of the keys under which runtimes
/// and launches are kept. Asked at every run, so it costs nothing where no guard is alive.
int64_t runtimeOptions();

/// For the whole process, in place of what the environment says: whether kernels are generated
/// where no guard names the option. nullopt: as the environment says.
void setGeneratedKernels(std::optional<bool> generated);

} // namespace nvfuser
