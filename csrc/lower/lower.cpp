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
  Lowering(
      const Fusion& segment,
      const std::set<const TensorView*>& apart,
      const LowerOptions& options)
      : segment_(segment),
        apart_(apart),
        options_(options),
        on_gpu_(options.target == KernelTarget::Cuda),
        kernel_(std::make_unique<Kernel>()),
        emitter_(*kernel_) {
    kernel_->target = options.target;
  }

  std::unique_ptr<Kernel> run() {
    unifySizes();
    for (const Val* in : segment_.inputs()) {
      if (in->isTensor()) {
        placeGlobal(in->as<TensorView>(), addBuffer(KernelBuffer::Kind::Input, in));
      }
    }
    for (const Val* out : segment_.outputs()) {
      outputs_.emplace(out->as<TensorView>(), addBuffer(KernelBuffer::Kind::Output, out));
    }
    for (const auto& [extent, factor] : options_.multiples) {
      Index size = indices().scalar(extent);
      indices().setMultiple(size, factor);
      kernel_->multiples.emplace_back(size, factor);
    }
    const LoopNest nest(segment_, kernel_->indices, apart_, options_);
    for (const auto& stage : nest.stages()) {
      emitStage(*stage);
    }
    if (!on_gpu_) {
      splitLoopsAtConditions(*kernel_);
      findTransposedCopies(*kernel_);
      completeVectors(*kernel_);
      joinRows(*kernel_);
    }
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
    stage.threads = top.threads;
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
        const bool is_complete = child.root->first_reduction == child.root->loops.size() &&
            child.root->reducesOverThreads();
        if (is_complete) {
          storeReduction(*child.root);
        }
      } else {
        emitLoop(*child.loop);
        for (const NestRoot* root : child.completes) {
          storeReduction(*root);
        }
      }
    }
  }

  // What was derived under the guard of another tensor.
  void forgetAssumptions() {
    if (on_gpu_) {
      indices().forgetAssumptions();
    }
  }

  // --- the tensors that have loops ---

  static bool isShared(const NestRoot& root) {
    return root.tv->memoryType() == MemoryType::Shared;
  }

  // The loops of `root` from `first` on that are no reductions; in shared memory also the threads'.
  static std::vector<IterDomain*> keptLoops(
      const NestRoot& root,
      size_t first,
      bool in_shared = false) {
    std::vector<IterDomain*> result;
    for (IterDomain* id : root.tv->getLoopDomain()) {
      const auto loop = std::find(root.loops.begin(), root.loops.end(), id) - root.loops.begin();
      const bool is_loop = static_cast<size_t>(loop) < root.loops.size();
      const bool is_thread = in_shared && id->parallelType() >= ParallelType::TIDx &&
          std::any_of(root.threads.begin(), root.threads.end(), [&](const auto& thread) {
                               return thread.first == id;
                             });
      const bool is_inside = is_loop ? static_cast<size_t>(loop) >= first : is_thread;
      if (is_inside && !id->isReduction()) {
        result.push_back(id);
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

  // Where the rows of a tile in shared memory begin: its last dimension, with what threads take
  // side by side.
  static size_t rowBegin(const std::vector<IterDomain*>& loops) {
    size_t begin = loops.size() - 1;
    while (begin > 0 && loops[begin]->parallelType() == ParallelType::Vectorize) {
      --begin;
    }
    return begin;
  }

  // Rows are one element longer than a power of two, so that a column lies in many banks.
  Index sharedRow(const std::vector<IterDomain*>& loops) {
    const auto begin = loops.begin() + static_cast<int64_t>(rowBegin(loops));
    return indices().add(lengthOf({begin, loops.end()}), indices().constant(1));
  }

  Index sharedLength(const NestRoot& root, const std::vector<IterDomain*>& loops) {
    const size_t begin = rowBegin(loops);
    Index length = begin == 0
        ? lengthOf(loops)
        : indices().mul(
              lengthOf({loops.begin(), loops.begin() + static_cast<int64_t>(begin)}),
              sharedRow(loops));
    NVF_CHECK(
        isConstant(length),
        root.tv->toString(),
        " lies in shared memory, where sizes must be constant");
    return length;
  }

  Index placeIn(int buffer, const std::vector<IterDomain*>& loops, const IndexMap& known) {
    const size_t begin = rowBegin(loops);
    if (kernel_->buffers[buffer].kind != KernelBuffer::Kind::Shared || begin == 0) {
      return positionIn(loops, known);
    }
    const auto middle = loops.begin() + static_cast<int64_t>(begin);
    Index row = positionIn({loops.begin(), middle}, known);
    return indices().add(
        indices().mul(row, sharedRow(loops)), positionIn({middle, loops.end()}, known));
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
    for (const auto& [id, index] : root.threads) {
      known[id] = index;
    }
    for (size_t i = 0; i < root.loops.size(); ++i) {
      known[root.loops[i]] = path_.at(i)->variable;
    }
    return known;
  }

  // Whether exactly the threads of the block run over the dimension.
  bool fillsBlock(const IterDomain* id) {
    if (id->parallelType() <= ParallelType::BIDz) {
      return true; // all tensors of a stage have the same blocks
    }
    const auto& extents = kernel_->stages.back().threads.at(id->parallelType());
    return extents.size() == 1 && isConstant(extents.front()) &&
        (id->parallelType() != ParallelType::TIDx ||
         extents.front()->number == wholeThreads(extents.front()->number));
  }

  // One thread of those that have the same value.
  Index onlyOnce(const NestRoot& root) {
    Index condition = nullptr;
    for (const auto& [type, extents] : kernel_->stages.back().threads) {
      const bool runs_over =
          std::any_of(root.threads.begin(), root.threads.end(), [t = type](const auto& mine) {
            return mine.first->parallelType() == t && !mine.first->isReduction();
          });
      if (!runs_over && type >= ParallelType::TIDx) {
        Index number = indices().thread(type, extents.front());
        condition = indices().both(condition, indices().ltUnbounded(number, indices().constant(1)));
      }
    }
    return condition;
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
    for (const Split* split : root.beyond) {
      for (const IterDomain* part : {split->outer(), split->inner()}) {
        const auto it = known.find(part);
        if (!isTrivial(part) && it != known.end() && !isConstant(it->second)) {
          Index first = indices().ltUnbounded(it->second, indices().constant(1));
          element.guard = indices().both(element.guard, first);
        }
      }
    }
    for (const auto& [id, index] : root.threads) {
      if (known.at(id) == index && !isConstant(index) && !fillsBlock(id)) {
        Index inside = indices().ltUnbounded(index, extentOf(indices(), id));
        element.guard = indices().both(element.guard, inside);
      }
    }
    return element;
  }

  void emitRoot(const NestRoot& root) {
    forgetAssumptions();
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
    if (root.first_reduction == root.loops.size() && !root.reducesOverThreads()) {
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
      size_t at_least,
      bool in_shared = false) const {
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
    // A thread sees its own elements, a block those of its threads in shared memory.
    for (const auto& [id, index] : root.threads) {
      const bool is_open =
          id->isReduction() || (in_shared && id->parallelType() >= ParallelType::TIDx);
      const auto it = known.find(id);
      if (!is_open && (it == known.end() || it->second != index)) {
        throw ReadElsewhere{root.tv};
      }
    }
  }

  // Before the first read of what other threads have written.
  void synchronise(const NestRoot& root) {
    if (unsynchronised_.erase(&root) > 0) {
      emitter_.append(static_cast<int>(root.shared), {KernelSync{}});
    }
  }

  // What a later stage reads may be read in its own stage too, by those who come later there.
  void placeStored(const NestRoot& root, int buffer) {
    Emitter::Place place;
    place.buffer = buffer;
    place.dtype = seenType(root.tv);
    // One thread writes it for all.
    const bool is_only_written = on_gpu_ && onlyOnce(root) != nullptr;
    place.address =
        [this, &root, is_only_written, stage = kernel_->stages.size(), around = loopsAround(root)](
            const std::vector<Index>& logical) {
          if (kernel_->stages.size() == stage) {
            if (is_only_written) {
              throw ReadElsewhere{root.tv};
            }
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
    place.address = [this, &root, first, buffer, around = loopsAround(root)](
                        const std::vector<Index>& logical) -> Index {
      const IndexMap known = loopsOf(root, logical);
      const bool in_shared = kernel_->buffers[buffer].kind == KernelBuffer::Kind::Shared;
      expectComputed(root, known, around, first, in_shared);
      if (in_shared) {
        synchronise(root);
      }
      const auto kept = keptLoops(root, first, in_shared);
      return kept.empty() ? nullptr : placeIn(buffer, kept, known);
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
    Index once = on_gpu_ ? indices().both(element.guard, onlyOnce(root)) : element.guard;
    if (output != outputs_.end()) {
      Index address = addressOf(indices(), root.tv, element.kept, true);
      emitter_.append(emitter_.depth(), {KernelStore{output->second, address, value, once}});
    }
    if (root.leaves_stage) {
      const int buffer = output != outputs_.end() ? output->second : workspaceOf(root);
      if (output == outputs_.end()) {
        Index address = addressOf(indices(), root.tv, element.kept, true);
        emitter_.append(emitter_.depth(), {KernelStore{buffer, address, value, once}});
      }
      placeStored(root, buffer);
      return;
    }
    const bool is_reduction = root.first_reduction < root.loops.size() || root.reducesOverThreads();
    // A pointwise output is computed again where it is read elsewhere; a reduction cannot be.
    const bool is_again =
        root.is_output && !dynamic_cast<const ReductionOp*>(root.tv->definition());
    const bool is_read_here = is_reduction ? root.shared < root.first_reduction : !is_again;
    if (!is_read_here) {
      return;
    }
    const auto kept = keptLoops(root, root.shared, on_gpu_ && isShared(root));
    const auto [place, is_new] = arrays_.try_emplace(&root, -1);
    if (is_new) {
      const bool in_shared = on_gpu_ && isShared(root);
      place->second = addBuffer(
          kept.empty()    ? KernelBuffer::Kind::Accumulator
              : in_shared ? KernelBuffer::Kind::Shared
                          : KernelBuffer::Kind::Array,
          root.tv,
          kept.empty()    ? nullptr
              : in_shared ? sharedLength(root, kept)
                          : lengthOf(kept),
          seenType(root.tv));
      const auto depth = static_cast<int>(root.shared);
      if (in_shared && depth > 0) {
        // The last round's readers are done.
        emitter_.append(depth, {KernelSync{}});
      }
      emitter_.append(depth, {KernelDeclare{place->second, std::nullopt}});
    }
    const bool in_shared = kernel_->buffers[place->second].kind == KernelBuffer::Kind::Shared;
    if (in_shared) {
      unsynchronised_.insert(&root);
    }
    Index position = kept.empty() ? nullptr : placeIn(place->second, kept, known);
    // Every thread has room for its value, whether or not its element exists.
    Index written = !on_gpu_ ? element.guard : in_shared ? onlyOnce(root) : nullptr;
    emitter_.append(emitter_.depth(), {KernelStore{place->second, position, value, written}});
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
    forgetAssumptions();
    if (!root.isStored()) {
      reduceOverBlock(root);
      return;
    }
    const size_t opened = root.first_reduction;
    IndexMap known;
    for (const IterDomain* id : root.tv->getLoopDomain()) {
      known[id] = indices().constant(0);
    }
    for (const auto& [id, index] : root.threads) {
      known[id] = id->isReduction() ? indices().constant(0) : index;
    }
    for (size_t i = 0; i < opened; ++i) {
      known[root.loops[i]] = path_.at(i)->variable;
    }
    reduceOverBlock(root);
    const auto kept = keptLoops(root, opened);
    for (const IterDomain* id : kept) {
      Index variable = indices().loop(extentOf(indices(), id), emitter_.depth() + 1);
      Index stop = on_gpu_ ? extentOf(indices(), id) : root.stopOf(indices(), id, known);
      known[id] = variable;
      emitter_.openLoop(variable, stop, id->parallelType());
    }
    // The reduction's own loops are over: its guards concern the kept dimensions only.
    NestRoot finished = root;
    std::erase_if(finished.guarded, [](const IterDomain* id) { return id->isReduction(); });
    std::erase_if(finished.beyond, [](const Split* split) { return split->in()->isReduction(); });
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

  void reduceOverBlock(const NestRoot& root) {
    KernelBlockReduce reduce{
        accumulators_.at(&root), root.tv->definition()->as<ReductionOp>()->type(), false, false};
    for (const auto& [id, index] : root.threads) {
      if (!id->isReduction() || isConstant(index)) {
        continue;
      }
      const ParallelType type = id->parallelType();
      NVF_CHECK(
          type == ParallelType::TIDx || type == ParallelType::TIDy,
          root.tv->toString(),
          " is reduced over ",
          parallelTypeText(type),
          "; a block reduces over threadIdx.x and threadIdx.y. Split the reduction with rfactor");
      (type == ParallelType::TIDx ? reduce.over_x : reduce.over_y) = true;
    }
    if (reduce.over_x || reduce.over_y) {
      emitter_.append(emitter_.depth(), {reduce});
    }
  }

  // Dimensions that are one dimension by the nodes, with different size expressions: a launch
  // checks that they are equal, so one of them serves.
  void unifySizes() {
    std::unordered_map<const Val*, const Val*> parents;
    const auto find = [&](const Val* val) {
      while (parents.contains(val)) {
        val = parents.at(val);
      }
      return val;
    };
    for (const TensorView* tv : segment_.tensorViews()) {
      for (const IterDomain* id : tv->getLogicalDomain()) {
        indices().setSize(id->extent());
      }
    }
    std::vector<const Val*> sizes;
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
              const Val* a = find(from->extent());
              const Val* b = find(to->extent());
              // A constant says most.
              if (b->isConst()) {
                std::swap(a, b);
              }
              if (a != b && !b->isConst()) {
                parents[b] = a;
              }
              sizes.insert(sizes.end(), {from->extent(), to->extent()});
            }
          }
        }
      }
    }
    for (const Val* size : sizes) {
      if (!size->isConst() && find(size) != size) {
        indices().setScalar(size, indices().scalar(find(size)));
      }
    }
  }

  const Fusion& segment_;
  const std::set<const TensorView*>& apart_;
  const LowerOptions& options_;
  const bool on_gpu_;
  std::unique_ptr<Kernel> kernel_;
  Emitter emitter_;
  std::vector<const NestLoop*> path_;
  std::unordered_map<const TensorView*, int> outputs_;
  std::unordered_map<const NestRoot*, int> accumulators_;
  std::unordered_map<const NestRoot*, int> arrays_;
  std::set<const NestRoot*> unsynchronised_; ///< written to shared memory and not read yet
};

} // namespace

std::unique_ptr<Kernel> lower(const Fusion& segment, const LowerOptions& options) {
  std::set<const TensorView*> apart;
  for (;;) {
    try {
      return Lowering(segment, apart, options).run();
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
