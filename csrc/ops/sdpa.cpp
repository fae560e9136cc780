#include <ops/sdpa.h>
#include <ops/utils.h>

namespace nvfuser {

namespace {

// Set before main by the runtime, so it must not need a constructor of its own.
constinit RngStateForm current_rng_state_form{};

struct NamedTensor {
  std::string_view name;
  const TensorView* tv;
};

std::string shapesText(std::initializer_list<NamedTensor> tensors) {
  std::string text;
  for (const NamedTensor& t : tensors) {
    if (t.tv != nullptr) {
      text += detail::concat(text.empty() ? "" : ", ", t.name, " ", shapeText(t.tv));
    }
  }
  return text;
}

Val* sizeFromRight(const TensorView* tv, int64_t from_right) {
  return tv->shape()[tv->nDims() - from_right];
}

bool differ(const Val* a, const Val* b) {
  return a->isConstInt() && b->isConstInt() && a->constInt() != b->constInt();
}

bool isAttentionType(DataType dtype) {
  return dtype == DataType::Half || dtype == DataType::BFloat16 || dtype == DataType::Float ||
      dtype == DataType::Double;
}

// What forward and backward have in common, checked under the op's name.
class Checker {
 public:
  Checker(
      std::string_view op,
      const TensorView* query,
      const TensorView* key,
      const TensorView* value,
      const TensorView* bias,
      const TensorView* mask)
      : op_(op), query_(query), key_(key), value_(value), bias_(bias), mask_(mask) {}

  void checkInputs() const {
    for (const NamedTensor& t : {NamedTensor{"query", query_}, {"key", key_}, {"value", value_}}) {
      NVF_CHECK(t.tv != nullptr, op_, ": ", t.name, " is missing");
      NVF_CHECK(
          t.tv->nDims() >= 4,
          op_,
          ": ",
          t.name,
          " needs at least 4 dimensions (batch, heads, length, head size), not ",
          t.tv->nDims(),
          ". ",
          shapes());
    }
    NVF_CHECK(
        query_->nDims() == key_->nDims() && query_->nDims() == value_->nDims(),
        op_,
        ": query, key and value need the same number of dimensions. ",
        shapes());
    NVF_CHECK(
        isAttentionType(query_->dtype()),
        op_,
        ": query, key and value must be Half, BFloat16, Float or Double, not ",
        dataTypeName(query_->dtype()));
    NVF_CHECK(
        query_->dtype() == key_->dtype() && query_->dtype() == value_->dtype(),
        op_,
        ": query, key and value need the same dtype, not ",
        dataTypeName(query_->dtype()),
        ", ",
        dataTypeName(key_->dtype()),
        " and ",
        dataTypeName(value_->dtype()));
    for (int64_t dim = 0; dim < query_->nDims() - 3; ++dim) {
      same(query_->shape()[dim], key_->shape()[dim], "the batch sizes of query and key differ");
      same(query_->shape()[dim], value_->shape()[dim], "the batch sizes of query and value differ");
    }
    same(
        sizeFromRight(query_, 1), sizeFromRight(key_, 1), "the head sizes of query and key differ");
    same(sizeFromRight(key_, 2), sizeFromRight(value_, 2), "the lengths of key and value differ");
    same(
        sizeFromRight(key_, 3),
        sizeFromRight(value_, 3),
        "the head counts of key and value differ");
    checkHeads();
    if (bias_ != nullptr) {
      NVF_CHECK(
          bias_->dtype() == query_->dtype() || bias_->dtype() == DataType::Float,
          op_,
          ": bias must have query's dtype ",
          dataTypeName(query_->dtype()),
          " or Float, not ",
          dataTypeName(bias_->dtype()));
      checkBroadcasts(bias_, "bias");
    }
    if (mask_ != nullptr) {
      NVF_CHECK(
          mask_->dtype() == DataType::Bool,
          op_,
          ": mask must be Bool (true keeps a key), not ",
          dataTypeName(mask_->dtype()),
          "; pass what is added to the scores as bias");
      checkBroadcasts(mask_, "mask");
    }
  }

