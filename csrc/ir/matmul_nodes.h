// Matrix products.
#pragma once

#include <ir/tensor_view.h>

namespace nvfuser {

/// torch.matmul of two tensors.
class MatmulOp : public Expr {
 public:
  NVF_EXPR_COMMON(MatmulOp)
  MatmulOp(IrBuilderPasskey, TensorView* out, TensorView* a, TensorView* b);
  NodeTraits traits() const override {
    return {.opens_segment = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// in [..., k] times weight [n, k] transposed, plus bias [n] where there is one.
class LinearOp : public Expr {
 public:
  NVF_EXPR_COMMON(LinearOp)
  LinearOp(IrBuilderPasskey, TensorView* out, TensorView* in, TensorView* weight, TensorView* bias);
  NodeTraits traits() const override {
    return {.opens_segment = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// (mat1 * scale1) @ (mat2 * scale2) * alpha + bias * beta, with groups of rows, columns or k given
/// by the cumulative ends `offsets` where there are any.
class ScaledMmaOp : public Expr {
 public:
  NVF_EXPR_COMMON(ScaledMmaOp)
  struct Operands {
    TensorView* mat1 = nullptr;
    TensorView* mat2 = nullptr;
    TensorView* offsets = nullptr; ///< present: grouped
    TensorView* scale1 = nullptr;
    TensorView* scale2 = nullptr;
    TensorView* alpha = nullptr;
    TensorView* bias = nullptr;
    TensorView* beta = nullptr;
  };
  ScaledMmaOp(IrBuilderPasskey, TensorView* out, const Operands& operands);
  bool isGrouped() const {
    return operand("offsets") != nullptr;
  }
  NodeTraits traits() const override {
    return {.opens_segment = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

} // namespace nvfuser
