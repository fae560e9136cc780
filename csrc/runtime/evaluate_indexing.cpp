// Evaluation of the nodes that index, look up, sort and scan.
#include <ir/index_nodes.h>
#include <runtime/node_call.h>

#include <ATen/ATen.h>

#include <algorithm>

namespace nvfuser {

namespace {

// Shapes are computed here for meta tensors: not all of these ops have a meta kernel without
// Python.
at::Tensor emptyMeta(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::empty(sizes, at::TensorOptions().dtype(dtype).device(at::kMeta));
}

void evaluateSelect(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const int64_t dim = expr.attribute<int64_t>("dim");
  const int64_t index = toInt(call.scalar("index"));
  outputs[0] = call.run([&] {
    // A copy: a result that shares the operand's storage would change with it.
    return at::select(call.tensor("in"), dim, index).clone(at::MemoryFormat::Contiguous);
  });
}

void evaluateIndexSelect(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& in = call.tensor("in");
  const at::Tensor index = call.tensor("index").reshape({-1});
  const int64_t dim = expr.attribute<int64_t>("dim");
  if (call.isMeta()) {
    std::vector<int64_t> sizes = in.sizes().vec();
    sizes[dim] = index.numel();
    outputs[0] = emptyMeta(sizes, in.scalar_type());
    return;
  }
  outputs[0] = call.run([&] { return at::index_select(in, dim, index); });
}

bool isBroadcastDim(const Val* tv, int64_t dim) {
  const auto domain = noReductions(tv->as<TensorView>()->getLogicalDomain());
  return domain[dim]->isBroadcast() && !domain[dim]->hasExpandedExtent();
}

// Stretches both to a common size in all dims but `dim`; only what the IR knows to be 1 stretches.
void stretchForTakeAlongAxis(
    const NodeCall& call,
    const Expr& expr,
    int64_t dim,
    at::Tensor& in,
    at::Tensor& index) {
  std::vector<int64_t> in_sizes = in.sizes().vec();
  std::vector<int64_t> index_sizes = index.sizes().vec();
  for (int64_t d = 0; d < in.dim(); ++d) {
    if (d == dim || in_sizes[d] == index_sizes[d]) {
      continue;
    }
    if (isBroadcastDim(expr.operand("in"), d)) {
      in_sizes[d] = index_sizes[d];
    } else if (isBroadcastDim(expr.operand("index"), d)) {
      index_sizes[d] = in_sizes[d];
    } else {
      NVF_CHECK(false, "take_along_axis: sizes differ in dim ", d, ": ", call.shapes());
    }
  }
  in = in.expand(in_sizes);
  index = index.expand(index_sizes);
}

void evaluateGather(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  at::Tensor in = call.tensor("in");
  at::Tensor index = call.tensor("index");
  const int64_t dim = expr.attribute<int64_t>("dim");
  if (expr.attribute<bool>("exact_sizes")) {
    stretchForTakeAlongAxis(call, expr, dim, in, index);
  }
  if (call.isMeta()) {
    outputs[0] = emptyMeta(index.sizes(), in.scalar_type());
    return;
  }
  outputs[0] = call.run([&] { return at::gather(in, dim, index.to(at::kLong)); });
}

void evaluateScatter(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& in = call.tensor("in");
  const int64_t dim = expr.attribute<int64_t>("dim");
  if (call.isMeta()) {
    outputs[0] = emptyMeta(in.sizes(), in.scalar_type());
    return;
  }
  outputs[0] = call.run([&] {
    const at::Tensor index = call.tensor("index").to(at::kLong);
    if (call.isTensor("src")) {
      return at::scatter(in, dim, index, call.tensor("src")).contiguous();
    }
    const at::Scalar src =
        toAtenScalar(castScalar(call.scalar("src"), fromAtenType(in.scalar_type())));
    return at::scatter(in, dim, index, src).contiguous();
  });
}

// torch's renormalisation works in place and takes any index; neither is wanted here.
at::Tensor renormalizedWeight(
    const at::Tensor& weight,
    const at::Tensor& index,
    double max_norm,
    double norm_type) {
  if (index.numel() > 0 && index.is_cpu()) {
    const auto [low, high] = at::aminmax(index);
    TORCH_CHECK_INDEX(
        low.item<int64_t>() >= 0 && high.item<int64_t>() < weight.size(0),
        "index out of range in self");
  }
  at::Tensor copy = weight.clone(at::MemoryFormat::Contiguous);
  at::embedding_renorm_(copy, index.reshape({-1}), max_norm, norm_type);
  return copy;
}

void evaluateEmbeddingFwd(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& index = call.tensor("in");
  at::Tensor weight = call.tensor("weight");
  if (call.has("padding_idx")) {
    const int64_t padding_idx = toInt(call.scalar("padding_idx"));
    NVF_CHECK(
        padding_idx >= -weight.size(0) && padding_idx < weight.size(0),
        "embedding_fwd: padding_idx ",
        padding_idx,
        " is out of range for a weight of ",
        weight.sizes());
  }
  if (call.isMeta()) {
    std::vector<int64_t> sizes = index.sizes().vec();
    sizes.push_back(weight.size(1));
    outputs[0] = emptyMeta(sizes, weight.scalar_type());
    return;
  }
  // padding_idx, scale_grad_by_freq and sparse shape the gradient only.
  outputs[0] = call.run([&] {
    if (call.has("max_norm")) {
      const double norm_type = call.has("norm_type") ? toDouble(call.scalar("norm_type")) : 2.0;
      weight = renormalizedWeight(weight, index, toDouble(call.scalar("max_norm")), norm_type);
    }
    return at::embedding(weight, index);
  });
}

void evaluateTopK(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& in = call.tensor("in");
  const int64_t k = toInt(call.scalar("k"));
  const int64_t dim = expr.attribute<int64_t>("dim");
  NVF_CHECK(
      k >= 0 && k <= in.size(dim),
      "topk: k is ",
      k,
      ", out of range for dim ",
      dim,
      " of a tensor of ",
      in.sizes());
  if (call.isMeta()) {
    std::vector<int64_t> sizes = in.sizes().vec();
    sizes[dim] = k;
    outputs[0] = emptyMeta(sizes, in.scalar_type());
    outputs[1] = emptyMeta(sizes, at::kLong);
    return;
  }
  auto [values, indices] = call.run([&] {
    return at::topk(in, k, dim, expr.attribute<bool>("largest"), expr.attribute<bool>("sorted"));
  });
  outputs[0] = values.contiguous();
  outputs[1] = indices.contiguous();
}

void evaluateArgsort(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& in = call.tensor("in");
  if (call.isMeta()) {
    outputs[0] = emptyMeta(in.sizes(), at::kLong);
    return;
  }
  if (in.dim() == 0) {
    outputs[0] = at::zeros({}, in.options().dtype(at::kLong));
    return;
  }
  outputs[0] = call.run([&] {
    return at::argsort(
               in,
               /*stable=*/expr.attribute<bool>("stable"),
               expr.attribute<int64_t>("dim"),
               expr.attribute<bool>("descending"))
        .contiguous();
  });
}

at::Tensor scanned(ScanType type, const at::Tensor& in, int64_t dim) {
  switch (type) {
    case ScanType::Sum:
      return at::cumsum(in, dim, in.scalar_type());
    case ScanType::Prod:
      return at::cumprod(in, dim, in.scalar_type());
    case ScanType::Min:
      return std::get<0>(at::cummin(in, dim));
    case ScanType::Max:
      return std::get<0>(at::cummax(in, dim));
  }
  NVF_ERROR(false, "unknown scan");
  return in;
}

at::Tensor startingFrom(ScanType type, const at::Tensor& init, const at::Tensor& result) {
  switch (type) {
    case ScanType::Sum:
      return at::add(result, init);
    case ScanType::Prod:
      return at::mul(result, init);
    case ScanType::Min:
      return at::minimum(result, init);
    case ScanType::Max:
      return at::maximum(result, init);
  }
  NVF_ERROR(false, "unknown scan");
  return result;
}

void evaluateScan(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& in = call.tensor("in");
  if (call.isMeta()) {
    outputs[0] = emptyMeta(in.sizes(), in.scalar_type());
    return;
  }
  const auto type = static_cast<ScanType>(expr.attribute<int64_t>("op"));
  outputs[0] = call.run([&] {
    // ATen has no sums and products of Bool in Bool: they are counted and cast back.
    const bool is_bool = in.scalar_type() == at::kBool;
    const at::Tensor work = is_bool ? in.to(at::kLong) : in;
    at::Tensor result = scanned(type, work, expr.attribute<int64_t>("dim"));
    if (call.has("init")) {
      const ScalarValue init = castScalar(call.scalar("init"), fromAtenType(in.scalar_type()));
      result = startingFrom(type, at::full({}, toAtenScalar(init), result.options()), result);
    }
    return (is_bool ? result.to(at::kBool) : result).contiguous();
  });
}

const RegisterEvaluator kSelect("SelectOp", &evaluateSelect);
const RegisterEvaluator kIndexSelect("IndexSelectOp", &evaluateIndexSelect);
const RegisterEvaluator kGather("GatherOp", &evaluateGather);
const RegisterEvaluator kScatter("ScatterOp", &evaluateScatter);
const RegisterEvaluator kEmbeddingFwd("EmbeddingFwdOp", &evaluateEmbeddingFwd);
const RegisterEvaluator kTopK("TopKOp", &evaluateTopK);
const RegisterEvaluator kArgsort("ArgsortOp", &evaluateArgsort);
const RegisterEvaluator kScan("ScanOp", &evaluateScan);

} // namespace

} // namespace nvfuser
