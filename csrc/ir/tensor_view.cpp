#include <ir/builder.h>
#include <ir/nodes.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace nvfuser {

TensorView::TensorView(
    IrBuilderPasskey key,
    TensorDomain* domain,
    DataType dtype,
    MemoryType memory_type)
    : Val(key, ValKind::TensorView, dtype), domain_(domain), memory_type_(memory_type) {}

bool TensorView::hasReduction() const {
  const auto& root = getMaybeRootDomain();
  return std::any_of(root.begin(), root.end(), [](auto* id) { return id->isReduction(); });
}

int64_t TensorView::nDims() const {
  const auto& logical = getLogicalDomain();
  return std::count_if(logical.begin(), logical.end(), [](auto* id) { return !id->isReduction(); });
}

int64_t TensorView::sharedPosition() const {
  int64_t position = compute_at_position_;
  if (definition() != nullptr) {
    for (const Val* in : definition()->inputs()) {
      if (const auto* producer = dynamic_cast<const TensorView*>(in)) {
        position = std::max(position, producer->computeAtPosition());
      }
    }
  }
  return position;
}

void TensorView::checkNotInlined(const char* what) const {
  NVF_CHECK(
      sharedPosition() == 0,
      what,
      ": ",
      toString(),
      " takes part in inline_at; cache and rfactor before inlining");
}

int64_t TensorView::checkAxis(int64_t axis, const char* what) const {
  const int64_t n = nLoopDims();
  NVF_CHECK(
      axis >= -n && axis < n,
      what,
      ": axis ",
      axis,
      " is out of range for ",
      toString(),
      ", which has ",
      n,
      " axes");
  return axis < 0 ? axis + n : axis;
}

IterDomain* TensorView::axis(int64_t position) const {
  return getLoopDomain()[static_cast<size_t>(checkAxis(position, "axis"))];
}

std::vector<Val*> TensorView::shape() const {
  std::vector<Val*> result;
  for (const IterDomain* id : getLogicalDomain()) {
    if (!id->isReduction()) {
      result.push_back(id->getMaybeExpandedExtent());
    }
  }
  return result;
}

void TensorView::setMemoryType(MemoryType type) {
  NVF_CHECK(
      type == MemoryType::Global || (!isFusionInput() && !isFusionOutput()),
      "set_memory_type: ",
      toString(),
      " is an input or output of the fusion and stays in global memory");
  memory_type_ = type;
}

TensorView* TensorView::split(int64_t axis, Val* factor, bool inner_split) {
  const int64_t a = checkAxis(axis, "split");
  NVF_CHECK(
      a >= sharedPosition(), "split: axis ", axis, " of ", toString(), " is shared by inline_at");
  auto loop = getLoopDomain();
  const auto [outer, inner] = IterDomain::split(loop[a], factor, inner_split);
  loop[a] = outer;
  loop.insert(loop.begin() + a + 1, inner);
  domain_->setLoopDomain(std::move(loop));
  return this;
}

TensorView* TensorView::split(int64_t axis, int64_t factor, bool inner_split) {
  NVF_CHECK(factor > 0, "split: the factor must be positive, not ", factor);
  FusionGuard guard(fusion());
  return split(axis, IrBuilder::constInt(factor), inner_split);
}

TensorView* TensorView::merge(int64_t outer, int64_t inner) {
  const int64_t o = checkAxis(outer, "merge");
  const int64_t i = checkAxis(inner, "merge");
  NVF_CHECK(o != i, "merge: axis ", outer, " of ", toString(), " cannot be merged with itself");
  NVF_CHECK(
      std::min(o, i) >= sharedPosition(),
      "merge: an axis of ",
      toString(),
      " is shared by inline_at");
  auto loop = getLoopDomain();
  auto* merged = IterDomain::merge(loop[o], loop[i]);
  loop[std::min(o, i)] = merged;
  loop.erase(loop.begin() + std::max(o, i));
  domain_->setLoopDomain(std::move(loop));
  return this;
}

