#include <ops/indexing.h>
#include <ops/pointwise.h>
#include <ops/utils.h>

#include <algorithm>
#include <array>

namespace nvfuser {

namespace {

using Domain = std::vector<IterDomain*>;

Domain domainOf(const TensorView* tv) {
  return noReductions(tv->getLogicalDomain());
}

// A dimension of a result that is stored in full: what was expanded is stored at its expanded size.
IterDomain* stored(const IterDomain* id) {
  return id->hasExpandedExtent() ? ops::newDomain(id->expandedExtent()) : id->cloneWithoutRFactor();
}

Domain stored(const Domain& domain) {
  Domain result;
  for (const IterDomain* id : domain) {
    result.push_back(stored(id));
  }
  return result;
}

void checkIndexType(std::string_view op, const TensorView* index) {
  NVF_CHECK(
      index->dtype() == DataType::Int || index->dtype() == DataType::Int32 ||
          index->dtype() == DataType::Index,
      op,
      ": the index must be a tensor of Int or Int32, not ",
      dataTypeName(index->dtype()),
      ": ",
      shapeText(index));
}

void checkSameRank(std::string_view op, const TensorView* x, const TensorView* index) {
  NVF_CHECK(
      x->nDims() == index->nDims(),
      op,
      ": Tensor arguments have dimension ",
      x->nDims(),
      " and ",
      index->nDims(),
      ", which must be equal: ",
      shapeText(x),
      " and index ",
      shapeText(index));
}

// Constant extents only; the evaluator checks the others.
void checkNotLonger(
    std::string_view op,
    const TensorView* index,
    const TensorView* other,
    int64_t skipped) {
  const Domain a = domainOf(index);
  const Domain b = domainOf(other);
  for (size_t d = 0; d < a.size(); ++d) {
    const Val* x = a[d]->getMaybeExpandedExtent();
    const Val* y = b[d]->getMaybeExpandedExtent();
    if (static_cast<int64_t>(d) != skipped && x->isConstInt() && y->isConstInt()) {
      NVF_CHECK(
          x->constInt() <= y->constInt(),
          op,
          ": the index must not be longer than the tensor in dim ",
          d,
          ": index ",
          shapeText(index),
          ", tensor ",
          shapeText(other));
    }
  }
}

void checkScalar(
    std::string_view op,
    std::string_view what,
    const Val* val,
    bool fits,
    const char* wants) {
  NVF_CHECK(
      val == nullptr || (val->isScalar() && fits),
      op,
      ": ",
      what,
      " must be ",
      wants,
      ", not ",
      val->toInlineString(),
      " of dtype ",
      dataTypeName(val->dtype()));
}

bool isReal(const Val* val) {
  return val != nullptr && !isComplexType(val->dtype());
}

bool isInteger(const Val* val) {
  return val != nullptr && isIntegralType(val->dtype());
}

} // namespace

TensorView* select(TensorView* x, Val* index, int64_t dim) {
  const Domain in = domainOf(x);
  dim = ops::normalizeDim("select", dim, x->nDims());
  index = ops::asIndex("select", index);
  const Val* extent = in[dim]->getMaybeExpandedExtent();
  if (index->isConstInt() && extent->isConstInt()) {
    NVF_CHECK_AS(
        Index,
        index->constInt() >= -extent->constInt() && index->constInt() < extent->constInt(),
        "select: index ",
        index->constInt(),
        " is out of range for dim ",
        dim,
        " of ",
        shapeText(x));
  }
  Domain out;
  for (size_t d = 0; d < in.size(); ++d) {
    if (static_cast<int64_t>(d) != dim) {
      out.push_back(stored(in[d]));
    }
  }
  TensorView* result = ops::newTensor(std::move(out), x->dtype());
  IrBuilder::create<SelectOp>(result, x, index, dim);
  return result;
}

TensorView* indexSelect(TensorView* x, TensorView* index, int64_t dim) {
  checkIndexType("index_select", index);
  NVF_CHECK(
      index->nDims() <= 1,
      "index_select: the index must have one dimension or none: ",
      shapeText(index));
  dim = ops::normalizeDim("index_select", dim, x->nDims());
  Domain out = stored(domainOf(x));
  out[dim] =
      index->nDims() == 1 ? stored(domainOf(index)[0]) : ops::newDomain(IrBuilder::constInt(1));
  TensorView* result = ops::newTensor(std::move(out), x->dtype());
  IrBuilder::create<IndexSelectOp>(result, x, index, dim);
  return result;
}

TensorView* gather(TensorView* x, TensorView* index, int64_t dim) {
  checkIndexType("gather", index);
  checkSameRank("gather", x, index);
  dim = ops::normalizeDim("gather", dim, std::max<int64_t>(x->nDims(), 1));
  checkNotLonger("gather", index, x, dim);
  TensorView* result = ops::newTensor(stored(domainOf(index)), x->dtype());
  IrBuilder::create<GatherOp>(result, x, index, dim, /*exact_sizes=*/false);
  return result;
}

TensorView* takeAlongAxis(TensorView* x, TensorView* index, int64_t dim) {
  checkIndexType("take_along_axis", index);
  checkSameRank("take_along_axis", x, index);
  dim = ops::normalizeDim("take_along_axis", dim, std::max<int64_t>(x->nDims(), 1));
  const Domain in = domainOf(x);
  const Domain at = domainOf(index);
  Domain out;
  for (size_t d = 0; d < in.size(); ++d) {
    if (static_cast<int64_t>(d) == dim) {
      out.push_back(stored(at[d]));
      continue;
    }
    Val* a = in[d]->getMaybeExpandedExtent();
    Val* b = at[d]->getMaybeExpandedExtent();
    if (a->isOneInt() || b->isOneInt()) {
      out.push_back(stored(a->isOneInt() ? at[d] : in[d]));
      continue;
    }
    NVF_CHECK(
        !a->isConstInt() || !b->isConstInt() || a->constInt() == b->constInt(),
        "take_along_axis: sizes differ in dim ",
        d,
        ": ",
        shapeText(x),
        " and index ",
        shapeText(index));
    out.push_back(stored(!a->isConst() && b->isConst() ? at[d] : in[d]));
  }
  TensorView* result = ops::newTensor(std::move(out), x->dtype());
  IrBuilder::create<GatherOp>(result, x, index, dim, /*exact_sizes=*/true);
  return result;
}

TensorView* scatter(TensorView* x, TensorView* index, Val* src, int64_t dim) {
  checkIndexType("scatter", index);
  checkSameRank("scatter", x, index);
  dim = ops::normalizeDim("scatter", dim, std::max<int64_t>(x->nDims(), 1));
  checkNotLonger("scatter", index, x, dim);
  if (src->isTensor()) {
    auto* src_tv = src->as<TensorView>();
    NVF_CHECK(
        src_tv->nDims() == index->nDims(),
        "scatter: Tensor arguments have dimension ",
        index->nDims(),
        " (index) and ",
        src_tv->nDims(),
        " (src), which must be equal: index ",
        shapeText(index),
        ", src ",
        shapeText(src_tv));
    NVF_CHECK(
        src_tv->dtype() == x->dtype(),
        "scatter: src has dtype ",
        dataTypeName(src_tv->dtype()),
        ", but the tensor ",
        dataTypeName(x->dtype()));
    checkNotLonger("scatter", index, src_tv, -1);
  } else {
    NVF_CHECK(src->isScalar(), "scatter: src must be a tensor or a scalar, not ", src->toString());
    NVF_CHECK(
        isComplexType(x->dtype()) || !isComplexType(src->dtype()),
        "scatter: a complex src does not fit a tensor of ",
        dataTypeName(x->dtype()));
  }
  TensorView* result = ops::newTensor(stored(domainOf(x)), x->dtype());
  IrBuilder::create<ScatterOp>(result, x, index, src, dim);
  return result;
}

TensorView* embeddingFwd(
    TensorView* x,
    TensorView* weight,
    Val* padding_idx,
    Val* max_norm,
    Val* norm_type,
    Val* scale_grad_by_freq,
    Val* sparse) {
  constexpr std::string_view op = "embedding_fwd";
  checkIndexType(op, x);
  NVF_CHECK(weight->nDims() == 2, op, ": the weight must have two dimensions: ", shapeText(weight));
  checkScalar(op, "padding_idx", padding_idx, isInteger(padding_idx), "an integer");
  checkScalar(op, "max_norm", max_norm, isReal(max_norm), "a real number");
  checkScalar(op, "norm_type", norm_type, isReal(norm_type), "a real number");
  checkScalar(op, "scale_grad_by_freq", scale_grad_by_freq, isReal(scale_grad_by_freq), "a bool");
  checkScalar(op, "sparse", sparse, isReal(sparse), "a bool");
  NVF_CHECK(
      max_norm == nullptr || isFloatingPointType(weight->dtype()),
      op,
      ": max_norm needs a floating-point weight, not ",
      dataTypeName(weight->dtype()));
  const Domain rows = domainOf(weight);
  const Val* count = rows[0]->getMaybeExpandedExtent();
  if (padding_idx != nullptr && padding_idx->isConstInt() && count->isConstInt()) {
    NVF_CHECK(
        padding_idx->constInt() >= -count->constInt() &&
            padding_idx->constInt() < count->constInt(),
        op,
        ": padding_idx ",
        padding_idx->constInt(),
        " is out of range for the weight ",
        shapeText(weight));
  }
  Domain out = stored(domainOf(x));
  out.push_back(stored(rows[1]));
  TensorView* result = ops::newTensor(std::move(out), weight->dtype());
  IrBuilder::create<EmbeddingFwdOp>(
      result, x, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse);
  return result;
}

TopK topk(TensorView* x, Val* k, int64_t dim, bool largest, bool sorted) {
  NVF_CHECK(
      k->isScalar() && isIntegralType(k->dtype()),
      "topk: k must be an integer scalar, not ",
      k->toInlineString(),
      " of dtype ",
      dataTypeName(k->dtype()));
  NVF_CHECK(
      !isComplexType(x->dtype()) && !isBooleanType(x->dtype()),
      "topk: values of dtype ",
      dataTypeName(x->dtype()),
      " have no order: ",
      shapeText(x));
  dim = ops::normalizeDim("topk", dim, x->nDims());
  Val* count = ops::asIndex("topk", k);
  const Domain in = domainOf(x);
  const Val* extent = in[dim]->getMaybeExpandedExtent();
  if (count->isConstInt()) {
    NVF_CHECK(
        count->constInt() >= 0 &&
            (!extent->isConstInt() || count->constInt() <= extent->constInt()),
        "topk: k is ",
        count->constInt(),
        ", out of range for dim ",
        dim,
        " of ",
        shapeText(x));
  }
  const auto makeOutput = [&](DataType dtype) {
    Domain out = stored(in);
    out[dim] = ops::newDomain(count);
    return ops::newTensor(std::move(out), dtype);
  };
  TopK result{makeOutput(x->dtype()), makeOutput(DataType::Int)};
  IrBuilder::create<TopKOp>(result.values, result.indices, x, k, dim, largest, sorted);
  return result;
}

TensorView* argsort(TensorView* x, int64_t dim, bool descending, bool stable) {
  NVF_CHECK(!isComplexType(x->dtype()), "argsort: complex values have no order: ", shapeText(x));
  // A 0-dim tensor has one element, whose place is 0 in whichever dim.
  dim = ops::normalizeDim("argsort", dim, std::max<int64_t>(x->nDims(), 1));
  TensorView* result = ops::newTensor(stored(domainOf(x)), DataType::Int);
  IrBuilder::create<ArgsortOp>(result, x, dim, descending, stable);
  return result;
}

TensorView* scan(ScanType type, TensorView* x, int64_t dim, Val* init) {
  constexpr std::array<std::string_view, 4> kNames = {"cumsum", "cumprod", "cummin", "cummax"};
  const std::string_view op = kNames[static_cast<size_t>(type)];
  dim = ops::normalizeDim(op, dim, x->nDims());
  NVF_CHECK(
      type == ScanType::Sum || type == ScanType::Prod || !isComplexType(x->dtype()),
      op,
      ": complex values have no order: ",
      shapeText(x));
  if (init != nullptr) {
    NVF_CHECK(init->isScalar(), op, ": init must be a scalar, not ", init->toString());
    NVF_CHECK(
        isComplexType(x->dtype()) || !isComplexType(init->dtype()),
        op,
        ": a complex init does not fit a tensor of ",
        dataTypeName(x->dtype()));
  }
  const Domain in = domainOf(x);
  if (init == nullptr && in[dim]->isBroadcast() && !in[dim]->hasExpandedExtent()) {
    return set(x)->as<TensorView>();
  }
  TensorView* result = ops::newTensor(stored(in), x->dtype());
  IrBuilder::create<ScanOp>(type, result, x, init, dim);
  return result;
}

} // namespace nvfuser
