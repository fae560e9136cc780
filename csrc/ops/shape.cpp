#include <ops/pointwise.h>
#include <ops/reshape_transforms.h>
#include <ops/shape.h>
#include <ops/utils.h>

#include <algorithm>
#include <numeric>

namespace nvfuser {

namespace {

void checkFusion(std::string_view op, const TensorView* x) {
  NVF_CHECK(
      x->fusion() == FusionGuard::activeOrThrow(),
      op,
      ": ",
      x->toString(),
      " belongs to another Fusion than the one being defined");
}

std::vector<Val*> asExtents(std::string_view op, const std::vector<Val*>& shape) {
  std::vector<Val*> result;
  for (Val* extent : shape) {
    // Existing callers compute sizes of reshapes with reciprocals, so a real scalar is cut to an
    // integer there.
    const bool is_real = extent->isScalar() && isFloatingPointType(extent->dtype());
    Val* index =
        ops::asIndex(op, op == "reshape" && is_real ? castOp(DataType::Index, extent) : extent);
    NVF_CHECK(
        !index->isConstInt() || index->constInt() >= -1,
        op,
        ": a size must be at least 0 (or -1), got ",
        index->constInt());
    result.push_back(index);
  }
  return result;
}

TensorView* copyOf(TensorView* x) {
  return set(x)->as<TensorView>();
}

std::string shapeListText(const std::vector<Val*>& shape) {
  std::string text;
  for (const Val* extent : shape) {
    text += (text.empty() ? "" : ", ") + extent->toInlineString();
  }
  return "[" + text + "]";
}

} // namespace

TensorView* broadcast(TensorView* x, const std::vector<bool>& is_broadcast_dim) {
  checkFusion("broadcast", x);
  const auto kept = std::count(is_broadcast_dim.begin(), is_broadcast_dim.end(), false);
  NVF_CHECK(
      kept == x->nDims(),
      "broadcast: is_broadcast_dim has ",
      kept,
      " dimensions that are not new, but ",
      shapeText(x),
      " has rank ",
      x->nDims());
  if (static_cast<size_t>(kept) == is_broadcast_dim.size()) {
    return copyOf(x);
  }
  const auto source = ops::copyDomain(x);
  std::vector<IterDomain*> domain;
  size_t next = 0;
  for (bool is_new : is_broadcast_dim) {
    domain.push_back(is_new ? ops::newDomain(IrBuilder::constInt(1)) : source[next++]);
  }
  auto* out = ops::newTensor(std::move(domain), x->dtype());
  IrBuilder::create<BroadcastOp>(out, x, is_broadcast_dim);
  return out;
}

TensorView* expand(TensorView* x, const std::vector<Val*>& requested) {
  checkFusion("expand", x);
  auto shape = asExtents("expand", requested);
  const auto rank = static_cast<int64_t>(shape.size());
  NVF_CHECK(
      rank >= x->nDims(),
      "expand: the shape ",
      shapeListText(requested),
      " has fewer dimensions than ",
      shapeText(x));
  if (const int64_t added = rank - x->nDims(); added > 0) {
    std::vector<bool> flags(shape.size(), false);
    std::fill_n(flags.begin(), added, true);
    x = broadcast(x, flags);
  }
  const auto source = noReductions(x->getLogicalDomain());
  std::vector<IterDomain*> domain;
  bool expands = false;
  for (int64_t dim = 0; dim < rank; ++dim) {
    const IterDomain* id = source[dim];
    Val*& wanted = shape[dim];
    Val* extent = id->getMaybeExpandedExtent();
    if (wanted->isConstInt(-1) || wanted->sameAs(extent)) {
      wanted = extent;
      domain.push_back(id->cloneWithoutRFactor());
      continue;
    }
    if (id->isBroadcast() && !id->hasExpandedExtent()) {
      expands = true;
      domain.push_back(
          IrBuilder::create<IterDomain>(IterDomain::Parts{
              .extent = id->extent(),
              .expanded_extent = wanted,
              .iter_type = IterType::Broadcast}));
      continue;
    }
    NVF_CHECK(
        !extent->isConstInt() || !wanted->isConstInt(),
        "expand: dim ",
        dim,
        " of ",
        shapeText(x),
        " cannot be seen as ",
        wanted->toInlineString(),
        "; only a size of 1 can be expanded");
    // Symbolic sizes: an iteration must turn out equal; what may be a broadcast is decided at run
    // time.
    IterDomain::Parts parts = id->parts();
    parts.is_rfactor = false;
    if (id->isSymbolic()) {
      expands = true;
      parts.extent = wanted;
    } else if (id->isIteration() && wanted->isConst()) {
      expands = true;
      parts.extent = wanted;
    } else {
      expands = true;
    }
    domain.push_back(IrBuilder::create<IterDomain>(parts));
  }
  if (!expands) {
    return copyOf(x);
  }
  auto* out = ops::newTensor(std::move(domain), x->dtype());
  IrBuilder::create<ExpandOp>(out, x, shape);
  return out;
}

TensorView* broadcastInDim(
    TensorView* x,
    const std::vector<Val*>& shape,
    const std::vector<int64_t>& broadcast_dims) {
  checkFusion("broadcast_in_dim", x);
  const auto rank = static_cast<int64_t>(shape.size());
  NVF_CHECK(
      static_cast<int64_t>(broadcast_dims.size()) == x->nDims(),
      "broadcast_in_dim: broadcast_dims has ",
      broadcast_dims.size(),
      " entries for ",
      shapeText(x));
  NVF_CHECK(
      x->nDims() <= rank,
      "broadcast_in_dim: the shape ",
      shapeListText(shape),
      " has fewer dimensions than ",
      shapeText(x));
  const auto places = ops::normalizeDims("broadcast_in_dim", broadcast_dims, rank);
  NVF_CHECK(
      std::is_sorted(places.begin(), places.end()),
      "broadcast_in_dim: broadcast_dims must ascend; permute the operand first");
  std::vector<bool> flags(shape.size(), true);
  for (int64_t place : places) {
    flags[place] = false;
  }
  TensorView* out = rank == x->nDims() ? x : broadcast(x, flags);
  return expand(out, shape);
}

namespace {

// Resolves -1 and checks the element count where it is known.
std::vector<Val*> resolveShape(TensorView* x, const std::vector<Val*>& requested) {
  auto shape = asExtents("reshape", requested);
  const auto old_shape = x->shape();
  int64_t inferred = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i]->isConstInt(-1)) {
      NVF_CHECK(inferred == -1, "reshape: only one size can be -1, got ", shapeListText(requested));
      inferred = static_cast<int64_t>(i);
    }
  }
  Val* old_count = IrBuilder::constInt(1);
  for (Val* extent : old_shape) {
    old_count = IrBuilder::mulExpr(old_count, extent);
  }
  Val* new_count = IrBuilder::constInt(1);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<int64_t>(i) != inferred) {
      new_count = IrBuilder::mulExpr(new_count, shape[i]);
    }
  }
  const bool known = old_count->isConstInt() && new_count->isConstInt();
  const auto mismatch = [&] {
    return detail::concat(
        "reshape: ",
        shapeText(x),
        " cannot be seen as ",
        shapeListText(requested),
        ": the element counts differ");
  };
  if (inferred == -1) {
    NVF_CHECK(!known || old_count->constInt() == new_count->constInt(), mismatch());
    return shape;
  }
  NVF_CHECK(
      !new_count->isZeroInt(),
      "reshape: the size -1 of ",
      shapeListText(requested),
      " cannot be inferred, because another size is 0");
  if (known) {
    NVF_CHECK(old_count->constInt() % new_count->constInt() == 0, mismatch());
  }
  // Sizes that stand on both sides cancel, so that (i0, 64) -> (-1, 8, 8) keeps i0 readable.
  std::vector<Val*> numerator = old_shape;
  Val* denominator = IrBuilder::constInt(1);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<int64_t>(i) == inferred) {
      continue;
    }
    const auto same = std::find_if(numerator.begin(), numerator.end(), [&](const Val* v) {
      return !v->isConst() && v->sameAs(shape[i]);
    });
    if (same != numerator.end()) {
      numerator.erase(same);
    } else {
      denominator = IrBuilder::mulExpr(denominator, shape[i]);
    }
  }
  Val* count = IrBuilder::constInt(1);
  for (Val* extent : numerator) {
    count = IrBuilder::mulExpr(count, extent);
  }
  shape[inferred] = IrBuilder::divExpr(count, denominator);
  return shape;
}

} // namespace

