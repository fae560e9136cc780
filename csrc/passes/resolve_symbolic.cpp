#include <analysis/scalar_values.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/tensor_view.h>
#include <ops/reshape_transforms.h>
#include <ops/utils.h>
#include <passes/fold_scalars.h>
#include <passes/resolve_symbolic.h>

#include <algorithm>

namespace nvfuser {

namespace {

class ResolvingCloner : public IrCloner {
 public:
  ResolvingCloner(Fusion* target, ScalarValues values)
      : IrCloner(target), values_(std::move(values)) {}

 protected:
  IterDomain::Parts adjust(const IterDomain& original, IterDomain::Parts parts) override {
    parts.extent = constantOr(original.extent(), parts.extent);
    parts.expanded_extent = constantOr(original.expandedExtent(), parts.expanded_extent);
    parts.start = constantOr(original.start(), parts.start);
    NVF_CHECK(
        !parts.extent->isConstInt() || parts.extent->constInt() >= 0,
        "the size ",
        original.extent()->toInlineString(),
        " is negative: ",
        parts.extent->toInlineString());
    if (parts.iter_type == IterType::Symbolic && parts.extent->isConstInt()) {
      parts.iter_type = parts.extent->isOneInt() ? IterType::Broadcast : IterType::Iteration;
    }
    return parts;
  }

 private:
  Val* constantOr(const Val* original, Val* copy) {
    if (original == nullptr) {
      return nullptr;
    }
    const ScalarValue value = values_.evaluate(original);
    return hasValue(value) ? IrBuilder::constInt(toInt(value)) : copy;
  }

  ScalarValues values_;
};

bool allConstant(const std::vector<Val*>& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Val* v) { return v->isConstInt(); });
}

int64_t elementCount(const std::vector<Val*>& shape) {
  int64_t count = 1;
  for (const Val* extent : shape) {
    count *= extent->constInt();
  }
  return count;
}

// Gives `out`, which holds the elements of `in` in row-major order, the transforms of its sizes.
void deriveReshape(const TensorView* in, TensorView* out) {
  const auto from = in->shape();
  const auto to = out->shape();
  if (!allConstant(from) || !allConstant(to)) {
    return;
  }
  NVF_CHECK(
      elementCount(from) == elementCount(to),
      "reshape: ",
      shapeText(in),
      " cannot be seen as ",
      shapeText(out),
      ": the element counts differ");
  const auto groups = ops::reshapeGroups(from, to);
  const bool is_empty = elementCount(to) == 0;
  const auto old_logical = out->getLogicalDomain();
  TensorDomain::Parts parts;
  if (is_empty) {
    for (Val* extent : to) {
      parts.logical.push_back(ops::newDomain(extent));
    }
  } else {
    parts.root = ops::copyDomain(in);
    parts.logical = ops::applyReshape(parts.root, to, groups);
  }
  for (IterDomain* id : out->domain()->allocation()) {
    const auto place = std::find(old_logical.begin(), old_logical.end(), id) - old_logical.begin();
    NVF_ERROR(place < static_cast<int64_t>(old_logical.size()), out->toString());
    parts.allocation.push_back(parts.logical[place]);
  }
  parts.contiguity =
      contiguityFilledWith(parts.allocation.empty() ? parts.logical : parts.allocation, true);
  out->setDomain(IrBuilder::create<TensorDomain>(std::move(parts)));
}

} // namespace

std::unique_ptr<Fusion> resolveSymbolic(
    const Fusion& fusion,
    const std::unordered_map<const Val*, ScalarValue>& known,
    std::unordered_map<const Val*, Val*>* map) {
  auto copy = std::make_unique<Fusion>();
  FusionGuard guard(copy.get());
  ResolvingCloner cloner(copy.get(), ScalarValues(known));
  for (const auto& [val, value] : known) {
    // A size that no tensor of the copy carries any more has no other way to be known there.
    if (!val->isFusionInput() && val->definition() == nullptr) {
      cloner.seed(val, IrBuilder::constant(value, val->dtype()));
    }
  }
  fusion.cloneInto(*copy, cloner);
  foldScalars(*copy);
  for (Expr* expr : copy->exprs()) {
    if (expr->traits().row_major_view) {
      deriveReshape(expr->input(0)->as<TensorView>(), expr->output(0)->as<TensorView>());
    }
  }
  if (map != nullptr) {
    *map = cloner.map();
  }
  return copy;
}

} // namespace nvfuser
