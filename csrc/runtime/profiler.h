// Profiles of fusion runs, and the bandwidth that they are measured by.
#pragma once

#include <runtime/segment_report.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace nvfuser {

class FusionExecutorCache;

/// One generated kernel, or one library call, of a profiled run.
struct KernelProfile {
  std::string name; ///< "kernel_2 (inner reduction)"; of a library call the names of its ops
  int64_t segment_id = 0;
  int64_t device = -1; ///< index of the CUDA device; -1 for the CPU
  int64_t stream = 0;
  int64_t correlation_id = 0; ///< running number within the run
  double compile_time_ms = 0; ///< 0 when it was ready before the run
  double time_ms = 0;
  double effective_bandwidth_gbs = 0;
  std::string grid_str;       ///< tasks of each stage: "[512] [8]"
  std::string block_str;      ///< threads that share the tasks
  std::string cluster_str;    ///< empty: processors have none
  std::string shared_mem_str; ///< bytes of workspace, and of each thread
  int64_t registers = 0;
  int64_t input_bytes = 0;
  int64_t output_bytes = 0;
  std::string scheduler;

  /// Of the copy bandwidth of the device, in percent; measures that at the first question.
  double percentagePeakBandwidth() const;
};

/// One run of a fusion.
struct FusionProfile {
  bool verbose = false;
  int64_t fusion_id = 0;
  int64_t segments = 0;
  double cuda_evt_time_ms = 0; ///< all segments; by the host's clock also on the CPU
  double host_time_ms = 0;     ///< the whole call, compiling included
  double compile_time_ms = 0;  ///< what the call prepared; 0 when all was ready
  double kernel_time_ms = 0;   ///< sum over kernel_profiles
  double effective_bandwidth_gbs = 0;
  int64_t input_bytes = 0;  ///< inputs of the fusion
  int64_t output_bytes = 0; ///< outputs of the fusion
  std::vector<KernelProfile> kernel_profiles;

  double percentagePeakBandwidth() const;
  /// A table; `verbose` adds launch parameters.
  std::string toString() const;
};

namespace detail {
/// How many ask for profiles; -1 before the environment is read.
extern std::atomic<int> profilers;
bool readProfilerOptions();
} // namespace detail

/// Whether runs are profiled: between startProfiling and stopProfiling, or by NVFUSER_PROF.
inline bool isProfiling() {
  const int count = detail::profilers.load(std::memory_order_relaxed);
  return count > 0 || (count < 0 && detail::readProfilerOptions());
}
/// Profiles runs of all threads until the matching stopProfiling.
void startProfiling();
void stopProfiling();
/// The profile of the run that ended last; none since the start or resetProfiler().
std::optional<FusionProfile> lastProfile();
void resetProfiler();

/// FusionExecutorCache::execute with a profile of it; prints it where NVFUSER_PROF says so.
std::vector<EvalValue> profileRun(
    FusionExecutorCache& cache,
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> device);

/// Median times of the segments over `runs` runs after two others, and of a whole run.
struct MeasuredSegments {
  std::vector<double> seconds;
  double total_seconds = 0;
};
/// Runs the fusion. Inputs that outputs are written into are copied first, and stay as they are.
MeasuredSegments measureSegments(
    FusionExecutorCache& cache,
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> device,
    int64_t runs);

/// Bytes per second, read and written, of a copy of 64 MiB on the device.
double measureCopyBandwidth(at::Device device);

} // namespace nvfuser
