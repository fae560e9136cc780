// Every row of the pointwise table for every type that kernels compute in.
#pragma once

#include <codegen/text.h>
#include <lower/emitter.h>
#include <ops/pointwise.h>

#include "../ir_test.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace nvfuser {

inline const UnaryOpType kUnary[] = {
#define NVF_ROW(name, ...) UnaryOpType::name,
    NVF_FORALL_UNARY_OPS(NVF_ROW)
#undef NVF_ROW
};
inline const BinaryOpType kBinary[] = {
#define NVF_ROW(name, ...) BinaryOpType::name,
    NVF_FORALL_BINARY_OPS(NVF_ROW)
#undef NVF_ROW
};
inline const DataType kTypes[] = {
    DataType::Double,
    DataType::Float,
    DataType::Half,
    DataType::BFloat16,
    DataType::Int,
    DataType::Int32,
    DataType::Bool};

class TableTest : public IrTest {
 protected:
  /// The text of a node of the first of these operands, empty where the types have none or the
  /// builder refuses.
  template <typename Build>
  std::string textOf(Build&& build, std::vector<std::string> operands) {
    try {
      const Expr* expr = build()->definition();
      operands.resize(std::min(operands.size(), expr->inputs().size()));
      const std::string report = mayDivideByZero(expr) ? "error, 1" : "";
      const std::string text = pointwiseText(expr, operands, report);
      EXPECT_EQ(text.empty(), whyNoText(expr).has_value()) << expr->toString();
      return text;
    } catch (const UserError&) {
      return "";
    }
  }

  /// What becomes of values x, y and z of these types.
  struct Row {
    std::string name;
    std::vector<DataType> in;
    DataType out;
    std::string text;
  };

  /// All unary and binary rows, conversions between all types, and the ternary nodes.
  std::vector<Row> everyRow() {
    std::vector<Row> rows;
    std::set<std::pair<std::string, std::vector<DataType>>> known;
    const auto add = [&](std::string_view name, const std::function<Val*()>& build) {
      Val* val = nullptr;
      const std::string text = textOf([&] { return val = build(); }, {"x", "y", "z"});
      if (text.empty()) {
        return;
      }
      std::vector<DataType> in;
      for (const Val* operand : val->definition()->inputs()) {
        in.push_back(operand->dtype());
      }
      if (known.emplace(text, in).second) {
        rows.push_back({std::string(name), in, val->dtype(), text});
      }
    };
    for (DataType dtype : kTypes) {
      TensorView* x = input({4}, dtype);
      TensorView* y = input({4}, dtype);
      for (UnaryOpType type : kUnary) {
        add(opText(type), [&] { return unaryOp(type, x); });
      }
      for (BinaryOpType type : kBinary) {
        add(opText(type), [&] { return binaryOp(type, x, y); });
      }
      for (DataType to : kTypes) {
        if (to != dtype) {
          add("cast", [&] { return castOp(to, x); });
        }
      }
      for (double exponent : {0.5, -0.5, -1.0, 2.0, -2.0, 3.0}) {
        add("pow to a number",
            [&] { return binaryOp(BinaryOpType::Pow, x, IrBuilder::constant(exponent)); });
      }
      add("lerp", [&] { return lerp(x, y, y); });
      add("threshold", [&] { return threshold(x, index(1), index(2)); });
      add("clamp", [&] { return clamp(x, index(1), index(2)); });
      add("where", [&] { return where(binaryOp(BinaryOpType::Gt, x, y), x, y); });
    }
    return rows;
  }
};

} // namespace nvfuser
