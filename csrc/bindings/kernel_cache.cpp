// The cache of compiled CPU kernels.
#include <bindings/bindings.h>
#include <codegen/cuda_preamble.h>
#include <ir/options.h>
#include <ir/runtime_options.h>
#include <runtime/host_compiler.h>
#include <runtime/kernel_cache.h>
#include <runtime/kernel_disk.h>
#include <runtime/nvrtc.h>

#include <pybind11/stl.h>

namespace nvfuser::bindings {

namespace py = pybind11;

namespace {

py::dict info() {
  const KernelDisk disk = kernelDisk();
  const KernelDisk::Usage usage = disk.usage();
  const auto compiler = hostCompiler();
  const KernelCacheCounts counts = kernelCacheCounts();
  py::dict result;
  result["directory"] = disk.folder().empty()
      ? py::object(py::none())
      : py::object(
            py::reinterpret_steal<py::str>(PyUnicode_DecodeFSDefault(disk.folder().c_str())));
  result["refused"] = disk.refusal();
  result["entries"] = usage.entries;
  result["bytes"] = usage.bytes;
  result["limit"] = disk.limit();
  result["compiler"] = compiler->command;
  result["compiler_version"] = compiler->version;
  result["flags"] = compiler->flags;
  result["no_compiler"] = compiler->reason;
  result["cpu"] = cpuKey();
  result["generated"] = isOptionEnabled("generated_kernels");
  result["compiled"] = counts.compiled;
  result["from_disk"] = counts.from_disk;
  return result;
}

} // namespace

void bindKernelCache(py::module_& m) {
  py::class_<LoadedLibrary, std::shared_ptr<LoadedLibrary>>(
      m, "Library", "A compiled kernel that is loaded into this process.")
      .def(
          "symbol",
          [](const LoadedLibrary& library, const std::string& name) {
            return reinterpret_cast<uintptr_t>(library.symbol(name.c_str()));
          },
          py::arg("name"),
          "The address of a function. RuntimeError when there is none of that name.");
  m.def("info", &info, "Folder, size, compiler and processor of the cache of compiled kernels.");
  m.def(
      "compile_cuda",
      [](const std::string& text, const std::string& target) {
        const py::gil_scoped_release release;
        const std::string code = compileCudaText({"text", text, cudaTextFlags()}, target);
        const py::gil_scoped_acquire acquire;
        return py::bytes(code);
      },
      py::arg("text"),
      py::arg("target"),
      R"(Machine code of a CUDA text for a target such as "sm_90", compiled by NVRTC; needs no GPU.

RuntimeError with NVRTC's log where it does not compile, or when there is no NVRTC.)");
  m.def(
      "why_no_nvrtc",
      [] { return whyNoNvrtc(); },
      "Why NVRTC, the compiler of CUDA texts, cannot be used, and how to get it; empty: it can.");
  m.def(
      "clear",
      [] { return kernelDisk().clear(); },
      "Removes the kernels on disk; their number. Loaded ones stay loaded.");
  m.def(
      "set_generated",
      &setGeneratedKernels,
      py::arg("generated").none(true),
      "Whether CPU tensors run as generated kernels in this process, in place of what the "
      "environment says. None: as it says.");
  m.def(
      "compile",
      [](const std::string& text, const std::string& name, const std::vector<std::string>& flags) {
        return compileAndLoad({name, text, flags});
      },
      py::arg("text"),
      py::arg("name") = "kernel",
      py::arg("flags") = std::vector<std::string>{},
      py::call_guard<py::gil_scoped_release>(),
      "Compiles a C++ text, or takes it from the cache. RuntimeError with what the compiler said.");
}

} // namespace nvfuser::bindings
