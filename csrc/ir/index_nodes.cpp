#include <ir/builder.h>
#include <ir/domain_mapper.h>
#include <ir/index_nodes.h>
#include <ir/python_call.h>

#include <array>

namespace nvfuser {

namespace {

// Maps every dimension but `skipped` position by position.
void sameExcept(
    DomainMapper& mapper,
    const Val* in,
    const Val* out,
    int64_t rank,
    int64_t skipped) {
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim != skipped) {
      mapper.same(in, dim, out, dim);
    }
  }
}

int64_t rankOf(const Val* tv) {
  return tv->as<TensorView>()->nDims();
}

} // namespace

NVF_DEFINE_NEW_LIKE(SelectOp)
SelectOp::SelectOp(IrBuilderPasskey key, TensorView* out, TensorView* in, Val* index, int64_t dim)
    : Expr(key, {{{"in", in}, {"index", index}}, {out}, {{"dim", dim}}}) {}
void SelectOp::mapDomains(DomainMapper& mapper) const {
  for (int64_t d = 0; d < rankOf(operand("in")); ++d) {
    if (d != dim()) {
      mapper.same(operand("in"), d, output(0), d < dim() ? d : d - 1);
    }
  }
}
PythonCall SelectOp::pythonCall() const {
  // fd.ops.select takes a Val, not a Python int.
  const Val* index = operand("index");
  PythonArg index_arg = py::arg(index);
  if (index->isConstInt()) {
    index_arg =
        py::arg("fd.define_scalar(" + std::to_string(index->constInt()) + ", dtype=DataType.Int)");
  }
  return {"select", {py::arg(operand("in")), index_arg, py::kw("dim", std::to_string(dim()))}};
}

NVF_DEFINE_NEW_LIKE(IndexSelectOp)
IndexSelectOp::IndexSelectOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    TensorView* index,
    int64_t dim)
    : Expr(key, {{{"in", in}, {"index", index}}, {out}, {{"dim", dim}}}) {}
void IndexSelectOp::mapDomains(DomainMapper& mapper) const {
  sameExcept(mapper, operand("in"), output(0), rankOf(operand("in")), dim());
  if (rankOf(operand("index")) == 1) {
    mapper.same(operand("index"), 0, output(0), dim());
  }
}
PythonCall IndexSelectOp::pythonCall() const {
  return {
      "index_select",
      {py::arg(operand("in")), py::arg(operand("index")), py::kw("dim", std::to_string(dim()))}};
}

NVF_DEFINE_NEW_LIKE(GatherOp)
GatherOp::GatherOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    TensorView* index,
    int64_t dim,
    bool exact_sizes)
    : Expr(
          key,
          {{{"in", in}, {"index", index}}, {out}, {{"dim", dim}, {"exact_sizes", exact_sizes}}}) {}
void GatherOp::mapDomains(DomainMapper& mapper) const {
  const int64_t rank = rankOf(operand("index"));
  if (exactSizes()) {
    sameExcept(mapper, operand("in"), output(0), rank, dim());
  }
  sameExcept(mapper, operand("index"), output(0), rank, -1);
}
PythonCall GatherOp::pythonCall() const {
  return {
      exactSizes() ? "take_along_axis" : "gather",
      {py::arg(operand("in")), py::arg(operand("index")), py::kw("dim", std::to_string(dim()))}};
}

NVF_DEFINE_NEW_LIKE(ScatterOp)
ScatterOp::ScatterOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    TensorView* index,
    Val* src,
    int64_t dim)
    : Expr(key, {{{"in", in}, {"index", index}, {"src", src}}, {out}, {{"dim", dim}}}) {}
void ScatterOp::mapDomains(DomainMapper& mapper) const {
  sameExcept(mapper, operand("in"), output(0), rankOf(operand("in")), -1);
}
PythonCall ScatterOp::pythonCall() const {
  return {
      "scatter",
      {py::arg(operand("in")),
       py::arg(operand("index")),
       py::arg(operand("src")),
       py::kw("dim", std::to_string(dim()))}};
}

