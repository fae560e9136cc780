// What a random node draws in one run, for its evaluation and for kernels.
#pragma once

#include <runtime/evaluator_registry.h>
#include <runtime/philox.h>

#include <array>
#include <cstdint>

namespace nvfuser {

/// The distribution, and where its numbers begin.
struct RandomDraw {
  RandomSpec spec;
  uint64_t seed;
  uint64_t offset;
};

/// The draw of a random node with these parameters. Without values of `seed` and `offset`: from
/// torch's generator of the run's device; all nodes of a run share one state of it.
RandomDraw randomDraw(
    const Expr& expr,
    const ScalarValue& a,
    const ScalarValue& b,
    const ScalarValue& seed,
    const ScalarValue& offset,
    EvalContext& context);

/// The words that a kernel takes for a random source, as lower/kernel.h says. RuntimeError as
/// RandomScale.
std::array<int64_t, 5> kernelWords(const RandomDraw& draw);

} // namespace nvfuser
