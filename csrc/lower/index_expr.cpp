#include <lower/index_expr.h>

#include <ir/nodes.h>

#include <algorithm>

namespace nvfuser {

Index IndexContext::make(IndexOp op, int64_t number, Index a, Index b, int depth) {
  const auto key = std::make_tuple(op, number, a, b);
  const auto it = interned_.find(key);
  if (it != interned_.end()) {
    return it->second;
  }
  for (Index operand : {a, b}) {
    depth = std::max(depth, operand == nullptr ? 0 : operand->depth);
  }
  constexpr int kLargest = 1 << 20;
  const int size = 1 + (a == nullptr ? 0 : a->size) + (b == nullptr ? 0 : b->size);
  nodes_.push_back({op, number, a, b, depth, std::min(size, kLargest)});
  return interned_[key] = &nodes_.back();
}

Index IndexContext::constant(int64_t value) {
  return make(IndexOp::Constant, value, nullptr, nullptr, 0);
}

Index IndexContext::loop(Index extent, int depth) {
  Index result = make(IndexOp::Loop, loops_++, nullptr, nullptr, depth);
  setBound(result, extent);
  return result;
}

Index IndexContext::thread(ParallelType type, Index extent) {
  if (isConstant(extent, 1)) {
    return constant(0);
  }
  Index& result = threads_[{type, extent}];
  if (result == nullptr) {
    // Not interned: the same place under another extent has another bound.
    nodes_.push_back({IndexOp::Thread, static_cast<int64_t>(type), nullptr, nullptr, 0, 1});
    result = &nodes_.back();
    setBound(result, extent);
  }
  return result;
}

Index IndexContext::value(int register_number, int depth, Index bound) {
  Index result = make(IndexOp::Value, register_number, nullptr, nullptr, depth);
  if (bound != nullptr) {
    setBound(result, bound);
  }
  return result;
}

Index IndexContext::param(const KernelParam& param) {
  params_.push_back(param);
  return make(IndexOp::Param, static_cast<int64_t>(params_.size()) - 1, nullptr, nullptr, 0);
}

Index IndexContext::scalar(const Val* val) {
  if (val->isConstInt()) {
    return constant(val->constInt());
  }
  const auto it = scalars_.find(val);
  if (it != scalars_.end()) {
    return it->second;
  }
  Index result = nullptr;
  if (const auto* binary = dynamic_cast<const BinaryOp*>(val->definition())) {
    const auto operands = [&](auto combine) {
      result = (this->*combine)(scalar(binary->input(0)), scalar(binary->input(1)));
    };
    switch (binary->type()) {
      case BinaryOpType::Add:
        operands(&IndexContext::add);
        break;
      case BinaryOpType::Mul:
        operands(&IndexContext::mul);
        break;
      case BinaryOpType::CeilDiv:
        operands(&IndexContext::ceilDiv);
        break;
      // Bounds of slices that begin at 0 or take all.
      case BinaryOpType::Minimum:
      case BinaryOpType::Maximum:
        if (isSize(binary->input(0)) && isSize(binary->input(1))) {
          const bool is_min = binary->type() == BinaryOpType::Minimum;
          for (const Val* zero : {binary->input(0), binary->input(1)}) {
            Index one = scalar(zero);
            Index other = scalar(zero == binary->input(0) ? binary->input(1) : binary->input(0));
            if (isConstant(one, 0) || one == other) {
              result = is_min ? one : other;
              break;
            }
          }
        }
        break;
      case BinaryOpType::Sub:
        if (isConstant(scalar(binary->input(1)), 0)) {
          result = scalar(binary->input(0));
        }
        break;
      default:
        // Others may be negative, or are rare.
        break;
    }
  }
  if (result == nullptr) {
    result = param({val, nullptr, -1});
  }
  return scalars_[val] = result;
}

void IndexContext::setSize(const Val* val) {
  sizes_.insert(val);
}

bool IndexContext::isSize(const Val* val) const {
  if (val->isConstInt()) {
    return val->constInt() >= 0;
  }
  const auto* binary = dynamic_cast<const BinaryOp*>(val->definition());
  const bool keeps_sign = binary != nullptr &&
      (binary->type() == BinaryOpType::Minimum || binary->type() == BinaryOpType::Maximum);
  return sizes_.contains(val) ||
      (keeps_sign && isSize(binary->input(0)) && isSize(binary->input(1)));
}

void IndexContext::setScalar(const Val* val, Index index) {
  scalars_[val] = index;
}

Index IndexContext::stride(const Val* tensor, int64_t dim) {
  Index& result = strides_[{tensor, dim}];
  if (result == nullptr) {
    result = param({nullptr, tensor, dim});
  }
  return result;
}

void IndexContext::setBound(Index index, Index bound) {
  bounds_[index] = bound;
}

void IndexContext::assumeBound(Index index, Index bound) {
  bounds_[index] = bound;
  assumed_.push_back(index);
}

void IndexContext::forgetAssumptions() {
  for (Index index : assumed_) {
    bounds_.erase(index);
  }
  assumed_.clear();
}

void IndexContext::setMultiple(Index index, int64_t factor) {
  multiples_.emplace_back(index, factor);
}

bool IndexContext::isKnownMultiple(Index index, int64_t factor) const {
  return std::any_of(multiples_.begin(), multiples_.end(), [&](const auto& known) {
    return known.first == index && known.second % factor == 0;
  });
}

Index IndexContext::boundOf(Index index) const {
  const auto it = bounds_.find(index);
  if (it != bounds_.end()) {
    return it->second;
  }
  return index->op == IndexOp::Mod ? index->b : nullptr;
}

bool IndexContext::isBelow(Index index, Index bound) const {
  if (isConstant(index)) {
    return isConstant(bound) ? index->number < bound->number : false;
  }
  Index known = boundOf(index);
  if (known == nullptr) {
    return false;
  }
  return known == bound ||
      (isConstant(known) && isConstant(bound) && known->number <= bound->number);
}

// The sum without one of its terms: nullptr when that was all, nothing when it is no term.
std::optional<Index> IndexContext::without(Index sum, Index term) {
  if (sum == term) {
    return nullptr;
  }
  if (sum->op != IndexOp::Add) {
    return std::nullopt;
  }
  for (const auto& [from, other] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)}) {
    if (const auto rest = without(from, term); rest.has_value()) {
      return *rest == nullptr ? other : add(*rest, other);
    }
  }
  return std::nullopt;
}