NVF_DEFINE_NEW_LIKE(EmbeddingFwdOp)
EmbeddingFwdOp::EmbeddingFwdOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    TensorView* weight,
    Val* padding_idx,
    Val* max_norm,
    Val* norm_type,
    Val* scale_grad_by_freq,
    Val* sparse)
    : Expr(
          key,
          {{{"in", in},
            {"weight", weight},
            {"padding_idx", padding_idx},
            {"max_norm", max_norm},
            {"norm_type", norm_type},
            {"scale_grad_by_freq", scale_grad_by_freq},
            {"sparse", sparse}},
           {out},
           {}}) {}
void EmbeddingFwdOp::mapDomains(DomainMapper& mapper) const {
  const int64_t rank = rankOf(operand("in"));
  sameExcept(mapper, operand("in"), output(0), rank, -1);
  mapper.same(operand("weight"), 1, output(0), rank);
}
PythonCall EmbeddingFwdOp::pythonCall() const {
  PythonCall call{"embedding_fwd", {py::arg(operand("in")), py::arg(operand("weight"))}};
  for (const Operand& operand : operands()) {
    if (operand.name != "in" && operand.name != "weight" && operand.val != nullptr) {
      call.args.push_back(py::kw(operand.name, operand.val));
    }
  }
  return call;
}

NVF_DEFINE_NEW_LIKE(TopKOp)
TopKOp::TopKOp(
    IrBuilderPasskey key,
    TensorView* out_values,
    TensorView* out_indices,
    TensorView* in,
    Val* k,
    int64_t dim,
    bool largest,
    bool sorted)
    : Expr(
          key,
          {{{"in", in}, {"k", k}},
           {out_values, out_indices},
           {{"dim", dim}, {"largest", largest}, {"sorted", sorted}}}) {}
void TopKOp::mapDomains(DomainMapper& mapper) const {
  for (const Val* out : outputs()) {
    sameExcept(mapper, operand("in"), out, rankOf(operand("in")), dim());
  }
}
PythonCall TopKOp::pythonCall() const {
  PythonCall call{"topk", {py::arg(operand("in")), py::arg(operand("k"))}};
  call.args.push_back(py::kw("dim", std::to_string(dim())));
  if (!attribute<bool>("largest")) {
    call.args.push_back(py::kw("largest", py::boolText(false)));
  }
  if (attribute<bool>("sorted")) {
    call.args.push_back(py::kw("sorted", py::boolText(true)));
  }
  return call;
}

NVF_DEFINE_NEW_LIKE(ArgsortOp)
ArgsortOp::ArgsortOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    int64_t dim,
    bool descending,
    bool stable)
    : Expr(
          key,
          {{{"in", in}}, {out}, {{"dim", dim}, {"descending", descending}, {"stable", stable}}}) {}
PythonCall ArgsortOp::pythonCall() const {
  PythonCall call{
      "argsort",
      {py::arg(operand("in")), py::kw("dim", std::to_string(attribute<int64_t>("dim")))}};
  for (std::string_view flag : {"descending", "stable"}) {
    if (attribute<bool>(flag)) {
      call.args.push_back(py::kw(flag, py::boolText(true)));
    }
  }
  return call;
}

NVF_DEFINE_NEW_LIKE(ScanOp)
ScanOp::ScanOp(
    IrBuilderPasskey key,
    ScanType type,
    TensorView* out,
    TensorView* in,
    Val* init,
    int64_t dim)
    : Expr(
          key,
          {{{"in", in}, {"init", init}},
           {out},
           {{"op", static_cast<int64_t>(type)}, {"dim", dim}}}) {}
PythonCall ScanOp::pythonCall() const {
  constexpr std::array kNames = {"cumsum", "cumprod", "cummin", "cummax"};
  PythonCall call{
      kNames[static_cast<size_t>(type())],
      {py::arg(operand("in")), py::kw("dim", std::to_string(dim()))}};
  if (operand("init") != nullptr) {
    call.args.push_back(py::kw("init", operand("init")));
  }
  return call;
}

} // namespace nvfuser
