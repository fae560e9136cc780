#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ops/factory.h>
#include <ops/pointwise.h>

namespace nvfuser::bindings {

namespace {

std::string promotionText(PromotionGroup group) {
  switch (group) {
    case PromotionGroup::Keep:
      return "The result has the common dtype of the operands; half types are kept.";
    case PromotionGroup::Default:
      return "The result has the common dtype of the operands; half types become Float.";
    case PromotionGroup::Float:
      return "Integers, Bool and half types become Float; complex types are kept.";
    case PromotionGroup::FullPrecision:
      return "The result is Float or Double. RuntimeError for integer, Bool and complex operands.";
    case PromotionGroup::Bool:
      return "The result is Bool.";
    case PromotionGroup::Logical:
      return "Operands are taken as Bool; the result is Bool.";
    case PromotionGroup::Integer:
      return "RuntimeError for floating and complex operands.";
    case PromotionGroup::StrictInteger:
      return "RuntimeError for Bool, floating and complex operands.";
  }
  return "";
}

std::string documentation(const char* doc, PromotionGroup group, bool broadcasts) {
  std::string text = std::string(doc) + "\n\n" + promotionText(group);
  text += broadcasts ? "\nOperands: TensorViews or scalars; tensors broadcast as in torch. A "
                       "TensorView if one of them is, else a Val."
                       "\nRuntimeError: sizes that do not broadcast, operands of another Fusion."
                     : "\nOperand: a TensorView of any rank or a scalar; the result is of the same "
                       "kind and shape.";
  return text;
}

void defineUnary(
    py::module_& ops,
    const char* name,
    UnaryOpType type,
    PromotionGroup group,
    const char* doc) {
  ops.def(
      name,
      [name, type](const Operand& x) { return NewVal{unaryOp(type, OpCall(name)(x))}; },
      py::arg("x"),
      py::pos_only(),
      documentation(doc, group, false).c_str());
}

void defineBinary(
    py::module_& ops,
    const char* name,
    BinaryOpType type,
    PromotionGroup group,
    const char* doc) {
  ops.def(
      name,
      [name, type](const Operand& x, const Operand& y) {
        OpCall call(name);
        Val* lhs = call(x);
        return NewVal{binaryOp(type, lhs, call(y))};
      },
      py::arg("a"),
      py::arg("b"),
      py::pos_only(),
      documentation(doc, group, true).c_str());
}

void bindCopies(py::module_& ops) {
  ops.def(
      "set",
      [](const Operand& x) { return NewVal{set(OpCall("set")(x))}; },
      py::arg("x"),
      py::pos_only(),
      "A copy of a TensorView or scalar, of the same shape and dtype.");
  ops.def(
      "segment_set",
      [](const Operand& x) { return NewVal{segmentSet(OpCall("segment_set")(x))}; },
      py::arg("x"),
      py::pos_only(),
      "A copy that ends the segment: what comes before it and after it run as different kernels.");
  ops.def(
      "cast",
      [](const Operand& arg, DataType dtype) { return NewVal{castOp(dtype, OpCall("cast")(arg))}; },
      py::arg("arg"),
      py::arg("dtype"),
      R"(`arg` (TensorView or scalar) as another DataType; a copy when it has that type.

Complex to real keeps the real part. RuntimeError "Illegal Cast value" where no conversion exists.)");
  ops.def(
      "rand_like",
      [](const Tensor& x) { return NewTensor{randLike(OpCall("rand_like")(x))}; },
      py::arg("x"),
      py::pos_only(),
      "Uniform random numbers in [0, 1), in the shape and dtype of a floating TensorView.");
  ops.def(
      "randn_like",
      [](const Tensor& x) { return NewTensor{randnLike(OpCall("randn_like")(x))}; },
      py::arg("x"),
      py::pos_only(),
      "Standard normal random numbers, in the shape and dtype of a floating TensorView.");
}

// All four slots and both results are a TensorView or a scalar.
using Ternary = Val* (*)(Val*, Val*, Val*);

void defineTernary(py::module_& ops, const char* name, Ternary build, const char* doc) {
  ops.def(
      name,
      [name, build](const Operand& a, const Operand& b, const Operand& c) {
        OpCall call(name);
        Val* first = call(a);
        Val* second = call(b);
        return NewVal{build(first, second, call(c))};
      },
      py::arg("a"),
      py::arg("b"),
      py::arg("c"),
      py::pos_only(),
      doc);
}

void bindTernaries(py::module_& ops) {
  defineTernary(
      ops,
      "where",
      &where,
      R"(where(condition, a, b): a where the condition holds, else b; all broadcast.

condition: Bool, else RuntimeError. The result has the common dtype of a and b; half types are kept.)");
  defineTernary(
      ops,
      "lerp",
      &lerp,
      R"(lerp(start, end, weight): start + weight * (end - start); all broadcast.

The result has the common dtype of the operands; half types become Float.)");
  ops.def(
      "threshold",
      [](const Operand& x, const Scalar& limit, const Scalar& value) {
        OpCall call("threshold");
        Val* in = call(x);
        Val* bound = call(limit);
        return NewVal{threshold(in, bound, call(value))};
      },
      py::arg("x"),
      py::arg("limit"),
      py::arg("value"),
      py::pos_only(),
      "x where x > limit, else value. x: TensorView or scalar; limit and value: scalars. dtype of "
      "x.");
  ops.def(
      "clamp",
      [](const Operand& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
        OpCall call("clamp");
        Val* in = call(x);
        Val* low = call(min);
        return NewVal{clamp(in, low, call(max))};
      },
      py::arg("x"),
      py::arg("min") = py::none(),
      py::arg("max") = py::none(),
      py::pos_only(),
      "min(max(x, min), max) with scalar bounds, either of which may be None. dtype of x.");
  ops.def(
      "addcmul",
      [](const Operand& a, const Operand& b, const Operand& c, const Scalar& alpha) {
        OpCall call("addcmul");
        Val* first = call(a);
        Val* second = call(b);
        Val* third = call(c);
        return NewVal{addcmul(first, second, third, call(alpha))};
      },
      py::arg("a"),
      py::arg("b"),
      py::arg("c"),
      py::arg("alpha"),
      py::pos_only(),
      "a + alpha * b * c with a scalar alpha; a, b and c broadcast. Half types become Float.");
}

} // namespace

void bindPointwiseOps(py::module_& ops) {
#define NVF_ROW(name, python, group, aten, code, cost, low, high, doc) \
  defineUnary(ops, python, UnaryOpType::name, PromotionGroup::group, doc);
  NVF_FORALL_UNARY_OPS(NVF_ROW)
#undef NVF_ROW
#define NVF_ROW(name, python, group, aten, code, cost, low, high, doc) \
  defineBinary(ops, python, BinaryOpType::name, PromotionGroup::group, doc);
  NVF_FORALL_BINARY_OPS(NVF_ROW)
#undef NVF_ROW
  ops.def(
      "complex",
      [](const Operand& real, const Operand& imag) {
        OpCall call("complex");
        Val* re = call(real);
        return NewVal{complexOp(re, call(imag))};
      },
      py::arg("real"),
      py::arg("imag"),
      py::pos_only(),
      R"(real + 1j * imag: ComplexFloat of two Floats, ComplexDouble of two Doubles.

Both operands are TensorViews or both scalars, of one real dtype; else RuntimeError.)");
  bindCopies(ops);
  bindTernaries(ops);
}

} // namespace nvfuser::bindings