  /// `tv` must be [N.., heads of `heads`, length of query, `last`].
  void checkLikeQuery(const TensorView* tv, std::string_view name, const Val* last) const {
    NVF_CHECK(tv != nullptr, op_, ": ", name, " is missing");
    const int64_t rank = query_->nDims() - (last == nullptr ? 1 : 0);
    bool fits = tv->nDims() == rank;
    for (int64_t dim = 0; fits && dim < query_->nDims() - 1; ++dim) {
      fits = !differ(tv->shape()[dim], query_->shape()[dim]);
    }
    fits = fits && (last == nullptr || !differ(sizeFromRight(tv, 1), last));
    NVF_CHECK(
        fits,
        op_,
        ": ",
        name,
        " ",
        shapeText(tv),
        last == nullptr ? " must be query's shape without the last dimension. "
                        : " must be query's shape with value's last dimension. ",
        shapes());
  }

  void checkDtype(const TensorView* tv, std::string_view name, DataType dtype) const {
    NVF_CHECK(
        tv->dtype() == dtype,
        op_,
        ": ",
        name,
        " must be ",
        dataTypeName(dtype),
        ", not ",
        dataTypeName(tv->dtype()));
  }

  std::string shapes() const {
    return shapesText(
        {{"query", query_}, {"key", key_}, {"value", value_}, {"bias", bias_}, {"mask", mask_}});
  }

 private:
  void same(const Val* a, const Val* b, std::string_view what) const {
    NVF_CHECK(!differ(a, b), op_, ": ", what, ". ", shapes());
  }

  void checkHeads() const {
    const Val* h = sizeFromRight(query_, 3);
    const Val* hk = sizeFromRight(key_, 3);
    if (!h->isConstInt() || !hk->isConstInt()) {
      return;
    }
    const int64_t heads = h->constInt();
    const int64_t kv_heads = hk->constInt();
    const bool divides = kv_heads == 0 ? heads == 0 : heads % kv_heads == 0;
    NVF_CHECK(
        divides,
        op_,
        ": query has ",
        heads,
        " heads, key has ",
        kv_heads,
        "; query heads must be a multiple of key heads. ",
        shapes());
  }

  void checkBroadcasts(const TensorView* tv, std::string_view name) const {
    const int64_t rank = query_->nDims();
    bool fits = tv->nDims() <= rank;
    for (int64_t from_right = 1; fits && from_right <= tv->nDims(); ++from_right) {
      const Val* size = sizeFromRight(tv, from_right);
      const Val* wanted =
          from_right == 1 ? sizeFromRight(key_, 2) : sizeFromRight(query_, from_right);
      fits = size->isOneInt() || !differ(size, wanted);
    }
    NVF_CHECK(
        fits,
        op_,
        ": ",
        name,
        " ",
        shapeText(tv),
        " does not broadcast to the scores [batch.., heads, query length, key length]. ",
        shapes());
  }

