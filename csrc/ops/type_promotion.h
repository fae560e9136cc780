// Common types of operands, and the result types of the operator groups.
//
// Folder csrc/ops: what builds nodes. Every builder checks its arguments, promotes types, computes
// the output's domain and adds a node to the active fusion. It may include csrc/ir only.
#pragma once

#include <ir/pointwise_table.h>
#include <ir/statement.h>

#include <vector>

namespace nvfuser {

/// Step 1: the common type. Tensors of rank above 0 outrank 0-dim tensors, which outrank scalars; a
/// lower class changes the category (int to float to complex) but not the width.
DataType commonType(const std::vector<Val*>& operands);

struct PromotedTypes {
  DataType operands; ///< what tensor operands are cast to
  DataType result;
};
/// Step 2: what a group makes of the common type. RuntimeError, naming `op`, where the group
/// refuses it.
PromotedTypes promotedTypes(
    std::string_view op,
    PromotionGroup group,
    const std::vector<Val*>& operands);

} // namespace nvfuser
