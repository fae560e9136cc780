#include <ir/builder.h>
#include <ir/nodes.h>
#include <ir/python_call.h>
#include <ir/random_nodes.h>

namespace nvfuser {

namespace {

std::vector<Operand> rngOperands(
    const std::vector<Val*>& shape,
    Val* a,
    Val* b,
    Val* seed,
    Val* offset) {
  std::vector<Operand> operands;
  for (Val* extent : shape) {
    operands.push_back({"shape", extent});
  }
  operands.push_back({"a", a});
  operands.push_back({"b", b});
  operands.push_back({"rng_seed", seed});
  operands.push_back({"rng_offset", offset});
  return operands;
}

} // namespace

NVF_DEFINE_NEW_LIKE(RngOp)
RngOp::RngOp(
    IrBuilderPasskey key,
    RngType type,
    TensorView* out,
    const std::vector<Val*>& shape,
    Val* a,
    Val* b,
    Val* seed,
    Val* offset,
    int64_t rng_id)
    : Expr(
          key,
          {rngOperands(shape, a, b, seed, offset),
           {out},
           {{"op", static_cast<int64_t>(type)}, {"rng_id", rng_id}}}) {}

PythonCall RngOp::pythonCall() const {
  PythonCall call{
      type() == RngType::Uniform ? "uniform" : "normal",
      {py::arg(operand("a")), py::arg(operand("b")), {"", operandList(this, "shape")}}};
  if (isDeterministic()) {
    call.args.push_back(py::kw("rng_seed", operand("rng_seed")));
    call.args.push_back(py::kw("rng_offset", operand("rng_offset")));
  }
  if (output(0)->dtype() != DataType::Float) {
    call.args.push_back(py::kw("dtype", py::dtypeText(output(0)->dtype())));
  }
  return call;
}

} // namespace nvfuser
