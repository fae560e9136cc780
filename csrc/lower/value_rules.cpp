// How each node computes its value inside a kernel. A node without a rule is evaluated by ATen.
#include <ir/index_nodes.h>
#include <lower/emitter.h>

#include <algorithm>

namespace nvfuser {

namespace {

KernelValue pointwise(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index condition) {
  std::vector<KernelValue> operands;
  for (const Operand& operand : expr->operands()) {
    if (operand.val != nullptr) {
      operands.push_back(emitter.operand(expr, operand.val, root, condition));
    }
  }
  if (mayDivideByZero(expr)) {
    // What nobody needs divides by 1.
    KernelValue one;
    one.constant = int64_t{1};
    one.dtype = expr->input(1)->dtype();
    operands[1] = emitter.select(condition, operands[1], one);
    emitter.mayFail(expr);
  }
  return emitter.compute(expr, expr->output(0)->dtype(), std::move(operands));
}

// The output's element is the operand's: copies, permutations, broadcasts, reshapes, slices.
KernelValue renaming(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index condition) {
  return emitter.operand(expr, expr->input(0), root, condition);
}

KernelValue padded(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index condition) {
  IndexContext& indices = emitter.indices();
  const auto* in = expr->operand("in")->as<TensorView>();
  const auto domain = noReductions(in->getLogicalDomain());
  const auto& out_root = expr->output(0)->as<TensorView>()->getMaybeRootDomain();
  const auto& out_logical = expr->output(0)->as<TensorView>()->getLogicalDomain();
  Index inside = nullptr;
  for (size_t i = 0; i < domain.size(); ++i) {
    if (out_root[i] == out_logical[i]) {
      continue; // not padded
    }
    inside = indices.both(inside, indices.lt(indices.constant(-1), root[i]));
    inside = indices.both(
        inside, indices.lt(root[i], indices.scalar(domain[i]->getMaybeExpandedExtent())));
  }
  const KernelValue filler = emitter.scalar(expr->operand("value"));
  KernelValue element = emitter.operand(expr, in, root, indices.both(condition, inside));
  return emitter.select(inside, element, filler);
}

KernelValue joined(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index condition) {
  IndexContext& indices = emitter.indices();
  const auto dim = static_cast<size_t>(expr->as<CatOp>()->dim());
  // From the last to the first: the value of part k where the index lies before its end.
  std::vector<std::pair<KernelValue, Index>> parts;
  Index begin = indices.constant(0);
  for (const Val* val : expr->inputs()) {
    const auto* in = val->as<TensorView>();
    const IterDomain* id = noReductions(in->getLogicalDomain()).at(dim);
    Index end = indices.add(
        begin,
        id->isBroadcast() ? indices.scalar(id->getMaybeExpandedExtent())
                          : indices.scalar(id->extent()));
    std::vector<Index> at = emitter.operandIndices(expr, in, root);
    at[dim] = isTrivial(id) ? indices.constant(0) : indices.sub(root[dim], begin);
    Index mine = indices.both(
        isConstant(begin, 0) ? nullptr
                             : indices.lt(indices.sub(begin, indices.constant(1)), root[dim]),
        indices.lt(root[dim], end));
    parts.emplace_back(
        emitter.value(in, at, indices.both(condition, mine)), indices.lt(root[dim], end));
    begin = end;
  }
  KernelValue result = parts.back().first;
  for (size_t i = parts.size() - 1; i-- > 0;) {
    result = emitter.select(parts[i].second, parts[i].first, result);
  }
  return result;
}

KernelValue filled(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& /*root*/,
    Index /*condition*/) {
  KernelValue value = emitter.scalar(expr->operand("fill_value"));
  const DataType dtype = expr->output(0)->dtype();
  return value.dtype == dtype ? value : emitter.compute(expr, dtype, {value});
}

KernelValue counted(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index /*condition*/) {
  KernelValue number = emitter.fromIndex(root.at(0), DataType::Int);
  return emitter.compute(
      expr,
      expr->output(0)->dtype(),
      {number, emitter.scalar(expr->operand("start")), emitter.scalar(expr->operand("step"))});
}

// The number depends on nothing but the place of the element in the whole tensor.
KernelValue drawn(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index /*condition*/) {
  IndexContext& indices = emitter.indices();
  const auto domain = noReductions(expr->output(0)->as<TensorView>()->getMaybeRootDomain());
  Index element = indices.constant(0);
  for (size_t i = 0; i < domain.size(); ++i) {
    if (!isTrivial(domain[i])) {
      element = indices.add(indices.mul(element, extentOf(indices, domain[i])), root[i]);
    }
  }
  return emitter.random(expr, element);
}

// The operand's element at a position that stands in another tensor.
KernelValue lookedUp(
    Emitter& emitter,
    const Expr* expr,
    const TensorView* table,
    size_t dim,
    std::vector<Index> at,
    const KernelValue& named,
    Index condition) {
  IndexContext& indices = emitter.indices();
  const IterDomain* id = noReductions(table->getLogicalDomain()).at(dim);
  Index extent = indices.scalar(id->getMaybeExpandedExtent());
  // Only a scalar index counts from the end, as in eager.
  Index place =
      emitter.position(expr, named, extent, named.kind != KernelValue::Kind::Register, condition);
  at[dim] = isTrivial(id) ? indices.constant(0) : place;
  Index found = indices.lt(indices.constant(-1), place);
  return emitter.value(table, at, indices.both(condition, found));
}

KernelValue indexSelected(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index condition) {
  const auto* in = expr->operand("in")->as<TensorView>();
  const auto* index = expr->operand("index")->as<TensorView>();
  const auto dim = static_cast<size_t>(expr->as<IndexSelectOp>()->dim());
  auto at = emitter.operandIndices(expr, in, root);
  std::vector<Index> index_at;
  if (index->nDims() == 1) {
    const IterDomain* id = noReductions(index->getLogicalDomain()).at(0);
    index_at = {isTrivial(id) ? emitter.indices().constant(0) : root.at(dim)};
  }
  return lookedUp(
      emitter, expr, in, dim, std::move(at), emitter.value(index, index_at, condition), condition);
}

KernelValue gathered(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index condition) {
  const auto* in = expr->operand("in")->as<TensorView>();
  const auto dim = static_cast<size_t>(expr->as<GatherOp>()->dim());
  std::vector<Index> at;
  const auto domain = noReductions(in->getLogicalDomain());
  for (size_t i = 0; i < domain.size(); ++i) {
    at.push_back(isTrivial(domain[i]) ? emitter.indices().constant(0) : root.at(i));
  }
  const KernelValue named = emitter.operand(expr, expr->operand("index"), root, condition);
  return lookedUp(emitter, expr, in, dim, std::move(at), named, condition);
}

KernelValue selected(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index condition) {
  const auto* in = expr->operand("in")->as<TensorView>();
  const auto dim = static_cast<size_t>(expr->as<SelectOp>()->dim());
  auto at = emitter.operandIndices(expr, in, root);
  return lookedUp(
      emitter, expr, in, dim, std::move(at), emitter.scalar(expr->operand("index")), condition);
}

KernelValue embedded(
    Emitter& emitter,
    const Expr* expr,
    const std::vector<Index>& root,
    Index condition) {
  const auto* weight = expr->operand("weight")->as<TensorView>();
  const std::vector<Index> row(root.begin(), root.end() - 1);
  const KernelValue named = emitter.value(
      expr->operand("in")->as<TensorView>(),
      emitter.operandIndices(expr, expr->operand("in")->as<TensorView>(), root),
      condition);
  return lookedUp(
      emitter, expr, weight, 0, emitter.operandIndices(expr, weight, root), named, condition);
}

// Sizes that are not known yet may hide how dimensions split and merge.
std::string whyNotReshaped(const Expr* expr) {
  return mapsEveryDim(expr, expr->input(0)->as<TensorView>())
      ? ""
      : "sizes decide how dimensions split and merge";
}

// The rule looks rows up; renormalising them on the way is the library's.
std::string whyNotEmbedded(const Expr* expr) {
  const auto* in = expr->operand("in");
  const bool plain = expr->operand("max_norm") == nullptr && in->isTensor();
  return plain ? "" : "embedding with max_norm is evaluated by a library";
}

// A reduction always has loops and memory of its own.
KernelValue reduced(
    Emitter& /*emitter*/,
    const Expr* expr,
    const std::vector<Index>& /*root*/,
    Index /*condition*/) {
  NVF_ERROR(false, "the loops of a reduction are missing: ", expr->toString());
  return {};
}

const RegisterValueRule rules[] = {
    {"ReductionOp", reduced},
    {"UnaryOp", pointwise},
    {"BinaryOp", pointwise},
    {"TernaryOp", pointwise},
    {"LoadStoreOp", renaming},
    {"BroadcastOp", renaming},
    {"SqueezeOp", renaming},
    {"ExpandOp", renaming},
    {"ReshapeOp", renaming, whyNotReshaped},
    {"SliceOp", renaming},
    {"PadOp", padded},
    {"CatOp", joined},
    {"FullOp", filled},
    {"IotaOp", counted},
    {"RngOp", drawn},
    {"IndexSelectOp", indexSelected},
    {"GatherOp", gathered},
    {"SelectOp", selected},
    {"EmbeddingFwdOp", embedded, whyNotEmbedded},
};

} // namespace

} // namespace nvfuser
