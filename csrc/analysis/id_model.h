// The ID graphs of a fusion, one for each mapping mode, built when first asked for.
#pragma once

#include <analysis/id_graph.h>

#include <map>

namespace nvfuser {

class IdModel {
 public:
  /// `build_graphs`: all graphs at once. Without `allow_self_mapping`, RuntimeError when two
  /// dimensions of one tensor are the same dimension (x + x transposed). With `validate`,
  /// InternalError when mapped dimensions have different constant sizes.
  explicit IdModel(
      const Fusion* fusion,
      bool build_graphs = false,
      bool allow_self_mapping = true,
      bool validate = false);

  ValGraph& maybeBuildGraph(IdMappingMode mode);

  const Fusion* fusion() const {
    return fusion_;
  }

 private:
  ValGraph build(IdMappingMode mode);
  void checkSelfMapping();
  void checkExtents(const ValGraph& graph) const;

  const Fusion* fusion_;
  bool validate_;
  std::map<IdMappingMode, ValGraph> graphs_;
};

} // namespace nvfuser
