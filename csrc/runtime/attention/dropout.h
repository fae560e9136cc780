// Dropout of the math backend, and the random state of attention nodes: drawing, packing,
// unpacking.
#pragma once

#include <runtime/attention/backend.h>

namespace nvfuser {

/// Multipliers of the softmax's entries: 0 with probability p, else 1 / (1 - p); all 0 for p = 1.
/// Reproduced from the state. On CPU entry (row, key) depends on the state alone; elsewhere on the
/// order of the calls too.
class DropoutMask {
 public:
  /// Draws a new state from torch's generator of the device, which advances.
  static DropoutMask draw(double p, at::Device device);
  /// From the state that state() returned.
  static DropoutMask fromState(double p, at::Device device, const SdpaRngState& state);

  /// Multipliers [n, H, l, S] of batch rows [n0, n0 + n) and query rows [l0, l0 + l) of scores [N,
  /// H, L, S].
  at::Tensor multipliers(
      at::IntArrayRef scores,
      int64_t n0,
      int64_t n,
      int64_t l0,
      int64_t l,
      at::ScalarType type);
  /// Two int64 scalars on the CPU.
  SdpaRngState state() const;
  /// After the last draw: moves torch's generator past what was used.
  void finish();

 private:
  DropoutMask(double p, at::Device device, uint64_t seed, uint64_t offset);

  double p_;
  at::Device device_;
  uint64_t seed_;
  uint64_t offset_;
  at::Generator generator_; ///< not on CPU: a private copy that stands at the next draw
};

/// `state` in the form of the node: uint64 [2] and uint64 [] on `device`, or two int64 scalars.
SdpaRngState packRngState(const SdpaRngState& state, bool vector_form, at::Device device);
/// A state of that form whose contents are undefined, for calls without dropout.
SdpaRngState emptyRngState(bool vector_form, at::Device device);
/// Two int64 scalars out of either form; on the CPU when `on_host`.
SdpaRngState unpackRngScalars(const SdpaRngState& state, bool on_host);
/// uint64 [2] and uint64 [] on `device` out of either form.
SdpaRngState unpackRngVector(const SdpaRngState& state, at::Device device);

/// Remembers which backend drew `state`, so that a backward under other switches uses the same one.
/// Tied to the storage of the tensors, and forgotten with it.
void rememberRngOrigin(const SdpaRngState& state, const SdpaBackend& backend);
/// nullptr when not known (a copy of the state, or one that torch made).
const SdpaBackend* rngOrigin(const SdpaRngState& state);

} // namespace nvfuser
