#include <ops/utils.h>

#include <algorithm>

namespace nvfuser::ops {

int64_t normalizeDim(std::string_view op, int64_t dim, int64_t rank) {
  NVF_CHECK(
      dim >= -rank && dim < rank,
      op,
      ": Tried to access out of boundary index ",
      dim,
      ". total index: ",
      rank);
  return dim < 0 ? dim + rank : dim;
}

std::vector<int64_t> normalizeDims(
    std::string_view op,
    const std::vector<int64_t>& dims,
    int64_t rank) {
  std::vector<int64_t> result;
  for (int64_t dim : dims) {
    const int64_t d = normalizeDim(op, dim, rank);
    NVF_CHECK(
        std::find(result.begin(), result.end(), d) == result.end(),
        op,
        ": dim ",
        dim,
        " is named twice");
    result.push_back(d);
  }
  return result;
}

TensorView* newTensor(
    std::vector<IterDomain*> logical,
    DataType dtype,
    std::vector<IterDomain*> root) {
  TensorDomain::Parts parts;
  parts.contiguity = contiguityFilledWith(logical, true);
  parts.logical = std::move(logical);
  parts.root = std::move(root);
  return IrBuilder::create<TensorView>(IrBuilder::create<TensorDomain>(std::move(parts)), dtype);
}

IterDomain* newDomain(Val* extent) {
  return IrBuilder::create<IterDomain>(IterDomain::Parts{
      .extent = extent,
      .iter_type = extent->isOneInt() ? IterType::Broadcast : IterType::Iteration});
}

TensorView* newTensorOfShape(const std::vector<Val*>& shape, DataType dtype) {
  std::vector<IterDomain*> domain;
  for (Val* extent : shape) {
    domain.push_back(newDomain(extent));
  }
  return newTensor(std::move(domain), dtype);
}

std::vector<IterDomain*> copyDomain(const TensorView* tv) {
  std::vector<IterDomain*> result;
  for (const IterDomain* id : noReductions(tv->getLogicalDomain())) {
    result.push_back(id->cloneWithoutRFactor());
  }
  return result;
}

namespace {

Val* preferConstant(Val* a, Val* b) {
  return a == nullptr || (!a->isConst() && b->isConst()) ? b : a;
}

[[noreturn]] void throwShapeMismatch(
    std::string_view op,
    size_t dim,
    const std::vector<TensorView*>& tensors) {
  std::string shapes;
  for (const TensorView* tv : tensors) {
    shapes += (shapes.empty() ? "" : ", ") + shapeText(tv);
  }
  NVF_CHECK(false, op, ": sizes do not broadcast at dim ", dim, ": ", shapes);
  std::abort();
}

} // namespace

std::vector<IterDomain*> broadcastDomains(
    std::string_view op,
    const std::vector<TensorView*>& tensors) {
  std::vector<std::vector<IterDomain*>> domains;
  for (const TensorView* tv : tensors) {
    domains.push_back(noReductions(tv->getLogicalDomain()));
    NVF_ERROR(domains.back().size() == domains.front().size(), "ranks differ");
  }
  std::vector<IterDomain*> result;
  for (size_t dim = 0; dim < domains.front().size(); ++dim) {
    Val* extent = nullptr;
    Val* expanded = nullptr;
    bool has_iteration = false;
    bool has_symbolic = false;
    for (const auto& domain : domains) {
      const IterDomain* id = domain[dim];
      if (id->isBroadcast()) {
        if (id->hasExpandedExtent()) {
          expanded = preferConstant(expanded, id->expandedExtent());
        }
        continue;
      }
      if (extent != nullptr && extent->isConst() && id->extent()->isConst() &&
          !extent->sameAs(id->extent())) {
        throwShapeMismatch(op, dim, tensors);
      }
      // A known iteration outranks a symbolic domain, which may turn out to be a broadcast.
      if (extent == nullptr || (!has_iteration && id->isIteration())) {
        extent = extent != nullptr && extent->isConst() ? extent : id->extent();
      } else if (id->isIteration() == has_iteration) {
        // Of two sizes that may each turn out to be 1 the larger one counts.
        extent = has_iteration || extent->isConst() || id->extent()->isConst()
            ? preferConstant(extent, id->extent())
            : IrBuilder::maxExpr(extent, id->extent());
      }
      has_iteration = has_iteration || id->isIteration();
      has_symbolic = has_symbolic || id->isSymbolic();
    }
    if (extent != nullptr && expanded != nullptr && extent->isConst() && expanded->isConst() &&
        has_iteration && extent->constInt() != expanded->constInt()) {
      throwShapeMismatch(op, dim, tensors);
    }
    IterDomain::Parts parts;
    if (extent == nullptr) {
      parts.iter_type = IterType::Broadcast;
      parts.extent = IrBuilder::constInt(1);
      parts.expanded_extent = expanded;
    } else {
      parts.iter_type = has_iteration ? IterType::Iteration : IterType::Symbolic;
      // What is symbolic here may be 1 where the other side is expanded.
      parts.extent = !has_iteration && expanded != nullptr ? expanded : extent;
    }
    result.push_back(IrBuilder::create<IterDomain>(parts));
  }
  return result;
}

void checkSameExtent(std::string_view op, const Val* a, const Val* b, std::string_view what) {
  NVF_CHECK(
      !a->isConstInt() || !b->isConstInt() || a->constInt() == b->constInt(),
      op,
      ": ",
      what,
      " differ: ",
      a->toInlineString(),
      " and ",
      b->toInlineString());
}

Val* asIndex(std::string_view op, Val* val) {
  NVF_CHECK(
      val->isScalar() && isIntegralType(val->dtype()),
      op,
      ": a size or index must be an integer scalar, not ",
      val->toInlineString(),
      " of dtype ",
      val->dtype());
  return val->isConst() && val->dtype() != DataType::Index ? IrBuilder::constInt(val->constInt())
                                                           : val;
}

} // namespace nvfuser::ops
