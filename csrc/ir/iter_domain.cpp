#include <ir/builder.h>
#include <ir/fusion.h>
#include <ir/iter_domain.h>

#include <algorithm>

namespace nvfuser {

IterDomain::IterDomain(IrBuilderPasskey key, const Parts& parts)
    : Val(key, ValKind::IterDomain, DataType::Index), parts_(parts) {
  NVF_ERROR(parts_.extent != nullptr);
  NVF_ERROR(parts_.expanded_extent == nullptr || isBroadcast(), "only a broadcast can be expanded");
}

void IterDomain::parallelize(ParallelType type) {
  if (type == ParallelType::Vectorize || type == ParallelType::Unroll) {
    NVF_CHECK(
        parts_.extent->isConstInt() || parts_.extent->definition() != nullptr ||
            parts_.extent->isConst(),
        parallelTypeText(type),
        " needs a constant extent, not ",
        toString());
  }
  parts_.parallel_type = type;
}

void IterDomain::replaceScalars(const std::unordered_map<const Val*, Val*>& replacements) {
  for (Val** slot : {&parts_.start, &parts_.extent, &parts_.expanded_extent}) {
    if (const auto it = replacements.find(*slot); it != replacements.end()) {
      *slot = it->second;
    }
  }
}

IterDomain* IterDomain::cloneWithoutRFactor() const {
  Parts parts = parts_;
  parts.is_rfactor = false;
  parts.parallel_type = ParallelType::Serial;
  return IrBuilder::createIn<IterDomain>(fusion_, parts);
}

IterDomain* IterDomain::cloneAs(IterType type) const {
  Parts parts = parts_;
  parts.iter_type = type;
  parts.is_rfactor = false;
  if (type != IterType::Broadcast) {
    parts.expanded_extent = nullptr;
  }
  return IrBuilder::createIn<IterDomain>(fusion_, parts);
}

std::pair<IterDomain*, IterDomain*> IterDomain::split(
    IterDomain* in,
    Val* factor,
    bool inner_split) {
  NVF_CHECK(
      !factor->isConstInt() || factor->constInt() > 0,
      "split: the factor must be positive, not ",
      factor->toInlineString());
  FusionGuard guard(in->fusion());
  Val* remainder = IrBuilder::ceilDivExpr(in->extent(), factor);
  Parts parts = in->parts();
  parts.start = nullptr;
  parts.is_rfactor = false;
  Val* expanded_remainder = nullptr;
  if (in->hasExpandedExtent()) {
    expanded_remainder = IrBuilder::ceilDivExpr(in->expandedExtent(), factor);
  }
  Parts outer = parts;
  Parts inner = parts;
  // A broadcast stays one element long on both sides; only what it is seen as gets split.
  if (in->isBroadcast()) {
    outer.expanded_extent = nullptr;
    inner.expanded_extent = nullptr;
    outer.extent = inner.extent = IrBuilder::constInt(1);
    if (in->hasExpandedExtent()) {
      outer.expanded_extent = inner_split ? expanded_remainder : factor;
      inner.expanded_extent = inner_split ? factor : expanded_remainder;
    }
  } else {
    outer.extent = inner_split ? remainder : factor;
    inner.extent = inner_split ? factor : remainder;
  }
  auto* o = IrBuilder::create<IterDomain>(outer);
  auto* i = IrBuilder::create<IterDomain>(inner);
  IrBuilder::create<Split>(o, i, in, factor, inner_split);
  return {o, i};
}

IterDomain* IterDomain::merge(IterDomain* outer, IterDomain* inner, bool is_rfactor) {
  NVF_CHECK(
      outer->isReduction() == inner->isReduction() ||
          (outer->isBroadcast() && outer->extent()->isOneInt()) ||
          (inner->isBroadcast() && inner->extent()->isOneInt()),
      "merge: a reduction domain cannot be merged with an iteration domain: ",
      outer->toString(),
      " and ",
      inner->toString());
  FusionGuard guard(outer->fusion());
  Parts parts;
  parts.is_rfactor = is_rfactor;
  if (outer->isBroadcast() && inner->isBroadcast()) {
    parts.iter_type = IterType::Broadcast;
    parts.extent = IrBuilder::constInt(1);
    if (outer->hasExpandedExtent() || inner->hasExpandedExtent()) {
      parts.expanded_extent =
          IrBuilder::mulExpr(outer->getMaybeExpandedExtent(), inner->getMaybeExpandedExtent());
    }
  } else {
    if (outer->isReduction() || inner->isReduction()) {
      parts.iter_type = IterType::Reduction;
    } else if (outer->isSymbolic() || inner->isSymbolic()) {
      parts.iter_type = IterType::Symbolic;
    }
    // A broadcast merged with an iteration is materialised at its expanded size.
    parts.extent =
        IrBuilder::mulExpr(outer->getMaybeExpandedExtent(), inner->getMaybeExpandedExtent());
  }
  if (outer->parallelType() == inner->parallelType()) {
    parts.parallel_type = outer->parallelType();
  }
  auto* out = IrBuilder::create<IterDomain>(parts);
  IrBuilder::create<Merge>(out, outer, inner);
  return out;
}

IterDomain* IterDomain::resize(
    IterDomain* in,
    Val* left,
    Val* right,
    bool is_rfactor,
    std::optional<IterType> type) {
  FusionGuard guard(in->fusion());
  Parts parts;
  parts.is_rfactor = is_rfactor;
  parts.extent = IrBuilder::addExpr(IrBuilder::addExpr(left, in->getMaybeExpandedExtent()), right);
  if (type.has_value()) {
    parts.iter_type = *type;
  } else if (left->isZeroInt() && right->isZeroInt()) {
    parts.iter_type = in->iterType();
    parts.extent = in->extent();
    parts.expanded_extent = in->expandedExtent();
  } else if (parts.extent->isConstInt()) {
    parts.iter_type = parts.extent->isOneInt() ? IterType::Broadcast : IterType::Iteration;
  } else {
    parts.iter_type = IterType::Symbolic;
  }
  auto* out = IrBuilder::create<IterDomain>(parts);
  IrBuilder::create<Resize>(out, in, left, right);
  return out;
}

std::pair<IterDomain*, IterDomain*> IterDomain::swizzle(IterDomain* x, IterDomain* y) {
  FusionGuard guard(x->fusion());
  auto* out_x = IrBuilder::create<IterDomain>(x->parts());
  auto* out_y = IrBuilder::create<IterDomain>(y->parts());
  IrBuilder::create<Swizzle>(out_x, out_y, x, y);
  return {out_x, out_y};
}

bool IterDomain::sameAs(const Val* other) const {
  if (this == other) {
    return true;
  }
  const auto* id = dynamic_cast<const IterDomain*>(other);
  return id != nullptr && iterType() == id->iterType() && parallelType() == id->parallelType() &&
      extent()->sameAs(id->extent()) && hasExpandedExtent() == id->hasExpandedExtent() &&
      (!hasExpandedExtent() || expandedExtent()->sameAs(id->expandedExtent()));
}

std::string IterDomain::toString() const {
  std::string text = detail::concat(iterType(), parallelTypeText(parallelType()), name(), "{");
  if (start() != nullptr && !start()->isZeroInt()) {
    text += start()->toInlineString() + " : ";
  }
  text += extent()->toInlineString();
  if (hasExpandedExtent()) {
    text += " ex " + expandedExtent()->toInlineString();
  }
  return text + "}" + (isRFactorProduct() ? "rf" : "");
}

// --- Split, Merge, Resize, Swizzle ---

NVF_DEFINE_NEW_LIKE(Split)
NVF_DEFINE_NEW_LIKE(Merge)
NVF_DEFINE_NEW_LIKE(Resize)
NVF_DEFINE_NEW_LIKE(Swizzle)

Split::Split(
    IrBuilderPasskey key,
    IterDomain* outer,
    IterDomain* inner,
    IterDomain* in,
    Val* factor,
    bool inner_split)
    : Expr(
          key,
          {{{"in", in}, {"factor", factor}}, {outer, inner}, {{"inner_split", inner_split}}}) {}
IterDomain* Split::outer() const {
  return output(0)->as<IterDomain>();
}
IterDomain* Split::inner() const {
  return output(1)->as<IterDomain>();
}
IterDomain* Split::in() const {
  return operand("in")->as<IterDomain>();
}
bool Split::isDivisible() const {
  return in()->extent()->isConstInt() && factor()->isConstInt() &&
      in()->extent()->constInt() % factor()->constInt() == 0;
}
std::string Split::toString() const {
  return detail::concat(
      innerSplit() ? "Split: " : "Outer split: ",
      in()->toString(),
      " by factor ",
      factor()->toInlineString(),
      " -> ",
      outer()->toString(),
      ", ",
      inner()->toString(),
      "\n");
}

Merge::Merge(IrBuilderPasskey key, IterDomain* out, IterDomain* outer, IterDomain* inner)
    : Expr(key, {{{"outer", outer}, {"inner", inner}}, {out}, {}}) {}
IterDomain* Merge::out() const {
  return output(0)->as<IterDomain>();
}
IterDomain* Merge::outer() const {
  return operand("outer")->as<IterDomain>();
}
IterDomain* Merge::inner() const {
  return operand("inner")->as<IterDomain>();
}
std::string Merge::toString() const {
  return detail::concat(
      "Merge: ",
      outer()->toString(),
      " and ",
      inner()->toString(),
      " -> ",
      out()->toString(),
      "\n");
}

Resize::Resize(IrBuilderPasskey key, IterDomain* out, IterDomain* in, Val* left, Val* right)
    : Expr(key, {{{"in", in}, {"left", left}, {"right", right}}, {out}, {}}) {}
IterDomain* Resize::out() const {
  return output(0)->as<IterDomain>();
}
IterDomain* Resize::in() const {
  return operand("in")->as<IterDomain>();
}
std::string Resize::toString() const {
  return detail::concat(
      "Resize: ",
      in()->toString(),
      " by ",
      leftExpand()->toInlineString(),
      " and ",
      rightExpand()->toInlineString(),
      " -> ",
      out()->toString(),
      "\n");
}

Swizzle::Swizzle(
    IrBuilderPasskey key,
    IterDomain* out_x,
    IterDomain* out_y,
    IterDomain* in_x,
    IterDomain* in_y)
    : Expr(key, {{{"in_x", in_x}, {"in_y", in_y}}, {out_x, out_y}, {}}) {}
std::string Swizzle::toString() const {
  return detail::concat(
      "Swizzle: ",
      input(0)->toString(),
      " and ",
      input(1)->toString(),
      " -> ",
      output(0)->toString(),
      ", ",
      output(1)->toString(),
      "\n");
}

// --- TensorDomain ---

TensorDomain::TensorDomain(IrBuilderPasskey key, Parts parts)
    : Val(key, ValKind::TensorDomain, DataType::Null), parts_(std::move(parts)) {
  if (parts_.loop.empty()) {
    parts_.loop = parts_.logical;
  }
  if (parts_.contiguity.empty()) {
    parts_.contiguity = contiguityFilledWith(maybeAllocation(), false);
  }
  setContiguity(parts_.contiguity);
}

void TensorDomain::setLoopDomain(std::vector<IterDomain*> loop) {
  parts_.loop = std::move(loop);
}

void TensorDomain::setContiguity(std::vector<std::optional<bool>> contiguity) {
  const auto& allocation = maybeAllocation();
  NVF_CHECK(
      contiguity.size() == allocation.size(),
      "contiguity has ",
      contiguity.size(),
      " entries for a tensor with ",
      allocation.size(),
      " dimensions");
  for (size_t i = 0; i < allocation.size(); ++i) {
    const bool none = allocation[i]->isBroadcast() || allocation[i]->isReduction();
    NVF_CHECK(
        contiguity[i].has_value() != none,
        "contiguity[",
        i,
        "] must ",
        none ? "be None" : "not be None",
        " for ",
        allocation[i]->toString());
  }
  parts_.contiguity = std::move(contiguity);
}

void TensorDomain::setAllocationDomain(
    std::vector<IterDomain*> allocation,
    std::vector<std::optional<bool>> contiguity) {
  parts_.allocation = std::move(allocation);
  setContiguity(std::move(contiguity));
}

std::vector<int64_t> TensorDomain::strideOrder() const {
  if (!hasAllocation()) {
    return {};
  }
  const auto logical = noReductions(parts_.logical);
  const auto allocation = noReductions(parts_.allocation);
  if (logical.size() != allocation.size()) {
    return {};
  }
  const auto rank = static_cast<int64_t>(logical.size());
  std::vector<int64_t> order(logical.size());
  bool trivial = true;
  for (int64_t i = 0; i < rank; ++i) {
    const auto it = std::find(allocation.begin(), allocation.end(), logical[i]);
    if (it == allocation.end()) {
      return {}; // the allocation domain is transformed: it has no plain order
    }
    order[i] = rank - 1 - (it - allocation.begin());
    trivial = trivial && order[i] == rank - 1 - i;
  }
  return trivial ? std::vector<int64_t>{} : order;
}

std::string TensorDomain::toString() const {
  return "[" + domainText(loop()) + "]";
}

std::vector<IterDomain*> noReductions(const std::vector<IterDomain*>& domain) {
  std::vector<IterDomain*> result;
  for (IterDomain* id : domain) {
    if (!id->isReduction()) {
      result.push_back(id);
    }
  }
  return result;
}

std::vector<IterDomain*> noBroadcasts(const std::vector<IterDomain*>& domain) {
  std::vector<IterDomain*> result;
  for (IterDomain* id : domain) {
    if (!id->isBroadcast()) {
      result.push_back(id);
    }
  }
  return result;
}

std::vector<std::optional<bool>> contiguityFilledWith(
    const std::vector<IterDomain*>& allocation,
    bool value) {
  std::vector<std::optional<bool>> result;
  for (const IterDomain* id : allocation) {
    result.push_back(
        id->isBroadcast() || id->isReduction() ? std::nullopt : std::optional<bool>(value));
  }
  return result;
}

std::string domainText(const std::vector<IterDomain*>& domain) {
  std::string text;
  for (const IterDomain* id : domain) {
    text += (text.empty() ? "" : ", ") + id->toString();
  }
  return text;
}

} // namespace nvfuser
