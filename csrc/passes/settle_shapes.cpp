#include <analysis/scalar_values.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/tensor_view.h>
#include <ops/reshape_transforms.h>
#include <ops/utils.h>
#include <passes/fold_scalars.h>
#include <passes/settle_shapes.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

namespace {

// Thrown inside settleShapes only.
struct NotSettled {};

std::optional<int64_t> sizeOf(const Val* val, ScalarValues& values) {
  const ScalarValue value = values.evaluate(val);
  return hasValue(value) ? std::optional(toInt(value)) : std::nullopt;
}

class SettlingCloner : public IrCloner {
 public:
  SettlingCloner(
      const Fusion& original,
      Fusion* target,
      ScalarValues& values,
      std::vector<ShapeGuard>& guards)
      : IrCloner(target), values_(values), guards_(guards) {
    const auto add = [&](const Val* val) {
      if (const auto* tv = dynamic_cast<const TensorView*>(val)) {
        live_.insert(tv->getLogicalDomain().begin(), tv->getLogicalDomain().end());
      }
    };
    for (const Val* in : original.inputs()) {
      add(in);
    }
    for (const Expr* expr : original.exprs()) {
      for (const Val* out : expr->outputs()) {
        add(out);
      }
    }
  }

 protected:
  IterDomain::Parts adjust(const IterDomain& original, IterDomain::Parts parts) override {
    if (parts.iter_type != IterType::Symbolic || !live_.contains(&original)) {
      return parts;
    }
    const auto size = sizeOf(original.extent(), values_);
    if (!size.has_value()) {
      throw NotSettled();
    }
    NVF_CHECK(
        *size >= 0, "the size ", original.extent()->toInlineString(), " is negative: ", *size);
    guards_.push_back({{original.extent()}, {}, *size == 1});
    parts.iter_type = *size == 1 ? IterType::Broadcast : IterType::Iteration;
    if (*size == 1) {
      parts.extent = IrBuilder::constInt(1);
    }
    return parts;
  }

 private:
  ScalarValues& values_;
  std::vector<ShapeGuard>& guards_;
  std::unordered_set<const IterDomain*> live_;
};

std::vector<int64_t> sizesOf(const std::vector<Val*>& shape, ScalarValues& values) {
  std::vector<int64_t> sizes;
  for (const Val* extent : shape) {
    const auto size = sizeOf(extent, values);
    if (!size.has_value() || *size <= 0) {
      throw NotSettled();
    }
    sizes.push_back(*size);
  }
  return sizes;
}

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t result = 1;
  for (int64_t size : sizes) {
    result *= size;
  }
  return result;
}

