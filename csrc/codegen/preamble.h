// What the preambles of all targets share.
#pragma once

#include <string>

namespace nvfuser {

/// The nvf_ types and functions of text.h that are the same for all targets: half types,
/// mathematics by the names of the C library, integers that wrap, and what integers and bools have
/// in common. The target's preamble defines before it:
///   NVF_FN                         what stands before a function
///   NVF_LIB(name, s)               the library's function of rounding and the like, for float (s
///                                  is f) or double (s is empty)
///   nvf_inf, nvf_inff              infinities
///   nvf_bits_of, nvf_float_of      the bits of a float, and back
///   NVF_TO_BF16, NVF_HALF          if it has its own nvf_to_bf16, or conversions of half
std::string commonPreamble();

} // namespace nvfuser
