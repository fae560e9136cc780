#include <lower/lower.h>

#include <lower/emitter.h>
#include <lower/join_rows.h>
#include <lower/loop_nest.h>
#include <lower/split_loops.h>
#include <lower/transposed_copies.h>
#include <lower/whole_vectors.h>

#include <analysis/id_graph.h>
#include <analysis/logical_domain_map.h>

#include <algorithm>
#include <set>

namespace nvfuser {

namespace {

// A user in the loops of `tv` reads another element of it than the one that is computed there.
struct ReadElsewhere {
  const TensorView* tv;
};

class Lowering {
 public:
  Lowering(const Fusion& segment, const std::set<const TensorView*>& apart)
      : segment_(segment), apart_(apart), kernel_(std::make_unique<Kernel>()), emitter_(*kernel_) {}

  std::unique_ptr<Kernel> run() {
    for (const Val* in : segment_.inputs()) {
      if (in->isTensor()) {
        placeGlobal(in->as<TensorView>(), addBuffer(KernelBuffer::Kind::Input, in));
      }
    }
    for (const Val* out : segment_.outputs()) {
      outputs_.emplace(out->as<TensorView>(), addBuffer(KernelBuffer::Kind::Output, out));
    }
    const LoopNest nest(segment_, kernel_->indices, apart_);
    for (const auto& stage : nest.stages()) {
      emitStage(*stage);
    }
    splitLoopsAtConditions(*kernel_);
    findTransposedCopies(*kernel_);
    completeVectors(*kernel_);
    joinRows(*kernel_);
    collectChecks();
    return std::move(kernel_);
  }

 private:
  IndexContext& indices() {
    return kernel_->indices;
  }

  int addBuffer(KernelBuffer::Kind kind, const Val* tensor, Index size = nullptr) {
    return addBuffer(kind, tensor, size, tensor->dtype());
  }

  int addBuffer(KernelBuffer::Kind kind, const Val* tensor, Index size, DataType dtype) {
    kernel_->buffers.push_back({kind, tensor->as<TensorView>(), dtype, size});
    return static_cast<int>(kernel_->buffers.size()) - 1;
  }

  // Half types are accumulated in float.
  static DataType accumulatorType(const TensorView* tv) {
    const DataType dtype = tv->dtype();
    return dtype == DataType::Half || dtype == DataType::BFloat16 ? DataType::Float : dtype;
  }

  // The type in which others see an element: a partial result is rounded with the last one.
  static DataType seenType(const TensorView* tv) {
    const auto* reduction = dynamic_cast<const ReductionOp*>(tv->definition());
    const bool is_partial = reduction != nullptr && !tv->isFusionOutput() &&
        std::all_of(tv->uses().begin(), tv->uses().end(), [&](const Expr* use) {
                              const auto* next = dynamic_cast<const ReductionOp*>(use);
                              return next != nullptr && next->type() == reduction->type();
                            });
    return is_partial ? accumulatorType(tv) : tv->dtype();
  }

  void placeGlobal(const TensorView* tv, int buffer) {
    Emitter::Place place;
    place.buffer = buffer;
    place.address = [this, tv](const std::vector<Index>& logical) {
      return addressOf(indices(), tv, logical, false);
    };
    emitter_.place(tv, std::move(place));
  }

  void emitStage(const NestLoop& top) {
    kernel_->stages.emplace_back();
    KernelStage& stage = kernel_->stages.back();
    path_.clear();
    if (top.type == ParallelType::BIDx && top.variable != nullptr) {
      // The range of the stage is its outermost loop.
      stage.tasks = top.stop;
      stage.variable = top.variable;
      emitter_.open(&stage.prologue);
      path_.push_back(&top);
      emitter_.open(&stage.body, false);
      emitChildren(top);
      emitter_.close();
    } else {
      emitter_.open(&stage.body);
      emitChildren(top);
    }
    emitter_.close();
  }

  void emitLoop(const NestLoop& loop) {
    path_.push_back(&loop);
    emitter_.openLoop(loop.variable, loop.stop, loop.type);
    emitChildren(loop);
    emitter_.close();
    path_.pop_back();
  }

  void emitChildren(const NestLoop& loop) {
    for (const NestLoop::Child& child : loop.children) {
      if (child.root != nullptr) {
        emitRoot(*child.root);
      } else {
        emitLoop(*child.loop);
        for (const NestRoot* root : child.completes) {
          storeReduction(*root);
        }
      }
    }
  }

