// The registry of attention backends: what each takes, how one is chosen, and which one ran.
#pragma once

#include <runtime/attention/problem.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nvfuser {

class SdpaBackend;

/// Random state as a backend has it: two int64 scalars, or flash's uint64 [2] and an unused uint64
/// [].
struct SdpaRngState {
  at::Tensor seed;
  at::Tensor offset;
};

struct SdpaForwardResult {
  at::Tensor attn_out;  ///< [N, H, L, Ev], any strides
  at::Tensor logsumexp; ///< [N, H, L] float32, natural log, -inf where no key is seen; undefined
                        ///< unless training
  SdpaRngState rng;     ///< undefined without dropout
  const SdpaBackend* rng_origin = nullptr; ///< which backend drew it
};

struct SdpaBackwardInputs {
  at::Tensor grad_out;  ///< [N, H, L, Ev]
  at::Tensor attn_out;  ///< [N, H, L, Ev]
  at::Tensor logsumexp; ///< [N, H, L]
  SdpaRngState rng;     ///< of the node; see dropout.h for unpacking
};

struct SdpaBackwardResult {
  at::Tensor grad_query, grad_key, grad_value; ///< shapes of the operands, any strides
  at::Tensor grad_bias; ///< shape of the 4-D bias; undefined unless problem.bias_grad
};

class SdpaBackend {
 public:
  virtual ~SdpaBackend() = default;
  virtual std::string_view name() const = 0;
  /// torch's global switch for it (torch.nn.attention.sdpa_kernel) is on.
  virtual bool switchedOn() const = 0;
  /// Empty when it computes this problem right; else the reason why not. Problems with an empty
  /// tensor never come here.
  virtual std::string supports(const SdpaProblem& problem, SdpaPass pass) const = 0;
  /// Applies the bias and the mask separately; others get them summed into `bias`.
  virtual bool takesMask() const {
    return false;
  }
  virtual SdpaForwardResult forward(const SdpaProblem& problem) const = 0;
  virtual SdpaBackwardResult backward(const SdpaProblem& problem, const SdpaBackwardInputs& inputs)
      const = 0;
};

const SdpaBackend& flashBackend();
const SdpaBackend& efficientBackend();
const SdpaBackend& cudnnBackend();
const SdpaBackend& cpuFlashBackend();
const SdpaBackend& mathBackend();

/// All backends. The order is that of `auto` for this pass, fastest first.
std::vector<const SdpaBackend*> sdpaBackendOrder(const SdpaProblem& problem, SdpaPass pass);

struct SdpaBackendInfo {
  std::string name;
  bool eligible = false;
  std::string reason; ///< why not; empty when eligible
};
/// What `auto` would see for this problem, in its order of preference.
std::vector<SdpaBackendInfo> sdpaBackends(
    const SdpaProblem& problem,
    SdpaPass pass = SdpaPass::Forward);

/// Runs one pass. `backend` is "auto" or a name. RuntimeError, naming `op`, the backend, the reason
/// and the problem, when it cannot run; for "auto" with the reasons of all.
SdpaForwardResult runSdpaForward(
    std::string_view op,
    const SdpaProblem& problem,
    const std::string& backend);
SdpaBackwardResult runSdpaBackward(
    std::string_view op,
    const SdpaProblem& problem,
    const SdpaBackwardInputs& inputs,
    const std::string& backend);

/// RuntimeError, naming `op` and the backends there are, unless `name` is "auto" or one of them.
void checkSdpaBackendName(std::string_view op, const std::string& name);

// --- which backend ran ---

/// Name of the backend of this thread's most recent attention node; empty before the first.
std::string lastSdpaBackend();
/// Nodes run since the start or the last reset, by name: "flash" for forward, "flash_backward" for
/// backward.
std::vector<std::pair<std::string, int64_t>> sdpaRunCounts();
/// The same names in the order in which the nodes ran; the most recent 1024.
std::vector<std::string> sdpaRunLog();
void resetSdpaRunCounts();

} // namespace nvfuser
