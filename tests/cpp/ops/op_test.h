// Fixture of the builder tests: a fusion to build in, and its evaluation through ATen.
#pragma once

#include <ir/builder.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>
#include <runtime/expression_evaluator.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nvfuser {

class OpTest : public ::testing::Test {
 protected:
  /// A tensor input; -1 symbolic, 1 broadcast.
  TensorView* input(const std::vector<int64_t>& shape, DataType dtype = DataType::Float) {
    TensorView* tv = TensorViewBuilder().shape(shape).dtype(dtype).build();
    fusion.addInput(tv);
    return tv;
  }
  Val* inputScalar(DataType dtype = DataType::Int) {
    Val* val = IrBuilder::create<Val>(dtype);
    fusion.addInput(val);
    return val;
  }
  static Val* constant(int64_t value) {
    return IrBuilder::constant(value);
  }
  static Val* constant(double value) {
    return IrBuilder::constant(value);
  }

  /// `tv` with the first inputs bound to `values`, in the order in which they were made.
  at::Tensor run(
      const TensorView* tv,
      const std::vector<EvalValue>& values,
      EvalContext context = {}) {
    ExpressionEvaluator evaluator(context);
    for (size_t i = 0; i < std::min(values.size(), fusion.inputs().size()); ++i) {
      evaluator.bind(fusion.inputs()[i], values[i]);
    }
    return evaluator.evaluate(tv).tensor();
  }

  /// Extents as numbers; -1 where symbolic.
  static std::vector<int64_t> shapeOf(const TensorView* tv) {
    std::vector<int64_t> result;
    for (const Val* extent : tv->shape()) {
      result.push_back(extent->isConstInt() ? extent->constInt() : -1);
    }
    return result;
  }

  Fusion fusion;
  FusionGuard guard{&fusion};
};

/// `f` raises a user error of this kind whose message holds `part`.
template <typename F>
void expectUserError(F&& f, const std::string& part, ErrorKind kind = ErrorKind::Runtime) {
  try {
    f();
    ADD_FAILURE() << "no error; expected one with \"" << part << "\"";
  } catch (const UserError& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

inline void expectEqual(const at::Tensor& result, const at::Tensor& expected) {
  EXPECT_EQ(result.sizes(), expected.sizes());
  EXPECT_EQ(result.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::equal(result, expected)) << result << "\n" << expected;
}

inline void expectClose(
    const at::Tensor& result,
    const at::Tensor& expected,
    double tolerance = 1e-5) {
  EXPECT_EQ(result.sizes(), expected.sizes());
  EXPECT_EQ(result.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::allclose(result, expected, tolerance, tolerance, /*equal_nan=*/true))
      << result << "\n"
      << expected;
}

} // namespace nvfuser
