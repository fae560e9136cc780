// NVRTC compiles every row of the pointwise table, and the reductions and accesses of the preamble,
// for two generations of devices.
#include <codegen/cuda_preamble.h>
#include <codegen/cuda_random.h>
#include <ops/factory.h>
#include <runtime/nvrtc.h>

#include "table_test.h"

namespace nvfuser {

class CudaCompiles : public TableTest {
 protected:
  void SetUp() override {
    if (!whyNoNvrtc().empty()) {
      GTEST_SKIP() << whyNoNvrtc();
    }
  }

  static void expectCompiled(const std::string& name, const std::string& text) {
    for (const char* target : {"sm_80", "sm_90"}) {
      try {
        EXPECT_GT(
            compileCudaText({name, cudaPreamble() + text, cudaTextFlags()}, target).size(), 0);
      } catch (const std::exception& error) {
        ADD_FAILURE() << target << ": " << error.what();
      }
    }
  }
};

TEST_F(CudaCompiles, EveryRowOfTheTable) {
  const char* names[] = {"x", "y", "z"};
  std::string text;
  for (const Row& row : everyRow()) {
    std::string parameters;
    std::string values;
    for (size_t i = 0; i < row.in.size(); ++i) {
      const std::string type = "const " + std::string(typeName(row.in[i]));
      const std::string name = names[i];
      parameters += type + "* " + name + "_in, ";
      values += type + " " + name + " = " + name + "_in[threadIdx.x]; ";
    }
    text += "// " + row.name + "\nextern \"C\" __global__ void row" + std::to_string(text.size()) +
        "(" + parameters + std::string(typeName(row.out)) + "* out, long* error) { " + values +
        "out[threadIdx.x] = " + row.text + "; }\n";
  }
  expectCompiled("rows", text);
}

TEST_F(CudaCompiles, Accesses) {
  std::string text = "extern \"C\" __global__ void accesses(char* from, char* to) {\n";
  for (DataType dtype : kTypes) {
    const std::string type(typeName(dtype));
    for (int width : {1, 2, 4, 8, 16}) {
      const std::string n = "<" + std::to_string(width) + ">";
      text +=
          "nvf_store" + n + "((" + type + "*)to, nvf_load" + n + "((const " + type + "*)from));\n";
      text += "nvf_store_stream" + n + "((" + type + "*)to, nvf_load_stream" + n + "((const " +
          type + "*)from));\n";
      text += "nvf_store" + n + "((" + type + "*)to, nvf_load_const" + n + "((const " + type +
          "*)from));\n";
    }
  }
  expectCompiled("accesses", text + "}\n");
}

TEST_F(CudaCompiles, ReductionsInABlock) {
  std::string text;
  for (DataType dtype : kTypes) {
    for (ReductionType type : {ReductionType::Sum, ReductionType::Min, ReductionType::Max}) {
      const std::string name(typeName(dtype));
      const char* direction = type == ReductionType::Sum ? "x"
          : type == ReductionType::Max                   ? "xy"
                                                         : "y";
      text += "extern \"C\" __global__ void k" + std::to_string(text.size()) + "(" + name +
          "* data) {\n  extern __shared__ uint4 shared[];\n  " + name +
          " values[2] = {data[2 * threadIdx.x], data[2 * threadIdx.x + 1]};\n  nvf_block_reduce_" +
          direction + "(values, " + reductionFunctor(type, dtype) + ", " +
          reductionInit(type, dtype) + ", shared);\n  data[threadIdx.x] = values[0];\n}\n";
    }
  }
  expectCompiled("reductions", text);
}

TEST_F(CudaCompiles, RandomNumbers) {
  Kernel kernel;
  std::string text =
      "struct nvf_args { long words[40]; };\n"
      "extern \"C\" __global__ void numbers(const __grid_constant__ nvf_args args, "
      "char* out, int i) {\n";
  for (DataType dtype : {DataType::Double, DataType::Float, DataType::Half, DataType::BFloat16}) {
    const std::vector<Val*> shape = indices({8});
    Val* zero = IrBuilder::constant(0.0);
    Val* one = IrBuilder::constant(1.0);
    for (const TensorView* tv :
         {uniform(shape, zero, one, dtype), normal(shape, zero, one, dtype)}) {
      const int number = static_cast<int>(kernel.randoms.size());
      kernel.randoms.push_back({tv->definition(), {}, {}, {}, {}});
      const std::string pointer = "(" + std::string(typeName(dtype)) + "*)out";
      text += cudaRandomSource(number, kRandomWords * number) + "\n*(" + pointer +
          ") = " + cudaRandomAt(kernel, number, "i") + ";\n";
      for (int width : {2, 4}) {
        text += "nvf_store<" + std::to_string(width) + ">(" + pointer + ", " +
            cudaRandomVector(kernel, number, width, "i") + ");\n";
      }
    }
  }
  expectCompiled("random", cudaRandomPreamble(kernel) + text + "}\n");
}

} // namespace nvfuser
