// A fusion as the text of a Python function that defines the same fusion.
#pragma once

#include <ir/fusion.h>

#include <string>

namespace nvfuser {

/// `def nvfuser_fusion(fd : FusionDefinition) -> None :` and one statement a line. Running it in a
/// new FusionDefinition gives an equal fusion.
std::string pythonText(const Fusion& fusion);

} // namespace nvfuser
