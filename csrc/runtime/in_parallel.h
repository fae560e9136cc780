// Independent pieces of work on several threads, for compilers that take long.
#pragma once

#include <cstddef>
#include <functional>

namespace nvfuser {

/// Calls work(0) .. work(count - 1), NVFUSER_COMPILE_THREADS at a time, else as many as there are
/// hardware threads. The first exception, by number, is thrown after all are done.
void inParallel(size_t count, const std::function<void(size_t)>& work);

} // namespace nvfuser
