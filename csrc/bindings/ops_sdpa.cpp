#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ops/sdpa.h>
#include <runtime/attention/backend.h>

namespace nvfuser::bindings {

namespace {

using OptionalOperand = std::optional<Operand>;

CausalAlignment alignmentOf(const char* op, const std::string& name) {
  NVF_CHECK_AS(
      Value,
      name == "top_left" || name == "bottom_right",
      op,
      ": causal_alignment must be \"top_left\" or \"bottom_right\", not \"",
      name,
      "\"");
  return name == "top_left" ? CausalAlignment::TopLeft : CausalAlignment::BottomRight;
}

const std::string& checkedBackend(const char* op, const std::string& name) {
  std::string known = "auto";
  for (const SdpaBackend* backend :
       {&flashBackend(),
        &efficientBackend(),
        &cudnnBackend(),
        &cpuFlashBackend(),
        &mathBackend()}) {
    if (name == backend->name()) {
      return name;
    }
    known += ", " + std::string(backend->name());
  }
  NVF_CHECK(name == "auto", op, ": there is no attention backend \"", name, "\"; known: ", known);
  return name;
}

// None, or a TensorView; scalars are refused.
TensorView* tensorOrNull(
    const OpCall& call,
    const char* op,
    const char* name,
    const OptionalOperand& arg) {
  if (!arg.has_value()) {
    return nullptr;
  }
  NVF_CHECK_AS(Type, arg->isTensor(), op, ": ", name, " must be a TensorView or None");
  return call(*arg)->as<TensorView>();
}

Val* scalarOr(
    const OpCall& call,
    const char* op,
    const char* name,
    const OptionalOperand& arg,
    DataType dtype,
    const ScalarValue& fallback) {
  if (!arg.has_value()) {
    return hasValue(fallback) ? IrBuilder::constant(fallback, dtype) : nullptr;
  }
  NVF_CHECK_AS(Type, !arg->isTensor(), op, ": ", name, " must be a scalar or None");
  return call.typed(*arg, dtype);
}

struct ScalarSlots {
  OptionalOperand dropout_p;
  OptionalOperand is_causal;
  OptionalOperand scale;
};

SdpaFwdOp::Operands forwardOperands(
    const char* op,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const OptionalOperand& bias,
    const OptionalOperand& mask,
    const ScalarSlots& slots) {
  OpCall call(op);
  SdpaFwdOp::Operands operands;
  operands.query = call(query);
  operands.key = call(key);
  operands.value = call(value);
  operands.bias = tensorOrNull(call, op, "bias", bias);
  operands.mask = tensorOrNull(call, op, "mask", mask);
  operands.dropout_p = scalarOr(call, op, "dropout_p", slots.dropout_p, DataType::Double, 0.0);
  operands.is_causal = scalarOr(call, op, "is_causal", slots.is_causal, DataType::Bool, false);
  operands.scale = scalarOr(call, op, "scale", slots.scale, DataType::Double, ScalarValue());
  return operands;
}

SdpaBwdOp::Operands backwardOperands(
    const char* op,
    const Tensor& grad_output,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const Tensor& output,
    const Tensor& logsumexp,
    const Tensor& philox_seed,
    const Tensor& philox_offset,
    const ScalarSlots& slots) {
  OpCall call(op);
  SdpaBwdOp::Operands operands;
  operands.grad_out = call(grad_output);
  operands.query = call(query);
  operands.key = call(key);
  operands.value = call(value);
  operands.attn_out = call(output);
  operands.logsumexp = call(logsumexp);
  operands.dropout_p = scalarOr(call, op, "dropout_p", slots.dropout_p, DataType::Double, 0.0);
  operands.is_causal = scalarOr(call, op, "is_causal", slots.is_causal, DataType::Bool, false);
  operands.philox_seed = call(philox_seed);
  operands.philox_offset = call(philox_offset);
  operands.scale = scalarOr(call, op, "scale", slots.scale, DataType::Double, ScalarValue());
  return operands;
}

py::tuple forwardTuple(const SdpaFwdOp::Outputs& outputs) {
  return py::make_tuple(
      NewTensor{outputs.attn_out},
      NewTensor{outputs.logsumexp},
      NewTensor{outputs.philox_seed},
      NewTensor{outputs.philox_offset});
}

py::tuple backwardTuple(const SdpaBwdOp::Outputs& outputs) {
  const auto gradients = py::make_tuple(
      NewTensor{outputs.grad_query}, NewTensor{outputs.grad_key}, NewTensor{outputs.grad_value});
  if (outputs.grad_bias == nullptr) {
    return gradients;
  }
  return py::tuple(gradients + py::make_tuple(NewTensor{outputs.grad_bias}));
}

bool isScalarSlot(const OptionalOperand& arg) {
  return arg.has_value() && !arg->isTensor();
}

void bindGeneral(py::module_& ops) {
  ops.def(
      "sdpa_fwd",
      [](const Tensor& query,
         const Tensor& key,
         const Tensor& value,
         const OptionalOperand& bias,
         const OptionalOperand& mask,
         const OptionalOperand& dropout_p,
         const OptionalOperand& is_causal,
         const OptionalOperand& scale,
         const std::string& causal_alignment,
         const std::string& backend,
         bool inference) -> py::object {
        const char* op = "sdpa_fwd";
        const auto operands =
            forwardOperands(op, query, key, value, bias, mask, {dropout_p, is_causal, scale});
        const auto outputs = sdpaFwd(
            operands,
            {.alignment = alignmentOf(op, causal_alignment),
             .backend = checkedBackend(op, backend),
             .inference = inference});
        return inference ? py::cast(NewTensor{outputs.attn_out}) : forwardTuple(outputs);
      },
      py::arg("query"),
      py::arg("key"),
      py::arg("value"),
      py::arg("bias") = py::none(),
      py::arg("mask") = py::none(),
      py::arg("dropout_p") = py::none(),
      py::arg("is_causal") = py::none(),
      py::arg("scale") = py::none(),
      py::kw_only(),
      py::arg("causal_alignment") = "top_left",
      py::arg("backend") = "auto",
      py::arg("inference") = false,
      R"(Scaled dot-product attention: softmax(query @ key^T * scale + bias + (0 where mask, else -inf)) @ value.

query [N*, H, L, E], key [N*, Hk, S, E], value [N*, Hk, S, Ev] of one floating dtype; H is a multiple of Hk (grouped
queries). bias (floating) and mask (Bool, True keeps) broadcast to [N*, H, L, S]. dropout_p (None: 0), is_causal (None:
False) and scale (None: 1/sqrt(E)) are scalars. causal_alignment "top_left" keeps key j for query i when j <= i,
"bottom_right" when j <= i + S - L. backend: "auto" or the name of one attention backend.

Returns (output [N*, H, L, Ev], logsumexp Float [N*, H, L], philox_seed, philox_offset), with inference=True the output
alone. Rows whose keys are all masked give 0.
RuntimeError: ranks below 4, ranks, dtypes or sizes that do not fit, dropout_p outside [0, 1], an unknown backend.
ValueError: an unknown causal_alignment. TypeError: a scalar where a TensorView is expected, or the reverse.)");
  ops.def(
      "sdpa_bwd",
      [](const Tensor& grad_output,
         const Tensor& query,
         const Tensor& key,
         const Tensor& value,
         const Tensor& output,
         const Tensor& logsumexp,
         const OptionalOperand& dropout_p,
         const OptionalOperand& is_causal,
         const Tensor& philox_seed,
         const Tensor& philox_offset,
         const OptionalOperand& scale,
         const OptionalOperand& bias,
         const OptionalOperand& mask,
         bool bias_grad,
         const std::string& causal_alignment,
         const std::string& backend) {
        const char* op = "sdpa_bwd";
        OpCall call(op);
        auto operands = backwardOperands(
            op,
            grad_output,
            query,
            key,
            value,
            output,
            logsumexp,
            philox_seed,
            philox_offset,
            {dropout_p, is_causal, scale});
        operands.bias = tensorOrNull(call, op, "bias", bias);
        operands.mask = tensorOrNull(call, op, "mask", mask);
        return backwardTuple(sdpaBwd(
            operands,
            {.alignment = alignmentOf(op, causal_alignment),
             .backend = checkedBackend(op, backend),
             .bias_grad = bias_grad}));
      },
      py::arg("grad_output"),
      py::arg("query"),
      py::arg("key"),
      py::arg("value"),
      py::arg("output"),
      py::arg("logsumexp"),
      py::arg("dropout_p"),
      py::arg("is_causal"),
      py::arg("philox_seed"),
      py::arg("philox_offset"),
      py::arg("scale"),
      py::arg("bias") = py::none(),
      py::arg("mask") = py::none(),
      py::kw_only(),
      py::arg("bias_grad") = false,
      py::arg("causal_alignment") = "top_left",
      py::arg("backend") = "auto",
      R"(Gradients of sdpa_fwd: (grad_query, grad_key, grad_value), with bias_grad=True also grad_bias.

Takes the forward's operands and results; dropout_p, is_causal and scale may be None, with the meaning that sdpa_fwd gives
it. Each gradient has the shape and dtype of its operand.
RuntimeError: ranks, dtypes or sizes that do not fit, bias_grad without a bias.)");
}

void bindFlashNamed(py::module_& ops) {
  ops.def(
      "sdpfa_fwd",
      [](const Tensor& query,
         const Tensor& key,
         const Tensor& value,
         const OptionalOperand& bias,
         const OptionalOperand& mask,
         const OptionalOperand& dropout_p,
         const OptionalOperand& is_causal,
         const OptionalOperand& scale) {
        const char* op = "sdpfa_fwd";
        ScalarSlots slots{dropout_p, is_causal, scale};
        OptionalOperand bias_slot = bias;
        OptionalOperand mask_slot = mask;
        if (isScalarSlot(bias) || isScalarSlot(mask)) {
          // The older positional form: (query, key, value, dropout_p, is_causal, scale).
          NVF_CHECK_AS(
              Type,
              !is_causal.has_value() && !scale.has_value(),
              op,
              ": with dropout_p and is_causal as the fourth and fifth argument, scale is the sixth "
              "and last");
          slots = {bias, mask, dropout_p};
          bias_slot.reset();
          mask_slot.reset();
        }
        return forwardTuple(
            sdpfaFwd(forwardOperands(op, query, key, value, bias_slot, mask_slot, slots)));
      },
      py::arg("query"),
      py::arg("key"),
      py::arg("value"),
      py::arg("bias") = py::none(),
      py::arg("mask") = py::none(),
      py::arg("dropout_p") = py::none(),
      py::arg("is_causal") = py::none(),
      py::arg("scale") = py::none(),
      R"(Attention with the causal diagonal at the bottom right, as flash attention has it; see sdpa_fwd for the operands.

Returns (output, logsumexp, philox_seed, philox_offset). A scalar in the fourth or fifth place selects the older positional
form (query, key, value, dropout_p, is_causal, scale).)");
  ops.def(
      "sdpfa_bwd",
      [](const Tensor& grad_output,
         const Tensor& query,
         const Tensor& key,
         const Tensor& value,
         const Tensor& output,
         const Tensor& logsumexp,
         const OptionalOperand& dropout_p,
         const OptionalOperand& is_causal,
         const Tensor& philox_seed,
         const Tensor& philox_offset,
         const OptionalOperand& scale) {
        return backwardTuple(sdpfaBwd(backwardOperands(
            "sdpfa_bwd",
            grad_output,
            query,
            key,
            value,
            output,
            logsumexp,
            philox_seed,
            philox_offset,
            {dropout_p, is_causal, scale})));
      },
      py::arg("grad_output"),
      py::arg("query"),
      py::arg("key"),
      py::arg("value"),
      py::arg("output"),
      py::arg("logsumexp"),
      py::arg("dropout_p"),
      py::arg("is_causal"),
      py::arg("philox_seed"),
      py::arg("philox_offset"),
      py::arg("scale"),
      "Gradients of sdpfa_fwd: (grad_query, grad_key, grad_value), in the shapes and dtypes of the "
      "operands. "
      "dropout_p, is_causal and scale: scalars or None.");
}

} // namespace

void bindSdpaOps(py::module_& ops) {
  bindGeneral(ops);
  bindFlashNamed(ops);
}

} // namespace nvfuser::bindings
