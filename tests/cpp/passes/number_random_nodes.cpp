// Random nodes are numbered in reading order, whatever the order in which they were made.
#include <ops/factory.h>
#include <passes/number_random_nodes.h>

#include "../ops/op_test.h"

namespace nvfuser {

class NumberRandomNodes : public OpTest {
 protected:
  TensorView* draw() {
    return uniform({constant(int64_t{4})}, constant(0.0), constant(1.0), DataType::Float);
  }
  static int64_t idOf(const TensorView* tv) {
    return tv->definition()->attribute<int64_t>("rng_id");
  }
};

TEST_F(NumberRandomNodes, InReadingOrderWithoutGaps) {
  TensorView* late = draw();
  draw(); // no output needs it
  TensorView* early = draw();
  fusion.addOutput(early);
  fusion.addOutput(late);
  numberRandomNodes(fusion);
  EXPECT_EQ(idOf(early), 0);
  EXPECT_EQ(idOf(late), 1);
  EXPECT_EQ(fusion.outputs(), (std::vector<Val*>{early, late}));
}

TEST_F(NumberRandomNodes, SeededNodesTakeNone) {
  Val* one = constant(int64_t{1});
  TensorView* seeded = normal({one}, constant(0.0), constant(1.0), DataType::Float, one, one);
  TensorView* drawn = draw();
  fusion.addOutput(seeded);
  fusion.addOutput(drawn);
  numberRandomNodes(fusion);
  EXPECT_EQ(idOf(drawn), 0);
  EXPECT_EQ(idOf(seeded), -1);
}

} // namespace nvfuser
