#include <ir/builder.h>
#include <ir/domain_mapper.h>
#include <ir/python_call.h>
#include <ir/sdpa_nodes.h>

#include <array>

namespace nvfuser {

namespace {

// Dimensions of an attention tensor, counted from the right.
enum Dim : int64_t { kLast = 1, kLength = 2, kHeads = 3 };

TensorView* tensorOrNull(Val* val) {
  return val == nullptr ? nullptr : val->as<TensorView>();
}

int64_t rankOf(const Val* tv) {
  return tv->as<TensorView>()->nDims();
}

// logsumexp lacks the last dimension: its dims are counted as if it had one.
struct Side {
  const Val* tensor;
  int64_t rank;
};

Side full(const Val* tv) {
  return {tv, rankOf(tv)};
}
Side withoutLast(const Val* tv) {
  return {tv, rankOf(tv) + 1};
}

void sameFromRight(DomainMapper& mapper, const Side& producer, const Side& consumer, int64_t dim) {
  mapper.same(producer.tensor, producer.rank - dim, consumer.tensor, consumer.rank - dim);
}

// The batch dims: everything left of the heads.
void sameBatch(DomainMapper& mapper, const Side& producer, const Side& consumer) {
  for (int64_t dim = kHeads + 1; dim <= producer.rank && dim <= consumer.rank; ++dim) {
    sameFromRight(mapper, producer, consumer, dim);
  }
}

// The head dims are one dimension unless grouped-query attention makes them differ.
bool sameHeads(const Val* a, const Val* b) {
  const auto* ta = a->as<TensorView>();
  const auto* tb = b->as<TensorView>();
  const Val* ha = ta->shape()[ta->nDims() - kHeads];
  const Val* hb = tb->shape()[tb->nDims() - kHeads];
  // Two sizes that are not known to be equal may differ by the group size.
  return ha->sameAs(hb);
}

PythonArg scalarOr(std::string_view keyword, const Val* val, const char* absent) {
  return val == nullptr ? py::kw(keyword, std::string(absent)) : py::kw(keyword, val);
}

// The keyword arguments that only the general (sdpa_) form has.
void addGeneralArgs(PythonCall& call, CausalAlignment alignment, const std::string& backend) {
  if (alignment == CausalAlignment::BottomRight) {
    call.args.push_back(py::kw("causal_alignment", std::string("\"bottom_right\"")));
  }
  if (backend != "auto") {
    call.args.push_back(py::kw("backend", "\"" + backend + "\""));
  }
}

} // namespace

NVF_DEFINE_NEW_LIKE(SdpaFwdOp)
SdpaFwdOp::SdpaFwdOp(
    IrBuilderPasskey key,
    const Outputs& outputs,
    const Operands& o,
    CausalAlignment alignment,
    const std::string& backend)
    : Expr(
          key,
          {{{"query", o.query},
            {"key", o.key},
            {"value", o.value},
            {"bias", o.bias},
            {"mask", o.mask},
            {"dropout_p", o.dropout_p},
            {"is_causal", o.is_causal},
            {"scale", o.scale}},
           outputs.logsumexp == nullptr
               ? std::vector<Val*>{outputs.attn_out}
               : std::vector<
                     Val*>{outputs.attn_out, outputs.logsumexp, outputs.philox_seed, outputs.philox_offset},
           {{"causal_alignment", static_cast<int64_t>(alignment)}, {"backend", backend}}}) {}

TensorView* SdpaFwdOp::query() const {
  return operand("query")->as<TensorView>();
}
TensorView* SdpaFwdOp::key() const {
  return operand("key")->as<TensorView>();
}
TensorView* SdpaFwdOp::value() const {
  return operand("value")->as<TensorView>();
}
TensorView* SdpaFwdOp::bias() const {
  return tensorOrNull(operand("bias"));
}
TensorView* SdpaFwdOp::mask() const {
  return tensorOrNull(operand("mask"));
}
TensorView* SdpaFwdOp::attnOut() const {
  return output(0)->as<TensorView>();
}

NodeTraits SdpaFwdOp::traits() const {
  const Val* p = operand("dropout_p");
  const bool has_dropout = p != nullptr && !(p->isConst() && toDouble(p->value()) == 0.0);
  return {.random = has_dropout, .pure = !has_dropout, .opens_segment = true};
}

void SdpaFwdOp::mapDomains(DomainMapper& mapper) const {
  const Side out = full(attnOut());
  std::vector<Side> results = {out};
  if (!isInference()) {
    results.push_back(withoutLast(output(1)));
  }
  for (const Side& result : results) {
    for (const Val* in : {operand("query"), operand("key"), operand("value")}) {
      sameBatch(mapper, full(in), result);
      if (in == operand("query") || sameHeads(in, operand("query"))) {
        sameFromRight(mapper, full(in), result, kHeads);
      }
    }
    sameFromRight(mapper, full(query()), result, kLength);
  }
  sameFromRight(mapper, full(value()), out, kLast);
}

const Val* SdpaFwdOp::layoutOperand(size_t output) const {
  return output == 0 ? operand("query") : nullptr;
}

PythonCall SdpaFwdOp::pythonCall() const {
  // The flash-named form is the call-compatible one; it is bottom right and has no other options.
  const bool flash_form =
      causalAlignment() == CausalAlignment::BottomRight && backend() == "auto" && !isInference();
  PythonCall call{
      flash_form ? "sdpfa_fwd" : "sdpa_fwd", {py::arg(query()), py::arg(key()), py::arg(value())}};
  for (std::string_view name : {"bias", "mask"}) {
    if (operand(name) != nullptr) {
      call.args.push_back(py::kw(name, operand(name)));
    }
  }
  call.args.push_back(scalarOr("dropout_p", operand("dropout_p"), "None"));
  call.args.push_back(scalarOr("is_causal", operand("is_causal"), "None"));
  if (operand("scale") != nullptr) {
    call.args.push_back(py::kw("scale", operand("scale")));
  }
  if (!flash_form) {
    addGeneralArgs(call, causalAlignment(), backend());
    if (isInference()) {
      call.args.push_back(py::kw("inference", py::boolText(true)));
    }
  }
  return call;
}

NVF_DEFINE_NEW_LIKE(SdpaBwdOp)
SdpaBwdOp::SdpaBwdOp(
    IrBuilderPasskey key,
    const Outputs& outputs,
    const Operands& o,
    CausalAlignment alignment,
    const std::string& backend)
    : Expr(
          key,
          {{{"grad_out", o.grad_out},
            {"query", o.query},
            {"key", o.key},
            {"value", o.value},
            {"attn_out", o.attn_out},
            {"logsumexp", o.logsumexp},
            {"dropout_p", o.dropout_p},
            {"is_causal", o.is_causal},
            {"philox_seed", o.philox_seed},
            {"philox_offset", o.philox_offset},
            {"scale", o.scale},
            {"bias", o.bias},
            {"mask", o.mask}},
           outputs.grad_bias == nullptr
               ? std::vector<Val*>{outputs.grad_query, outputs.grad_key, outputs.grad_value}
               : std::vector<
                     Val*>{outputs.grad_query, outputs.grad_key, outputs.grad_value, outputs.grad_bias},
           {{"causal_alignment", static_cast<int64_t>(alignment)}, {"backend", backend}}}) {}

void SdpaBwdOp::mapDomains(DomainMapper& mapper) const {
  struct Input {
    Side side;
    bool query_length;
    bool key_length;
    bool qk_size; // last dim is E
    bool v_size;  // last dim is Ev
  };
  const std::vector<Input> ins = {
      {full(operand("grad_out")), true, false, false, true},
      {full(operand("query")), true, false, true, false},
      {full(operand("key")), false, true, true, false},
      {full(operand("value")), false, true, false, true},
      {full(operand("attn_out")), true, false, false, true},
      {withoutLast(operand("logsumexp")), true, false, false, false},
  };
  const std::vector<Input> outs = {
      {full(output(0)), true, false, true, false},
      {full(output(1)), false, true, true, false},
      {full(output(2)), false, true, false, true},
  };
  // Grouped-query attention: query-side tensors have H heads, key-side ones Hk.
  const bool one_head_count = sameHeads(operand("query"), operand("key"));
  for (const Input& in : ins) {
    for (const Input& out : outs) {
      sameBatch(mapper, in.side, out.side);
      if (one_head_count || in.query_length == out.query_length) {
        sameFromRight(mapper, in.side, out.side, kHeads);
      }
      if ((in.query_length && out.query_length) || (in.key_length && out.key_length)) {
        sameFromRight(mapper, in.side, out.side, kLength);
      }
      if ((in.qk_size && out.qk_size) || (in.v_size && out.v_size)) {
        sameFromRight(mapper, in.side, out.side, kLast);
      }
    }
  }
  if (hasBiasGrad()) {
    const int64_t rank = rankOf(operand("bias"));
    for (int64_t dim = 0; dim < rank; ++dim) {
      mapper.same(operand("bias"), dim, output(3), dim);
    }
  }
}

const Val* SdpaBwdOp::layoutOperand(size_t output) const {
  const std::array<const Val*, 3> sources = {operand("query"), operand("key"), operand("value")};
  return output < sources.size() ? sources[output] : nullptr;
}

PythonCall SdpaBwdOp::pythonCall() const {
  const bool flash_form = causalAlignment() == CausalAlignment::BottomRight &&
      backend() == "auto" && operand("bias") == nullptr && operand("mask") == nullptr;
  PythonCall call{flash_form ? "sdpfa_bwd" : "sdpa_bwd", {}};
  for (std::string_view name : {"grad_out", "query", "key", "value", "attn_out", "logsumexp"}) {
    call.args.push_back(py::arg(operand(name)));
  }
  call.args.push_back(scalarOr("dropout_p", operand("dropout_p"), "None"));
  call.args.push_back(scalarOr("is_causal", operand("is_causal"), "None"));
  call.args.push_back(py::kw("philox_seed", operand("philox_seed")));
  call.args.push_back(py::kw("philox_offset", operand("philox_offset")));
  call.args.push_back(scalarOr("scale", operand("scale"), "None"));
  for (std::string_view name : {"bias", "mask"}) {
    if (operand(name) != nullptr) {
      call.args.push_back(py::kw(name, operand(name)));
    }
  }
  if (hasBiasGrad()) {
    call.args.push_back(py::kw("bias_grad", py::boolText(true)));
  }
  if (!flash_form) {
    addGeneralArgs(call, causalAlignment(), backend());
  }
  return call;
}

} // namespace nvfuser
