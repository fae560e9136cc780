// Evaluation of matrix products.
#include <ir/matmul_nodes.h>
#include <runtime/attention/cuda_query.h>
#include <runtime/node_call.h>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

namespace nvfuser {

namespace {

bool isBroadcastDim(const Val* tv, int64_t dim) {
  const auto domain = noReductions(tv->as<TensorView>()->getLogicalDomain());
  return domain[dim]->isBroadcast();
}

// Batch dims stretch only where the IR knows the size to be 1.
void checkBatchSizes(const NodeCall& call, const Expr& expr) {
  const at::Tensor& a = call.tensor("a");
  const at::Tensor& b = call.tensor("b");
  for (int64_t i = 3; i <= std::min(a.dim(), b.dim()); ++i) {
    NVF_CHECK(
        a.size(-i) == b.size(-i) || isBroadcastDim(expr.operand("a"), a.dim() - i) ||
            isBroadcastDim(expr.operand("b"), b.dim() - i),
        "matmul: batch sizes differ in dim ",
        -i,
        ": ",
        call.shapes());
  }
}

void evaluateMatmul(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& a = call.tensor("a");
  const at::Tensor& b = call.tensor("b");
  NVF_CHECK(
      a.size(-1) == b.size(b.dim() == 1 ? 0 : -2),
      "matmul: the sizes to contract differ: ",
      call.shapes());
  checkBatchSizes(call, expr);
  outputs[0] = call.run([&] { return at::matmul(a, b).contiguous(); });
}

void evaluateLinear(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& in = call.tensor("in");
  at::Tensor weight = call.tensor("weight");
  std::optional<at::Tensor> bias = call.maybeTensor("bias");
  NVF_CHECK(
      in.size(-1) == weight.size(-1),
      "linear: the numbers of input features differ: ",
      call.shapes());
  NVF_CHECK(
      !bias.has_value() || bias->size(-1) == weight.size(-2),
      "linear: the numbers of output features differ: ",
      call.shapes());
  outputs[0] = call.run([&] {
    // Leading dims of the weight are device dims, of size 1 here.
    while (weight.dim() > 2) {
      weight = weight.squeeze(0);
      bias = bias.has_value() ? std::optional(bias->squeeze(0)) : std::nullopt;
    }
    return at::linear(in, weight, bias).contiguous();
  });
}

// --- scaled and grouped products ---

enum class Grouping { K, Columns, Rows };

struct GroupedShape {
  Grouping grouping;
  std::vector<int64_t> out;
  int64_t grouped_size; ///< of the dimension that the offsets divide
};

GroupedShape groupedShape(const NodeCall& call) {
  const at::Tensor& a = call.tensor("mat1");
  const at::Tensor& b = call.tensor("mat2");
  const int64_t groups = call.tensor("offsets").numel();
  NVF_CHECK(
      (a.dim() == 2 || a.size(0) == groups) && (b.dim() == 2 || b.size(0) == groups),
      "grouped_mm: one offset per group is needed: ",
      call.shapes());
  const int64_t m = a.size(-2);
  const int64_t n = b.size(-1);
  if (a.dim() == 2 && b.dim() == 2) {
    return {Grouping::K, {groups, m, n}, a.size(1)};
  }
  return a.dim() == 3 ? GroupedShape{Grouping::Columns, {m, n}, n}
                      : GroupedShape{Grouping::Rows, {m, n}, m};
}

// Begin and end of each group, from the cumulative ends.
std::vector<std::pair<int64_t, int64_t>> groupSpans(const NodeCall& call, int64_t size) {
  const at::Tensor ends =
      call.tensor("offsets").to(at::TensorOptions().device(at::kCPU).dtype(at::kLong)).contiguous();
  std::vector<std::pair<int64_t, int64_t>> spans;
  int64_t begin = 0;
  for (int64_t g = 0; g < ends.numel(); ++g) {
    const int64_t end = ends.const_data_ptr<int64_t>()[g];
    NVF_CHECK(
        begin <= end && end <= size,
        "grouped_mm: offsets must be cumulative ends within ",
        size,
        ", but group ",
        g,
        " spans ",
        begin,
        " to ",
        end,
        ": ",
        call.shapes());
    spans.emplace_back(begin, end);
    begin = end;
  }
  return spans;
}

// out[group] = mm(a's part, b's part), group by group. What no group covers is zero.
template <typename Prepare1, typename Prepare2>
at::Tensor groupByGroup(
    const NodeCall& call,
    const GroupedShape& shape,
    at::ScalarType dtype,
    const Prepare1& part1,
    const Prepare2& part2) {
  const at::Tensor& a = call.tensor("mat1");
  at::Tensor out = at::zeros(shape.out, a.options().dtype(dtype));
  const auto spans = groupSpans(call, shape.grouped_size);
  for (size_t i = 0; i < spans.size(); ++i) {
    const auto [begin, end] = spans[i];
    if (begin == end) {
      continue;
    }
    const auto g = static_cast<int64_t>(i);
    at::Tensor target;
    switch (shape.grouping) {
      case Grouping::K:
        target = out.select(0, g);
        break;
      case Grouping::Columns:
        target = out.slice(1, begin, end);
        break;
      case Grouping::Rows:
        target = out.slice(0, begin, end);
        break;
    }
    target.copy_(at::mm(part1(g, begin, end), part2(g, begin, end)));
  }
  return out;
}

// Part g of mat1 (or of its scale, which has size 1 where k would be).
at::Tensor partOfFirst(
    const at::Tensor& t,
    Grouping grouping,
    int64_t g,
    int64_t begin,
    int64_t end) {
  switch (grouping) {
    case Grouping::K:
      return t.dim() == 3 ? t.select(0, g) : t.slice(1, begin, end);
    case Grouping::Columns:
      return t.select(0, g);
    case Grouping::Rows:
      return t.slice(0, begin, end);
  }
  return t;
}

at::Tensor partOfSecond(
    const at::Tensor& t,
    Grouping grouping,
    int64_t g,
    int64_t begin,
    int64_t end) {
  switch (grouping) {
    case Grouping::K:
      return t.dim() == 3 ? t.select(0, g) : t.slice(0, begin, end);
    case Grouping::Columns:
      return t.slice(1, begin, end);
    case Grouping::Rows:
      return t.select(0, g);
  }
  return t;
}

// Whether torch's fused kernel may be given these groups. It checks them on the device, by an
// assertion that ends the process' use of CUDA: offsets must be cumulative, and groups of columns
// or of k must start on 16-byte boundaries. While a stream is captured the offsets cannot be read,
// and groups of rows are taken on trust.
bool suitsFusedKernel(const NodeCall& call, const GroupedShape& shape) {
  const at::Tensor& a = call.tensor("mat1");
  const bool rows = shape.grouping == Grouping::Rows;
  if (rows && a.stride(1) != 1) {
    return false;
  }
  if (isStreamCapturing(a.device())) {
    return rows;
  }
  const int64_t step = 16 / a.element_size();
  const auto spans = groupSpans(call, shape.grouped_size);
  return rows || std::all_of(spans.begin(), spans.end(), [&](const auto& span) {
           return span.first % step == 0 && span.second % step == 0;
         });
}

// torch's fused kernel, where this torch has it and it takes the operands: bf16 on CUDA. It is
// called through the dispatcher because torch before 2.8 lacks it.
std::optional<at::Tensor> fusedGroupedMm(const NodeCall& call, const GroupedShape& shape) {
  const at::Tensor& a = call.tensor("mat1");
  const at::Tensor& b = call.tensor("mat2");
  if (!a.is_cuda() || a.scalar_type() != at::kBFloat16 || a.numel() == 0 || b.numel() == 0) {
    return std::nullopt;
  }
  const auto schema = c10::Dispatcher::singleton().findSchema({"aten::_grouped_mm", ""});
  if (!schema.has_value() || !suitsFusedKernel(call, shape)) {
    return std::nullopt;
  }
  using Signature = at::Tensor(
      const at::Tensor&,
      const at::Tensor&,
      const std::optional<at::Tensor>&,
      const std::optional<at::Tensor>&,
      std::optional<at::ScalarType>);
  try {
    return schema->typed<Signature>().call(
        a, b, call.tensor("offsets"), std::nullopt, std::nullopt);
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error&) {
    return std::nullopt; // an architecture or alignment that it does not take
  }
}

// A number, or one number per group that lines up with the output.
at::Tensor perGroupFactor(
    const NodeCall& call,
    std::string_view name,
    const std::optional<GroupedShape>& shape,
    at::ScalarType dtype) {
  const at::Tensor factor = call.tensor(name).to(dtype);
  if (factor.numel() == 1) {
    return factor.reshape({});
  }
  NVF_CHECK(
      shape.has_value() && factor.dim() == 1 && factor.numel() == call.tensor("offsets").numel(),
      call.opName(),
      ": ",
      name,
      " must hold one number (or one per group): ",
      call.shapes());
  if (shape->grouping == Grouping::K) {
    return factor.reshape({-1, 1, 1});
  }
  std::vector<at::Tensor> parts;
  int64_t covered = 0;
  for (const auto& [begin, end] : groupSpans(call, shape->grouped_size)) {
    const auto g = static_cast<int64_t>(parts.size());
    parts.push_back(factor.narrow(0, g, 1).expand({end - begin}));
    covered = end;
  }
  parts.push_back(at::ones({shape->grouped_size - covered}, factor.options()));
  const at::Tensor line = at::cat(parts);
  return shape->grouping == Grouping::Rows ? line.reshape({-1, 1}) : line;
}

void checkScaleOf(const NodeCall& call, std::string_view name, int64_t k_dim) {
  const at::Tensor& scale = call.tensor(name);
  // Scales of blocks of k lie in a tiled order that only the kernels for them know.
  NVF_CHECK(
      scale.numel() == 1 || (scale.dim() >= 2 && scale.size(k_dim) == 1),
      call.opName(),
      ": ",
      name,
      " must have size 1 in the contracted dimension (one scale per row or column): ",
      call.shapes());
}

at::Tensor scaledProduct(const NodeCall& call, const std::optional<GroupedShape>& shape) {
  const at::Tensor& a = call.tensor("mat1");
  const at::Tensor& b = call.tensor("mat2");
  const at::ScalarType work = a.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor scale1 = call.tensor("scale1").to(work);
  const at::Tensor scale2 = call.tensor("scale2").to(work);
  checkScaleOf(call, "scale1", -1);
  checkScaleOf(call, "scale2", -2);
  at::Tensor out;
  if (!shape.has_value()) {
    out = at::mm(a.to(work).mul(scale1), b.to(work).mul(scale2));
  } else {
    // The dequantised part of a group; a single scale serves all groups.
    const auto dequantise =
        [&](const auto& partOf, const at::Tensor& mat, const at::Tensor& scale) {
          return [&, partOf](int64_t g, int64_t begin, int64_t end) {
            const at::Tensor part = partOf(mat, shape->grouping, g, begin, end).to(work);
            return scale.numel() == 1 ? part.mul(scale.reshape({}))
                                      : part.mul(partOf(scale, shape->grouping, g, begin, end));
          };
        };
    out = groupByGroup(
        call,
        *shape,
        work,
        dequantise(&partOfFirst, a, scale1),
        dequantise(&partOfSecond, b, scale2));
  }
  if (call.has("alpha")) {
    out = out.mul(perGroupFactor(call, "alpha", shape, work));
  }
  if (call.has("bias")) {
    at::Tensor bias = call.tensor("bias").to(work);
    if (call.has("beta")) {
      bias = bias.mul(perGroupFactor(call, "beta", shape, work));
    }
    out = out.add(bias.expand_as(out));
  }
  return out;
}

void evaluateScaledMma(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext&) {
  const NodeCall call(expr, operands);
  const at::Tensor& a = call.tensor("mat1");
  const at::Tensor& b = call.tensor("mat2");
  NVF_CHECK(
      a.size(-1) == b.size(-2), call.opName(), ": the sizes to contract differ: ", call.shapes());
  std::optional<GroupedShape> shape;
  if (call.has("offsets")) {
    shape = groupedShape(call);
  }
  const at::ScalarType dtype = toAtenType(expr.outputs()[0]->dtype());
  if (call.isMeta()) {
    outputs[0] = at::empty(
        shape.has_value() ? shape->out : std::vector<int64_t>{a.size(0), b.size(1)},
        at::TensorOptions().dtype(dtype).device(at::kMeta));
    return;
  }
  outputs[0] = call.run([&]() -> at::Tensor {
    if (call.has("scale1")) {
      return scaledProduct(call, shape).to(dtype).contiguous();
    }
    if (!shape.has_value()) {
      return at::mm(a, b).contiguous();
    }
    if (auto fused = fusedGroupedMm(call, *shape)) {
      return fused->contiguous();
    }
    const auto plain = [&](const auto& partOf, const at::Tensor& mat) {
      return [&, partOf](int64_t g, int64_t begin, int64_t end) {
        return partOf(mat, shape->grouping, g, begin, end);
      };
    };
    return groupByGroup(call, *shape, dtype, plain(&partOfFirst, a), plain(&partOfSecond, b));
  });
}

const RegisterEvaluator kMatmul("MatmulOp", &evaluateMatmul);
const RegisterEvaluator kLinear("LinearOp", &evaluateLinear);
const RegisterEvaluator kScaledMma("ScaledMmaOp", &evaluateScaledMma);

} // namespace

} // namespace nvfuser