TensorView* reshape(TensorView* x, const std::vector<Val*>& new_shape) {
  checkFusion("reshape", x);
  const auto shape = resolveShape(x, new_shape);
  const auto old_shape = x->shape();
  const bool unchanged = std::equal(
      shape.begin(), shape.end(), old_shape.begin(), old_shape.end(), [](auto* a, auto* b) {
        return a->sameAs(b);
      });
  if (unchanged) {
    return copyOf(x);
  }
  const auto groups = ops::reshapeGroups(old_shape, shape);
  const auto root = ops::copyDomain(x);
  const bool has_transforms = std::any_of(groups.begin(), groups.end(), [](const auto& group) {
    return group.from.size() != 1 || group.to.size() != 1;
  });
  std::vector<IterDomain*> logical;
  if (groups.empty()) {
    // A zero size: nothing is read, so no transform has to say where from.
    for (Val* extent : shape) {
      logical.push_back(ops::newDomain(extent));
    }
  } else {
    logical = ops::applyReshape(root, shape, groups);
  }
  const bool keeps_root =
      !groups.empty() && (has_transforms || root.size() != logical.size() || root != logical);
  auto* out = ops::newTensor(
      std::move(logical), x->dtype(), keeps_root ? root : std::vector<IterDomain*>{});
  IrBuilder::create<ReshapeOp>(out, x, shape);
  return out;
}

