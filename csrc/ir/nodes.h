// The basic nodes: pointwise, copies, reductions, shape changes and factories.
#pragma once

#include <ir/pointwise_table.h>
#include <ir/tensor_view.h>

namespace nvfuser {

class UnaryOp : public Expr {
 public:
  NVF_EXPR_COMMON(UnaryOp)
  UnaryOp(IrBuilderPasskey, UnaryOpType type, Val* out, Val* in);
  UnaryOpType type() const {
    return static_cast<UnaryOpType>(attribute<int64_t>("op"));
  }
  NodeTraits traits() const override {
    return {.pointwise = true, .outputs_share_domain = true};
  }
  ScalarValue foldScalars(const std::vector<ScalarValue>& operands) const override;
  PythonCall pythonCall() const override;

 protected:
  std::string rhsText(const std::vector<std::string>& operands) const override;
};

class BinaryOp : public Expr {
 public:
  NVF_EXPR_COMMON(BinaryOp)
  BinaryOp(IrBuilderPasskey, BinaryOpType type, Val* out, Val* lhs, Val* rhs);
  BinaryOpType type() const {
    return static_cast<BinaryOpType>(attribute<int64_t>("op"));
  }
  NodeTraits traits() const override {
    return {.pointwise = true, .outputs_share_domain = true};
  }
  ScalarValue foldScalars(const std::vector<ScalarValue>& operands) const override;
  PythonCall pythonCall() const override;

 protected:
  std::string rhsText(const std::vector<std::string>& operands) const override;
};

/// where(condition, a, b); lerp(start, end, weight); threshold(x, limit, value); clamp(x, min,
/// max), whose bounds may be absent.
class TernaryOp : public Expr {
 public:
  NVF_EXPR_COMMON(TernaryOp)
  TernaryOp(IrBuilderPasskey, TernaryOpType type, Val* out, Val* a, Val* b, Val* c);
  TernaryOpType type() const {
    return static_cast<TernaryOpType>(attribute<int64_t>("op"));
  }
  NodeTraits traits() const override {
    return {.pointwise = true, .outputs_share_domain = true};
  }
  ScalarValue foldScalars(const std::vector<ScalarValue>& operands) const override;
  PythonCall pythonCall() const override;
};

/// A copy. A permutation when the output has a root domain in the operand's order; a change of
/// memory order when the output has an allocation domain.
class LoadStoreOp : public Expr {
 public:
  NVF_EXPR_COMMON(LoadStoreOp)
  LoadStoreOp(
      IrBuilderPasskey,
      Val* out,
      Val* in,
      LoadStoreOpType type = LoadStoreOpType::Set,
      CacheOp cache_op = CacheOp::Unspecified);
  LoadStoreOpType type() const {
    return static_cast<LoadStoreOpType>(attribute<int64_t>("type"));
  }
  NodeTraits traits() const override;
  ScalarValue foldScalars(const std::vector<ScalarValue>& operands) const override;
  PythonCall pythonCall() const override;

 protected:
  std::string rhsText(const std::vector<std::string>& operands) const override;
};

enum class ReductionType { Sum, Prod, Max, Min };
std::string_view opText(ReductionType type);

/// Reduces the operand over the reduction domains of the output's root domain.
class ReductionOp : public Expr {
 public:
  NVF_EXPR_COMMON(ReductionOp)
  ReductionOp(IrBuilderPasskey, ReductionType type, TensorView* out, TensorView* in);
  ReductionType type() const {
    return static_cast<ReductionType>(attribute<int64_t>("op"));
  }
  NodeTraits traits() const override {
    return {.outputs_share_domain = true, .reduction = true};
  }
  PythonCall pythonCall() const override;

