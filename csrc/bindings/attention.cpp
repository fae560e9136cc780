#include <bindings/bindings.h>
#include <bindings/torch_conversion.h>

#include <ir/exceptions.h>
#include <runtime/attention/backend.h>
#include <runtime/rng_state.h>

#include <pybind11/stl.h>

#include <optional>

namespace nvfuser::bindings {

namespace py = pybind11;

namespace {

at::Tensor tensorArgument(const char* name, const py::object& object) {
  if (object.is_none()) {
    return {};
  }
  NVF_CHECK_AS(
      Type,
      isTensor(object),
      "sdpa_backends: ",
      name,
      " must be a torch.Tensor, not ",
      py::str(py::type::of(object).attr("__name__")).cast<std::string>());
  return tensorFromPython(object);
}

py::list backendTable(
    const py::object& query,
    const py::object& key,
    const py::object& value,
    const py::object& bias,
    const py::object& mask,
    double dropout_p,
    bool is_causal,
    std::optional<double> scale,
    bool bottom_right,
    bool training,
    bool backward,
    bool bias_grad) {
  SdpaArguments a;
  a.query = tensorArgument("query", query);
  a.key = tensorArgument("key", key);
  a.value = tensorArgument("value", value);
  NVF_CHECK_AS(
      Type,
      a.query.defined() && a.key.defined() && a.value.defined(),
      "sdpa_backends: query, key and value must be tensors, not None");
  a.bias = tensorArgument("bias", bias);
  a.mask = tensorArgument("mask", mask);
  a.dropout_p = dropout_p;
  a.is_causal = is_causal;
  a.scale = scale;
  a.alignment = bottom_right ? CausalAlignment::BottomRight : CausalAlignment::TopLeft;
  a.training = training;
  a.bias_grad = bias_grad;
  const auto pass = backward ? SdpaPass::Backward : SdpaPass::Forward;
  py::list rows;
  for (const SdpaBackendInfo& info : sdpaBackends(makeSdpaProblem("sdpa_backends", a), pass)) {
    rows.append(py::make_tuple(info.name, info.eligible, info.reason));
  }
  return rows;
}

py::dict rngForm(const RngStateForm& form) {
  py::dict result;
  const char* dtype = form.is_vector ? "uint64" : "int64";
  result["philox_seed_dtype"] = dtype;
  result["philox_seed_shape"] = form.is_vector ? py::tuple(py::make_tuple(2)) : py::tuple();
  result["philox_offset_dtype"] = dtype;
  result["philox_offset_shape"] = py::make_tuple();
  result["device"] = form.is_vector ? "query" : "cpu";
  return result;
}

} // namespace

void bindAttention(py::module_& m) {
  m.def(
      "sdpa_backends",
      &backendTable,
      py::arg("query"),
      py::arg("key"),
      py::arg("value"),
      py::arg("bias") = py::none(),
      py::arg("mask") = py::none(),
      py::arg("dropout_p") = 0.0,
      py::arg("is_causal") = false,
      py::arg("scale") = py::none(),
      py::arg("bottom_right") = false,
      py::arg("training") = true,
      py::arg("backward") = false,
      py::arg("bias_grad") = false,
      "(name, eligible, reason) for every attention backend, in the order in which \"auto\" "
      "prefers them.");
  m.def(
      "last_sdpa_backend",
      &lastSdpaBackend,
      "Name of the backend of this thread's most recent attention node; \"\" before the first.");
  m.def(
      "sdpa_run_counts",
      [] {
        py::dict counts;
        for (const auto& [name, count] : sdpaRunCounts()) {
          counts[py::str(name)] = count;
        }
        return counts;
      },
      "Attention nodes run since the last reset, by backend; backward nodes count as "
      "\"<name>_backward\".");
  m.def(
      "sdpa_run_log",
      &sdpaRunLog,
      "The names that sdpa_run_counts counts, in the order of the runs; the most recent 1024.");
  m.def("reset_sdpa_run_counts", &resetSdpaRunCounts, "Forgets what has run.");
  m.def(
      "rng_state_form",
      [](const std::optional<std::string>& torch_version, bool is_rocm) {
        return rngForm(
            torch_version.has_value() ? rngStateFormOf(*torch_version, is_rocm)
                                      : rngStateFormOfThisTorch());
      },
      py::arg("torch_version") = py::none(),
      py::arg("is_rocm") = false,
      "Dtypes, shapes and device of philox_seed and philox_offset for a version of torch; None: "
      "the torch in use.");
}

} // namespace nvfuser::bindings
