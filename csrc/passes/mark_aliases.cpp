#include <analysis/aliases.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>
#include <passes/mark_aliases.h>

namespace nvfuser {

void markAliases(Fusion& fusion) {
  const auto views = findOutputViews(fusion);
  for (size_t i = 0; i < views.size(); ++i) {
    fusion.markView(i, views[i].has_value() ? views[i]->input : nullptr);
  }
}

} // namespace nvfuser
