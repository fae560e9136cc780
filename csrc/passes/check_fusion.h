// What an unscheduled fusion may contain.
#pragma once

#include <string>
#include <vector>

namespace nvfuser {

class Fusion;

/// Rules that the fusion breaks, a sentence each with the node's text. The rules:
///  - operands, results, definitions and uses agree with each other and belong to the fusion;
///  - inputs have no definition; inputs and outputs lie in global memory;
///  - an output is an input or has a definition; a written input is an input of the output's dtype;
///  - a tensor is not scheduled: loop domain as logical domain, serial, not inlined; its allocation
///  domain
///    is a permutation of the logical domain; logical domains come from root domains or are new
///    broadcasts (of any kind when the tensor is empty);
///  - only results of reductions have reduction domains; contiguity is absent exactly for
///  broadcasts and
///    reductions;
///  - every size follows from constants, scalar inputs and sizes of input tensors;
///  - nodes map dimensions that exist.
///
/// With `may_be_scheduled`, tensors may be: a user may schedule a fusion before it is executed.
std::vector<std::string> brokenRules(const Fusion& fusion, bool may_be_scheduled = false);

/// A tensor breaks a rule about schedules.
bool isScheduled(const Fusion& fusion);

/// InternalError with all broken rules, introduced by `when`: "after pass "dead_code": ...".
void checkFusion(const Fusion& fusion, const std::string& when, bool may_be_scheduled = false);

} // namespace nvfuser
