// Random numbers from Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011).
#pragma once

#include <ir/tensor_view.h>

namespace nvfuser {

enum class RngType { Uniform, Normal };

/// A tensor of random numbers: uniform in [a, b), or normal with mean a and deviation b. With seed
/// and offset the numbers are a function of these; without, the node takes the next slot of the
/// device's generator in the order of the fusion's random nodes (attribute "rng_id").
class RngOp : public Expr {
 public:
  NVF_EXPR_COMMON(RngOp)
  RngOp(
      IrBuilderPasskey,
      RngType type,
      TensorView* out,
      const std::vector<Val*>& shape,
      Val* a,
      Val* b,
      Val* seed,
      Val* offset,
      int64_t rng_id);
  RngType type() const {
    return static_cast<RngType>(attribute<int64_t>("op"));
  }
  bool isDeterministic() const {
    return operand("rng_seed") != nullptr;
  }
  NodeTraits traits() const override {
    return {.random = !isDeterministic(), .pure = isDeterministic(), .factory = true};
  }
  PythonCall pythonCall() const override;
};

} // namespace nvfuser
