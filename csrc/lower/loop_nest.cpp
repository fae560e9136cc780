#include <lower/loop_nest.h>

#include <analysis/id_model.h>
#include <ir/nodes.h>
#include <ir/traversal.h>

#include <algorithm>
#include <set>

namespace nvfuser {

namespace {

const Split* splitThatMakes(const IterDomain* id) {
  return dynamic_cast<const Split*>(id->definition());
}

bool isStoredOnPurpose(const TensorView* tv) {
  const bool is_reduction = tv->definition()->traits().reduction;
  return is_reduction || !tv->isInlined();
}

// Blocks and threads run over it, on a GPU.
bool isThreadType(ParallelType type) {
  return type >= ParallelType::BIDx && type <= ParallelType::TIDz;
}

} // namespace

bool NestRoot::reducesOverThreads() const {
  return std::any_of(
      threads.begin(), threads.end(), [](const auto& t) { return t.first->isReduction(); });
}

Index NestRoot::stopOf(IndexContext& indices, const IterDomain* id, const IndexMap& outer) const {
  Index extent = extentOf(indices, id);
  const Split* split = splitThatMakes(id);
  const bool in_schedule = split != nullptr &&
      std::find(transforms.begin(), transforms.end(), split) != transforms.end();
  if (!in_schedule || split->isDivisible()) {
    return extent;
  }
  const bool is_inner = split->inner() == id;
  const IterDomain* sibling = is_inner ? split->outer() : split->inner();
  IndexMap known = outer;
  indicesBackward(indices, transforms, known);
  const auto it = known.find(sibling);
  if (it == known.end()) {
    return extent;
  }
  Index total = extentOf(indices, split->in());
  Index inner_length = extentOf(indices, split->inner());
  if (is_inner) {
    return indices.min(extent, indices.sub(total, indices.mul(it->second, inner_length)));
  }
  return indices.min(extent, indices.ceilDiv(indices.sub(total, it->second), inner_length));
}

LoopNest::LoopNest(
    const Fusion& segment,
    IndexContext& indices,
    const std::set<const TensorView*>& apart,
    const LowerOptions& options)
    : indices_(indices), apart_(apart), options_(options) {
  collectRoots(segment);
  arrange(segment);
  findSharing();
}

void LoopNest::collectRoots(const Fusion& segment) {
  // For each tensor the roots that its value is computed from.
  std::unordered_map<const Val*, std::set<size_t>> needs;
  for (const Expr* expr : segment.exprs()) {
    std::set<size_t> found;
    for (const Val* in : expr->inputs()) {
      const auto it = needs.find(in);
      if (it != needs.end()) {
        found.insert(it->second.begin(), it->second.end());
      }
    }
    for (const Val* out : expr->outputs()) {
      const auto* tv = dynamic_cast<const TensorView*>(out);
      if (tv == nullptr) {
        continue;
      }
      if (!tv->isFusionOutput() && !isStoredOnPurpose(tv)) {
        needs[tv] = found;
        continue;
      }
      auto root = std::make_unique<NestRoot>();
      root->tv = tv;
      root->is_output = tv->isFusionOutput();
      for (size_t i : found) {
        root->needs.push_back(roots_[i].get());
      }
      describe(*root);
      // An output that is no reduction is not read back: its users compute it again, or find it
      // computed in their own loops.
      const bool is_read = root->first_reduction < root->loops.size() || !root->is_output ||
          root->reducesOverThreads();
      needs[tv] = is_read ? std::set<size_t>{roots_.size()} : found;
      roots_.push_back(std::move(root));
    }
  }
}

void LoopNest::describe(NestRoot& root) {
  const auto& loop = root.tv->getLoopDomain();
  // The transforms of a partial reduction belong to its definition, and cut its loops all the same.
  const bool is_reduction = root.tv->definition()->traits().reduction;
  root.transforms = transformsBetween(
      is_reduction ? root.tv->getMaybeRootDomain() : root.tv->getLogicalDomain(), loop);
  bool in_reduction = false;
  for (IterDomain* id : loop) {
    if (isTrivial(id)) {
      continue;
    }
    const bool is_thread =
        options_.target == KernelTarget::Cuda && isThreadType(id->parallelType());
    if (id->isReduction() && !in_reduction) {
      in_reduction = true;
      root.first_reduction = root.loops.size();
    }
    if (is_thread) {
      root.threads.emplace_back(id, indices_.thread(id->parallelType(), extentOf(indices_, id)));
      continue;
    }
    root.loops.push_back(id);
  }
  if (!in_reduction) {
    root.first_reduction = root.loops.size();
  }
  // A split whose second loop to open is one of its own results ends that loop in time.
  for (const Expr* transform : root.transforms) {
    const auto* split = dynamic_cast<const Split*>(transform);
    const bool on_gpu = options_.target == KernelTarget::Cuda;
    if (split != nullptr && on_gpu && isTrivial(split->in())) {
      root.beyond.push_back(split);
    }
    if (split == nullptr || isTrivial(split->in()) || isExact(split)) {
      continue;
    }
    if (on_gpu) {
      // All threads make the same rounds.
      root.guarded.push_back(split->in());
      continue;
    }
    IndexMap known;
    for (const IterDomain* id : loop) {
      if (isTrivial(id)) {
        known[id] = indices_.constant(0);
      }
    }
    bool cut = false;
    for (IterDomain* id : root.loops) {
      if (id == split->inner() || id == split->outer()) {
        IndexMap so_far = known;
        indicesBackward(indices_, root.transforms, so_far);
        const IterDomain* sibling = id == split->inner() ? split->outer() : split->inner();
        cut = cut || so_far.contains(sibling);
      }
      known[id] = indices_.value(-1 - static_cast<int>(known.size()), 0, extentOf(indices_, id));
    }
    if (!cut) {
      root.guarded.push_back(split->in());
    }
  }
}

// No part of the dimension is left over.
bool LoopNest::isExact(const Split* split) {
  if (split->isDivisible()) {
    return true;
  }
  Index extent = extentOf(indices_, split->in());
  return split->factor()->isConstInt() &&
      std::any_of(options_.multiples.begin(), options_.multiples.end(), [&](const auto& multiple) {
           return indices_.scalar(multiple.first) == extent &&
               multiple.second % split->factor()->constInt() == 0;
         });
}

// Whether the tensor can be computed by the blocks that compute the last stage.
bool LoopNest::fitsStage(const NestRoot& root) const {
  if (stages_.empty()) {
    return false;
  }
  std::map<ParallelType, Index> blocks;
  for (const auto& [id, index] : root.threads) {
    if (id->parallelType() <= ParallelType::BIDz) {
      blocks[id->parallelType()] = extentOf(indices_, id);
    }
  }
  for (const auto& [type, extents] : stages_.back()->threads) {
    if (type <= ParallelType::BIDz &&
        (!blocks.contains(type) || blocks.at(type) != extents.front())) {
      return false;
    }
    blocks.erase(type);
  }
  return blocks.empty() && std::none_of(root.needs.begin(), root.needs.end(), [&](auto* needed) {
           return placed_.at(needed).stage + 1 == stages_.size() && apart_.contains(needed->tv);
         });
}

size_t LoopNest::shareable(const NestRoot& root) const {
  size_t count = 0;
  while (count < root.loops.size() && count < path_.size()) {
    const IterDomain* id = root.loops[count];
    const NestLoop& open = *path_[count];
    if (sets_.at(id) != open.id_set || id->parallelType() != open.type ||
        extentOf(indices_, id) != open.extent) {
      break;
    }
    ++count;
  }
  for (const NestRoot* needed : root.needs) {
    const auto& other = placed_.at(needed);
    if (other.stage + 1 != stages_.size()) {
      continue;
    }
    size_t common = 0;
    while (common < other.path.size() && common < path_.size() &&
           other.path[common] == path_[common]) {
      ++common;
    }
    // The result of a reduction is there after its loops; an element of another tensor once it is
    // computed, so that those who read the same element may do so in the same loop.
    if (apart_.contains(needed->tv)) {
      count = 0;
    } else if (needed->tv->memoryType() == MemoryType::Shared) {
      // Other threads write what is read: the loops that make it are over, but for those that the
      // user has said to share.
      size_t around = 0;
      for (int64_t axis = 0; axis < needed->tv->computeAtPosition(); ++axis) {
        const auto& loops = needed->loops;
        around += std::find(loops.begin(), loops.end(), needed->tv->axis(axis)) != loops.end();
      }
      count = std::min({count, around, needed->first_reduction});
    } else if (common > needed->first_reduction) {
      count = std::min(count, needed->first_reduction);
    }
  }
  return count;
}

void LoopNest::placeRoot(NestRoot& root, size_t shared) {
  const bool on_gpu = options_.target == KernelTarget::Cuda;
  const bool parallel =
      !on_gpu && !root.loops.empty() && root.loops.front()->parallelType() == ParallelType::BIDx;
  const bool joins_serial_stage = on_gpu
      ? fitsStage(root)
      : shared == 0 && !parallel && !stages_.empty() && stages_.back()->variable == nullptr;
  path_.resize(shared);
  if (shared == 0 && !joins_serial_stage) {
    stages_.push_back(std::make_unique<NestLoop>());
  }
  for (const auto& [id, index] : root.threads) {
    auto& extents = stages_.back()->threads[id->parallelType()];
    Index extent = extentOf(indices_, id);
    if (std::find(extents.begin(), extents.end(), extent) == extents.end()) {
      extents.push_back(extent);
    }
  }
  NestLoop* body = stages_.back().get();
  const bool top_is_loop = parallel;
  IndexMap known;
  for (IterDomain* id : root.tv->getLoopDomain()) {
    if (isTrivial(id)) {
      known[id] = indices_.constant(0);
    }
  }
  NestLoop::Child* completing = nullptr;
  for (size_t i = 0; i < root.loops.size(); ++i) {
    IterDomain* id = root.loops[i];
    if (i < shared) {
      body = path_[i];
      known[id] = body->variable;
      continue;
    }
    NestLoop* loop = nullptr;
    if (i == 0 && top_is_loop) {
      loop = stages_.back().get();
    } else {
      body->children.push_back({std::make_unique<NestLoop>(), nullptr, {}});
      loop = body->children.back().loop.get();
      if (i == root.first_reduction) {
        completing = &body->children.back();
        completing->completes.push_back(&root);
      }
    }
    loop->extent = extentOf(indices_, id);
    loop->type = id->parallelType();
    loop->id_set = sets_.at(id);
    loop->variable = indices_.loop(loop->extent, static_cast<int>(i) + 1);
    loop->stop = on_gpu ? loop->extent : root.stopOf(indices_, id, known);
    known[id] = loop->variable;
    path_.push_back(loop);
    body = loop;
  }
  if (root.first_reduction < shared) {
    // The loops are open already: the child that holds them is the last one.
    NestLoop* holder =
        root.first_reduction == 0 ? stages_.back().get() : path_[root.first_reduction - 1];
    holder->children.back().completes.push_back(&root);
  }
  body->children.push_back({nullptr, &root, {}});
  placed_[&root] = {stages_.size() - 1, {path_.begin(), path_.end()}};
}

void LoopNest::arrange(const Fusion& segment) {
  IdModel model(&segment);
  const auto& sets = model.maybeBuildGraph(IdMappingMode::AlmostExact).disjointValSets();
  for (const auto& root : roots_) {
    for (IterDomain* id : root->loops) {
      sets_[id] = sets.idOf(id);
    }
  }
  std::vector<NestRoot*> waiting;
  for (const auto& root : roots_) {
    waiting.push_back(root.get());
  }
  while (!waiting.empty()) {
    // Of those whose needs are met, the one that fits deepest into the open loops.
    size_t best = waiting.size();
    std::pair<bool, size_t> best_fit;
    for (size_t i = 0; i < waiting.size(); ++i) {
      const auto& needs = waiting[i]->needs;
      const bool ready = std::all_of(
          needs.begin(), needs.end(), [&](const NestRoot* n) { return placed_.contains(n); });
      if (!ready) {
        continue;
      }
      // On a GPU those that other blocks compute open a stage, which no one can go back from.
      const bool fits = options_.target == KernelTarget::Cpu || fitsStage(*waiting[i]);
      const std::pair<bool, size_t> fit(fits, fits ? shareable(*waiting[i]) : 0);
      if (best == waiting.size() || fit > best_fit) {
        best = i;
        best_fit = fit;
      }
    }
    NVF_ERROR(best < waiting.size(), "the tensors of a segment need each other in a circle");
    NestRoot* root = waiting[best];
    waiting.erase(waiting.begin() + static_cast<int64_t>(best));
    placeRoot(*root, best_fit.second);
  }
}

void LoopNest::findSharing() {
  for (const auto& root : roots_) {
    root->shared = root->first_reduction;
  }
  for (const auto& user : roots_) {
    const Placed& mine = placed_.at(user.get());
    for (NestRoot* needed : user->needs) {
      const Placed& other = placed_.at(needed);
      if (mine.stage != other.stage) {
        needed->leaves_stage = true;
        needed->shared = 0;
        continue;
      }
      size_t common = 0;
      while (common < other.path.size() && common < mine.path.size() &&
             other.path[common] == mine.path[common]) {
        ++common;
      }
      needed->shared = std::min(needed->shared, common);
    }
  }
}

} // namespace nvfuser
