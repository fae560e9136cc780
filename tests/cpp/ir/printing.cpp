// Texts of values, domains and fusions, and the Python text.
#include <ops/factory.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/sdpa.h>
#include <ops/shape.h>

#include "../ir_test.h"

#include <cmath>

namespace nvfuser {

class Printing : public IrTest {};

TEST_F(Printing, TensorText) {
  TensorView* x = input({2, -1, 1});
  const std::string size = x->shape()[1]->toString();
  EXPECT_EQ(x->toString(), "T0_g_float[iS0{2}, iS1{" + size + "}, bS2{1}]");
  TensorView* y = castOp(DataType::Half, x);
  EXPECT_EQ(y->toString(), "T1_l___half[iS3{2}, iS4{" + size + "}, bS5{1}]");
  TensorView* s = sum(input({4, 6}, DataType::Double), {1});
  EXPECT_NE(s->toString().find("rS"), std::string::npos) << s->toString();
  TensorView* e = expand(x, {index(2), index(-1), index(5)});
  EXPECT_NE(e->toString().find("{1 ex 5}"), std::string::npos) << e->toString();
}

TEST_F(Printing, MathListsWhatOutputsDependOn) {
  TensorView* x = input({2, 4});
  Val* s = inputScalar(DataType::Double);
  TensorView* y = mul(x, s);
  TensorView* dead = add(x, x);
  fusion.addOutput(y);
  const std::string text = fusion.printMath();
  EXPECT_EQ(text.find(dead->toString()), std::string::npos);
  EXPECT_NE(fusion.printMath(false).find(dead->toString()), std::string::npos);
  EXPECT_EQ(text.find("Inputs:\n  T0_g_float[iS0{2}, iS1{4}]\n"), 0u) << text;
  EXPECT_NE(text.find("%kernel_math {\nT1_g_float[iS2{2}, iS3{4}]\n   = "), std::string::npos)
      << text;
}

TEST_F(Printing, ScalarText) {
  Val* i = IrBuilder::create<Val>(DataType::Int);
  EXPECT_EQ(i->toString(), "i" + std::to_string(i->name()));
  Val* sum = IrBuilder::addExpr(i, index(3));
  EXPECT_EQ(sum->toInlineString(), "( " + i->toString() + " + 3 )");
  EXPECT_EQ(IrBuilder::constant(2.5)->toString(), "2.5");
  EXPECT_EQ(IrBuilder::constant(true)->toString(), "true");
}

TEST_F(Printing, PythonTextOfTheApiExample) {
  TensorView* x = input({-1, 1});
  Val* s = inputScalar(DataType::Double);
  fusion.addOutput(sum(mul(x, s), {0}));
  const std::string expected =
      "def nvfuser_fusion(fd : FusionDefinition) -> None :\n"
      "    tv0 = fd.define_tensor(shape=[-1, 1], contiguity=[True, None], dtype=DataType.Float, "
      "is_cpu=False)\n"
      "    c" +
      std::to_string(s->name()) +
      " = fd.define_scalar(None, dtype=DataType.Double)\n"
      "    tv1 = fd.ops.mul(tv0, c" +
      std::to_string(s->name()) +
      ")\n"
      "    tv2 = fd.ops.sum(tv1, dims=[0], dtype=DataType.Float)\n"
      "    fd.add_output(tv2)\n";
  EXPECT_EQ(fusion.toPython(), expected);
}

TEST_F(Printing, PythonTextNamesSizesOrdersAndAliases) {
  TensorView* x = input({-1, 6}, DataType::Half, {0, 1});
  TensorView* y = reshape(x, {index(6), size(x, 0)});
  fusion.addOutput(permute(y, {1, 0}));
  fusion.addAliasOutput(set(x)->as<TensorView>(), x);
  const std::string text = fusion.toPython();
  for (const char* part :
       {"stride_order=[0, 1])",
        " = fd.ops.size(tv0, dim=0)\n",
        "fd.ops.reshape(tv0, new_shape=[6, c",
        "fd.ops.permute(tv1, dims=[1, 0])",
        "fd.ops.cast(tv0, dtype=DataType.Half)",
        "    fd.add_output(tv2)\n    fd.add_output(tv3, tv0)\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST_F(Printing, PythonTextOfConstants) {
  TensorView* x = input({4}, DataType::Double);
  fusion.addOutput(add(x, IrBuilder::constant(3.0)));
  fusion.addOutput(add(x, IrBuilder::constant(1e-5)));
  fusion.addOutput(add(x, IrBuilder::constant(-INFINITY)));
  fusion.addOutput(add(x, IrBuilder::constant(0.1 + 0.2)));
  fusion.addOutput(add(x, IrBuilder::constant(ScalarValue(0.5), DataType::Float)));
  const std::string text = fusion.toPython();
  for (const char* part :
       {"(tv0, 3.00000)",
        "(tv0, 1.00000e-05)",
        "(tv0, float(\"-inf\"))",
        "(tv0, 0.30000000000000004)",
        " = fd.define_scalar(0.500000, dtype=DataType.Float)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST_F(Printing, PythonTextOfAttention) {
  TensorView* q = input({2, 8, 16, 32}, DataType::Half);
  const auto out = sdpfaFwd(
      {.query = q,
       .key = q,
       .value = q,
       .dropout_p = IrBuilder::constant(0.0),
       .is_causal = IrBuilder::constant(false)});
  fusion.addOutput(out.attn_out);
  EXPECT_NE(
      fusion.toPython().find(
          "tv1, tv2, tv3, tv4 = fd.ops.sdpfa_fwd(tv0, tv0, tv0, dropout_p=0.00000, "
          "is_causal=False)"),
      std::string::npos)
      << fusion.toPython();
}

} // namespace nvfuser
