// The texts that kernels get from the rows of the pointwise table.
#include <codegen/cpu_preamble.h>
#include "table_test.h"

#include <regex>

namespace nvfuser {

class PointwiseTexts : public TableTest {
 protected:
  // Each helper that the text calls is defined in the preamble, and the brackets close.
  static void expectDefined(const std::string& text) {
    static const std::string preamble = cpuPreamble();
    static const std::regex helper("nvf_\\w+(?=\\()");
    for (auto it = std::sregex_iterator(text.begin(), text.end(), helper);
         it != std::sregex_iterator();
         ++it) {
      EXPECT_NE(preamble.find(" " + it->str() + "("), std::string::npos)
          << it->str() << " in " << text;
    }
    int64_t depth = 0;
    for (char c : text) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      EXPECT_GE(depth, 0) << text;
    }
    EXPECT_EQ(depth, 0) << text;
    EXPECT_EQ(text.find('{'), std::string::npos) << text;
  }
};

TEST_F(PointwiseTexts, OfEveryRowCallWhatThePreambleDefines) {
  for (DataType dtype : kTypes) {
    TensorView* a = input({4}, dtype);
    TensorView* b = input({4}, dtype);
    for (UnaryOpType type : kUnary) {
      const std::string text = textOf([&] { return unaryOp(type, a); }, {"x"});
      expectDefined(text);
      if (dtype == DataType::Float && type != UnaryOpType::Imag &&
          type != UnaryOpType::BitwiseNot) {
        EXPECT_NE(text, "") << opText(type);
      }
    }
    for (BinaryOpType type : kBinary) {
      const std::string text = textOf([&] { return binaryOp(type, a, b); }, {"x", "y"});
      expectDefined(text);
      const bool takes_ints = type != BinaryOpType::Nextafter;
      if (dtype == DataType::Int && takes_ints) {
        EXPECT_NE(text, "") << opText(type);
      }
    }
  }
}

TEST_F(PointwiseTexts, ComeFromTheTable) {
  TensorView* x = input({4});
  const auto text = [&](UnaryOpType type) {
    return textOf([&] { return unaryOp(type, x); }, {"r1"});
  };
  EXPECT_EQ(text(UnaryOpType::Neg), "(-r1)");
  EXPECT_EQ(text(UnaryOpType::Sigmoid), "(nvf_sigmoid(r1))");
  EXPECT_EQ(text(UnaryOpType::Silu), "(nvf_silu(r1))");
  EXPECT_EQ(text(UnaryOpType::Round), "(nvf_rint(r1))");
}

TEST_F(PointwiseTexts, OfIntegersWrap) {
  TensorView* x = input({4}, DataType::Int);
  TensorView* y = input({4}, DataType::Int);
  const auto text = [&](BinaryOpType type) {
    return textOf([&] { return binaryOp(type, x, y); }, {"r1", "r2"});
  };
  EXPECT_EQ(text(BinaryOpType::Add), "nvf_add(r1, r2)");
  EXPECT_EQ(text(BinaryOpType::Sub), "nvf_sub(r1, r2)");
  EXPECT_EQ(text(BinaryOpType::Mul), "nvf_mul(r1, r2)");
  EXPECT_EQ(textOf([&] { return unaryOp(UnaryOpType::Neg, x); }, {"r1"}), "nvf_neg(r1)");
  EXPECT_EQ(reductionCombine(ReductionType::Sum, DataType::Int, "a", "b"), "nvf_add(a, b)");
}

TEST_F(PointwiseTexts, DivideIntegersWithAReportWhereTheDivisorMayBeZero) {
  TensorView* x = input({4}, DataType::Int);
  TensorView* y = input({4}, DataType::Int);
  const auto by = [&](Val* divisor) {
    return textOf([&] { return binaryOp(BinaryOpType::Div, x, divisor); }, {"r1", "r2"});
  };
  EXPECT_EQ(by(y), "nvf_quotient(r1, r2, error, 1)");
  EXPECT_EQ(by(inputScalar()), "nvf_quotient(r1, r2, error, 1)");
  EXPECT_EQ(by(index(0)), "nvf_quotient(r1, r2, error, 1)");
  EXPECT_EQ(by(index(7)), "nvf_quotient(r1, r2)");
}

TEST_F(PointwiseTexts, OfDearRowsCallFunctions) {
  // A dear row calls a function; an operator is cheap.
  for (UnaryOpType type : kUnary) {
    const PointwiseRow& row = pointwiseRow(type);
    const bool calls = std::regex_search(row.code.begin(), row.code.end(), std::regex("\\w\\("));
    EXPECT_TRUE(calls || row.cost == OpCost::Cheap) << row.name;
  }
}

TEST(ConstantTexts, AreExact) {
  EXPECT_EQ(constantText(int64_t{3}, DataType::Int), "3L");
  EXPECT_EQ(constantText(int64_t{-3}, DataType::Int32), "(-3)");
  EXPECT_EQ(constantText((int64_t{1} << 32) + 5, DataType::Int32), "5");
  EXPECT_EQ(constantText(int64_t{-1}, DataType::UInt64), "18446744073709551615UL");
  EXPECT_EQ(constantText(0.1, DataType::Double), "(0x1.999999999999ap-4)");
  EXPECT_EQ(constantText(true, DataType::Bool), "true");
}

} // namespace nvfuser
