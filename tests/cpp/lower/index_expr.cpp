// Index algebra: what is simplified still has the value of what was written.
#include "index_test.h"

#include <random>

namespace nvfuser {

class IndexAlgebra : public IndexTest {
 protected:
  Index n(int64_t value) {
    return indices.constant(value);
  }
  Index i = indices.loop(indices.constant(6), 1);
  Index j = indices.loop(indices.constant(4), 2);
};

TEST_F(IndexAlgebra, EqualExpressionsAreOne) {
  EXPECT_EQ(n(3), n(3));
  EXPECT_EQ(indices.add(i, j), indices.add(i, j));
  EXPECT_EQ(indices.mul(n(3), i), indices.mul(i, n(3)));
  EXPECT_NE(indices.loop(n(6), 1), i);
}

TEST_F(IndexAlgebra, ConstantsFold) {
  EXPECT_EQ(indices.add(n(2), n(3)), n(5));
  EXPECT_EQ(indices.mul(n(2), n(3)), n(6));
  EXPECT_EQ(indices.div(n(7), n(2)), n(3));
  EXPECT_EQ(indices.mod(n(7), n(2)), n(1));
  EXPECT_EQ(indices.ceilDiv(n(7), n(2)), n(4));
  EXPECT_EQ(indices.min(n(7), n(2)), n(2));
  EXPECT_EQ(indices.max(n(7), n(2)), n(7));
  EXPECT_EQ(indices.add(indices.add(i, n(2)), n(-2)), i);
}

TEST_F(IndexAlgebra, NeutralElements) {
  EXPECT_EQ(indices.add(i, n(0)), i);
  EXPECT_EQ(indices.mul(i, n(1)), i);
  EXPECT_EQ(indices.mul(i, n(0)), n(0));
  EXPECT_EQ(indices.div(i, n(1)), i);
  EXPECT_EQ(indices.mod(i, n(1)), n(0));
  EXPECT_EQ(indices.sub(i, i), n(0));
}

TEST_F(IndexAlgebra, BoundsDecideQuotients) {
  EXPECT_EQ(indices.div(j, n(4)), n(0));
  EXPECT_EQ(indices.mod(j, n(4)), j);
  Index flat = indices.add(indices.mul(i, n(4)), j);
  EXPECT_EQ(indices.div(flat, n(4)), i);
  EXPECT_EQ(indices.mod(flat, n(4)), j);
  EXPECT_EQ(indices.lt(j, n(4)), nullptr);
  EXPECT_NE(indices.lt(j, n(3)), nullptr);
  EXPECT_NE(indices.ltUnbounded(j, n(4)), nullptr);
}

TEST_F(IndexAlgebra, QuotientAndRemainderJoin) {
  Index x = indices.value(0, 1, nullptr);
  EXPECT_EQ(indices.add(indices.mul(indices.div(x, n(5)), n(5)), indices.mod(x, n(5))), x);
}

TEST_F(IndexAlgebra, AnUnboundedValueKeepsItsQuotient) {
  Index x = indices.sub(i, n(2));
  Index flat = indices.add(indices.mul(j, n(6)), x);
  EXPECT_NE(indices.div(flat, n(6)), j);
  EXPECT_NE(indices.lt(x, n(6)), nullptr);
}

TEST_F(IndexAlgebra, Conditions) {
  Index a = indices.lt(i, n(5));
  Index b = indices.lt(j, n(2));
  EXPECT_EQ(indices.both(nullptr, a), a);
  EXPECT_EQ(indices.both(a, nullptr), a);
  EXPECT_EQ(indices.both(a, a), a);
  EXPECT_EQ(indices.both(a, n(0)), n(0));
  forEachRound({i, j}, [&](const auto& at) {
    EXPECT_EQ(holds(indices.both(a, b), at), at.at(i) < 5 && at.at(j) < 2);
  });
}

TEST_F(IndexAlgebra, DepthIsThatOfTheInnermostLoop) {
  EXPECT_EQ(n(3)->depth, 0);
  EXPECT_EQ(indices.mul(i, n(3))->depth, 1);
  EXPECT_EQ(indices.add(indices.mul(i, n(3)), j)->depth, 2);
}

TEST_F(IndexAlgebra, ScalarsAreTakenApart) {
  Val* size = inputScalar();
  Index twice = indices.scalar(IrBuilder::mulExpr(size, index(2)));
  EXPECT_EQ(twice, indices.mul(indices.scalar(size), n(2)));
  EXPECT_EQ(indices.params().size(), 1u);
  EXPECT_EQ(indices.scalar(index(7)), n(7));
}

// Random expressions without negative values, each beside a function that computes it plainly.
TEST_F(IndexAlgebra, RandomExpressionsKeepTheirValue) {
  using Values = std::map<Index, int64_t>;
  struct Term {
    Index index;
    std::function<int64_t(const Values&)> plain;
  };
  std::mt19937 random(7);
  const auto pick = [&](int64_t below) { return static_cast<int64_t>(random() % below); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Term> terms = {
        {i, [this](const Values& v) { return v.at(i); }},
        {j, [this](const Values& v) { return v.at(j); }},
        {n(12), [](const Values&) { return 12; }},
    };
    for (int step = 0; step < 12; ++step) {
      const Term a = terms[pick(static_cast<int64_t>(terms.size()))];
      const Term b = terms[pick(static_cast<int64_t>(terms.size()))];
      const int64_t number = (std::vector<int64_t>{1, 2, 3, 4, 6, 8, 12})[pick(7)];
      Index c = n(number);
      switch (pick(8)) {
        case 0:
        case 1:
          terms.push_back({indices.add(a.index, b.index), [=](const Values& v) {
                             return a.plain(v) + b.plain(v);
                           }});
          break;
        case 2:
        case 3:
          terms.push_back(
              {indices.mul(a.index, c), [=](const Values& v) { return a.plain(v) * number; }});
          break;
        case 4:
          terms.push_back(
              {indices.div(a.index, c), [=](const Values& v) { return a.plain(v) / number; }});
          break;
        case 5:
          terms.push_back(
              {indices.mod(a.index, c), [=](const Values& v) { return a.plain(v) % number; }});
          break;
        case 6:
          terms.push_back({indices.ceilDiv(a.index, c), [=](const Values& v) {
                             return (a.plain(v) + number - 1) / number;
                           }});
          break;
        default:
          terms.push_back({indices.min(a.index, b.index), [=](const Values& v) {
                             return std::min(a.plain(v), b.plain(v));
                           }});
      }
    }
    forEachRound({i, j}, [&](const Values& at) {
      for (const Term& term : terms) {
        ASSERT_EQ(valueOf(term.index, at), term.plain(at)) << "round " << round;
        const Index bound = indices.boundOf(term.index);
        if (bound != nullptr) {
          ASSERT_LT(valueOf(term.index, at), valueOf(bound, at));
        }
      }
    });
  }
}

} // namespace nvfuser