TensorView* permute(TensorView* x, const std::vector<int64_t>& new_to_old) {
  checkFusion("permute", x);
  const int64_t rank = x->nDims();
  NVF_CHECK(
      static_cast<int64_t>(new_to_old.size()) == rank,
      "permute: dims has ",
      new_to_old.size(),
      " entries for ",
      shapeText(x));
  const auto order = ops::normalizeDims("permute", new_to_old, rank);
  if (std::is_sorted(order.begin(), order.end())) {
    return copyOf(x);
  }
  auto root = ops::copyDomain(x);
  std::vector<IterDomain*> logical;
  for (int64_t dim : order) {
    logical.push_back(root[dim]);
  }
  auto* out = ops::newTensor(std::move(logical), x->dtype(), std::move(root));
  IrBuilder::create<LoadStoreOp>(out, x);
  return out;
}

TensorView* squeeze(TensorView* x, const std::vector<int64_t>& dims, bool squeeze_expanded) {
  checkFusion("squeeze", x);
  const int64_t rank = x->nDims();
  NVF_CHECK(
      static_cast<int64_t>(dims.size()) <= rank,
      "squeeze: ",
      dims.size(),
      " dims are named, but ",
      shapeText(x),
      " has rank ",
      rank);
  if (dims.empty()) {
    return copyOf(x);
  }
  std::vector<bool> flags(static_cast<size_t>(rank), false);
  const auto domain = noReductions(x->getLogicalDomain());
  for (int64_t dim : ops::normalizeDims("squeeze", dims, rank)) {
    const IterDomain* id = domain[dim];
    NVF_CHECK(
        !id->hasExpandedExtent() || squeeze_expanded,
        "squeeze: dim ",
        dim,
        " of ",
        shapeText(x),
        " is expanded; squeeze_expanded=True removes it all the same");
    NVF_CHECK(
        id->isBroadcast() || !id->extent()->isConstInt() || id->extent()->isOneInt(),
        "squeeze: dim ",
        dim,
        " of ",
        shapeText(x),
        " has a size other than 1");
    flags[dim] = true;
  }
  std::vector<IterDomain*> logical;
  const auto source = ops::copyDomain(x);
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (!flags[dim]) {
      logical.push_back(source[dim]);
    }
  }
  auto* out = ops::newTensor(std::move(logical), x->dtype());
  IrBuilder::create<SqueezeOp>(out, x, flags, squeeze_expanded);
  return out;
}

namespace {

// A slice bound inside [0, extent], for sizes that may be known only at run time.
Val* clampToExtent(Val* bound, Val* extent) {
  return IrBuilder::minExpr(bound, extent);
}

} // namespace

