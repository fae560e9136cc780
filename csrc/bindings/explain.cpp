// What became of a fusion: segments, kernels, times.
#include <bindings/bindings.h>
#include <bindings/executor.h>
#include <bindings/inputs.h>

#include <runtime/fusion_executor_cache.h>
#include <runtime/profiler.h>
#include <runtime/segment_report.h>

#include <pybind11/stl.h>

namespace nvfuser::bindings {

namespace py = pybind11;

namespace {

using Launch = FusionExecutorCache::Launch;

Launch prepared(FusionExecutorCache& cache, const py::object& inputs, const py::object& device) {
  const RuntimeInputs flat = flattenInputs(inputs);
  const auto on = deviceFromPython(device);
  const py::gil_scoped_release release;
  return cache.prepare(flat.values, on);
}

py::dict tensorDict(const TensorReport& tensor) {
  py::dict result;
  result["name"] = tensor.name;
  result["role"] = tensor.role;
  result["dtype"] = detail::concat(tensor.dtype);
  py::list sizes;
  for (const auto& size : tensor.sizes) {
    std::visit([&](const auto& value) { sizes.append(value); }, size);
  }
  result["sizes"] = std::move(sizes);
  result["bytes"] = tensor.bytes;
  return result;
}

py::list tensorList(const std::vector<TensorReport>& tensors) {
  py::list result;
  for (const TensorReport& tensor : tensors) {
    result.append(tensorDict(tensor));
  }
  return result;
}

py::dict segmentDict(const SegmentReport& report) {
  py::dict result;
  result["kind"] = std::string(kindName(report.kind));
  result["scheduler"] = report.scheduler;
  result["heuristics"] = report.heuristics;
  py::list loops;
  for (const LoopReport& tensor : report.loops) {
    loops.append(py::make_tuple(tensor.tensor, tensor.loops));
  }
  result["loops"] = std::move(loops);
  py::list stages;
  for (const StageReport& stage : report.stages) {
    stages.append(py::make_tuple(stage.tasks, stage.grain));
  }
  result["stages"] = std::move(stages);
  result["workspace_bytes"] = report.workspace_bytes;
  result["scratch_bytes"] = report.scratch_bytes;
  result["reason"] = report.reason;
  result["refused"] = report.refused;
  result["apart"] = report.apart;
  result["ops"] = report.ops;
  result["nodes"] = report.nodes;
  result["inputs"] = tensorList(report.inputs);
  result["outputs"] = tensorList(report.outputs);
  result["bytes_read"] = report.bytes_read;
  result["bytes_written"] = report.bytes_written;
  return result;
}

py::list reportList(const std::vector<SegmentReport>& reports) {
  py::list result;
  for (const SegmentReport& report : reports) {
    result.append(segmentDict(report));
  }
  return result;
}

std::shared_ptr<const FusionKernelRuntime> mostRecent(const FusionExecutorCache& cache) {
  auto runtime = cache.mostRecent();
  NVF_CHECK(runtime != nullptr, "the fusion has not been executed yet");
  return runtime;
}

void bindProfiles(py::module_& m) {
  py::class_<KernelProfile>(
      m,
      "KernelProfile",
      "One generated kernel, or one library call, of a profiled run. Times in ms, bandwidths in "
      "GB/s.")
      .def_readonly("name", &KernelProfile::name)
      .def_readonly("segment_id", &KernelProfile::segment_id)
      .def_readonly("device", &KernelProfile::device, "Index of the CUDA device; -1 for the CPU.")
      .def_readonly("stream", &KernelProfile::stream)
      .def_readonly(
          "correlation_id", &KernelProfile::correlation_id, "Running number within the run.")
      .def_readonly(
          "compile_time_ms", &KernelProfile::compile_time_ms, "0 when it was ready before the run.")
      .def_readonly("time_ms", &KernelProfile::time_ms)
      .def_readonly(
          "effective_bandwidth_gbs",
          &KernelProfile::effective_bandwidth_gbs,
          "Bytes of its inputs and outputs by its time.")
      .def_property_readonly(
          "percentage_peak_bandwidth",
          &KernelProfile::percentagePeakBandwidth,
          "Of the copy bandwidth of the device, which is measured once, at the first question.")
      .def_readonly("grid_str", &KernelProfile::grid_str, "Tasks of each stage, on the CPU.")
      .def_readonly("block_str", &KernelProfile::block_str, "Threads, on the CPU.")
      .def_readonly("cluster_str", &KernelProfile::cluster_str)
      .def_readonly(
          "shared_mem_str",
          &KernelProfile::shared_mem_str,
          "Bytes of workspace, and of scratch memory of each thread, on the CPU.")
      .def_readonly("registers", &KernelProfile::registers)
      .def_readonly("input_bytes", &KernelProfile::input_bytes)
      .def_readonly("output_bytes", &KernelProfile::output_bytes)
      .def_readonly(
          "scheduler",
          &KernelProfile::scheduler,
          "\"expr_eval\" for library calls, \"user\" for schedules made by hand.")
      .def("__repr__", [](const KernelProfile& self) {
        return detail::concat("<KernelProfile ", self.name, ": ", self.time_ms, " ms>");
      });
  py::class_<FusionProfile>(
      m, "FusionProfile", "One run of a fusion. Times in ms, bandwidths in GB/s.")
      .def_readonly("verbose", &FusionProfile::verbose)
      .def_readonly("fusion_id", &FusionProfile::fusion_id)
      .def_readonly("segments", &FusionProfile::segments)
      .def_readonly(
          "cuda_evt_time_ms",
          &FusionProfile::cuda_evt_time_ms,
          "All segments; on the CPU by the host's clock.")
      .def_readonly(
          "host_time_ms", &FusionProfile::host_time_ms, "The whole call, compiling included.")
      .def_readonly(
          "compile_time_ms",
          &FusionProfile::compile_time_ms,
          "What the call prepared; 0 when all was ready.")
      .def_readonly(
          "kernel_time_ms", &FusionProfile::kernel_time_ms, "The sum over kernel_profiles.")
      .def_readonly("effective_bandwidth_gbs", &FusionProfile::effective_bandwidth_gbs)
      .def_property_readonly(
          "percentage_peak_bandwith",
          &FusionProfile::percentagePeakBandwidth,
          "Of the copy bandwidth of the device, which is measured once, at the first question.")
      .def_readonly("input_bytes", &FusionProfile::input_bytes)
      .def_readonly("output_bytes", &FusionProfile::output_bytes)
      .def_readonly("kernel_profiles", &FusionProfile::kernel_profiles)
      .def("__str__", &FusionProfile::toString);
  m.def(
      "get_fusion_profile",
      [] {
        auto profile = lastProfile();
        NVF_CHECK(
            profile.has_value(),
            "no fusion has been profiled: run one inside PythonProfiler(), or with "
            "NVFUSER_PROF=enable");
        return *profile;
      },
      "The FusionProfile of the profiled run that ended last, on any thread. RuntimeError when "
      "there is none.");
  m.def("reset_profiler", &resetProfiler, "Forgets the profile.");
  m.def("_last_profile", &lastProfile, "The same, or None.");
  m.def("_start_profiling", &startProfiling, "Profiles runs until _stop_profiling().");
  m.def("_stop_profiling", &stopProfiling, "Ends one _start_profiling().");
  m.def(
      "_copy_bandwidth",
      [](const py::object& device) {
        const auto on = deviceFromPython(device).value_or(at::kCPU);
        const py::gil_scoped_release release;
        return measureCopyBandwidth(on);
      },
      py::arg("device") = py::none(),
      "Bytes per second, read and written, of a large copy on the device, measured now.");
}

} // namespace

void bindExplain(py::module_& m, ExecutorClass& cache) {
  cache
      .def(
          "get_scheduled_ir",
          [](FusionExecutorCache& self,
             const py::object& inputs,
             bool tensor_transforms,
             const py::object& device) {
            return scheduledText(*prepared(self, inputs, device).runtime, tensor_transforms);
          },
          py::arg("inputs"),
          py::arg("tensor_transforms") = false,
          py::arg("device") = py::none(),
          R"(The segments that a run with these inputs executes, each with its nodes as they are scheduled.

tensor_transforms: also how the loops of each tensor come from its dimensions. Prepares what is missing, and runs
nothing. Errors as execute.)")
      .def(
          "get_most_recent_scheduled_ir",
          [](const FusionExecutorCache& self, bool tensor_transforms) {
            return scheduledText(*mostRecent(self), tensor_transforms);
          },
          py::arg("tensor_transforms") = false,
          "get_scheduled_ir for the inputs that were prepared last. RuntimeError before any were.")
      .def(
          "get_cuda_kernel",
          [](FusionExecutorCache& self, const py::object& inputs, bool, const py::object& device) {
            return prepared(self, inputs, device).runtime->kernelText();
          },
          py::arg("inputs"),
          py::arg("intrinsic_code") = false,
          py::arg("device") = py::none(),
          R"(The sources of the generated kernels that a run with these inputs launches: CUDA C++, or C++ for CPU tensors.

Empty when ATen evaluates all of it. Each text is complete by itself, so intrinsic_code makes no difference. Prepares
what is missing, and runs nothing. Errors as execute.)")
      .def(
          "_report",
          [](FusionExecutorCache& self,
             const py::object& inputs,
             const py::object& device,
             const py::object& enable_options,
             const py::object& disable_options) {
            const CallOptions options(enable_options, disable_options);
            const RuntimeInputs flat = flattenInputs(inputs);
            const Launch launch = prepared(self, inputs, device);
            py::dict result;
            result["device"] = launch.device.str();
            result["segments"] = reportList(reportSegments(
                *launch.runtime, launch.runtime->sizesFrom(flat.values), launch.plan.get()));
            return result;
          },
          py::arg("inputs"),
          py::arg("device") = py::none(),
          py::arg("_enable_options") = py::none(),
          py::arg("_disable_options") = py::none(),
          "The segments that a run with these inputs executes, as dicts; runs nothing.")
      .def(
          "_most_recent_report",
          [](const FusionExecutorCache& self) {
            const auto nothing = [](const Val*) { return ScalarValue(); };
            return reportList(reportSegments(*mostRecent(self), nothing, nullptr));
          },
          "_report of the inputs that were prepared last, without sizes.")
      .def(
          "_measure",
          [](FusionExecutorCache& self,
             const py::object& inputs,
             const py::object& device,
             int64_t runs,
             const py::object& enable_options,
             const py::object& disable_options) {
            const CallOptions options(enable_options, disable_options);
            const RuntimeInputs flat = flattenInputs(inputs);
            NVF_CHECK(
                !flat.has_dispatch_subclass,
                "explain: profile=True runs the fusion, which needs plain tensors with data");
            const auto on = deviceFromPython(device);
            const py::gil_scoped_release release;
            const MeasuredSegments measured = measureSegments(self, flat.values, on, runs);
            return std::make_pair(measured.seconds, measured.total_seconds);
          },
          py::arg("inputs"),
          py::arg("device") = py::none(),
          py::arg("runs") = 20,
          py::arg("_enable_options") = py::none(),
          py::arg("_disable_options") = py::none(),
          "Median seconds of each segment and of a whole run.");
  m.def(
      "_planned_report",
      [](const Fusion& fusion,
         const py::object& enable_options,
         const py::object& disable_options) {
        const CallOptions options(enable_options, disable_options);
        return reportList(planSegments(fusion));
      },
      py::arg("fusion"),
      py::arg("_enable_options") = py::none(),
      py::arg("_disable_options") = py::none(),
      "The segments that runs on CPU tensors have as far as the definition decides it.");
  bindProfiles(m);
}

} // namespace nvfuser::bindings
