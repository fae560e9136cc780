#include <ops/matmul.h>
#include <ops/utils.h>

#include <algorithm>

namespace nvfuser {

namespace {

using Domain = std::vector<IterDomain*>;

Domain domainOf(const TensorView* tv) {
  return noReductions(tv->getLogicalDomain());
}

Val* extentOf(const IterDomain* id) {
  return id->getMaybeExpandedExtent();
}

std::string shapesText(std::initializer_list<const TensorView*> tensors) {
  std::string text;
  for (const TensorView* tv : tensors) {
    if (tv != nullptr) {
      text += (text.empty() ? "" : ", ") + shapeText(tv);
    }
  }
  return text;
}

// Two extents that have to be one size; of a constant and a symbol the constant is returned.
Val* sameSize(
    std::string_view op,
    std::string_view what,
    Val* a,
    Val* b,
    std::initializer_list<const TensorView*> tensors) {
  NVF_CHECK(
      !a->isConstInt() || !b->isConstInt() || a->constInt() == b->constInt(),
      op,
      ": ",
      what,
      " differ, ",
      a->toInlineString(),
      " and ",
      b->toInlineString(),
      ": ",
      shapesText(tensors));
  return !a->isConst() && b->isConst() ? b : a;
}

void checkSameType(std::string_view op, const TensorView* a, const TensorView* b) {
  NVF_CHECK(
      a->dtype() == b->dtype(),
      op,
      ": operands must have the same dtype, not ",
      dataTypeName(a->dtype()),
      " and ",
      dataTypeName(b->dtype()),
      ": ",
      shapesText({a, b}));
}

} // namespace

TensorView* matmul(TensorView* a, TensorView* b) {
  const Domain da = domainOf(a);
  const Domain db = domainOf(b);
  NVF_CHECK(
      !da.empty() && !db.empty(),
      "matmul: both operands need at least one dimension: ",
      shapesText({a, b}));
  checkSameType("matmul", a, b);
  const size_t k_of_b = db.size() == 1 ? 0 : db.size() - 2;
  sameSize("matmul", "the sizes to contract", extentOf(da.back()), extentOf(db[k_of_b]), {a, b});

  std::vector<Val*> out;
  const size_t batch_a = da.size() < 2 ? 0 : da.size() - 2;
  const size_t batch_b = db.size() < 2 ? 0 : db.size() - 2;
  const size_t batch = std::max(batch_a, batch_b);
  for (size_t i = 0; i < batch; ++i) {
    // Batch dims line up from the right; a missing one is a 1.
    Val* one = IrBuilder::constInt(1);
    Val* x = i + batch_a >= batch ? extentOf(da[i + batch_a - batch]) : one;
    Val* y = i + batch_b >= batch ? extentOf(db[i + batch_b - batch]) : one;
    if (x->isOneInt() || y->isOneInt()) {
      out.push_back(x->isOneInt() ? y : x);
    } else {
      out.push_back(sameSize("matmul", "batch sizes", x, y, {a, b}));
    }
  }
  if (da.size() > 1) {
    out.push_back(extentOf(da[da.size() - 2]));
  }
  if (db.size() > 1) {
    out.push_back(extentOf(db.back()));
  }
  TensorView* result = ops::newTensorOfShape(out, a->dtype());
  IrBuilder::create<MatmulOp>(result, a, b);
  return result;
}

TensorView* linear(TensorView* x, TensorView* weight, TensorView* bias) {
  const Domain dx = domainOf(x);
  const Domain dw = domainOf(weight);
  NVF_CHECK(
      !dx.empty(), "linear: the input needs at least one dimension: ", shapesText({x, weight}));
  NVF_CHECK(
      dw.size() >= 2,
      "linear: the weight needs two dimensions [out, in]: ",
      shapesText({x, weight}));
  for (size_t d = 0; d + 2 < dw.size(); ++d) {
    NVF_CHECK(
        extentOf(dw[d])->isOneInt() || isParallelTypeDeviceDim(dw[d]->parallelType()),
        "linear: leading dimensions of the weight must be device dimensions of size 1: ",
        shapeText(weight));
  }
  checkSameType("linear", x, weight);
  sameSize(
      "linear",
      "the numbers of input features",
      extentOf(dx.back()),
      extentOf(dw.back()),
      {x, weight});
  Val* features = extentOf(dw[dw.size() - 2]);
  if (bias != nullptr) {
    const Domain db = domainOf(bias);
    NVF_CHECK(
        db.size() + 1 == dw.size(),
        "linear: the bias must have one dimension [out]: ",
        shapesText({x, weight, bias}));
    checkSameType("linear", x, bias);
    features = sameSize(
        "linear", "the numbers of output features", features, extentOf(db.back()), {weight, bias});
  }
  std::vector<Val*> out;
  for (size_t d = 0; d + 1 < dx.size(); ++d) {
    out.push_back(extentOf(dx[d]));
  }
  out.push_back(features);
  TensorView* result = ops::newTensorOfShape(out, x->dtype());
  IrBuilder::create<LinearOp>(result, x, weight, bias);
  return result;
}

namespace {

// [m, n] with the group dimension in front where k is grouped.
std::vector<Val*> groupedShape(std::string_view op, const ScaledMmaOp::Operands& o) {
  const Domain a = domainOf(o.mat1);
  const Domain b = domainOf(o.mat2);
  const Domain ends = domainOf(o.offsets);
  NVF_CHECK(
      ends.size() == 1 && o.offsets->dtype() == DataType::Int32,
      op,
      ": offsets must be one-dimensional of dtype Int32, not ",
      dataTypeName(o.offsets->dtype()),
      " ",
      shapeText(o.offsets));
  NVF_CHECK(
      (a.size() == 2 || a.size() == 3) && (b.size() == 2 || b.size() == 3) &&
          a.size() + b.size() < 6,
      op,
      ": ranks must be (2, 2), (3, 2) or (2, 3): ",
      shapesText({o.mat1, o.mat2}));
  Val* groups = extentOf(ends[0]);
  for (const Domain* domain : {&a, &b}) {
    if (domain->size() == 3) {
      sameSize(
          op,
          "the numbers of groups",
          groups,
          extentOf(domain->front()),
          {o.mat1, o.mat2, o.offsets});
    }
  }
  std::vector<Val*> out;
  if (a.size() == 2 && b.size() == 2) {
    out.push_back(groups);
  }
  out.push_back(extentOf(a[a.size() - 2]));
  out.push_back(extentOf(b.back()));
  return out;
}

void checkScale(
    std::string_view op,
    std::string_view name,
    const TensorView* scale,
    const TensorView* matrix,
    size_t out_rank,
    bool grouped) {
  NVF_CHECK(
      isFloatingPointType(scale->dtype()),
      op,
      ": ",
      name,
      " must be floating point, not ",
      dataTypeName(scale->dtype()));
  const auto rank = static_cast<size_t>(scale->nDims());
  const size_t wanted = std::max(static_cast<size_t>(matrix->nDims()), out_rank);
  NVF_CHECK(
      grouped ? rank == wanted : rank <= wanted,
      op,
      ": ",
      name,
      " must have ",
      wanted,
      " dimensions: ",
      shapesText({scale, matrix}));
}

} // namespace

TensorView* scaledMatmul(const ScaledMmaOp::Operands& o, DataType dtype) {
  const bool grouped = o.offsets != nullptr;
  const std::string_view op = grouped ? "grouped_mm" : "scaled_mm";
  NVF_ERROR(o.mat1 != nullptr && o.mat2 != nullptr);
  std::vector<Val*> out;
  if (grouped) {
    out = groupedShape(op, o);
  } else {
    NVF_CHECK(
        o.mat1->nDims() == 2 && o.mat2->nDims() == 2,
        op,
        ": both matrices must have two dimensions: ",
        shapesText({o.mat1, o.mat2}));
    out = {extentOf(domainOf(o.mat1)[0]), extentOf(domainOf(o.mat2)[1])};
  }
  const Domain b = domainOf(o.mat2);
  sameSize(
      op,
      "the sizes to contract",
      extentOf(domainOf(o.mat1).back()),
      extentOf(b[b.size() - 2]),
      {o.mat1, o.mat2});

  NVF_CHECK((o.scale1 == nullptr) == (o.scale2 == nullptr), op, ": scale1 and scale2 go together");
  const bool scaled = o.scale1 != nullptr;
  NVF_CHECK(
      scaled || (o.alpha == nullptr && o.bias == nullptr && o.beta == nullptr),
      op,
      ": alpha, bias and beta need scales");
  NVF_CHECK(
      o.bias != nullptr || o.beta == nullptr, op, ": beta scales a bias, but no bias was given");
  if (scaled) {
    for (const TensorView* mat : {o.mat1, o.mat2}) {
      NVF_CHECK(
          isFloatingPointType(mat->dtype()),
          op,
          ": scaled matrices must be floating point, not ",
          dataTypeName(mat->dtype()),
          ": ",
          shapeText(mat));
    }
    checkScale(op, "scale1", o.scale1, o.mat1, out.size(), grouped);
    checkScale(op, "scale2", o.scale2, o.mat2, out.size(), grouped);
    NVF_CHECK(
        !grouped || (o.bias == nullptr) == (o.beta == nullptr), op, ": bias and beta go together");
    NVF_CHECK(
        isFloatingPointType(dtype),
        op,
        ": the output must be floating point, not ",
        dataTypeName(dtype));
  } else {
    checkSameType(op, o.mat1, o.mat2);
    dtype = o.mat1->dtype();
  }
  TensorView* result = ops::newTensorOfShape(out, dtype);
  IrBuilder::create<ScaledMmaOp>(result, o);
  return result;
}

} // namespace nvfuser
