// Values of scalars that follow from known ones: sizes from the extents of the inputs.
#pragma once

#include <ir/statement.h>

#include <unordered_map>

namespace nvfuser {

/// Evaluates scalar expressions by Expr::foldScalars, each once.
class ScalarValues {
 public:
  /// `known`: values of scalars, for example of symbolic extents.
  explicit ScalarValues(std::unordered_map<const Val*, ScalarValue> known = {})
      : values_(std::move(known)) {}

  /// The value; none when it depends on something that is not known or does not fold.
  ScalarValue evaluate(const Val* val);

 private:
  ScalarValue fold(const Expr* definition) const;

  std::unordered_map<const Val*, ScalarValue> values_;
};

} // namespace nvfuser