  // --- the tensors that have loops ---

  // The loops of `root` from `first` on that are no reductions.
  static std::vector<IterDomain*> keptLoops(const NestRoot& root, size_t first) {
    std::vector<IterDomain*> result;
    for (size_t i = first; i < root.loops.size(); ++i) {
      if (!root.loops[i]->isReduction()) {
        result.push_back(root.loops[i]);
      }
    }
    if (root.tv->hasAllocation()) {
      // The array lies in the order of the dimensions that the loops come from.
      const auto& order = root.tv->getMaybeAllocationDomain();
      std::unordered_map<const IterDomain*, size_t> place;
      for (size_t i = 0; i < order.size(); ++i) {
        place[order[i]] = i;
      }
      for (const Expr* transform : root.transforms) {
        size_t innermost = 0;
        for (const IterDomain* in : domainsOf(transform->inputs())) {
          innermost = std::max(innermost, place[in]);
        }
        for (const IterDomain* made : domainsOf(transform->outputs())) {
          place[made] = innermost;
        }
      }
      std::stable_sort(
          result.begin(), result.end(), [&](auto* a, auto* b) { return place[a] < place[b]; });
    }
    return result;
  }

  Index lengthOf(const std::vector<IterDomain*>& loops) {
    Index length = indices().constant(1);
    for (const IterDomain* id : loops) {
      length = indices().mul(length, extentOf(indices(), id));
    }
    return length;
  }

  Index positionIn(const std::vector<IterDomain*>& loops, const IndexMap& known) {
    Index position = indices().constant(0);
    for (const IterDomain* id : loops) {
      position = indices().add(indices().mul(position, extentOf(indices(), id)), known.at(id));
    }
    return position;
  }

  IndexMap loopIndices(const NestRoot& root) {
    IndexMap known;
    for (const IterDomain* id : root.tv->getLoopDomain()) {
      known[id] = indices().constant(0);
    }
    for (size_t i = 0; i < root.loops.size(); ++i) {
      known[root.loops[i]] = path_.at(i)->variable;
    }
    return known;
  }

  struct Element {
    std::vector<Index> all;  ///< of the logical domain
    std::vector<Index> kept; ///< without reductions
    Index guard;             ///< where the element exists
  };

  Element elementOf(const NestRoot& root, IndexMap known) {
    indicesBackward(indices(), root.transforms, known);
    Element element{{}, {}, nullptr};
    for (const IterDomain* id : root.tv->getLogicalDomain()) {
      const auto it = known.find(id);
      Index index = it != known.end() ? it->second : nullptr;
      // The result of a reduction that is over has one element along its reductions.
      if (index == nullptr && (isTrivial(id) || id->isReduction())) {
        index = indices().constant(0);
      }
      NVF_ERROR(
          index != nullptr, "no loop runs over ", id->toString(), " of ", root.tv->toString());
      element.all.push_back(index);
      if (!id->isReduction()) {
        element.kept.push_back(index);
      }
    }
    for (const IterDomain* id : root.guarded) {
      Index extent = extentOf(indices(), id);
      // A bound that is promised under the guard says nothing about the guard itself.
      Index inside = indices().ltUnbounded(known.at(id), extent);
      element.guard = indices().both(element.guard, inside);
    }
    return element;
  }

  void emitRoot(const NestRoot& root) {
    const TensorView* tv = root.tv;
    const Element element = elementOf(root, loopIndices(root));
    const auto* reduction = dynamic_cast<const ReductionOp*>(tv->definition());
    if (reduction == nullptr) {
      const KernelValue value = emitter_.define(tv, element.kept, element.guard);
      if (root.isStored()) {
        store(root, element, loopIndices(root), value);
      }
      emitter_.remember(tv, element.kept, element.guard, value);
      return;
    }
    const auto root_indices = rootIndices(indices(), tv, element.all);
    const KernelValue value =
        emitter_.operand(reduction, reduction->input(0), root_indices, element.guard);
    if (root.first_reduction == root.loops.size()) {
      // One element: it is its own sum.
      store(root, element, loopIndices(root), value);
      return;
    }
    const auto depth = static_cast<int>(root.first_reduction);
    const auto kept = keptLoops(root, root.first_reduction);
    const bool is_array = !kept.empty();
    const int buffer = addBuffer(
        is_array ? KernelBuffer::Kind::Array : KernelBuffer::Kind::Accumulator,
        tv,
        is_array ? lengthOf(kept) : nullptr,
        accumulatorType(tv));
    emitter_.append(depth, {KernelDeclare{buffer, reduction->type()}});
    Index position = is_array ? positionIn(kept, loopIndices(root)) : nullptr;
    emitter_.append(
        emitter_.depth(),
        {KernelAccumulate{buffer, position, reduction->type(), value, element.guard}});
    accumulators_[&root] = buffer;
    placeLocal(root, buffer, root.first_reduction);
  }

