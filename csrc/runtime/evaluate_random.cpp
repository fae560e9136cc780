// Evaluation of random nodes.
#include <ir/random_nodes.h>
#include <runtime/node_call.h>
#include <runtime/random_draw.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>

namespace nvfuser {

namespace {

// While a CUDA graph is captured, seed and offset of the generator cannot be read. The node then
// draws its key with an ATen op, which torch registers with the graph: every replay draws a new key
// and moves the generator on by 4, as a run without a graph does; the numbers of the two forms
// differ.
at::Tensor keyDrawnByAten(at::Device device) {
  return at::empty({}, at::TensorOptions().dtype(at::kLong).device(device)).random_();
}

RandomSpec specOf(const Expr& expr, const ScalarValue& a, const ScalarValue& b) {
  return {
      static_cast<RngType>(expr.attribute<int64_t>("op")),
      toDouble(a),
      toDouble(b),
      toAtenType(expr.outputs()[0]->dtype())};
}

// Seed and offset for a node that was given none.
std::pair<uint64_t, uint64_t> philoxStateOf(const Expr& expr, EvalContext& context) {
  const int64_t rng_id = expr.attribute<int64_t>("rng_id");
  if (!context.philox.has_value()) {
    // One state for all random nodes of the run; a node that nobody counted still has its slot.
    context.philox = nextPhiloxState(context.device, std::max(context.random_nodes, rng_id + 1));
  }
  const auto [seed, offset] = *context.philox;
  return {seed, offset / 4 + static_cast<uint64_t>(rng_id)};
}

void evaluateRng(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext& context) {
  const NodeCall call(expr, operands);
  const std::vector<int64_t> sizes = call.sizes("shape");
  const RandomSpec spec = specOf(expr, call.scalar("a"), call.scalar("b"));
  if (context.device.is_meta()) {
    outputs[0] = at::empty(sizes, at::TensorOptions().dtype(spec.dtype).device(at::kMeta));
    return;
  }
  outputs[0] = call.run([&] {
    const bool is_captured = !call.has("rng_seed") && !context.philox.has_value() &&
        isCapturingGenerator(context.device);
    if (is_captured) {
      return philoxTensor(spec, sizes, context.device, keyDrawnByAten(context.device), 0);
    }
    const auto given = [&](std::string_view name) {
      return call.has(name) ? call.scalar(name) : ScalarValue();
    };
    const RandomDraw draw = randomDraw(
        expr, call.scalar("a"), call.scalar("b"), given("rng_seed"), given("rng_offset"), context);
    return philoxTensor(draw.spec, sizes, context.device, draw.seed, draw.offset);
  });
}

const RegisterEvaluator kRng("RngOp", &evaluateRng);

} // namespace

RandomDraw randomDraw(
    const Expr& expr,
    const ScalarValue& a,
    const ScalarValue& b,
    const ScalarValue& seed,
    const ScalarValue& offset,
    EvalContext& context) {
  const RandomSpec spec = specOf(expr, a, b);
  if (hasValue(seed)) {
    return {spec, static_cast<uint64_t>(toInt(seed)), static_cast<uint64_t>(toInt(offset))};
  }
  const auto [from_seed, from_offset] = philoxStateOf(expr, context);
  return {spec, from_seed, from_offset};
}

std::array<int64_t, 5> kernelWords(const RandomDraw& draw) {
  const RandomScale scale(draw.spec);
  return {
      std::bit_cast<int64_t>(draw.seed),
      std::bit_cast<int64_t>(draw.offset),
      std::bit_cast<int64_t>(scale.start),
      std::bit_cast<int64_t>(scale.factor),
      std::bit_cast<int64_t>(scale.cap)};
}

} // namespace nvfuser
