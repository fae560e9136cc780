#include <runtime/rng_state.h>
#include <runtime/torch_version.h>

namespace nvfuser {

namespace {

RngStateForm formOf(const TorchVersion& version, bool is_rocm) {
  return {.is_vector = version.atLeast(2, 7) && !is_rocm};
}

// Builders ask ops/sdpa.h, which may not know torch: tell it when the library is loaded.
const bool told_builders = [] {
  setRngStateForm(rngStateFormOfThisTorch());
  return true;
}();

} // namespace

RngStateForm rngStateFormOf(std::string_view torch_version, bool is_rocm) {
  return formOf(TorchVersion::parse(torch_version), is_rocm);
}

RngStateForm rngStateFormOfThisTorch() {
  return formOf(torchVersion(), torchIsRocm());
}

} // namespace nvfuser
