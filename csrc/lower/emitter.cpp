#include <lower/emitter.h>

#include <ir/domain_mapper.h>
#include <ir/fusion.h>

#include <algorithm>

namespace nvfuser {

namespace {

struct RegisteredRule {
  ValueRule rule;
  ValueRefusal refusal;
};

std::unordered_map<std::string_view, RegisteredRule>& valueRules() {
  static std::unordered_map<std::string_view, RegisteredRule> rules;
  return rules;
}

// For each dimension of `in` the place in the output's root domain; -1: no such place.
class OperandDims : public DomainMapper {
 public:
  OperandDims(const Expr* expr, const TensorView* in)
      : dims(noReductions(in->getLogicalDomain()).size(), -1), in_(in), out_(expr->output(0)) {
    expr->mapDomains(*this);
  }
  void same(const Val* producer, int64_t p, const Val* consumer, int64_t c) override {
    if (producer == in_ && consumer == out_) {
      dims.at(p) = c;
    }
  }
  std::vector<int64_t> dims;

 private:
  const Val* in_;
  const Val* out_;
};

} // namespace

RegisterValueRule::RegisterValueRule(
    std::string_view op_name,
    ValueRule rule,
    ValueRefusal refusal) {
  valueRules()[op_name] = {rule, refusal};
}

bool mapsEveryDim(const Expr* expr, const TensorView* in) {
  const auto dims = OperandDims(expr, in).dims;
  const auto domain = noReductions(in->getLogicalDomain());
  for (size_t i = 0; i < domain.size(); ++i) {
    if (dims[i] < 0 && !isTrivial(domain[i])) {
      return false;
    }
  }
  return true;
}

bool mayDivideByZero(const Expr* expr) {
  const auto* op = dynamic_cast<const BinaryOp*>(expr);
  const bool divides = op != nullptr &&
      (op->type() == BinaryOpType::Div || op->type() == BinaryOpType::Mod ||
       op->type() == BinaryOpType::Fmod || op->type() == BinaryOpType::Remainder);
  if (!divides || !isIntegralType(expr->output(0)->dtype())) {
    return false;
  }
  const Val* divisor = expr->input(1);
  return !divisor->isConst() || toInt(castScalar(divisor->value(), expr->output(0)->dtype())) == 0;
}

ValueRule valueRuleOf(const Expr* expr) {
  const auto it = valueRules().find(expr->opName());
  NVF_ERROR(it != valueRules().end(), expr->toString(), " has no rule for generated kernels");
  return it->second.rule;
}

std::string whyNoValueRule(const Expr* expr) {
  const auto it = valueRules().find(expr->opName());
  if (it == valueRules().end()) {
    return std::string(expr->opName()) + " is evaluated by a library";
  }
  return it->second.refusal == nullptr ? "" : it->second.refusal(expr);
}

void Emitter::open(KernelBody* body, bool inside) {
  if (!scopes_.empty() && inside) {
    scopes_.back().has_open_loop = true;
  }
  scopes_.push_back({body, false, {}, {}, {}});
}

void Emitter::close() {
  scopes_.pop_back();
  if (!scopes_.empty()) {
    scopes_.back().has_open_loop = false;
  }
}

void Emitter::append(int depth, KernelNode node) {
  Scope& scope = scopes_.at(depth);
  auto place = scope.has_open_loop ? scope.body->end() - 1 : scope.body->end();
  scope.body->insert(place, std::make_unique<KernelNode>(std::move(node)));
}

void Emitter::openLoop(Index variable, Index stop, ParallelType type) {
  append(depth(), {KernelLoop{variable, stop, type, {}}});
  open(&std::get<KernelLoop>(scopes_.back().body->back()->what).body);
}

KernelValue Emitter::newRegister(DataType dtype, int depth) {
  KernelValue value;
  value.kind = KernelValue::Kind::Register;
  value.number = kernel_.registers++;
  value.dtype = dtype;
  value.depth = depth;
  return value;
}

KernelValue Emitter::scalar(const Val* val) {
  const auto it = scalars_.find(val);
  if (it != scalars_.end()) {
    return it->second;
  }
  KernelValue value;
  value.dtype = val->dtype();
  if (val->isConst()) {
    value.constant = val->value();
  } else {
    value.kind = KernelValue::Kind::Scalar;
    value.number = static_cast<int>(kernel_.scalars.size());
    kernel_.scalars.push_back(val);
  }
  return scalars_[val] = value;
}

std::vector<Index> Emitter::operandIndices(
    const Expr* expr,
    const TensorView* in,
    const std::vector<Index>& root_indices) {
  const auto [it, is_new] = operand_dims_.try_emplace({expr, in});
  if (is_new) {
    it->second = OperandDims(expr, in).dims;
  }
  const auto domain = noReductions(in->getLogicalDomain());
  std::vector<Index> result;
  for (size_t i = 0; i < domain.size(); ++i) {
    const int64_t place = it->second[i];
    result.push_back(
        isTrivial(domain[i]) ? indices().constant(0)
            : place < 0      ? nullptr
                             : root_indices.at(place));
  }
  return result;
}

KernelValue Emitter::operand(
    const Expr* expr,
    const Val* val,
    const std::vector<Index>& root_indices,
    Index condition) {
  if (!val->isTensor()) {
    return scalar(val);
  }
  const auto* in = val->as<TensorView>();
  const auto in_indices = operandIndices(expr, in, root_indices);
  NVF_ERROR(
      std::find(in_indices.begin(), in_indices.end(), nullptr) == in_indices.end(),
      "no index for a dimension of ",
      in->toString(),
      " in ",
      expr->toString());
  return value(in, in_indices, condition);
}

KernelValue Emitter::value(
    const TensorView* tv,
    const std::vector<Index>& tv_indices,
    Index condition) {
  // What was computed without a condition serves under any.
  for (const Key& key : {Key{tv, tv_indices, nullptr}, Key{tv, tv_indices, condition}}) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto it = scope->known.find(key);
      if (it != scope->known.end()) {
        return it->second;
      }
    }
  }
  const auto place = places_.find(tv);
  if (place != places_.end()) {
    Index address = place->second.address ? place->second.address(tv_indices) : nullptr;
    return load(tv, place->second, address, condition);
  }
  KernelValue result = define(tv, tv_indices, condition);
  remember(tv, tv_indices, condition, result);
  return result;
}

