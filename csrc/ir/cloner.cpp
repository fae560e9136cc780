#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/tensor_view.h>

namespace nvfuser {

Val* IrCloner::clone(const Val* val) {
  if (val == nullptr) {
    return nullptr;
  }
  if (const auto it = map_.find(val); it != map_.end()) {
    return it->second;
  }
  Val* copy = nullptr;
  switch (val->kind()) {
    case ValKind::Scalar:
      copy = IrBuilder::createIn<Val>(target_, val->dtype());
      copy->value_ = val->value_;
      break;
    case ValKind::IterDomain: {
      IterDomain::Parts parts = static_cast<const IterDomain*>(val)->parts();
      parts.start = clone(parts.start);
      parts.extent = clone(parts.extent);
      parts.expanded_extent = clone(parts.expanded_extent);
      parts = adjust(*static_cast<const IterDomain*>(val), parts);
      copy = IrBuilder::createIn<IterDomain>(target_, parts);
      break;
    }
    case ValKind::TensorDomain: {
      TensorDomain::Parts parts = static_cast<const TensorDomain*>(val)->parts();
      parts.root = cloneAll(parts.root);
      parts.logical = cloneAll(parts.logical);
      parts.allocation = cloneAll(parts.allocation);
      parts.loop = cloneAll(parts.loop);
      // What `adjust` turned into a broadcast has no contiguity, what it turned into an iteration
      // has one.
      const auto& allocation = parts.allocation.empty() ? parts.logical : parts.allocation;
      for (size_t i = 0; i < allocation.size(); ++i) {
        const bool none = allocation[i]->isBroadcast() || allocation[i]->isReduction();
        parts.contiguity[i] =
            none ? std::nullopt : std::optional<bool>(parts.contiguity[i].value_or(true));
      }
      copy = IrBuilder::createIn<TensorDomain>(target_, std::move(parts));
      break;
    }
    case ValKind::TensorView: {
      const auto* tv = static_cast<const TensorView*>(val);
      auto* tv_copy = IrBuilder::createIn<TensorView>(
          target_, cloneAs(tv->domain()), tv->dtype(), tv->memoryType());
      tv_copy->cpu_scalar_ = tv->cpu_scalar_;
      tv_copy->compute_at_position_ = tv->compute_at_position_;
      tv_copy->inlined_ = tv->inlined_;
      copy = tv_copy;
      break;
    }
  }
  copy->name_ = val->name();
  map_.emplace(val, copy);
  return copy;
}

Expr* IrCloner::clone(const Expr* expr) {
  ExprParts parts;
  for (const Operand& operand : expr->operands()) {
    parts.operands.push_back({operand.name, clone(operand.val)});
  }
  parts.outputs = cloneAll(expr->outputs());
  parts.attributes = expr->attributes();
  return expr->newLike(target_, std::move(parts));
}

} // namespace nvfuser
