// IrBuilder: the only way to make nodes; and the small algebra over sizes that folds as it builds.
#pragma once

#include <ir/fusion.h>
#include <ir/statement.h>

#include <memory>

namespace nvfuser {

class IrBuilder {
 public:
  /// Makes a node in the active fusion (see FusionGuard). RuntimeError when none is active.
  template <typename T, typename... Args>
  static T* create(Args&&... args) {
    return createIn<T>(FusionGuard::activeOrThrow(), std::forward<Args>(args)...);
  }
  template <typename T, typename... Args>
  static T* createIn(Fusion* fusion, Args&&... args) {
    auto node = std::make_unique<T>(IrBuilderPasskey(fusion), std::forward<Args>(args)...);
    T* raw = node.get();
    fusion->registerStatement(std::move(node));
    return raw;
  }

  /// A constant of dtype Index; zero and one are shared.
  static Val* constInt(int64_t value);
  static Val* constant(const ScalarValue& value, DataType dtype);
  /// A constant whose dtype is the one that Python gives the value.
  static Val* constant(const ScalarValue& value);

  // Scalar arithmetic. Constants fold and neutral elements vanish, so that sizes stay readable.
  static Val* addExpr(Val* a, Val* b);
  static Val* subExpr(Val* a, Val* b);
  static Val* mulExpr(Val* a, Val* b);
  /// Integer division toward zero.
  static Val* divExpr(Val* a, Val* b);
  static Val* ceilDivExpr(Val* a, Val* b);
  static Val* modExpr(Val* a, Val* b);
  static Val* maxExpr(Val* a, Val* b);
  static Val* minExpr(Val* a, Val* b);
  static Val* negExpr(Val* a);
  static Val* eqExpr(Val* a, Val* b);
  static Val* ltExpr(Val* a, Val* b);
  static Val* whereExpr(Val* condition, Val* a, Val* b);
  /// The integer as another type; the same node when it has that type already.
  static Val* maybeCastExpr(Val* a, DataType dtype);
};

} // namespace nvfuser
