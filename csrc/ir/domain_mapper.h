// What a node says about which dimensions of its operands and outputs are the same.
//
// Positions of a producer count its logical domain without reduction domains; positions of a
// consumer count its root domain (which is the logical domain where no transform lies between the
// two).
#pragma once

#include <cstdint>

namespace nvfuser {

class Expr;
class TensorView;
class Val;

class DomainMapper {
 public:
  virtual ~DomainMapper() = default;
  /// Dimension `producer_dim` of `producer` and `consumer_dim` of `consumer` are one dimension.
  /// Either tensor may be absent (nullptr), in which case nothing is said.
  virtual void same(
      const Val* producer,
      int64_t producer_dim,
      const Val* consumer,
      int64_t consumer_dim) = 0;
  /// Every tensor operand has the outputs' dimensions, position by position.
  void allSame(const Expr* expr);
};

} // namespace nvfuser
