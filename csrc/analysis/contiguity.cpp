#include <analysis/contiguity.h>
#include <ir/tensor_view.h>

#include <algorithm>

namespace nvfuser {

std::vector<std::vector<IterDomain*>> contiguousRuns(const TensorView* tv) {
  const auto& allocation = tv->getMaybeAllocationDomain();
  const auto& contiguity = tv->domain()->contiguity();
  std::vector<std::vector<IterDomain*>> runs;
  bool joins_next = false;
  for (size_t i = 0; i < allocation.size(); ++i) {
    if (!contiguity[i].has_value()) {
      continue;
    }
    if (!joins_next) {
      runs.emplace_back();
    }
    runs.back().push_back(allocation[i]);
    joins_next = *contiguity[i];
  }
  return runs;
}

bool isDense(const TensorView* tv) {
  const auto& contiguity = tv->domain()->contiguity();
  return std::all_of(
      contiguity.begin(), contiguity.end(), [](auto flag) { return flag.value_or(true); });
}

std::vector<int64_t> denseStrides(const TensorView* tv, const std::vector<int64_t>& sizes) {
  const auto logical = noReductions(tv->getLogicalDomain());
  const auto allocation = noReductions(tv->getMaybeAllocationDomain());
  NVF_ERROR(
      std::is_permutation(logical.begin(), logical.end(), allocation.begin(), allocation.end()),
      "the allocation domain of ",
      tv->toString(),
      " is no permutation of the logical domain");
  NVF_ERROR(sizes.size() == logical.size());
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = 1;
  for (auto it = allocation.rbegin(); it != allocation.rend(); ++it) {
    if ((*it)->hasExpandedExtent()) {
      continue;
    }
    const auto dim = std::find(logical.begin(), logical.end(), *it) - logical.begin();
    strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}

} // namespace nvfuser