void Emitter::remember(
    const TensorView* tv,
    const std::vector<Index>& tv_indices,
    Index condition,
    const KernelValue& value) {
  scopes_.at(value.depth).known[{tv, tv_indices, condition}] = value;
}

KernelValue Emitter::define(
    const TensorView* tv,
    const std::vector<Index>& tv_indices,
    Index condition) {
  const Expr* definition = tv->definition();
  NVF_ERROR(definition != nullptr, tv->toString(), " has no definition and no memory");
  return valueRuleOf(definition)(
      *this, definition, withNames(rootIndices(indices(), tv, tv_indices)), condition);
}

// An index that has become long is held by a register from here on: reshapes and permutations in
// turn would double its text each time.
std::vector<Index> Emitter::withNames(std::vector<Index> result) {
  constexpr int kLongest = 64;
  for (Index& index : result) {
    if (index == nullptr || index->size <= kLongest) {
      continue;
    }
    Index& name = scopes_.at(index->depth).named[index];
    if (name == nullptr) {
      const KernelValue held = fromIndex(index, DataType::Index);
      name = indices().value(held.number, held.depth, indices().boundOf(index));
    }
    index = name;
  }
  return result;
}

KernelValue Emitter::load(
    const TensorView* tv,
    const Place& place,
    Index address,
    Index condition) {
  const int address_depth = address == nullptr ? 0 : address->depth;
  const int condition_depth = condition == nullptr ? 0 : condition->depth;
  const int at = std::max({address_depth, condition_depth, place.depth});
  const auto key = std::make_tuple(place.buffer, address, condition);
  auto& known = scopes_.at(at).loads;
  const bool may_change = kernel_.buffers[place.buffer].kind != KernelBuffer::Kind::Input;
  if (const auto it = known.find(key); it != known.end() && !may_change) {
    return it->second;
  }
  KernelValue out = newRegister(place.dtype == DataType::Null ? tv->dtype() : place.dtype, at);
  append(at, {KernelLoad{out, place.buffer, address, condition}});
  known[key] = out;
  return out;
}

KernelValue Emitter::compute(const Expr* expr, DataType dtype, std::vector<KernelValue> operands) {
  int depth = 0;
  for (const KernelValue& operand : operands) {
    depth = std::max(depth, operand.depth);
  }
  KernelValue out = newRegister(dtype, depth);
  append(depth, {KernelCompute{expr, out, std::move(operands)}});
  return out;
}

KernelValue Emitter::select(Index condition, const KernelValue& yes, const KernelValue& no) {
  if (condition == nullptr) {
    return yes;
  }
  if (isConstant(condition)) {
    return condition->number != 0 ? yes : no;
  }
  KernelValue out = newRegister(yes.dtype, std::max({condition->depth, yes.depth, no.depth}));
  append(out.depth, {KernelSelect{out, condition, yes, no}});
  return out;
}

KernelValue Emitter::fromIndex(Index index, DataType dtype) {
  KernelValue out = newRegister(dtype, index->depth);
  append(out.depth, {KernelFromIndex{out, index}});
  return out;
}

KernelValue Emitter::random(const Expr* expr, Index element) {
  auto& sources = kernel_.randoms;
  auto source = std::find_if(
      sources.begin(), sources.end(), [&](const RandomSource& s) { return s.expr == expr; });
  if (source == sources.end()) {
    const auto operand = [&](const char* name) {
      const Val* val = expr->operand(name);
      return val == nullptr ? KernelValue{} : scalar(val);
    };
    sources.push_back(
        {expr, operand("a"), operand("b"), operand("rng_seed"), operand("rng_offset")});
    source = sources.end() - 1;
  }
  KernelValue out = newRegister(expr->output(0)->dtype(), element->depth);
  append(out.depth, {KernelRandom{out, static_cast<int>(source - sources.begin()), element}});
  return out;
}

Index Emitter::position(
    const Expr* expr,
    const KernelValue& value,
    Index extent,
    bool wraps,
    Index condition) {
  const int depth =
      std::max({value.depth, extent->depth, condition == nullptr ? 0 : condition->depth});
  KernelValue out = newRegister(DataType::Index, depth);
  append(depth, {KernelPosition{out, value, extent, expr, wraps, condition}});
  mayFail(expr);
  return indices().value(out.number, depth, nullptr);
}

void Emitter::mayFail(const Expr* expr) {
  auto& nodes = kernel_.positions;
  if (std::find(nodes.begin(), nodes.end(), expr) == nodes.end()) {
    nodes.push_back(expr);
  }
}

} // namespace nvfuser
