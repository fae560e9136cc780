// Scaled dot-product attention, forward and backward, as nodes of the IR.
//
// Letters: N batch (any number of leading dims), H query heads, Hk key/value heads (H a multiple of
// Hk), L query length, S key length, E query/key head size, Ev value head size.
//
//   scores    = query [N,H,L,E] @ key [N,Hk,S,E]^T * scale + bias + (mask ? 0 : -inf)
//   attn_out  = dropout(softmax(scores)) @ value [N,Hk,S,Ev]                      [N,H,L,Ev]
//   logsumexp = log(sum over keys of exp(scores)), float32                        [N,H,L]
//
// A causal node keeps key j for query i when j <= i (TopLeft, torch's scaled_dot_product_attention)
// or when j <= i + S - L (BottomRight, flash attention). Rows without a key give output 0 and
// gradient 0. philox_seed and philox_offset hold the state that reproduces the dropout mask; their
// shape, dtype and device follow the torch in use (see runtime/rng_state.h) and nothing maps to
// them.
#pragma once

#include <ir/tensor_view.h>

namespace nvfuser {

class SdpaFwdOp : public Expr {
 public:
  NVF_EXPR_COMMON(SdpaFwdOp)
  struct Operands {
    TensorView* query = nullptr;
    TensorView* key = nullptr;
    TensorView* value = nullptr;
    TensorView* bias = nullptr; ///< optional, broadcasts to [N,H,L,S]
    TensorView* mask = nullptr; ///< optional, Bool, broadcasts to [N,H,L,S]; true keeps
    Val* dropout_p = nullptr;
    Val* is_causal = nullptr;
    Val* scale = nullptr; ///< optional; absent: 1 / sqrt(E)
  };
  /// The last three outputs are absent together (inference form).
  struct Outputs {
    TensorView* attn_out = nullptr;
    TensorView* logsumexp = nullptr;
    TensorView* philox_seed = nullptr;
    TensorView* philox_offset = nullptr;
  };
  SdpaFwdOp(
      IrBuilderPasskey,
      const Outputs& outputs,
      const Operands& operands,
      CausalAlignment alignment,
      const std::string& backend);

  TensorView* query() const;
  TensorView* key() const;
  TensorView* value() const;
  TensorView* bias() const;
  TensorView* mask() const;
  TensorView* attnOut() const;
  bool isInference() const {
    return outputs().size() == 1;
  }
  CausalAlignment causalAlignment() const {
    return static_cast<CausalAlignment>(attribute<int64_t>("causal_alignment"));
  }
  /// "auto" or the name of a backend of the runtime's registry.
  const std::string& backend() const {
    return attribute<std::string>("backend");
  }
  /// Random unless dropout_p is the constant 0.
  NodeTraits traits() const override;
  void mapDomains(DomainMapper& mapper) const override;
  /// attn_out lies in memory as query does.
  const Val* layoutOperand(size_t output) const override;
  PythonCall pythonCall() const override;
};

class SdpaBwdOp : public Expr {
 public:
  NVF_EXPR_COMMON(SdpaBwdOp)
  struct Operands {
    TensorView* grad_out = nullptr;
    TensorView* query = nullptr;
    TensorView* key = nullptr;
    TensorView* value = nullptr;
    TensorView* attn_out = nullptr;
    TensorView* logsumexp = nullptr;
    Val* dropout_p = nullptr;
    Val* is_causal = nullptr;
    TensorView* philox_seed = nullptr;
    TensorView* philox_offset = nullptr;
    Val* scale = nullptr;
    TensorView* bias = nullptr;
    TensorView* mask = nullptr;
  };
  struct Outputs {
    TensorView* grad_query = nullptr;
    TensorView* grad_key = nullptr;
    TensorView* grad_value = nullptr;
    TensorView* grad_bias = nullptr; ///< optional
  };
  SdpaBwdOp(
      IrBuilderPasskey,
      const Outputs& outputs,
      const Operands& operands,
      CausalAlignment alignment,
      const std::string& backend);

  bool hasBiasGrad() const {
    return outputs().size() == 4;
  }
  CausalAlignment causalAlignment() const {
    return static_cast<CausalAlignment>(attribute<int64_t>("causal_alignment"));
  }
  const std::string& backend() const {
    return attribute<std::string>("backend");
  }
  NodeTraits traits() const override {
    return {.opens_segment = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  /// The gradients of query, key and value lie in memory as these do.
  const Val* layoutOperand(size_t output) const override;
  PythonCall pythonCall() const override;
};

} // namespace nvfuser
