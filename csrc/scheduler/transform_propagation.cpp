#include <scheduler/transform_propagation.h>

#include <analysis/id_model.h>
#include <ir/fusion.h>
#include <ir/traversal.h>

#include <algorithm>

namespace nvfuser {

namespace {

size_t normalized(const TensorView* reference, int64_t position) {
  const int64_t n = reference->nLoopDims();
  NVF_CHECK(
      position >= -n - 1 && position <= n,
      "position ",
      position,
      " is out of range for ",
      reference->toString());
  return static_cast<size_t>(position < 0 ? position + n + 1 : position);
}

std::vector<IterDomain*> leadingLoops(const TensorView* reference, int64_t position) {
  const auto& loop = reference->getLoopDomain();
  return {loop.begin(), loop.begin() + static_cast<int64_t>(normalized(reference, position))};
}

// Repeats the reference's transforms on the logical domain of one target.
class Replay {
 public:
  Replay(const ValGraph& graph, const TensorView* reference, TensorView* target)
      : graph_(graph), target_(target), leaves_(target->getLogicalDomain()) {
    for (IterDomain* id : reference->getMaybeRootDomain()) {
      findImage(id);
    }
  }

  void run(const std::vector<Expr*>& transforms, const std::vector<IterDomain*>& loops) {
    for (Expr* transform : transforms) {
      bool known = false;
      for (IterDomain* out : domainsOf(transform->outputs())) {
        findImage(out);
        known = known || images_.contains(out);
      }
      if (!known) {
        repeat(transform);
      }
    }
    std::vector<IterDomain*> result;
    for (IterDomain* loop : loops) {
      const auto it = images_.find(loop);
      // A broadcast merged away leaves two loops with one image.
      if (it != images_.end() && std::erase(leaves_, it->second) > 0) {
        result.push_back(it->second);
      }
    }
    result.insert(result.end(), leaves_.begin(), leaves_.end());
    target_->setLoopDomain(std::move(result));
  }

 private:
  // A leaf of the target that is the same dimension.
  void findImage(IterDomain* id) {
    for (IterDomain* leaf : leaves_) {
      const bool taken = std::any_of(
          images_.begin(), images_.end(), [&](const auto& entry) { return entry.second == leaf; });
      if (!taken && (leaf == id || graph_.disjointValSets().areMapped(id, leaf))) {
        images_[id] = leaf;
        return;
      }
    }
  }

  IterDomain* image(IterDomain* id) const {
    const auto it = images_.find(id);
    return it == images_.end() ? nullptr : it->second;
  }

  void replaceLeaves(const std::vector<IterDomain*>& old, const std::vector<IterDomain*>& made) {
    const auto place = std::find(leaves_.begin(), leaves_.end(), old.front());
    leaves_.insert(place, made.begin(), made.end());
    for (IterDomain* id : old) {
      std::erase(leaves_, id);
    }
  }

  void repeat(Expr* transform) {
    const auto ins = domainsOf(transform->inputs());
    const auto outs = domainsOf(transform->outputs());
    std::vector<IterDomain*> images;
    for (IterDomain* in : ins) {
      if (IterDomain* found = image(in)) {
        images.push_back(found);
      }
    }
    if (dynamic_cast<Merge*>(transform) != nullptr && images.size() == 1) {
      // The target lacks one side, a broadcast of the reference.
      images_[outs.front()] = images.front();
      return;
    }
    // A reduction and an iteration of the target cannot become one loop.
    const bool mixed = std::any_of(images.begin(), images.end(), [&](const IterDomain* id) {
      return id->isReduction() != images.front()->isReduction();
    });
    if (images.size() < ins.size() || mixed || dynamic_cast<Resize*>(transform) != nullptr) {
      return;
    }
    std::unordered_map<IterDomain*, IterDomain*> map;
    for (size_t i = 0; i < ins.size(); ++i) {
      map[ins[i]] = images[i];
    }
    replayTransforms({transform}, map);
    std::vector<IterDomain*> made;
    for (IterDomain* out : outs) {
      images_[out] = map.at(out);
      made.push_back(map.at(out));
    }
    replaceLeaves(images, made);
  }

  const ValGraph& graph_;
  TensorView* target_;
  std::vector<IterDomain*> leaves_;
  std::unordered_map<IterDomain*, IterDomain*> images_;
};

} // namespace

void transformLike(
    const TensorView* reference,
    int64_t position,
    const std::vector<TensorView*>& targets) {
  FusionGuard guard(reference->fusion());
  const auto loops = leadingLoops(reference, position);
  const auto transforms = transformsBetween(reference->getMaybeRootDomain(), loops);
  IdModel model(reference->fusion());
  const ValGraph& graph = model.maybeBuildGraph(IdMappingMode::Permissive);
  for (TensorView* target : targets) {
    if (target != reference) {
      Replay(graph, reference, target).run(transforms, loops);
    }
  }
}

void parallelizeLike(
    const TensorView* reference,
    int64_t position,
    const std::vector<TensorView*>& targets,
    const std::unordered_set<ParallelType>& types) {
  IdModel model(reference->fusion());
  const ValGraph& graph = model.maybeBuildGraph(IdMappingMode::Permissive);
  for (const IterDomain* loop : leadingLoops(reference, position)) {
    const ParallelType type = loop->parallelType();
    if (type == ParallelType::Serial || (!types.empty() && !types.contains(type))) {
      continue;
    }
    for (TensorView* target : targets) {
      for (IterDomain* id : target->getLoopDomain()) {
        if (target != reference &&
            graph.disjointValSets().areMapped(const_cast<IterDomain*>(loop), id)) {
          id->parallelize(type);
        }
      }
    }
  }
}

std::vector<TensorView*> producersBetween(const std::vector<TensorView*>& to, TensorView* from) {
  const auto between = valsBetween({to.begin(), to.end()}, {from});
  const auto is_boundary = [&](TensorView* tv) {
    if (std::find(to.begin(), to.end(), tv) == to.end()) {
      return false;
    }
    std::vector<Val*> others(to.begin(), to.end());
    std::erase(others, tv);
    return valsBetween(others, {tv}).empty();
  };
  std::vector<TensorView*> result;
  for (TensorView* tv : from->fusion()->tensorViews()) {
    if (tv != from && between.contains(tv) && !is_boundary(tv)) {
      result.push_back(tv);
    }
  }
  return result;
}

} // namespace nvfuser