std::string listed(const std::vector<int64_t>& sizes) {
  std::string text;
  for (int64_t size : sizes) {
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return "[" + text + "]";
}

// What is one dimension for any size stays one; the rest is cut as finely as these sizes allow.
std::vector<ops::ReshapeGroup> finestGroups(
    const std::vector<Val*>& from,
    const std::vector<Val*>& to,
    const std::vector<int64_t>& from_sizes,
    const std::vector<int64_t>& to_sizes) {
  std::vector<ops::ReshapeGroup> result;
  for (const ops::ReshapeGroup& group : ops::reshapeGroups(from, to)) {
    if (group.from.size() == 1 && group.to.size() == 1) {
      result.push_back(group);
      continue;
    }
    std::vector<int64_t> part_from;
    std::vector<int64_t> part_to;
    for (int64_t dim : group.from) {
      part_from.push_back(from_sizes[dim]);
    }
    for (int64_t dim : group.to) {
      part_to.push_back(to_sizes[dim]);
    }
    for (ops::ReshapeGroup& part : ops::reshapeGroups(part_from, part_to)) {
      for (int64_t& dim : part.from) {
        dim = group.from[dim];
      }
      for (int64_t& dim : part.to) {
        dim = group.to[dim];
      }
      result.push_back(std::move(part));
    }
  }
  return result;
}

// `in` and `out` belong to the original, `new_in` and `new_out` to the copy.
void deriveReshape(
    const TensorView* in,
    const TensorView* out,
    const TensorView* new_in,
    TensorView* new_out,
    ScalarValues& values,
    std::vector<ShapeGuard>& guards) {
  const auto from = in->shape();
  const auto to = out->shape();
  const auto from_sizes = sizesOf(from, values);
  const auto to_sizes = sizesOf(to, values);
  NVF_CHECK(
      product(from_sizes) == product(to_sizes),
      "reshape: ",
      shapeText(in),
      " cannot be seen as ",
      shapeText(out),
      " where their sizes are ",
      listed(from_sizes),
      " and ",
      listed(to_sizes),
      ": the element counts differ");
  const auto groups = finestGroups(from, to, from_sizes, to_sizes);
  std::vector<bool> grouped(from.size());
  for (const auto& group : groups) {
    ShapeGuard guard;
    for (int64_t dim : group.from) {
      guard.a.push_back(from[dim]);
      grouped[dim] = true;
    }
    for (int64_t dim : group.to) {
      guard.b.push_back(to[dim]);
    }
    guards.push_back(std::move(guard));
  }
  guards.push_back({{from.begin(), from.end()}, {}, false, 0});
  for (size_t dim = 0; dim < from.size(); ++dim) {
    if (!grouped[dim]) {
      guards.push_back({{from[dim]}, {}, true});
    }
  }
  const auto old_logical = new_out->getLogicalDomain();
  TensorDomain::Parts parts;
  parts.root = ops::copyDomain(new_in);
  parts.logical = ops::applyReshape(parts.root, new_out->shape(), groups, IterType::Iteration);
  for (IterDomain* id : new_out->domain()->allocation()) {
    const auto place = std::find(old_logical.begin(), old_logical.end(), id) - old_logical.begin();
    NVF_ERROR(place < static_cast<int64_t>(old_logical.size()), new_out->toString());
    parts.allocation.push_back(parts.logical[place]);
  }
  parts.contiguity =
      contiguityFilledWith(parts.allocation.empty() ? parts.logical : parts.allocation, true);
  new_out->setDomain(IrBuilder::create<TensorDomain>(std::move(parts)));
}

std::optional<int64_t> product(const std::vector<const Val*>& factors, ScalarValues& values) {
  int64_t result = 1;
  for (const Val* factor : factors) {
    const auto size = sizeOf(factor, values);
    if (!size.has_value()) {
      return std::nullopt;
    }
    result *= *size;
  }
  return result;
}

} // namespace

std::optional<SettledShapes> settleShapes(
    const Fusion& fusion,
    const std::unordered_map<const Val*, ScalarValue>& known) {
  SettledShapes settled{std::make_unique<Fusion>(), {}};
  ScalarValues values(known);
  FusionGuard guard(settled.fusion.get());
  SettlingCloner cloner(fusion, settled.fusion.get(), values, settled.guards);
  try {
    fusion.cloneInto(*settled.fusion, cloner);
    foldScalars(*settled.fusion);
    for (const Expr* expr : fusion.exprs()) {
      if (expr->traits().row_major_view) {
        const auto* in = expr->input(0)->as<TensorView>();
        const auto* out = expr->output(0)->as<TensorView>();
        deriveReshape(in, out, cloner.cloneAs(in), cloner.cloneAs(out), values, settled.guards);
      }
    }
  } catch (const NotSettled&) {
    return std::nullopt;
  }
  return settled;
}

bool guardsHold(const std::vector<ShapeGuard>& guards, ScalarValues& values) {
  return std::all_of(guards.begin(), guards.end(), [&](const ShapeGuard& guard) {
    const auto a = product(guard.a, values);
    const auto b = product(guard.b, values);
    return a.has_value() && b.has_value() && (*a == guard.number * *b) == guard.equal;
  });
}

} // namespace nvfuser
