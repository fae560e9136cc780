// Gives outputs the memory order of the inputs they come from.
#pragma once

namespace nvfuser {

class Fusion;

/// Afterwards an output whose order follows from the inputs (analysis/allocation_order.h) and is
/// not the logical one has an allocation domain in that order, dense. Outputs with an allocation
/// domain, outputs written into an input, views and inputs that are outputs stay as they are.
/// Stands last: an order that is set here would make a view of an input a copy.
void setAllocationOrders(Fusion& fusion);

} // namespace nvfuser
