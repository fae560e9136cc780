#include <analysis/allocation_order.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>
#include <passes/allocation_order.h>

#include <algorithm>

namespace nvfuser {

void setAllocationOrders(Fusion& fusion) {
  std::vector<TensorView*> tensors;
  for (size_t i = 0; i < fusion.outputs().size(); ++i) {
    auto* tv = dynamic_cast<TensorView*>(fusion.outputs()[i]);
    const bool is_free = tv != nullptr && !tv->hasAllocation() && !tv->isFusionInput() &&
        tv->nDims() > 1 && !fusion.aliasOf(i).has_value() && fusion.viewOf(i) == nullptr;
    if (is_free && std::find(tensors.begin(), tensors.end(), tv) == tensors.end()) {
      tensors.push_back(tv);
    }
  }
  const auto orders = inferAllocationOrders(fusion, tensors);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (orders[i].has_value()) {
      tensors[i]->setAllocationDomain(*orders[i], true);
    }
  }
}

} // namespace nvfuser
