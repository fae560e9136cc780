// The CUDA text of random numbers in kernels: those of runtime/philox.h, by the number of the
// element.
#pragma once

#include <lower/kernel.h>

#include <string>

namespace nvfuser {

/// The functions that the texts below name, for the sources of this kernel; empty without any. It
/// stands after cudaPreamble().
std::string cudaRandomPreamble(const Kernel& kernel);

/// The definition of source `number` (`d<number>`) from the kRandomWords words that begin at
/// `first_word` of the array args.words.
std::string cudaRandomSource(int number, size_t first_word);

/// The number of one element, in the type of the source.
std::string cudaRandomAt(const Kernel& kernel, int number, const std::string& element);

/// The numbers of `width` (a power of two) elements from `first` on, an nvf_vec of the source's
/// type: a block of Philox serves as many as it has, which is what random numbers cost; fastest
/// where `first` is a multiple of 4 and of the width.
std::string cudaRandomVector(const Kernel& kernel, int number, int width, const std::string& first);

} // namespace nvfuser
