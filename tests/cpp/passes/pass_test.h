// Runs a pass and writes the tensor expressions of the result, one a line.
#pragma once

#include <passes/check_fusion.h>

#include "../ir_test.h"

namespace nvfuser {

class PassTest : public IrTest {
 protected:
  /// "T2 = mul(T1, 2)" for each tensor expression, in order, without domains; then "out T2".
  static std::string textOf(const Fusion& f) {
    std::string text;
    for (const Expr* expr : f.exprs()) {
      if (!expr->output(0)->isTensor()) {
        continue;
      }
      text += namesOf(expr->outputs()) + " = " + std::string(expr->opName()) + "(" +
          namesOf(expr->inputs()) + ")\n";
    }
    text += "out";
    for (const Val* out : f.outputs()) {
      text += " " + nameOf(out);
    }
    return text;
  }
  std::string text() const {
    return textOf(fusion);
  }

  /// Runs the pass, checks that the fusion is still sound, and returns the text.
  std::string after(void (*pass)(Fusion&)) {
    pass(fusion);
    for (const std::string& rule : brokenRules(fusion)) {
      ADD_FAILURE() << rule;
    }
    return text();
  }

 private:
  static std::string nameOf(const Val* val) {
    return val->isTensor() ? "T" + std::to_string(val->name()) : val->toInlineString();
  }
  static std::string namesOf(const std::vector<Val*>& vals) {
    std::string text;
    for (size_t i = 0; i < vals.size(); ++i) {
      text += (i == 0 ? "" : ", ") + nameOf(vals[i]);
    }
    return text;
  }
};

} // namespace nvfuser
