// What the texts of random numbers share for all targets: those of runtime/philox.h, by the number
// of the element.
#pragma once

#include <lower/kernel.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nvfuser {

/// Philox itself: the macro NVF_PHILOX(block, d) that defines the four words c0 to c3 of a block of
/// the draw d, and the functions nvf_unit that make numbers in (0, 1) of them. The target's
/// preamble stands before it.
std::string philoxText();

DataType randomType(const RandomSource& source);
bool isNormal(const RandomSource& source);

/// The name of the function that gives the source's numbers, without its ending.
std::string randomFunction(const RandomSource& source);

/// Numbers of this type that one block of Philox gives.
int randomWidth(DataType dtype);

/// A text with the name of each pair, in this order, replaced by its value.
using Replacements = std::vector<std::pair<std::string_view, std::string>>;
std::string replacedAll(std::string text, const Replacements& replacements);

/// Those that all patterns of a type share: UNIT_AT, RADIUS_AT and ANGLE_AT (a number in (0, 1) of
/// the words c0 to c3, by `place` or `later`), WIDTH, SHIFT, AS_TYPE (of a double x), TYPE, NAME.
Replacements randomReplacements(DataType dtype);

} // namespace nvfuser