TensorView* slice(
    TensorView* x,
    const std::vector<Val*>& starts,
    const std::vector<Val*>& stops,
    const std::vector<Val*>& strides,
    bool manual_normalization) {
  checkFusion("slice", x);
  NVF_CHECK(
      strides.empty() || starts.size() == strides.size(),
      "Slice start_indices and strides don't match! Start Indices: ",
      starts.size(),
      " Strides: ",
      strides.size());
  NVF_CHECK(
      starts.size() == stops.size(),
      "Slice indexing attribute dimensions don't match! Start Indices: ",
      starts.size(),
      " End Indices: ",
      stops.size());
  NVF_CHECK(
      static_cast<int64_t>(starts.size()) == x->nDims(),
      "Number of tensor dimensions does not match slice dimensions! Tensor-dims: ",
      x->nDims(),
      " Slice-dims: ",
      starts.size());
  const auto source = noReductions(x->getLogicalDomain());
  std::vector<Val*> begin;
  std::vector<Val*> end;
  bool changes = false;
  for (size_t i = 0; i < starts.size(); ++i) {
    Val* start = ops::asIndex("slice", starts[i]);
    Val* stop = ops::asIndex("slice", stops[i]);
    NVF_CHECK(
        !start->isConstInt() || start->constInt() >= 0,
        "Slice operation start_indices must be greater than or equal to 0. Start Indices: ",
        shapeListText(starts));
    NVF_CHECK(
        !start->isConstInt() || !stop->isConstInt() || stop->constInt() >= start->constInt(),
        "Slice operation end_indices must be greater than or equal to start_indices. "
        "Start Indices: ",
        shapeListText(starts),
        " End Indices: ",
        shapeListText(stops));
    NVF_CHECK(
        strides.empty() || strides[i]->isOneInt(),
        "nvFuser Limitation: All slice operation strides must be of const size 1. Strides: ",
        shapeListText(strides));
    Val* extent = source[i]->getMaybeExpandedExtent();
    if (!manual_normalization) {
      start = clampToExtent(start, extent);
      stop = IrBuilder::maxExpr(clampToExtent(stop, extent), start);
    }
    changes = changes || !start->isZeroInt() || !stop->sameAs(extent);
    begin.push_back(start);
    end.push_back(stop);
  }
  if (!changes) {
    return copyOf(x);
  }
  auto root = ops::copyDomain(x);
  std::vector<IterDomain*> logical;
  for (size_t i = 0; i < root.size(); ++i) {
    Val* extent = root[i]->getMaybeExpandedExtent();
    if (begin[i]->isZeroInt() && end[i]->sameAs(extent)) {
      logical.push_back(root[i]);
      continue;
    }
    Val* length = IrBuilder::subExpr(end[i], begin[i]);
    auto* out_id = IrBuilder::create<IterDomain>(IterDomain::Parts{
        .extent = length,
        .iter_type = length->isOneInt() ? IterType::Broadcast
            : length->isConstInt()      ? IterType::Iteration
                                        : IterType::Symbolic,
        .is_rfactor = true});
    IrBuilder::create<Resize>(
        out_id, root[i], IrBuilder::negExpr(begin[i]), IrBuilder::subExpr(end[i], extent));
    logical.push_back(out_id);
  }
  auto* out = ops::newTensor(std::move(logical), x->dtype(), std::move(root));
  IrBuilder::create<SliceOp>(out, x, begin, end);
  return out;
}

TensorView* pad(TensorView* x, const std::vector<Val*>& pad_widths, Val* value) {
  checkFusion("pad", x);
  const int64_t rank = x->nDims();
  NVF_CHECK(
      pad_widths.size() % 2 == 0 && static_cast<int64_t>(pad_widths.size()) <= 2 * rank,
      "pad: pad_widths must have an even number of entries, at most ",
      2 * rank,
      " for ",
      shapeText(x),
      ", got ",
      pad_widths.size());
  const DataType dtype = x->dtype();
  if (value == nullptr) {
    value = IrBuilder::constant(castScalar(ScalarValue(int64_t{0}), dtype), dtype);
  }
  const auto kind = [](DataType t) {
    return isComplexType(t) ? 3 : isFloatingPointType(t) ? 2 : isIntegralType(t) ? 1 : 0;
  };
  NVF_CHECK(
      value->isScalar() && kind(value->dtype()) == kind(dtype),
      "Tensor arg and pad value must have the same dtype. pad: got ",
      dataTypeName(dtype),
      " and ",
      dataTypeName(value->dtype()));
  Val* zero = IrBuilder::constInt(0);
  // In logical order: left and right of dim 0, of dim 1, ...
  std::vector<Val*> widths(static_cast<size_t>(2 * rank), zero);
  for (size_t i = 0; i < pad_widths.size() / 2; ++i) {
    const size_t dim = static_cast<size_t>(rank) - 1 - i;
    widths[2 * dim] = ops::asIndex("pad", pad_widths[2 * i]);
    widths[2 * dim + 1] = ops::asIndex("pad", pad_widths[2 * i + 1]);
  }
  auto root = ops::copyDomain(x);
  std::vector<IterDomain*> logical;
  bool changes = false;
  for (size_t dim = 0; dim < root.size(); ++dim) {
    Val* left = widths[2 * dim];
    Val* right = widths[2 * dim + 1];
    if (left->isZeroInt() && right->isZeroInt()) {
      logical.push_back(root[dim]);
      continue;
    }
    changes = true;
    auto* id = IterDomain::resize(root[dim], left, right, true);
    NVF_CHECK(
        !id->extent()->isConstInt() || id->extent()->constInt() >= 0,
        "pad: dim ",
        dim,
        " of ",
        shapeText(x),
        " would get the negative size ",
        id->extent()->toInlineString());
    logical.push_back(id);
  }
  if (!changes) {
    return copyOf(x);
  }
  auto* out = ops::newTensor(std::move(logical), dtype, std::move(root));
  IrBuilder::create<PadOp>(out, x, widths, value);
  return out;
}