TensorView* TensorView::reorder(const std::unordered_map<int64_t, int64_t>& old_to_new) {
  const auto& loop = getLoopDomain();
  std::vector<IterDomain*> result(loop.size(), nullptr);
  std::unordered_set<int64_t> moved;
  for (const auto& [from, to] : old_to_new) {
    const int64_t f = checkAxis(from, "reorder");
    const int64_t t = checkAxis(to, "reorder");
    NVF_CHECK(moved.insert(f).second, "reorder: axis ", from, " is named twice");
    NVF_CHECK(result[t] == nullptr, "reorder: position ", to, " is named twice");
    result[t] = loop[f];
  }
  size_t next = 0;
  for (size_t i = 0; i < loop.size(); ++i) {
    if (moved.contains(static_cast<int64_t>(i))) {
      continue;
    }
    while (result[next] != nullptr) {
      ++next;
    }
    result[next] = loop[i];
  }
  for (int64_t i = 0; i < sharedPosition(); ++i) {
    NVF_CHECK(
        result[i] == loop[i],
        "reorder: an axis of ",
        toString(),
        " that is shared by inline_at would move");
  }
  domain_->setLoopDomain(std::move(result));
  return this;
}

TensorView* TensorView::swizzle(int64_t x, int64_t y) {
  const int64_t a = checkAxis(x, "swizzle");
  const int64_t b = checkAxis(y, "swizzle");
  NVF_CHECK(a != b, "swizzle: needs two axes of ", toString(), ", not ", x, " twice");
  NVF_CHECK(
      std::min(a, b) >= sharedPosition(),
      "swizzle: an axis of ",
      toString(),
      " is shared by inline_at");
  auto loop = getLoopDomain();
  std::tie(loop[a], loop[b]) = IterDomain::swizzle(loop[a], loop[b]);
  domain_->setLoopDomain(std::move(loop));
  return this;
}

TensorView* TensorView::inlineAt(int64_t position) {
  const int64_t n = nLoopDims();
  NVF_CHECK(
      position >= -n - 1 && position <= n,
      "inline_at: position ",
      position,
      " is out of range for ",
      toString());
  const int64_t p = position < 0 ? position + n + 1 : position;
  NVF_CHECK(
      p == 0 || (!isFusionInput() && !isFusionOutput()),
      "inline_at: ",
      toString(),
      " is an input or output of the fusion and cannot be inlined");
  for (int64_t i = 0; i < p; ++i) {
    NVF_CHECK(
        !axis(i)->isReduction(),
        "inline_at: a reduction axis of ",
        toString(),
        " cannot be shared with a consumer");
    for (const Expr* use : uses()) {
      for (const Val* out : use->outputs()) {
        if (const auto* consumer = dynamic_cast<const TensorView*>(out)) {
          NVF_CHECK(
              i < consumer->nLoopDims(),
              "inline_at: position ",
              position,
              " of ",
              toString(),
              " lies beyond the axes of its consumer ",
              consumer->toString());
        }
      }
    }
  }
  compute_at_position_ = std::max(compute_at_position_, p);
  return this;
}

void TensorView::setLoopDomain(std::vector<IterDomain*> loop) {
  domain_->setLoopDomain(std::move(loop));
}

void TensorView::setAllocationDomain(
    std::vector<IterDomain*> allocation,
    std::vector<std::optional<bool>> contiguity) {
  domain_->setAllocationDomain(std::move(allocation), std::move(contiguity));
}

void TensorView::setAllocationDomain(std::vector<IterDomain*> allocation, bool contiguity) {
  auto flags = contiguityFilledWith(allocation, contiguity);
  domain_->setAllocationDomain(std::move(allocation), std::move(flags));
}

