#include <ir/builder.h>
#include <ir/domain_mapper.h>
#include <ir/matmul_nodes.h>
#include <ir/python_call.h>

#include <algorithm>

namespace nvfuser {

namespace {

int64_t rankOf(const Val* tv) {
  return tv->as<TensorView>()->nDims();
}

// Leading dims of an operand line up with those of the output from the right.
void sameLeading(
    DomainMapper& mapper,
    const Val* in,
    int64_t in_leading,
    const Val* out,
    int64_t out_leading) {
  for (int64_t i = 0; i < std::min(in_leading, out_leading); ++i) {
    mapper.same(in, in_leading - 1 - i, out, out_leading - 1 - i);
  }
}

} // namespace

NVF_DEFINE_NEW_LIKE(MatmulOp)
MatmulOp::MatmulOp(IrBuilderPasskey key, TensorView* out, TensorView* a, TensorView* b)
    : Expr(key, {{{"a", a}, {"b", b}}, {out}, {}}) {}
void MatmulOp::mapDomains(DomainMapper& mapper) const {
  const Val* a = operand("a");
  const Val* b = operand("b");
  const Val* out = output(0);
  const int64_t ra = rankOf(a);
  const int64_t rb = rankOf(b);
  const int64_t matrix_dims = (ra > 1 ? 1 : 0) + (rb > 1 ? 1 : 0);
  const int64_t batch = rankOf(out) - matrix_dims;
  sameLeading(mapper, a, ra - 2, out, batch);
  sameLeading(mapper, b, rb - 2, out, batch);
  if (ra > 1) {
    mapper.same(a, ra - 2, out, batch);
  }
  if (rb > 1) {
    mapper.same(b, rb - 1, out, rankOf(out) - 1);
  }
}
PythonCall MatmulOp::pythonCall() const {
  return {"matmul", {py::arg(operand("a")), py::arg(operand("b"))}};
}

NVF_DEFINE_NEW_LIKE(LinearOp)
LinearOp::LinearOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    TensorView* weight,
    TensorView* bias)
    : Expr(key, {{{"in", in}, {"weight", weight}, {"bias", bias}}, {out}, {}}) {}
void LinearOp::mapDomains(DomainMapper& mapper) const {
  const Val* out = output(0);
  const int64_t leading = rankOf(operand("in")) - 1;
  sameLeading(mapper, operand("in"), leading, out, leading);
  mapper.same(operand("weight"), rankOf(operand("weight")) - 2, out, rankOf(out) - 1);
  if (const Val* bias = operand("bias")) {
    mapper.same(bias, rankOf(bias) - 1, out, rankOf(out) - 1);
  }
}
PythonCall LinearOp::pythonCall() const {
  PythonCall call{"linear", {py::arg(operand("in")), py::arg(operand("weight"))}};
  if (const Val* bias = operand("bias")) {
    call.args.push_back(py::kw("bias", bias));
  }
  return call;
}

NVF_DEFINE_NEW_LIKE(ScaledMmaOp)
ScaledMmaOp::ScaledMmaOp(IrBuilderPasskey key, TensorView* out, const Operands& o)
    : Expr(
          key,
          {{{"mat1", o.mat1},
            {"mat2", o.mat2},
            {"offsets", o.offsets},
            {"scale1", o.scale1},
            {"scale2", o.scale2},
            {"alpha", o.alpha},
            {"bias", o.bias},
            {"beta", o.beta}},
           {out},
           {}}) {}
void ScaledMmaOp::mapDomains(DomainMapper& mapper) const {
  const Val* a = operand("mat1");
  const Val* b = operand("mat2");
  const Val* out = output(0);
  const int64_t ro = rankOf(out);
  // The rows of mat1 and the columns of mat2 are the output's. A group dimension that a matrix has
  // in place of an offset range is the output's only where the output has one too, and then neither
  // has.
  mapper.same(a, rankOf(a) - 2, out, ro - 2);
  mapper.same(b, rankOf(b) - 1, out, ro - 1);
}
PythonCall ScaledMmaOp::pythonCall() const {
  PythonCall call{
      isGrouped() ? "grouped_mm" : "scaled_mm",
      {py::arg(operand("mat1")), py::arg(operand("mat2"))}};
  if (isGrouped()) {
    call.args.push_back(py::arg(operand("offsets")));
  }
  if (operand("scale1") == nullptr) {
    return call;
  }
  // (out, block scale, gamma), of which the node has the first.
  call.none_results = 2;
  call.args.push_back(py::arg(operand("scale1")));
  call.args.push_back(py::arg(operand("scale2")));
  for (std::string_view name : {"alpha", "bias", "beta"}) {
    if (operand(name) != nullptr) {
      call.args.push_back(py::kw(name, operand(name)));
    }
  }
  if (output(0)->dtype() != DataType::BFloat16) {
    call.args.push_back(py::kw("dtype", py::dtypeText(output(0)->dtype())));
  }
  return call;
}

} // namespace nvfuser