TensorView* cat(const std::vector<TensorView*>& tensors, int64_t dim, bool manual_padding) {
  NVF_CHECK(!tensors.empty(), "cat: expected at least one tensor");
  std::vector<TensorView*> parts = tensors;
  if (manual_padding) {
    // The operands have been padded to the size of the result: what lies under the padding is
    // joined.
    for (TensorView*& part : parts) {
      auto* padding = dynamic_cast<PadOp*>(part->definition());
      NVF_CHECK(
          padding != nullptr,
          "cat: with manual_padding every operand must come from pad, ",
          part->toString(),
          " does not");
      part = padding->operand("in")->as<TensorView>();
    }
  }
  const TensorView* first = parts.front();
  for (const TensorView* part : parts) {
    checkFusion("cat", part);
    NVF_CHECK(
        part->dtype() == first->dtype() && part->nDims() == first->nDims(),
        "cat: all tensors need one dtype and rank, got ",
        dataTypeName(first->dtype()),
        " ",
        shapeText(first),
        " and ",
        dataTypeName(part->dtype()),
        " ",
        shapeText(part));
  }
  const int64_t axis = ops::normalizeDim("cat", dim, first->nDims());
  if (parts.size() == 1) {
    return copyOf(parts.front());
  }
  std::vector<IterDomain*> logical;
  for (int64_t d = 0; d < first->nDims(); ++d) {
    Val* extent = nullptr;
    for (const TensorView* part : parts) {
      Val* size = part->shape()[d];
      if (extent == nullptr) {
        extent = size;
      } else if (d == axis) {
        extent = IrBuilder::addExpr(extent, size);
      } else {
        ops::checkSameExtent("cat", extent, size, detail::concat("sizes of dim ", d));
        extent = extent->isConst() ? extent : size->isConst() ? size : extent;
      }
    }
    logical.push_back(ops::newDomain(extent));
  }
  auto* out = ops::newTensor(std::move(logical), first->dtype());
  IrBuilder::create<CatOp>(out, std::vector<Val*>(parts.begin(), parts.end()), axis);
  return out;
}

TensorView* strideOrder(TensorView* x, const std::vector<int64_t>& stride_order) {
  checkFusion("stride_order", x);
  const auto order = normalizeStrideOrder(stride_order, x->nDims());
  if (stride_order.empty()) {
    return copyOf(x);
  }
  auto logical = ops::copyDomain(x);
  const auto rank = static_cast<int64_t>(logical.size());
  std::vector<IterDomain*> allocation(logical.size());
  for (int64_t dim = 0; dim < rank; ++dim) {
    allocation[order.empty() ? dim : rank - 1 - order[dim]] = logical[dim];
  }
  auto* out = ops::newTensor(std::move(logical), x->dtype());
  out->setAllocationDomain(std::move(allocation), true);
  IrBuilder::create<LoadStoreOp>(out, x);
  return out;
}

Val* size(TensorView* x, int64_t dim) {
  checkFusion("size", x);
  return x->shape()[ops::normalizeDim("size", dim, x->nDims())];
}

} // namespace nvfuser