namespace {

struct DomainCopy {
  TensorDomain* domain;
  std::unordered_map<IterDomain*, IterDomain*> map;
};

// A tensor domain like the logical domain of `tv`, without its reductions and its root.
DomainCopy copyLogical(const TensorView* tv, bool with_allocation) {
  DomainCopy copy{};
  TensorDomain::Parts parts;
  for (IterDomain* id : noReductions(tv->getLogicalDomain())) {
    auto* clone = id->cloneWithoutRFactor();
    copy.map[id] = clone;
    parts.logical.push_back(clone);
  }
  if (with_allocation && tv->hasAllocation()) {
    const auto allocation = noReductions(tv->getMaybeAllocationDomain());
    const bool plain = std::all_of(
        allocation.begin(), allocation.end(), [&](auto* id) { return copy.map.contains(id); });
    if (plain) {
      for (IterDomain* id : allocation) {
        parts.allocation.push_back(copy.map.at(id));
      }
      parts.contiguity = contiguityFilledWith(parts.allocation, true);
    }
  }
  if (parts.contiguity.empty()) {
    parts.contiguity = contiguityFilledWith(parts.logical, true);
  }
  copy.domain = IrBuilder::createIn<TensorDomain>(tv->fusion(), std::move(parts));
  return copy;
}

} // namespace

TensorView* TensorView::cacheAfter(
    LoadStoreOpType type,
    CacheOp cache_op,
    bool propagate_allocation_domain,
    const std::vector<Expr*>& cached_uses) {
  NVF_CHECK(!uses().empty(), "cache_after: ", toString(), " has no uses to cache for");
  checkNotInlined("cache_after");
  FusionGuard guard(fusion());
  for (const Expr* use : cached_uses) {
    NVF_CHECK(
        std::find(uses().begin(), uses().end(), use) != uses().end(),
        "cache_after: ",
        use->toString(),
        " does not use ",
        toString());
  }
  const std::vector<Expr*> moved = cached_uses.empty() ? uses() : cached_uses;
  auto* copy =
      IrBuilder::create<TensorView>(copyLogical(this, propagate_allocation_domain).domain, dtype());
  for (Expr* use : moved) {
    fusion()->replaceOperand(use, this, copy);
  }
  IrBuilder::create<LoadStoreOp>(copy, this, type, cache_op);
  return copy;
}

TensorView* TensorView::cacheBefore(LoadStoreOpType type) {
  NVF_CHECK(
      definition() != nullptr && !isFusionInput(),
      "cache_before: ",
      toString(),
      " has no definition; cache an input by cache_after");
  checkNotInlined("cache_before");
  FusionGuard guard(fusion());
  Expr* def = definition();
  // The producer takes the whole domain (root and schedule); this one becomes a plain copy.
  auto* producer = IrBuilder::create<TensorView>(domain_, dtype());
  ExprParts parts{def->operands(), def->outputs(), def->attributes()};
  std::replace(
      parts.outputs.begin(),
      parts.outputs.end(),
      static_cast<Val*>(this),
      static_cast<Val*>(producer));
  fusion()->removeExpr(def);
  def->newLike(fusion(), std::move(parts));
  domain_ = copyLogical(producer, true).domain;
  IrBuilder::create<LoadStoreOp>(this, producer, type);
  return producer;
}

namespace {

// Copies `transforms` onto the domains of `map`, which receives the copies of their outputs.
void copyTransforms(
    const std::vector<Expr*>& transforms,
    std::unordered_map<IterDomain*, IterDomain*>& map,
    const std::function<IterDomain*(IterDomain*)>& copy) {
  for (Expr* transform : transforms) {
    ExprParts parts{transform->operands(), transform->outputs(), transform->attributes()};
    for (Operand& operand : parts.operands) {
      if (operand.val->kind() == ValKind::IterDomain) {
        operand.val = map.at(static_cast<IterDomain*>(operand.val));
      }
    }
    for (Val*& out : parts.outputs) {
      auto* id = static_cast<IterDomain*>(out);
      map[id] = copy(id);
      out = map[id];
    }
    transform->newLike(transform->fusion(), std::move(parts));
  }
}

// Puts the outputs of a transform where its first input stood.
void applyInPlace(const Expr* transform, std::vector<IterDomain*>& domain) {
  const auto first = std::find(domain.begin(), domain.end(), transform->input(0));
  NVF_ERROR(first != domain.end(), "not in the domain: ", transform->toString());
  std::vector<IterDomain*> outs;
  for (Val* out : transform->outputs()) {
    outs.push_back(static_cast<IterDomain*>(out));
  }
  *first = outs.front();
  domain.insert(first + 1, outs.begin() + 1, outs.end());
  for (const Val* in : transform->inputs()) {
    std::erase(domain, in);
  }
}

std::vector<IterDomain*> mapped(
    const std::vector<IterDomain*>& domain,
    const std::unordered_map<IterDomain*, IterDomain*>& map) {
  std::vector<IterDomain*> result;
  for (IterDomain* id : domain) {
    result.push_back(map.at(id));
  }
  return result;
}

} // namespace