  // The indices of the loops that an element is computed in.
  IndexMap loopsOf(const NestRoot& root, const std::vector<Index>& logical) {
    IndexMap known;
    const auto domain = noReductions(root.tv->getLogicalDomain());
    for (size_t i = 0; i < domain.size(); ++i) {
      known[domain[i]] = logical[i];
    }
    indicesForward(indices(), root.transforms, known);
    return known;
  }

  // The loops around the element that is placed now, without its reductions.
  std::vector<const NestLoop*> loopsAround(const NestRoot& root) const {
    const size_t depth = std::min(path_.size(), root.first_reduction);
    return {path_.begin(), path_.begin() + static_cast<int64_t>(depth)};
  }

  // While a loop is open, it has computed the element of its variable and no later one.
  void expectComputed(
      const NestRoot& root,
      const IndexMap& known,
      const std::vector<const NestLoop*>& around,
      size_t at_least) const {
    size_t open = 0;
    while (open < around.size() && open < path_.size() && around[open] == path_[open]) {
      ++open;
    }
    for (size_t i = 0; i < std::max(open, at_least); ++i) {
      const auto it = known.find(root.loops[i]);
      if (it == known.end() || it->second != around[i]->variable) {
        throw ReadElsewhere{root.tv};
      }
    }
  }

  // What a later stage reads may be read in its own stage too, by those who come later there.
  void placeStored(const NestRoot& root, int buffer) {
    Emitter::Place place;
    place.buffer = buffer;
    place.dtype = seenType(root.tv);
    place.address = [this, &root, stage = kernel_->stages.size(), around = loopsAround(root)](
                        const std::vector<Index>& logical) {
      if (kernel_->stages.size() == stage) {
        expectComputed(root, loopsOf(root, logical), around, 0);
      }
      return addressOf(indices(), root.tv, logical, true);
    };
    emitter_.place(root.tv, std::move(place));
  }

  // Consumers find an element in the array over the loops from `first` on.
  void placeLocal(const NestRoot& root, int buffer, size_t first) {
    Emitter::Place place;
    place.buffer = buffer;
    place.depth = static_cast<int>(first);
    place.dtype = seenType(root.tv);
    place.address = [this, &root, first, around = loopsAround(root)](
                        const std::vector<Index>& logical) -> Index {
      const IndexMap known = loopsOf(root, logical);
      expectComputed(root, known, around, first);
      const auto kept = keptLoops(root, first);
      return kept.empty() ? nullptr : positionIn(kept, known);
    };
    emitter_.place(root.tv, std::move(place));
  }

  // Writes the value of an element to where its users look for it.
  void store(
      const NestRoot& root,
      const Element& element,
      const IndexMap& known,
      const KernelValue& value) {
    const auto output = outputs_.find(root.tv);
    if (output != outputs_.end()) {
      Index address = addressOf(indices(), root.tv, element.kept, true);
      emitter_.append(
          emitter_.depth(), {KernelStore{output->second, address, value, element.guard}});
    }
    if (root.leaves_stage) {
      const int buffer = output != outputs_.end() ? output->second : workspaceOf(root);
      if (output == outputs_.end()) {
        Index address = addressOf(indices(), root.tv, element.kept, true);
        emitter_.append(emitter_.depth(), {KernelStore{buffer, address, value, element.guard}});
      }
      placeStored(root, buffer);
      return;
    }
    const bool is_reduction = root.first_reduction < root.loops.size();
    // A pointwise output is computed again where it is read elsewhere; a reduction cannot be.
    const bool is_again =
        root.is_output && !dynamic_cast<const ReductionOp*>(root.tv->definition());
    const bool is_read_here = is_reduction ? root.shared < root.first_reduction : !is_again;
    if (!is_read_here) {
      return;
    }
    const auto kept = keptLoops(root, root.shared);
    const auto [place, is_new] = arrays_.try_emplace(&root, -1);
    if (is_new) {
      place->second = addBuffer(
          kept.empty() ? KernelBuffer::Kind::Accumulator : KernelBuffer::Kind::Array,
          root.tv,
          kept.empty() ? nullptr : lengthOf(kept),
          seenType(root.tv));
      emitter_.append(static_cast<int>(root.shared), {KernelDeclare{place->second, std::nullopt}});
    }
    Index position = kept.empty() ? nullptr : positionIn(kept, known);
    emitter_.append(emitter_.depth(), {KernelStore{place->second, position, value, element.guard}});
    placeLocal(root, place->second, root.shared);
  }

