// A fusion with an attention node, defined and run from C++, beside the same computation in eager
// ATen.
//
//   out = sigmoid(gate) * attention(query, key, value), causal, with grouped-query heads

#include <ATen/ATen.h>
#include <ir/builder.h>
#include <ir/fusion.h>
#include <ops/pointwise.h>
#include <ops/sdpa.h>
#include <runtime/fusion_executor_cache.h>

#include <cstdlib>
#include <iostream>
#include <memory>

using namespace nvfuser;

namespace {

constexpr int64_t kBatch = 2, kHeads = 4, kKeyHeads = 2, kLength = 10, kHeadSize = 16;

/// A rank-4 input whose sizes are known only at run time.
TensorView* addInput(Fusion* fusion) {
  TensorView* input = TensorViewBuilder()
                          .shape(std::vector<int64_t>{-1, -1, -1, -1})
                          .contiguity(true)
                          .dtype(DataType::Float)
                          .build();
  fusion->addInput(input);
  return input;
}

std::shared_ptr<Fusion> defineGatedAttention() {
  auto fusion = std::make_shared<Fusion>();
  FusionGuard guard(fusion.get());

  SdpaFwdOp::Operands operands;
  operands.query = addInput(fusion.get());
  operands.key = addInput(fusion.get());
  operands.value = addInput(fusion.get());
  operands.is_causal = IrBuilder::constant(true);
  TensorView* gate = addInput(fusion.get());

  TensorView* attention = sdpaFwd(operands, {.inference = true}).attn_out;
  fusion->addOutput(mul(attention, unaryOp(UnaryOpType::Sigmoid, gate)));
  return fusion;
}

at::Tensor eager(
    const at::Tensor& q,
    const at::Tensor& k,
    const at::Tensor& v,
    const at::Tensor& gate) {
  const at::Tensor attention = at::scaled_dot_product_attention(
      q,
      k,
      v,
      std::nullopt,
      /*dropout_p=*/0.0,
      /*is_causal=*/true,
      std::nullopt,
      /*enable_gqa=*/true);
  return attention * gate.sigmoid();
}

} // namespace

int main() {
  std::shared_ptr<Fusion> fusion = defineGatedAttention();
  std::cout << fusion->printMath() << "\n";

  const at::Device device = at::hasCUDA() ? at::kCUDA : at::kCPU;
  const auto options = at::TensorOptions().device(device).dtype(at::kFloat);
  const at::Tensor q = at::randn({kBatch, kHeads, kLength, kHeadSize}, options);
  const at::Tensor k = at::randn({kBatch, kKeyHeads, kLength, kHeadSize}, options);
  const at::Tensor v = at::randn({kBatch, kKeyHeads, kLength, kHeadSize}, options);
  const at::Tensor gate = at::randn({kBatch, kHeads, kLength, kHeadSize}, options);

  FusionExecutorCache cache(fusion);
  const at::Tensor ours = cache.execute({q, k, v, gate}).at(0).tensor();
  const double difference = (ours - eager(q, k, v, gate)).abs().max().item<double>();

  std::cout << "output " << ours.sizes() << " on " << ours.device()
            << ", largest difference from eager " << difference << "\n";
  return difference < 1e-5 ? EXIT_SUCCESS : EXIT_FAILURE;
}