TensorView* TensorView::rfactor(const std::vector<int64_t>& axes) {
  auto* def = dynamic_cast<ReductionOp*>(definition());
  NVF_CHECK(def != nullptr, "rfactor: ", toString(), " is not the result of a reduction");
  NVF_CHECK(!axes.empty(), "rfactor: no axes were given for ", toString());
  NVF_CHECK(!hasRoot(), "rfactor: ", toString(), " is the result of an rfactor already");
  checkNotInlined("rfactor");
  FusionGuard guard(fusion());
  const std::vector<IterDomain*> loop = getLoopDomain();
  std::unordered_set<const IterDomain*> chosen;
  for (int64_t axis : axes) {
    IterDomain* id = this->axis(axis);
    NVF_CHECK(
        id->isReduction(), "rfactor: axis ", axis, " of ", toString(), " is not a reduction axis");
    chosen.insert(id);
  }
  const bool some_remain = std::any_of(loop.begin(), loop.end(), [&](auto* id) {
    return id->isReduction() && !chosen.contains(id);
  });
  NVF_CHECK(some_remain, "rfactor: ", toString(), " would have no reduction axis left");

  // The transforms that lead to a chosen axis belong to the producer's definition; the others are
  // schedule, of both tensors.
  std::unordered_set<const Val*> leads_to_chosen(chosen.begin(), chosen.end());
  std::vector<Expr*> defining;
  std::vector<Expr*> scheduling;
  const auto transforms = transformsBetween(getLogicalDomain(), loop);
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    const auto& outs = (*it)->outputs();
    const bool leads = std::any_of(
        outs.begin(), outs.end(), [&](const Val* v) { return leads_to_chosen.contains(v); });
    (leads ? defining : scheduling).push_back(*it);
    if (!leads) {
      continue;
    }
    for (const Val* in : (*it)->inputs()) {
      const auto* id = dynamic_cast<const IterDomain*>(in);
      NVF_CHECK(
          id == nullptr || id->isReduction(),
          "rfactor: an axis of ",
          toString(),
          " was merged from ",
          in->toString(),
          ", which is no reduction");
    }
    leads_to_chosen.insert((*it)->inputs().begin(), (*it)->inputs().end());
  }
  std::reverse(defining.begin(), defining.end());
  std::reverse(scheduling.begin(), scheduling.end());
  const std::vector<IterDomain*> root = getLogicalDomain();
  std::vector<IterDomain*> logical = root;
  for (const Expr* transform : defining) {
    applyInPlace(transform, logical);
  }

  // In the producer a reduction that no chosen axis comes from is an iteration.
  std::unordered_map<IterDomain*, IterDomain*> to_producer;
  const auto producer_copy = [&](bool is_rfactor) {
    return [&, is_rfactor](IterDomain* id) {
      IterDomain::Parts parts = id->parts();
      parts.is_rfactor = is_rfactor;
      if (id->isReduction() && !leads_to_chosen.contains(id)) {
        parts.iter_type = IterType::Iteration;
      }
      return IrBuilder::create<IterDomain>(parts);
    };
  };
  for (IterDomain* id : root) {
    to_producer[id] = producer_copy(false)(id);
  }
  copyTransforms(defining, to_producer, producer_copy(true));
  copyTransforms(scheduling, to_producer, producer_copy(false));
  auto* producer = IrBuilder::create<TensorView>(
      IrBuilder::create<TensorDomain>(TensorDomain::Parts{
          .root = defining.empty() ? std::vector<IterDomain*>{} : mapped(root, to_producer),
          .logical = mapped(logical, to_producer),
          .allocation = {},
          .loop = mapped(loop, to_producer),
          .contiguity = {}}),
      dtype());

  std::unordered_map<IterDomain*, IterDomain*> to_consumer;
  const auto is_chosen = [&](const IterDomain* id) { return chosen.contains(id); };
  const auto consumer_copy = [](IterDomain* id) {
    IterDomain::Parts parts = id->parts();
    parts.is_rfactor = false;
    return IrBuilder::create<IterDomain>(parts);
  };
  std::erase_if(logical, is_chosen);
  for (IterDomain* id : logical) {
    to_consumer[id] = consumer_copy(id);
  }
  copyTransforms(scheduling, to_consumer, consumer_copy);
  std::vector<IterDomain*> consumer_loop = loop;
  std::erase_if(consumer_loop, is_chosen);
  TensorDomain::Parts consumer_parts{
      .root = {},
      .logical = mapped(logical, to_consumer),
      .allocation = {},
      .loop = mapped(consumer_loop, to_consumer),
      .contiguity = {}};
  // Reductions may have been transformed; the order in memory concerns the other dimensions.
  if (domain_->hasAllocation()) {
    for (IterDomain* id : consumer_parts.logical) {
      if (id->isReduction()) {
        consumer_parts.allocation.push_back(id);
      }
    }
    for (IterDomain* id : noReductions(domain_->allocation())) {
      consumer_parts.allocation.push_back(to_consumer.at(id));
    }
  }
  consumer_parts.contiguity = contiguityFilledWith(
      consumer_parts.allocation.empty() ? consumer_parts.logical : consumer_parts.allocation, true);
  domain_ = IrBuilder::create<TensorDomain>(std::move(consumer_parts));

  auto* in = def->operand("in")->as<TensorView>();
  const ReductionType type = def->type();
  fusion()->removeExpr(def);
  IrBuilder::create<ReductionOp>(type, producer, in);
  IrBuilder::create<ReductionOp>(type, this, producer);
  return producer;
}