Index IndexContext::add(Index a, Index b) {
  if (isConstant(a) && isConstant(b)) {
    return constant(a->number + b->number);
  }
  if (isConstant(a, 0)) {
    return b;
  }
  if (isConstant(b, 0)) {
    return a;
  }
  if (isConstant(a)) {
    std::swap(a, b);
  }
  if (isConstant(b) && a->op == IndexOp::Add && isConstant(a->b)) {
    return add(a->a, constant(a->b->number + b->number));
  }
  if (isConstant(b) && a->op == IndexOp::Sub && isConstant(a->b)) {
    return add(a->a, constant(b->number - a->b->number));
  }
  // (y + x / k) * k + x % k = y * k + x
  if (a->op == IndexOp::Mul && b->op == IndexOp::Mod && a->b == b->b) {
    if (const auto rest = without(a->a, div(b->a, b->b)); rest.has_value()) {
      return *rest == nullptr ? b->a : add(mul(*rest, a->b), b->a);
    }
  }
  if (a->op == IndexOp::Sub && a->b == b) {
    return a->a;
  }
  return make(IndexOp::Add, 0, a, b, 0);
}

Index IndexContext::sub(Index a, Index b) {
  if (a == b) {
    return constant(0);
  }
  if (isConstant(b)) {
    return add(a, constant(-b->number));
  }
  if (a->op == IndexOp::Add && a->b == b) {
    return a->a;
  }
  if (a->op == IndexOp::Add && a->a == b) {
    return a->b;
  }
  return make(IndexOp::Sub, 0, a, b, 0);
}

Index IndexContext::mul(Index a, Index b) {
  if (isConstant(a)) {
    std::swap(a, b);
  }
  if (isConstant(a) && isConstant(b)) {
    return constant(a->number * b->number);
  }
  if (isConstant(b, 0)) {
    return b;
  }
  if (isConstant(b, 1)) {
    return a;
  }
  if (isConstant(b) && a->op == IndexOp::Mul && isConstant(a->b)) {
    return mul(a->a, constant(a->b->number * b->number));
  }
  if (isConstant(b) && a->op == IndexOp::Div && a->b == b && isKnownMultiple(a->a, b->number)) {
    return a->a;
  }
  // Sizes multiply in one order, so that equal products are one node.
  if (a->op == IndexOp::Param && b->op == IndexOp::Param && a->number > b->number) {
    std::swap(a, b);
  }
  return make(IndexOp::Mul, 0, a, b, 0);
}