  int workspaceOf(const NestRoot& root) {
    Index size = indices().constant(1);
    for (const IterDomain* id : noReductions(root.tv->getLogicalDomain())) {
      size = indices().mul(size, extentOf(indices(), id));
    }
    return addBuffer(KernelBuffer::Kind::Workspace, root.tv, size, seenType(root.tv));
  }

  // After the last reduction loop: the accumulated values go to memory that lives longer.
  void storeReduction(const NestRoot& root) {
    if (!root.isStored()) {
      return;
    }
    const size_t opened = root.first_reduction;
    IndexMap known;
    for (const IterDomain* id : root.tv->getLoopDomain()) {
      known[id] = indices().constant(0);
    }
    for (size_t i = 0; i < opened; ++i) {
      known[root.loops[i]] = path_.at(i)->variable;
    }
    const auto kept = keptLoops(root, opened);
    for (const IterDomain* id : kept) {
      Index variable = indices().loop(extentOf(indices(), id), emitter_.depth() + 1);
      Index stop = root.stopOf(indices(), id, known);
      known[id] = variable;
      emitter_.openLoop(variable, stop, id->parallelType());
    }
    // The reduction's own loops are over: its guards concern the kept dimensions only.
    NestRoot finished = root;
    std::erase_if(finished.guarded, [](const IterDomain* id) { return id->isReduction(); });
    const Element element = elementOf(finished, known);
    const int accumulator = accumulators_.at(&root);
    const KernelValue value = emitter_.newRegister(seenType(root.tv), emitter_.depth());
    Index position = kept.empty() ? nullptr : positionIn(kept, known);
    emitter_.append(emitter_.depth(), {KernelLoad{value, accumulator, position, nullptr}});
    store(root, element, known, value);
    for (size_t i = 0; i < kept.size(); ++i) {
      emitter_.close();
    }
  }

  // Dimensions that are one dimension by the nodes, with different size expressions.
  void collectChecks() {
    for (const Expr* expr : segment_.exprs()) {
      for (const Val* out : expr->outputs()) {
        for (const Val* in : expr->inputs()) {
          if (!in->isTensor() || !out->isTensor()) {
            continue;
          }
          const PairwiseLogicalDomainMap map(in->as<TensorView>(), out->as<TensorView>());
          for (const auto& [from, to] : map.pairs()) {
            const bool compared =
                !from->isBroadcast() && !to->isBroadcast() && !from->extent()->sameAs(to->extent());
            if (compared) {
              kernel_->checks.push_back({from->extent(), to->extent(), expr});
            }
          }
        }
      }
    }
  }

  const Fusion& segment_;
  const std::set<const TensorView*>& apart_;
  std::unique_ptr<Kernel> kernel_;
  Emitter emitter_;
  std::vector<const NestLoop*> path_;
  std::unordered_map<const TensorView*, int> outputs_;
  std::unordered_map<const NestRoot*, int> accumulators_;
  std::unordered_map<const NestRoot*, int> arrays_;
};

} // namespace

std::unique_ptr<Kernel> lower(const Fusion& segment) {
  std::set<const TensorView*> apart;
  for (;;) {
    try {
      return Lowering(segment, apart).run();
    } catch (const ReadElsewhere& read) {
      NVF_ERROR(
          apart.insert(read.tv).second,
          "an element of ",
          read.tv->toString(),
          " is used outside of the loops that it shares with its user");
    }
  }
}

} // namespace nvfuser