std::string TensorView::toString() const {
  return detail::concat(
      "T",
      name(),
      "_",
      memoryTypeText(memory_type_),
      "_",
      dtype(),
      domain_->toString(),
      compute_at_position_ > 0 ? detail::concat(" ca_pos( ", compute_at_position_, " )") : "");
}

std::string shapeText(const TensorView* tv) {
  std::string text;
  for (const Val* extent : tv->shape()) {
    text += (text.empty() ? "" : ", ") + extent->toInlineString();
  }
  return detail::concat("T", tv->name(), " [", text, "]");
}

// --- TensorViewBuilder ---

TensorViewBuilder& TensorViewBuilder::dtype(DataType dtype) {
  dtype_ = dtype;
  return *this;
}

TensorViewBuilder& TensorViewBuilder::shape(const std::vector<int64_t>& shape) {
  shape_.clear();
  for (size_t i = 0; i < shape.size(); ++i) {
    NVF_CHECK(
        shape[i] >= -1,
        "The value ",
        shape[i],
        " at index ",
        i,
        " was neither symbolic(-1), zero_element(0), broadcast(1), or static(>1).");
    shape_.push_back(
        shape[i] == -1 ? IrBuilder::create<Val>(DataType::Index) : IrBuilder::constInt(shape[i]));
  }
  return *this;
}

TensorViewBuilder& TensorViewBuilder::shape(std::vector<Val*> shape) {
  shape_ = std::move(shape);
  return *this;
}

