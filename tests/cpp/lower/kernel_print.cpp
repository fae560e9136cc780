// Kernel IR as text: every loop, access and condition of a small kernel can be read in it.
#include <lower/lower.h>

#include <ir/builder.h>
#include <ops/pointwise.h>
#include <ops/reduction.h>
#include <ops/shape.h>

#include "index_test.h"

namespace nvfuser {

class KernelPrint : public IndexTest {
 protected:
  std::string lowered() {
    return lower(fusion)->toString();
  }
};

TEST_F(KernelPrint, NamesBuffersLoopsAndStatements) {
  TensorView* x = input({4, 8});
  TensorView* y = neg(x);
  fusion.addOutput(y);
  EXPECT_EQ(
      lowered(),
      "kernel of 1 stage\n"
      "  float b0: input for " +
          x->toString() +
          "\n"
          "  float b1: output for " +
          y->toString() +
          "\n"
          "stage 0:\n"
          "  for l0 in 0 .. 4:\n"
          "    for l1 in 0 .. 8:\n"
          "      float r0 = b0[l0 * 8 + l1]\n"
          "      float r1 = neg(r0)\n"
          "      b1[l0 * 8 + l1] = r1\n");
}

TEST_F(KernelPrint, ShowsReductionsParallelLoopsAndParameters) {
  TensorView* x = input({-1, -1});
  TensorView* y = sum(x, {1});
  fusion.addOutput(y);
  y->axis(0)->parallelize(ParallelType::BIDx);
  const std::string text = lowered();
  for (const char* part :
       {"p0 = ",
        "parallel for l0 in 0 .. p0:",
        " accumulator for ",
        " = neutral of sum",
        " = sum("}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST_F(KernelPrint, ShowsWhereAPaddedElementIsRead) {
  TensorView* x = input({-1});
  TensorView* y = pad(x, {IrBuilder::constInt(1), IrBuilder::constInt(2)});
  fusion.addOutput(y);
  const std::string text = lowered();
  EXPECT_NE(text.find(" where "), std::string::npos) << text;
}

} // namespace nvfuser
