// Philox 4x32-10, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", 2011), and how its state follows torch's generators.
//
// Numbers of a tensor: element e belongs to block e / w and takes the words of its place e % w in
// it; a block is the output of one counter (offset, block) under the key seed. w is 4, one word per
// element, or 2 for Double, two words per element.
//   uniform in (0, 1): (word + 0.5) / 2^32; Double: (52 bits + 0.5) / 2^52
//   normal (Box-Muller): a pair u, v of such numbers gives sqrt(-2 ln u) times sin(2 pi v) for the
//   even element and times cos(2 pi v) for the odd one
// All arithmetic is done in double and rounded once, so CPU and CUDA agree.
#pragma once

#include <ir/random_nodes.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace nvfuser {

/// The four words of one counter.
std::array<uint32_t, 4> philox4x32(uint64_t seed, uint64_t block, uint64_t offset);

/// Seed and offset for a run with `random_nodes` random nodes, and moves torch's default generator
/// of `device` on by 4 for each. Node i of the run uses offset / 4 + i.
///
/// CUDA: the generator's own seed and philox offset. RuntimeError while a CUDA graph is being
/// captured.
///
/// CPU: torch's generator there is a Mersenne twister without an offset. The seed is the one it was
/// seeded with, the offset 4 times the number of 32-bit words drawn since, and each random node
/// draws one word. So the state is a function of the generator's state: torch.manual_seed makes
/// runs repeat, consecutive runs differ, saved states can be restored, and torch's own draws move
/// it on as well. Where the number of words cannot be told (more than some 600,000 drawn), two
/// words are drawn as the seed.
std::pair<uint64_t, uint64_t> nextPhiloxState(at::Device device, int64_t random_nodes);

/// Whether `device`'s generator is being captured into a CUDA graph.
bool isCapturingGenerator(at::Device device);

/// Parameters of a distribution: uniform in [a, b), or mean a and deviation b.
struct RandomSpec {
  RngType type;
  double a;
  double b;
  at::ScalarType dtype;
};

/// What turns a number x of the standard distribution into the one asked for:
/// min(start + factor * x, cap). A uniform number is never the upper end, however short the dtype.
struct RandomScale {
  double start;
  double factor;
  double cap;

  /// RuntimeError: a dtype that is not floating point (or fp4, e8m0), or an invalid range.
  explicit RandomScale(const RandomSpec& spec);
  double operator()(double x) const {
    return std::min(start + factor * x, cap);
  }
};

/// A contiguous tensor of these sizes on `device`. A uniform number is never the upper end, however
/// short the dtype. RuntimeError: a dtype that is not floating point (or fp4, e8m0), or an invalid
/// range.
at::Tensor philoxTensor(
    const RandomSpec& spec,
    at::IntArrayRef sizes,
    at::Device device,
    uint64_t seed,
    uint64_t offset);
/// As above in tensor operations, with the key a 0-dim Long tensor on CPU or on `device`: this is
/// the form for accelerators. A key on the device may differ at each replay of a captured graph.
at::Tensor philoxTensor(
    const RandomSpec& spec,
    at::IntArrayRef sizes,
    at::Device device,
    const at::Tensor& seed,
    uint64_t offset);

} // namespace nvfuser