TensorViewBuilder& TensorViewBuilder::contiguity(std::vector<std::optional<bool>> contiguity) {
  contiguity_ = std::move(contiguity);
  uniform_contiguity_.reset();
  return *this;
}

TensorViewBuilder& TensorViewBuilder::contiguity(bool value) {
  uniform_contiguity_ = value;
  return *this;
}

TensorViewBuilder& TensorViewBuilder::strideOrder(std::vector<int64_t> order) {
  stride_order_ = std::move(order);
  return *this;
}

TensorViewBuilder& TensorViewBuilder::expanded(std::vector<bool> expanded) {
  expanded_ = std::move(expanded);
  return *this;
}

TensorView* TensorViewBuilder::build() {
  const auto rank = static_cast<int64_t>(shape_.size());
  const auto order = normalizeStrideOrder(stride_order_, rank);
  NVF_CHECK(
      contiguity_.empty() || contiguity_.size() == shape_.size(),
      "contiguity has ",
      contiguity_.size(),
      " entries, shape has ",
      shape_.size());
  NVF_CHECK(
      expanded_.empty() || expanded_.size() == shape_.size(),
      "expanded has ",
      expanded_.size(),
      " entries, shape has ",
      shape_.size());
  // Position of logical dim i in the allocation domain.
  const auto place = [&](int64_t dim) { return order.empty() ? dim : rank - 1 - order[dim]; };

  TensorDomain::Parts parts;
  for (int64_t dim = 0; dim < rank; ++dim) {
    Val* extent = shape_[dim];
    const bool none = !contiguity_.empty() && !contiguity_[place(dim)].has_value();
    const bool is_one = extent->isOneInt();
    IterDomain::Parts id;
    if (is_one) {
      id = {.extent = extent, .iter_type = IterType::Broadcast};
    } else if (none || (!expanded_.empty() && expanded_[dim])) {
      id = {
          .extent = IrBuilder::constInt(1),
          .expanded_extent = extent,
          .iter_type = IterType::Broadcast};
    } else {
      id = {.extent = extent};
    }
    parts.logical.push_back(IrBuilder::create<IterDomain>(id));
  }
  if (!order.empty()) {
    parts.allocation.resize(shape_.size());
    for (int64_t dim = 0; dim < rank; ++dim) {
      parts.allocation[place(dim)] = parts.logical[dim];
    }
  }
  const auto& allocation = order.empty() ? parts.logical : parts.allocation;
  if (contiguity_.empty()) {
    parts.contiguity = contiguityFilledWith(allocation, uniform_contiguity_.value_or(false));
  } else {
    // True or false on a size-1 dim says nothing: upstream takes None there.
    for (size_t i = 0; i < allocation.size(); ++i) {
      NVF_CHECK(
          !(allocation[i]->isBroadcast() && contiguity_[i].has_value()),
          "contiguity must be None at index ",
          i,
          ", which is a broadcast dimension");
    }
    parts.contiguity = contiguity_;
  }
  return IrBuilder::create<TensorView>(IrBuilder::create<TensorDomain>(std::move(parts)), dtype_);
}

std::vector<int64_t> normalizeStrideOrder(const std::vector<int64_t>& order, int64_t rank) {
  if (order.empty()) {
    return {};
  }
  NVF_CHECK(
      static_cast<int64_t>(order.size()) == rank,
      "stride_order has ",
      order.size(),
      " entries for a tensor of rank ",
      rank);
  std::vector<int64_t> result;
  std::vector<bool> seen(order.size(), false);
  bool descending = true;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t o = order[i] < 0 ? order[i] + rank : order[i];
    NVF_CHECK(
        o >= 0 && o < rank,
        "stride_order[",
        i,
        "] = ",
        order[i],
        " is out of range for rank ",
        rank);
    NVF_CHECK(!seen[o], "stride_order has ", order[i], " twice");
    seen[o] = true;
    descending = descending && o == rank - 1 - static_cast<int64_t>(i);
    result.push_back(o);
  }
  return descending ? std::vector<int64_t>{} : result;
}

} // namespace nvfuser