  std::string_view op_;
  const TensorView* query_;
  const TensorView* key_;
  const TensorView* value_;
  const TensorView* bias_;
  const TensorView* mask_;
};

// `val` as a scalar of type `dtype`: constants are converted, symbolic integers are taken as reals.
Val* realScalar(std::string_view op, std::string_view name, Val* val) {
  NVF_CHECK(
      val->isScalar() && !isComplexType(val->dtype()) && !isBooleanType(val->dtype()),
      op,
      ": ",
      name,
      " must be a real number, not ",
      val->toInlineString());
  return val->isConst() && val->dtype() != DataType::Double
      ? IrBuilder::constant(castScalar(val->value(), DataType::Double), DataType::Double)
      : val;
}

Val* dropoutScalar(std::string_view op, Val* val) {
  if (val == nullptr) {
    return IrBuilder::constant(0.0, DataType::Double);
  }
  val = realScalar(op, "dropout_p", val);
  if (val->isConst()) {
    const double p = toDouble(val->value());
    NVF_CHECK(p >= 0.0 && p <= 1.0, op, ": dropout_p must lie between 0 and 1, not ", p);
  }
  return val;
}

Val* causalScalar(std::string_view op, Val* val) {
  if (val == nullptr) {
    return IrBuilder::constant(false, DataType::Bool);
  }
  NVF_CHECK(
      val->isScalar() && isBooleanType(val->dtype()),
      op,
      ": is_causal must be a bool, not ",
      val->toInlineString());
  return val;
}

void checkBackendName(std::string_view op, const std::string& backend) {
  NVF_CHECK(
      !backend.empty() && backend.find_first_of("\"\\\n") == std::string::npos,
      op,
      ": backend must be a name, not \"",
      backend,
      "\"");
}

// A new dimension of the size of `id`; an expanded broadcast is materialised.
IterDomain* domainLike(const IterDomain* id) {
  return id->isBroadcast() ? ops::newDomain(id->getMaybeExpandedExtent())
                           : id->cloneWithoutRFactor();
}

// Dims of `like`; the last is `last`'s last, or absent when `last` is null.
TensorView* outputLike(const TensorView* like, const TensorView* last, DataType dtype) {
  const auto from = noReductions(like->getLogicalDomain());
  std::vector<IterDomain*> domain;
  for (size_t i = 0; i + 1 < from.size(); ++i) {
    domain.push_back(domainLike(from[i]));
  }
  if (last != nullptr) {
    domain.push_back(domainLike(noReductions(last->getLogicalDomain()).back()));
  }
  return ops::newTensor(std::move(domain), dtype);
}

// Declares that `out` lies in memory in the order of `like`, where that order is declared.
void takeStrideOrder(TensorView* out, const TensorView* like) {
  const auto order = like->domain()->strideOrder();
  if (order.empty()) {
    return;
  }
  const auto& logical = out->getLogicalDomain();
  std::vector<IterDomain*> allocation(logical.size());
  for (size_t i = 0; i < logical.size(); ++i) {
    allocation[logical.size() - 1 - order[i]] = logical[i];
  }
  out->setAllocationDomain(std::move(allocation), true);
}

TensorView* gradientOf(const TensorView* tv) {
  std::vector<IterDomain*> domain;
  for (const IterDomain* id : noReductions(tv->getLogicalDomain())) {
    domain.push_back(domainLike(id));
  }
  TensorView* grad = ops::newTensor(std::move(domain), tv->dtype());
  takeStrideOrder(grad, tv);
  return grad;
}

void checkRngState(std::string_view op, const TensorView* seed, const TensorView* offset) {
  NVF_CHECK(seed != nullptr && offset != nullptr, op, ": philox_seed or philox_offset is missing");
  const bool vector_form = seed->dtype() == DataType::UInt64 && seed->nDims() == 1 &&
      !(seed->shape()[0]->isConstInt() && !seed->shape()[0]->isConstInt(2)) &&
      offset->dtype() == DataType::UInt64 && offset->nDims() == 0;
  const bool scalar_form = seed->dtype() == DataType::Int && seed->nDims() == 0 &&
      offset->dtype() == DataType::Int && offset->nDims() == 0;
  NVF_CHECK(
      vector_form || scalar_form,
      op,
      ": philox_seed and philox_offset must be UInt64 of shape [2] and [], or Int of shape [] and "
      "[],"
      " not ",
      dataTypeName(seed->dtype()),
      " ",
      shapeText(seed),
      " and ",
      dataTypeName(offset->dtype()),
      " ",
      shapeText(offset));
}

SdpaFwdOp::Outputs buildForward(
    std::string_view op,
    SdpaFwdOp::Operands o,
    const SdpaOptions& options) {
  const Checker checker(op, o.query, o.key, o.value, o.bias, o.mask);
  checker.checkInputs();
  checkBackendName(op, options.backend);
  o.dropout_p = dropoutScalar(op, o.dropout_p);
  o.is_causal = causalScalar(op, o.is_causal);
  o.scale = o.scale == nullptr ? nullptr : realScalar(op, "scale", o.scale);

  SdpaFwdOp::Outputs out;
  out.attn_out = outputLike(o.query, o.value, o.query->dtype());
  takeStrideOrder(out.attn_out, o.query);
  if (!options.inference) {
    out.logsumexp = outputLike(o.query, nullptr, DataType::Float);
    if (current_rng_state_form.is_vector) {
      out.philox_seed = ops::newTensorOfShape({IrBuilder::constInt(2)}, DataType::UInt64);
      out.philox_offset = ops::newTensorOfShape({}, DataType::UInt64);
    } else {
      out.philox_seed = ops::newTensorOfShape({}, DataType::Int);
      out.philox_offset = ops::newTensorOfShape({}, DataType::Int);
      out.philox_seed->setCpuScalar(true);
      out.philox_offset->setCpuScalar(true);
    }
  }
  IrBuilder::create<SdpaFwdOp>(out, o, options.alignment, options.backend);
  return out;
}

SdpaBwdOp::Outputs buildBackward(
    std::string_view op,
    SdpaBwdOp::Operands o,
    const SdpaOptions& options) {
  const Checker checker(op, o.query, o.key, o.value, o.bias, o.mask);
  checker.checkInputs();
  checkBackendName(op, options.backend);
  checker.checkLikeQuery(o.grad_out, "grad_output", sizeFromRight(o.value, 1));
  checker.checkLikeQuery(o.attn_out, "output", sizeFromRight(o.value, 1));
  checker.checkLikeQuery(o.logsumexp, "logsumexp", nullptr);
  checker.checkDtype(o.grad_out, "grad_output", o.query->dtype());
  checker.checkDtype(o.attn_out, "output", o.query->dtype());
  checker.checkDtype(o.logsumexp, "logsumexp", DataType::Float);
  checkRngState(op, o.philox_seed, o.philox_offset);
  NVF_CHECK(!options.bias_grad || o.bias != nullptr, op, ": bias_grad is set but bias is missing");
  o.dropout_p = dropoutScalar(op, o.dropout_p);
  o.is_causal = causalScalar(op, o.is_causal);
  o.scale = o.scale == nullptr ? nullptr : realScalar(op, "scale", o.scale);

  SdpaBwdOp::Outputs out;
  out.grad_query = gradientOf(o.query);
  out.grad_key = gradientOf(o.key);
  out.grad_value = gradientOf(o.value);
  if (options.bias_grad) {
    out.grad_bias = gradientOf(o.bias);
  }
  IrBuilder::create<SdpaBwdOp>(out, o, options.alignment, options.backend);
  return out;
}

} // namespace

SdpaFwdOp::Outputs sdpaFwd(const SdpaFwdOp::Operands& operands, const SdpaOptions& options) {
  return buildForward("sdpa_fwd", operands, options);
}

SdpaBwdOp::Outputs sdpaBwd(const SdpaBwdOp::Operands& operands, const SdpaOptions& options) {
  return buildBackward("sdpa_bwd", operands, options);
}

SdpaFwdOp::Outputs sdpfaFwd(const SdpaFwdOp::Operands& operands) {
  return buildForward("sdpfa_fwd", operands, {.alignment = CausalAlignment::BottomRight});
}

SdpaBwdOp::Outputs sdpfaBwd(const SdpaBwdOp::Operands& operands) {
  return buildBackward("sdpfa_bwd", operands, {.alignment = CausalAlignment::BottomRight});
}

void setRngStateForm(RngStateForm form) {
  current_rng_state_form = form;
}

RngStateForm rngStateForm() {
  return current_rng_state_form;
}

} // namespace nvfuser
