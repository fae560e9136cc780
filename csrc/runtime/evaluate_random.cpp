// Evaluation of random nodes.
#include <ir/random_nodes.h>
#include <runtime/node_call.h>
#include <runtime/philox.h>

#include <ATen/ATen.h>

#include <algorithm>

namespace nvfuser {

namespace {

// While a CUDA graph is captured, seed and offset of the generator cannot be read. The node then
// draws its key with an ATen op, which torch registers with the graph: every replay draws a new key
// and moves the generator on by 4, as a run without a graph does; the numbers of the two forms
// differ.
at::Tensor keyDrawnByAten(at::Device device) {
  return at::empty({}, at::TensorOptions().dtype(at::kLong).device(device)).random_();
}

void evaluateRng(
    const Expr& expr,
    const std::vector<EvalValue>& operands,
    std::vector<EvalValue>& outputs,
    EvalContext& context) {
  const NodeCall call(expr, operands);
  const std::vector<int64_t> sizes = call.sizes("shape");
  const RandomSpec spec{
      static_cast<RngType>(expr.attribute<int64_t>("op")),
      toDouble(call.scalar("a")),
      toDouble(call.scalar("b")),
      toAtenType(expr.outputs()[0]->dtype())};
  if (context.device.is_meta()) {
    outputs[0] = at::empty(sizes, at::TensorOptions().dtype(spec.dtype).device(at::kMeta));
    return;
  }
  outputs[0] = call.run([&] {
    if (call.has("rng_seed")) {
      return philoxTensor(
          spec,
          sizes,
          context.device,
          static_cast<uint64_t>(toInt(call.scalar("rng_seed"))),
          static_cast<uint64_t>(toInt(call.scalar("rng_offset"))));
    }
    const int64_t rng_id = expr.attribute<int64_t>("rng_id");
    if (!context.philox.has_value()) {
      if (isCapturingGenerator(context.device)) {
        return philoxTensor(spec, sizes, context.device, keyDrawnByAten(context.device), 0);
      }
      // One state for all random nodes of the run; a node that nobody counted still has its slot.
      context.philox = nextPhiloxState(context.device, std::max(context.random_nodes, rng_id + 1));
    }
    const auto [seed, offset] = *context.philox;
    return philoxTensor(
        spec, sizes, context.device, seed, offset / 4 + static_cast<uint64_t>(rng_id));
  });
}

const RegisterEvaluator kRng("RngOp", &evaluateRng);

} // namespace

} // namespace nvfuser
