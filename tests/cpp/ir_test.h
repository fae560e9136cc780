// Fixture of the tests of ir, analysis and passes: a fusion to build in. No torch.
#pragma once

#include <ir/builder.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nvfuser {

class IrTest : public ::testing::Test {
 protected:
  using Dims = std::vector<int64_t>;

  /// A tensor input; -1 symbolic, 1 broadcast. `order` as TensorViewBuilder::strideOrder.
  TensorView* input(
      const Dims& shape,
      DataType dtype = DataType::Float,
      const Dims& order = {},
      bool contiguous = true) {
    TensorView* tv = TensorViewBuilder()
                         .shape(shape)
                         .dtype(dtype)
                         .strideOrder(order)
                         .contiguity(contiguous)
                         .build();
    fusion.addInput(tv);
    return tv;
  }
  Val* inputScalar(DataType dtype = DataType::Int) {
    Val* val = IrBuilder::create<Val>(dtype);
    fusion.addInput(val);
    return val;
  }
  static Val* index(int64_t value) {
    return IrBuilder::constInt(value);
  }
  static std::vector<Val*> indices(const Dims& values) {
    std::vector<Val*> result;
    for (int64_t value : values) {
      result.push_back(index(value));
    }
    return result;
  }
  static IterDomain* domain(int64_t extent) {
    return IrBuilder::create<IterDomain>(IterDomain::Parts{.extent = index(extent)});
  }

  /// Extents of the logical domain; -1 where symbolic.
  static Dims shapeOf(const TensorView* tv) {
    return extents(noReductions(tv->getLogicalDomain()));
  }
  static Dims extents(const std::vector<IterDomain*>& domains) {
    Dims result;
    for (const IterDomain* id : domains) {
      const Val* extent = id->getMaybeExpandedExtent();
      result.push_back(extent->isConstInt() ? extent->constInt() : -1);
    }
    return result;
  }
  static Dims loopExtents(const TensorView* tv) {
    return extents(tv->getLoopDomain());
  }

  Fusion fusion;
  FusionGuard guard{&fusion};
};

/// `f` raises a user error of this kind whose message holds `part`.
template <typename F>
void expectUserErrorWith(F&& f, const std::string& part, ErrorKind kind = ErrorKind::Runtime) {
  try {
    f();
    ADD_FAILURE() << "no error; expected one with \"" << part << "\"";
  } catch (const UserError& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

} // namespace nvfuser
