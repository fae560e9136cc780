#include <runtime/profiler.h>

#include <ir/options.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/segment_clock.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>

namespace nvfuser {

// --- clocks ---

namespace {

thread_local SegmentClock* active_clock = nullptr;

void waitFor(at::Device device) {
  if (!device.is_cpu() && !device.is_meta()) {
    const c10::impl::VirtualGuardImpl guard(device.type());
    guard.synchronizeStream(guard.getStream(device));
  }
}

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

SegmentClock::SegmentClock(size_t segments, at::Device device)
    : seconds_(segments, 0), device_(device), previous_(active_clock) {
  active_clock = this;
}

SegmentClock::~SegmentClock() {
  active_clock = previous_;
}

SegmentClock* SegmentClock::active() {
  return active_clock;
}

void SegmentClock::wait() const noexcept {
  try {
    waitFor(device_);
  } catch (const std::exception&) {
    // The run itself reports what is wrong with the device.
  }
}

void SegmentClock::add(int segment, double seconds) {
  if (segment < static_cast<int>(seconds_.size())) {
    seconds_[segment] += seconds;
  }
}

// --- the bandwidth of a copy ---

double measureCopyBandwidth(at::Device device) {
  constexpr int64_t kElements = 1 << 24;
  constexpr int kRuns = 7;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor from = at::ones({kElements}, options);
  at::Tensor to = at::empty({kElements}, options);
  to.copy_(from);
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    waitFor(device);
    const Stopwatch watch;
    to.copy_(from);
    waitFor(device);
    times.push_back(watch.seconds());
  }
  return 8.0 * kElements / median(times);
}

namespace {

double percentOfPeak(double gigabytes_per_second, int64_t device) {
  static std::mutex mutex;
  static std::map<int64_t, double> peaks;
  const std::lock_guard lock(mutex);
  auto it = peaks.find(device);
  if (it == peaks.end()) {
    const at::Device on =
        device < 0 ? at::Device(at::kCPU) : at::Device(at::kCUDA, static_cast<int8_t>(device));
    it = peaks.emplace(device, measureCopyBandwidth(on) / 1e9).first;
  }
  return 100 * gigabytes_per_second / it->second;
}

// --- profiles ---

std::mutex profile_mutex;
std::optional<FusionProfile> last_profile;

std::string threadsText(const SegmentReport& report) {
  int64_t threads = 1;
  for (const StageReport& stage : report.stages) {
    const int64_t useful = std::max<int64_t>(1, stage.tasks / stage.grain);
    threads = std::max(threads, std::min<int64_t>(useful, at::get_num_threads()));
  }
  return "[" + std::to_string(threads) + "]";
}

KernelProfile profileOf(const SegmentReport& report, size_t number, double seconds) {
  KernelProfile profile;
  const bool is_kernel = report.kind == SegmentReport::Kind::Kernel;
  if (is_kernel) {
    profile.name = detail::concat("kernel_", number, " (", report.scheduler, ")");
    for (const StageReport& stage : report.stages) {
      profile.grid_str +=
          detail::concat(profile.grid_str.empty() ? "" : " ", "[", stage.tasks, "]");
    }
    profile.block_str = threadsText(report);
    profile.shared_mem_str =
        detail::concat("[", report.workspace_bytes, ", ", report.scratch_bytes, "]");
  } else {
    for (const std::string& op : report.ops) {
      profile.name += (profile.name.empty() ? "" : ", ") + op;
    }
  }
  profile.segment_id = static_cast<int64_t>(number);
  profile.time_ms = 1e3 * seconds;
  profile.input_bytes = report.bytes_read;
  profile.output_bytes = report.bytes_written;
  profile.scheduler = report.scheduler;
  const auto bytes = static_cast<double>(report.bytes_read + report.bytes_written);
  profile.effective_bandwidth_gbs = seconds > 0 ? bytes / seconds / 1e9 : 0;
  return profile;
}

int64_t bytesOf(const std::vector<EvalValue>& values) {
  int64_t bytes = 0;
  for (const EvalValue& value : values) {
    bytes += value.isTensor() ? static_cast<int64_t>(value.tensor().nbytes()) : 0;
  }
  return bytes;
}

} // namespace

double KernelProfile::percentagePeakBandwidth() const {
  return percentOfPeak(effective_bandwidth_gbs, device);
}

double FusionProfile::percentagePeakBandwidth() const {
  return percentOfPeak(
      effective_bandwidth_gbs, kernel_profiles.empty() ? -1 : kernel_profiles.front().device);
}

std::string FusionProfile::toString() const {
  std::ostringstream out;
  out << std::fixed << std::setprecision(3);
  out << "fusion " << fusion_id << ": " << segments << " segments, host " << host_time_ms
      << " ms, kernels " << kernel_time_ms << " ms, compiling " << compile_time_ms << " ms, "
      << effective_bandwidth_gbs << " GB/s (" << std::setprecision(0) << percentagePeakBandwidth()
      << " % of a copy), inputs " << input_bytes << " bytes, outputs " << output_bytes
      << " bytes\n";
  for (const KernelProfile& kernel : kernel_profiles) {
    out << std::setprecision(3) << "  segment " << kernel.segment_id << "  " << kernel.time_ms
        << " ms  " << kernel.effective_bandwidth_gbs << " GB/s (" << std::setprecision(0)
        << kernel.percentagePeakBandwidth() << " %)  " << kernel.scheduler << "  " << kernel.name
        << "\n";
    if (verbose) {
      out << std::setprecision(3) << "    reads " << kernel.input_bytes << " bytes, writes "
          << kernel.output_bytes << " bytes, compiling " << kernel.compile_time_ms << " ms, tasks "
          << kernel.grid_str << ", threads " << kernel.block_str << ", workspace and scratch bytes "
          << kernel.shared_mem_str << "\n";
    }
  }
  return out.str();
}

std::atomic<int> detail::profilers = -1;

bool detail::readProfilerOptions() {
  bool asked = false;
  for (std::string_view name : profilerOptionNames()) {
    asked = isProfilerOptionEnabled(name) || asked;
  }
  int unread = -1;
  profilers.compare_exchange_strong(unread, asked ? 1 : 0);
  return profilers.load() > 0;
}

void startProfiling() {
  isProfiling();
  ++detail::profilers;
}

void stopProfiling() {
  --detail::profilers;
}

std::optional<FusionProfile> lastProfile() {
  const std::lock_guard lock(profile_mutex);
  return last_profile;
}

void resetProfiler() {
  const std::lock_guard lock(profile_mutex);
  last_profile.reset();
}

std::vector<EvalValue> profileRun(
    FusionExecutorCache& cache,
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> device) {
  const Stopwatch whole;
  const size_t runtimes = cache.numRuntimes();
  const FusionExecutorCache::Launch launch = cache.prepare(inputs, device);
  const double prepare_seconds = whole.seconds();
  const bool is_new = cache.numRuntimes() > runtimes;
  const FusionKernelRuntime& runtime = *launch.runtime;
  SegmentClock clock(runtime.segments().size(), launch.device);
  const Stopwatch running;
  std::vector<EvalValue> outputs = FusionExecutorCache::run(launch, inputs);
  const double run_seconds = running.seconds();

  FusionProfile profile;
  profile.fusion_id = cache.fusionId();
  profile.segments = static_cast<int64_t>(runtime.segments().size());
  profile.host_time_ms = 1e3 * (prepare_seconds + run_seconds);
  profile.compile_time_ms = is_new ? 1e3 * prepare_seconds : 0;
  profile.verbose = isProfilerOptionEnabled("print.verbose");
  profile.input_bytes = bytesOf(inputs);
  profile.output_bytes = bytesOf(outputs);
  double kernel_seconds = 0;
  int64_t moved = 0;
  const auto reports = reportSegments(runtime, runtime.sizesFrom(inputs), launch.plan.get());
  for (size_t i = 0; i < reports.size(); ++i) {
    profile.cuda_evt_time_ms += 1e3 * clock.seconds()[i];
    if (reports[i].kind == SegmentReport::Kind::View) {
      continue;
    }
    KernelProfile kernel = profileOf(reports[i], i, clock.seconds()[i]);
    kernel.device = launch.device.is_cpu() ? -1 : launch.device.index();
    kernel.correlation_id = static_cast<int64_t>(profile.kernel_profiles.size());
    if (is_new && reports[i].kind == SegmentReport::Kind::Kernel) {
      // Kernels are compiled side by side, so the compiler's time is that of all.
      kernel.compile_time_ms = 1e3 * (reports[i].compile_seconds + runtime.compileSeconds());
    }
    kernel_seconds += clock.seconds()[i];
    moved += kernel.input_bytes + kernel.output_bytes;
    profile.kernel_profiles.push_back(std::move(kernel));
  }
  profile.kernel_time_ms = 1e3 * kernel_seconds;
  profile.effective_bandwidth_gbs =
      kernel_seconds > 0 ? static_cast<double>(moved) / kernel_seconds / 1e9 : 0;
  for (const char* option : {"print", "print.nocupti", "print.verbose"}) {
    if (isProfilerOptionEnabled(option)) {
      std::cout << profile.toString() << std::flush;
      break;
    }
  }
  const std::lock_guard lock(profile_mutex);
  last_profile = std::move(profile);
  return outputs;
}

MeasuredSegments measureSegments(
    FusionExecutorCache& cache,
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> device,
    int64_t runs) {
  std::vector<EvalValue> own = inputs;
  const Fusion& fusion = *cache.fusion();
  for (size_t i = 0; i < fusion.outputs().size(); ++i) {
    const auto& alias = fusion.aliasOf(i);
    if (!alias.has_value()) {
      continue;
    }
    const auto place = std::find(fusion.inputs().begin(), fusion.inputs().end(), alias->input) -
        fusion.inputs().begin();
    const at::Tensor& given = own.at(place).tensor();
    const at::AutoGradMode no_grad(false);
    at::Tensor copy = at::empty_strided(given.sizes(), given.strides(), given.options());
    own.at(place) = copy.copy_(given);
  }
  constexpr int64_t kWarmUp = 2;
  const FusionExecutorCache::Launch launch = cache.prepare(own, device);
  const size_t count = launch.runtime->segments().size();
  std::vector<std::vector<double>> times(count);
  std::vector<double> totals;
  for (int64_t i = 0; i < runs + kWarmUp; ++i) {
    SegmentClock clock(count, launch.device);
    waitFor(launch.device);
    const Stopwatch watch;
    FusionExecutorCache::run(launch, own);
    waitFor(launch.device);
    const double total = watch.seconds();
    if (i < kWarmUp) {
      continue;
    }
    totals.push_back(total);
    for (size_t k = 0; k < count; ++k) {
      times[k].push_back(clock.seconds()[k]);
    }
  }
  MeasuredSegments result;
  for (const std::vector<double>& each : times) {
    result.seconds.push_back(median(each));
  }
  result.total_seconds = median(totals);
  return result;
}

} // namespace nvfuser
