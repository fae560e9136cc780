#include <analysis/id_model.h>
#include <analysis/logical_domain_map.h>
#include <ir/fusion.h>
#include <ir/tensor_view.h>

namespace nvfuser {

namespace {

// Loops of a producer left of its inline position are the consumer's.
ValGraph buildLoopGraph(const Fusion& fusion) {
  ValGraph graph;
  const auto tensors = fusion.tensorViews();
  for (const TensorView* tv : tensors) {
    for (IterDomain* id : tv->getLoopDomain()) {
      graph.addId(id);
    }
  }
  for (const TensorView* producer : tensors) {
    for (const Expr* use : producer->uses()) {
      for (const Val* out : use->outputs()) {
        const auto* consumer = dynamic_cast<const TensorView*>(out);
        if (consumer == nullptr) {
          continue;
        }
        const int64_t shared = std::min(producer->computeAtPosition(), consumer->nLoopDims());
        for (int64_t i = 0; i < shared; ++i) {
          graph.join(producer->axis(i), consumer->axis(i));
        }
      }
    }
  }
  return graph;
}

} // namespace

IdModel::IdModel(const Fusion* fusion, bool build_graphs, bool allow_self_mapping, bool validate)
    : fusion_(fusion), validate_(validate) {
  if (build_graphs) {
    for (auto mode :
         {IdMappingMode::Exact,
          IdMappingMode::AlmostExact,
          IdMappingMode::Broadcast,
          IdMappingMode::Permissive,
          IdMappingMode::Loop}) {
      maybeBuildGraph(mode);
    }
  }
  if (!allow_self_mapping) {
    checkSelfMapping();
  }
}

ValGraph& IdModel::maybeBuildGraph(IdMappingMode mode) {
  const auto it = graphs_.find(mode);
  return it != graphs_.end() ? it->second : graphs_.emplace(mode, build(mode)).first->second;
}

ValGraph IdModel::build(IdMappingMode mode) {
  if (mode == IdMappingMode::Loop) {
    return buildLoopGraph(*fusion_);
  }
  const bool trivial = mode == IdMappingMode::AlmostExact || mode == IdMappingMode::Permissive;
  const bool broadcasts = mode == IdMappingMode::Broadcast || mode == IdMappingMode::Permissive;
  ValGraph graph(trivial);
  for (const TensorView* tv : fusion_->tensorViews()) {
    graph.addTensor(tv);
  }
  const LogicalDomainMap logical(
      *fusion_, broadcasts ? BroadcastMapping::Together : BroadcastMapping::Separate);
  for (size_t set : logical.sets().ids()) {
    const auto& members = logical.sets().members(set);
    for (IterDomain* id : members) {
      graph.join(members.front(), id);
    }
  }
  graph.propagate();
  if (validate_ && mode == IdMappingMode::Exact) {
    checkExtents(graph);
  }
  return graph;
}

void IdModel::checkSelfMapping() {
  const auto& sets = maybeBuildGraph(IdMappingMode::Exact).disjointValSets();
  for (const TensorView* tv : fusion_->tensorViews()) {
    std::unordered_map<size_t, const IterDomain*> seen;
    for (IterDomain* id : tv->getLogicalDomain()) {
      const auto [it, is_new] = seen.emplace(sets.idOf(id), id);
      NVF_CHECK(
          is_new,
          "two dimensions of ",
          tv->toString(),
          " are the same dimension: ",
          it->second->toString(),
          " and ",
          id->toString());
    }
  }
}

void IdModel::checkExtents(const ValGraph& graph) const {
  const auto& sets = graph.disjointValSets();
  for (size_t set : sets.ids()) {
    const IterDomain* constant = nullptr;
    for (const IterDomain* id : sets.members(set)) {
      if (id->isBroadcast() || !id->extent()->isConstInt()) {
        continue;
      }
      NVF_ERROR(
          constant == nullptr || constant->extent()->constInt() == id->extent()->constInt(),
          "mapped dimensions of different sizes: ",
          constant->toString(),
          " and ",
          id->toString());
      constant = id;
    }
  }
}

} // namespace nvfuser