Index IndexContext::div(Index a, Index b) {
  if (isConstant(b, 1)) {
    return a;
  }
  if (isConstant(a) && isConstant(b) && b->number > 0 && a->number >= 0) {
    return constant(a->number / b->number);
  }
  if (a == b || isBelow(a, b)) {
    return constant(a == b ? 1 : 0);
  }
  if (a->op == IndexOp::Mul) {
    if (a->b == b) {
      return a->a;
    }
    if (isConstant(b) && b->number > 0 && isConstant(a->b) && a->b->number % b->number == 0) {
      return mul(a->a, constant(a->b->number / b->number));
    }
  }
  if (a->op == IndexOp::Add && a->a->op == IndexOp::Mul) {
    Index factor = a->a->b;
    if (factor == b && isBelow(a->b, b)) {
      return a->a->a;
    }
    // (x * 64 + y) / 32 = x * 2 + y / 32, for y of any size.
    if (isConstant(b) && b->number > 0 && isConstant(factor) && factor->number % b->number == 0 &&
        (isConstant(a->b) ? a->b->number >= 0 : boundOf(a->b) != nullptr)) {
      return add(mul(a->a->a, constant(factor->number / b->number)), div(a->b, b));
    }
  }
  // x / 4 / 8 = x / 32
  if (isConstant(b) && b->number > 0 && a->op == IndexOp::Div && isConstant(a->b) &&
      a->b->number > 0) {
    return div(a->a, constant(a->b->number * b->number));
  }
  return make(IndexOp::Div, 0, a, b, 0);
}

Index IndexContext::mod(Index a, Index b) {
  if (isConstant(b, 1) || a == b) {
    return constant(0);
  }
  if (isConstant(a) && isConstant(b) && b->number > 0 && a->number >= 0) {
    return constant(a->number % b->number);
  }
  if (isBelow(a, b)) {
    return a;
  }
  const auto isMultiple = [&](Index x) {
    return x->op == IndexOp::Mul &&
        (x->b == b ||
         (isConstant(x->b) && isConstant(b) && b->number > 0 && x->b->number % b->number == 0));
  };
  if (isMultiple(a)) {
    return constant(0);
  }
  if (a->op == IndexOp::Add && isMultiple(a->a)) {
    const bool may_be_negative = isConstant(a->b) ? a->b->number < 0 : boundOf(a->b) == nullptr;
    if (!may_be_negative) {
      return mod(a->b, b);
    }
  }
  return make(IndexOp::Mod, 0, a, b, 0);
}

Index IndexContext::min(Index a, Index b) {
  if (a == b) {
    return a;
  }
  if (isConstant(a) && isConstant(b)) {
    return a->number < b->number ? a : b;
  }
  return make(IndexOp::Min, 0, a, b, 0);
}

Index IndexContext::max(Index a, Index b) {
  if (a == b) {
    return a;
  }
  if (isConstant(a) && isConstant(b)) {
    return a->number > b->number ? a : b;
  }
  return make(IndexOp::Max, 0, a, b, 0);
}

Index IndexContext::ceilDiv(Index a, Index b) {
  if (isConstant(b, 1)) {
    return a;
  }
  if (isConstant(b) && b->number > 0 && isKnownMultiple(a, b->number)) {
    return div(a, b);
  }
  return div(add(a, sub(b, constant(1))), b);
}

Index IndexContext::lt(Index a, Index b) {
  if (isBelow(a, b)) {
    return nullptr;
  }
  if (isConstant(a) && isConstant(b)) {
    return constant(a->number < b->number ? 1 : 0);
  }
  return make(IndexOp::Lt, 0, a, b, 0);
}

Index IndexContext::ltUnbounded(Index a, Index b) {
  return make(IndexOp::Lt, 0, a, b, 0);
}

Index IndexContext::both(Index a, Index b) {
  if (a == nullptr || (b != nullptr && isConstant(b, 0))) {
    return b;
  }
  if (b == nullptr || a == b || isConstant(a, 0)) {
    return a;
  }
  return make(IndexOp::And, 0, a, b, 0);
}

} // namespace nvfuser
