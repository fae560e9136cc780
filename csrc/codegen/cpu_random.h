// The C++ text of random numbers in kernels for the CPU: those of runtime/philox.h, by the number
// of the element.
#pragma once

#include <lower/kernel.h>

#include <string>

namespace nvfuser {

/// Numbers that a buffer of one call holds: loops over neighbouring elements are cut into pieces of
/// at most this length, whose numbers are made before the piece runs.
inline constexpr int kRandomPiece = 512;

/// The functions that the texts below name, for the sources of this kernel; empty without any.
std::string cpuRandomPreamble(const Kernel& kernel);

/// The definition of source `number` (`d<number>`) from the words that begin at `first_word`.
std::string cpuRandomSource(int number, size_t first_word);

/// The number of one element.
std::string cpuRandomAt(const Kernel& kernel, int number, const std::string& element);

/// The declaration of a buffer of that name (`<name>` points to the number of element `first`),
/// filled for `count` elements, at most kRandomPiece.
std::string cpuRandomPiece(
    const Kernel& kernel,
    int number,
    const std::string& name,
    const std::string& first,
    const std::string& count);

} // namespace nvfuser