 protected:
  std::string rhsText(const std::vector<std::string>& operands) const override;
};

/// Mean, sum of squared deviations from it, and count, in one pass (Welford 1962).
class WelfordOp : public Expr {
 public:
  NVF_EXPR_COMMON(WelfordOp)
  WelfordOp(
      IrBuilderPasskey,
      TensorView* out_avg,
      TensorView* out_var_sum,
      TensorView* out_n,
      TensorView* in);
  NodeTraits traits() const override {
    return {.outputs_share_domain = true, .reduction = true};
  }
  PythonCall pythonCall() const override;
};

/// Inserts broadcast dimensions of size 1 where the flag is true.
class BroadcastOp : public Expr {
 public:
  NVF_EXPR_COMMON(BroadcastOp)
  BroadcastOp(
      IrBuilderPasskey,
      TensorView* out,
      TensorView* in,
      std::vector<bool> is_broadcast_dim);
  const std::vector<bool>& isBroadcastDim() const {
    return attribute<std::vector<bool>>("is_broadcast_dim");
  }
  NodeTraits traits() const override {
    return {.view = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// Removes dimensions of size 1 where the flag is true; expanded ones only with squeeze_expanded.
class SqueezeOp : public Expr {
 public:
  NVF_EXPR_COMMON(SqueezeOp)
  SqueezeOp(
      IrBuilderPasskey,
      TensorView* out,
      TensorView* in,
      std::vector<bool> is_squeeze_dim,
      bool squeeze_expanded = false);
  const std::vector<bool>& isSqueezeDim() const {
    return attribute<std::vector<bool>>("is_squeeze_dim");
  }
  NodeTraits traits() const override {
    return {.view = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// Sees broadcast dimensions as longer ones (operands "shape", one per dim).
class ExpandOp : public Expr {
 public:
  NVF_EXPR_COMMON(ExpandOp)
  ExpandOp(IrBuilderPasskey, TensorView* out, TensorView* in, const std::vector<Val*>& shape);
  NodeTraits traits() const override {
    return {.outputs_share_domain = true, .view = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// The same elements in row-major order under another shape (operands "shape", one per dim).
class ReshapeOp : public Expr {
 public:
  NVF_EXPR_COMMON(ReshapeOp)
  ReshapeOp(IrBuilderPasskey, TensorView* out, TensorView* in, const std::vector<Val*>& shape);
  NodeTraits traits() const override {
    return {.outputs_share_domain = true, .view = true, .row_major_view = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// Elements start .. stop of every dimension.
class SliceOp : public Expr {
 public:
  NVF_EXPR_COMMON(SliceOp)
  SliceOp(
      IrBuilderPasskey,
      TensorView* out,
      TensorView* in,
      const std::vector<Val*>& starts,
      const std::vector<Val*>& stops);
  NodeTraits traits() const override {
    return {.outputs_share_domain = true, .view = true, .resize = true};
  }
  PythonCall pythonCall() const override;
};

/// Adds `value` before and after (operands "width": left, right of dim 0, of dim 1, ...).
class PadOp : public Expr {
 public:
  NVF_EXPR_COMMON(PadOp)
  PadOp(
      IrBuilderPasskey,
      TensorView* out,
      TensorView* in,
      const std::vector<Val*>& widths,
      Val* value);
  NodeTraits traits() const override {
    return {.outputs_share_domain = true, .resize = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// Joins tensors along `dim`.
class CatOp : public Expr {
 public:
  NVF_EXPR_COMMON(CatOp)
  CatOp(IrBuilderPasskey, TensorView* out, const std::vector<Val*>& inputs, int64_t dim);
  int64_t dim() const {
    return attribute<int64_t>("dim");
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

class FullOp : public Expr {
 public:
  NVF_EXPR_COMMON(FullOp)
  FullOp(IrBuilderPasskey, TensorView* out, const std::vector<Val*>& shape, Val* fill_value);
  NodeTraits traits() const override {
    return {.factory = true};
  }
  PythonCall pythonCall() const override;
};

class IotaOp : public Expr {
 public:
  NVF_EXPR_COMMON(IotaOp)
  IotaOp(IrBuilderPasskey, TensorView* out, Val* length, Val* start, Val* step);
  NodeTraits traits() const override {
    return {.factory = true};
  }
  PythonCall pythonCall() const override;
};

/// The operands of a repeated slot ("shape", "start", ...), in order.
std::vector<Val*> operandList(const Expr* expr, std::string_view name);
/// Positions of the reduction domains in the output's root domain.
std::vector<int64_t> reductionAxes(const TensorView* out);
/// new2old of a permuting copy; empty when the copy keeps the order.
std::vector<int64_t> permutationOf(const TensorView* out);

} // namespace nvfuser
