// Builders of the attention nodes; shapes and meaning in ir/sdpa_nodes.h.
#pragma once

#include <ir/sdpa_nodes.h>

namespace nvfuser {

struct SdpaOptions {
  CausalAlignment alignment = CausalAlignment::TopLeft;
  std::string backend = "auto";
  bool inference = false; ///< forward: attn_out only
  bool bias_grad = false; ///< backward: also the gradient of bias
};

/// RuntimeError, naming the shapes or dtypes: rank below 4, ranks or dtypes that differ, a dtype
/// that is no real float of at least 16 bits, sizes that do not fit, H not a multiple of Hk, Hk of
/// 0, bias or mask that does not broadcast to [N,H,L,S], a mask that is not Bool, dropout_p outside
/// [0, 1].
SdpaFwdOp::Outputs sdpaFwd(const SdpaFwdOp::Operands& operands, const SdpaOptions& options = {});
SdpaBwdOp::Outputs sdpaBwd(const SdpaBwdOp::Operands& operands, const SdpaOptions& options = {});
/// The flash-named forms: bottom-right alignment.
SdpaFwdOp::Outputs sdpfaFwd(const SdpaFwdOp::Operands& operands);
SdpaBwdOp::Outputs sdpfaBwd(const SdpaBwdOp::Operands& operands);

/// The rank and dtype of philox_seed and philox_offset that builders give the nodes: set once by
/// the runtime, which knows the torch version (see runtime/rng_state.h).
struct RngStateForm {
  bool is_vector = true; ///< one uint64 tensor of 2 and an unused scalar; else two int64 scalars
};
void setRngStateForm(RngStateForm form);
RngStateForm rngStateForm();

} // namespace nvfuser
