// Nodes that read or write by index, sort, scan, and look rows up.
#pragma once

#include <ir/tensor_view.h>

namespace nvfuser {

/// Element `index` (a scalar) of dimension dim; the dimension goes away.
class SelectOp : public Expr {
 public:
  NVF_EXPR_COMMON(SelectOp)
  SelectOp(IrBuilderPasskey, TensorView* out, TensorView* in, Val* index, int64_t dim);
  int64_t dim() const {
    return attribute<int64_t>("dim");
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// Rows `index` (1-D) of dimension dim.
class IndexSelectOp : public Expr {
 public:
  NVF_EXPR_COMMON(IndexSelectOp)
  IndexSelectOp(IrBuilderPasskey, TensorView* out, TensorView* in, TensorView* index, int64_t dim);
  int64_t dim() const {
    return attribute<int64_t>("dim");
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// out[..., i, ...] = in[..., index[..., i, ...], ...]. With exact_sizes the other dimensions agree
/// (take_along_axis); without, the index may be smaller (gather).
class GatherOp : public Expr {
 public:
  NVF_EXPR_COMMON(GatherOp)
  GatherOp(
      IrBuilderPasskey,
      TensorView* out,
      TensorView* in,
      TensorView* index,
      int64_t dim,
      bool exact_sizes);
  int64_t dim() const {
    return attribute<int64_t>("dim");
  }
  bool exactSizes() const {
    return attribute<bool>("exact_sizes");
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// A copy of `in` in which the places named by `index` hold `src` (a tensor or a scalar).
class ScatterOp : public Expr {
 public:
  NVF_EXPR_COMMON(ScatterOp)
  ScatterOp(
      IrBuilderPasskey,
      TensorView* out,
      TensorView* in,
      TensorView* index,
      Val* src,
      int64_t dim);
  int64_t dim() const {
    return attribute<int64_t>("dim");
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

/// Rows of `weight`; options as in torch.nn.functional.embedding, absent ones at their defaults.
class EmbeddingFwdOp : public Expr {
 public:
  NVF_EXPR_COMMON(EmbeddingFwdOp)
  EmbeddingFwdOp(
      IrBuilderPasskey,
      TensorView* out,
      TensorView* in,
      TensorView* weight,
      Val* padding_idx,
      Val* max_norm,
      Val* norm_type,
      Val* scale_grad_by_freq,
      Val* sparse);
  NodeTraits traits() const override {
    return {.opens_segment = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

class TopKOp : public Expr {
 public:
  NVF_EXPR_COMMON(TopKOp)
  TopKOp(
      IrBuilderPasskey,
      TensorView* out_values,
      TensorView* out_indices,
      TensorView* in,
      Val* k,
      int64_t dim,
      bool largest,
      bool sorted);
  int64_t dim() const {
    return attribute<int64_t>("dim");
  }
  NodeTraits traits() const override {
    return {.opens_segment = true};
  }
  void mapDomains(DomainMapper& mapper) const override;
  PythonCall pythonCall() const override;
};

class ArgsortOp : public Expr {
 public:
  NVF_EXPR_COMMON(ArgsortOp)
  ArgsortOp(
      IrBuilderPasskey,
      TensorView* out,
      TensorView* in,
      int64_t dim,
      bool descending,
      bool stable);
  NodeTraits traits() const override {
    return {.outputs_share_domain = true, .opens_segment = true};
  }
  PythonCall pythonCall() const override;
};

enum class ScanType { Sum, Prod, Min, Max };

/// Inclusive scan along dim, from `init` where it is given.
class ScanOp : public Expr {
 public:
  NVF_EXPR_COMMON(ScanOp)
  ScanOp(IrBuilderPasskey, ScanType type, TensorView* out, TensorView* in, Val* init, int64_t dim);
  ScanType type() const {
    return static_cast<ScanType>(attribute<int64_t>("op"));
  }
  int64_t dim() const {
    return attribute<int64_t>("dim");
  }
  NodeTraits traits() const override {
    return {.outputs_share_domain = true};
  }
  PythonCall pythonCall() const override;
};

} // namespace nvfuser
