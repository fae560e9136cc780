#include <ir/builder.h>
#include <ir/domain_mapper.h>
#include <ir/nodes.h>
#include <ir/python_call.h>
#include <ir/scalar_ops.h>

#include <algorithm>
#include <array>

namespace nvfuser {

namespace {

constexpr std::array kUnaryRows = {
#define NVF_ROW(name, python, group, aten, code, cost, low, high, doc) \
  PointwiseRow{python, PromotionGroup::group, code, OpCost::cost, low, high, doc},
    NVF_FORALL_UNARY_OPS(NVF_ROW)
#undef NVF_ROW
        PointwiseRow{"cast", PromotionGroup::Keep, "({0})", OpCost::Cheap, -10, 10, "Conversion."},
};

constexpr std::array kBinaryRows = {
#define NVF_ROW(name, python, group, aten, code, cost, low, high, doc) \
  PointwiseRow{python, PromotionGroup::group, code, OpCost::cost, low, high, doc},
    NVF_FORALL_BINARY_OPS(NVF_ROW)
#undef NVF_ROW
        PointwiseRow{
            "ceilDiv",
            PromotionGroup::Keep,
            "ceilDiv({0}, {1})",
            OpCost::Cheap,
            1,
            10,
            "Quotient rounded up."},
    PointwiseRow{
        "complex",
        PromotionGroup::Keep,
        "complex({0}, {1})",
        OpCost::Cheap,
        -10,
        10,
        "Complex number from two real ones."},
};

std::vector<Operand> repeated(std::string_view name, const std::vector<Val*>& vals) {
  std::vector<Operand> result;
  for (Val* val : vals) {
    result.push_back({name, val});
  }
  return result;
}

std::vector<Operand> join(std::vector<Operand> a, const std::vector<Operand>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const TensorView* outTensor(const Expr* expr) {
  return expr->output(0)->as<TensorView>();
}

} // namespace

const PointwiseRow& pointwiseRow(UnaryOpType type) {
  return kUnaryRows[static_cast<size_t>(type)];
}
const PointwiseRow& pointwiseRow(BinaryOpType type) {
  return kBinaryRows[static_cast<size_t>(type)];
}
std::string_view opText(UnaryOpType type) {
  return pointwiseRow(type).name;
}
std::string_view opText(BinaryOpType type) {
  return pointwiseRow(type).name;
}
std::string_view opText(TernaryOpType type) {
  constexpr std::array<std::string_view, 4> kText = {"where", "lerp", "threshold", "clamp"};
  return kText[static_cast<size_t>(type)];
}
std::string_view opText(ReductionType type) {
  constexpr std::array<std::string_view, 4> kText = {"sum", "prod", "max", "min"};
  return kText[static_cast<size_t>(type)];
}

std::vector<Val*> operandList(const Expr* expr, std::string_view name) {
  std::vector<Val*> result;
  for (const Operand& operand : expr->operands()) {
    if (operand.name == name) {
      result.push_back(operand.val);
    }
  }
  return result;
}

std::vector<int64_t> reductionAxes(const TensorView* out) {
  std::vector<int64_t> axes;
  const auto& root = out->getMaybeRootDomain();
  for (size_t i = 0; i < root.size(); ++i) {
    if (root[i]->isReduction()) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  return axes;
}

std::vector<int64_t> permutationOf(const TensorView* out) {
  if (!out->hasRoot()) {
    return {};
  }
  std::vector<int64_t> new_to_old;
  const auto& root = out->getRootDomain();
  for (IterDomain* id : out->getLogicalDomain()) {
    const auto it = std::find(root.begin(), root.end(), id);
    NVF_ERROR(it != root.end(), out->toString(), " is not a permutation of its root domain");
    new_to_old.push_back(it - root.begin());
  }
  return new_to_old;
}

namespace py {
std::string listText(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  }
  return text + "]";
}
std::string listText(const std::vector<bool>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + boolText(values[i]);
  }
  return text + "]";
}
std::string dtypeText(DataType dtype) {
  return "DataType." + std::string(dataTypeName(dtype));
}
} // namespace py

// --- pointwise ---

NVF_DEFINE_NEW_LIKE(UnaryOp)
UnaryOp::UnaryOp(IrBuilderPasskey key, UnaryOpType type, Val* out, Val* in)
    : Expr(key, {{{"in", in}}, {out}, {{"op", static_cast<int64_t>(type)}}}) {}
std::string UnaryOp::rhsText(const std::vector<std::string>& operands) const {
  if (type() == UnaryOpType::Cast) {
    return detail::concat("(", output(0)->dtype(), ")(", operands[0], ")");
  }
  return type() == UnaryOpType::Neg ? "-" + operands[0]
                                    : detail::concat(opText(type()), "(", operands[0], ")");
}
ScalarValue UnaryOp::foldScalars(const std::vector<ScalarValue>& operands) const {
  return applyScalarOp(type(), operands[0], output(0)->dtype());
}
PythonCall UnaryOp::pythonCall() const {
  PythonCall call{std::string(opText(type())), {py::arg(input(0))}};
  if (type() == UnaryOpType::Cast) {
    call.args.push_back(py::kw("dtype", py::dtypeText(output(0)->dtype())));
  }
  return call;
}

NVF_DEFINE_NEW_LIKE(BinaryOp)
BinaryOp::BinaryOp(IrBuilderPasskey key, BinaryOpType type, Val* out, Val* lhs, Val* rhs)
    : Expr(key, {{{"lhs", lhs}, {"rhs", rhs}}, {out}, {{"op", static_cast<int64_t>(type)}}}) {}
std::string BinaryOp::rhsText(const std::vector<std::string>& operands) const {
  const std::string_view code = pointwiseRow(type()).code;
  // Operators print infix, functions as calls.
  if (code.starts_with("{0} ")) {
    std::string text(code);
    text.replace(text.find("{1}"), 3, operands[1]);
    text.replace(0, 3, operands[0]);
    return text;
  }
  return detail::concat(opText(type()), "( ", operands[0], ", ", operands[1], " )");
}
ScalarValue BinaryOp::foldScalars(const std::vector<ScalarValue>& operands) const {
  return applyScalarOp(type(), operands[0], operands[1], output(0)->dtype());
}
PythonCall BinaryOp::pythonCall() const {
  return {std::string(opText(type())), {py::arg(input(0)), py::arg(input(1))}};
}

NVF_DEFINE_NEW_LIKE(TernaryOp)
TernaryOp::TernaryOp(IrBuilderPasskey key, TernaryOpType type, Val* out, Val* a, Val* b, Val* c)
    : Expr(key, {{{"a", a}, {"b", b}, {"c", c}}, {out}, {{"op", static_cast<int64_t>(type)}}}) {}
ScalarValue TernaryOp::foldScalars(const std::vector<ScalarValue>& operands) const {
  return applyScalarOp(type(), operands[0], operands[1], operands[2], output(0)->dtype());
}
PythonCall TernaryOp::pythonCall() const {
  PythonCall call{std::string(opText(type())), {}};
  for (const Operand& operand : operands()) {
    call.args.push_back(
        operand.val == nullptr ? py::arg(std::string("None")) : py::arg(operand.val));
  }
  return call;
}

// --- copies ---

NVF_DEFINE_NEW_LIKE(LoadStoreOp)
LoadStoreOp::LoadStoreOp(
    IrBuilderPasskey key,
    Val* out,
    Val* in,
    LoadStoreOpType type,
    CacheOp cache_op)
    : Expr(
          key,
          {{{"in", in}},
           {out},
           {{"type", static_cast<int64_t>(type)}, {"cache_op", static_cast<int64_t>(cache_op)}}}) {}
NodeTraits LoadStoreOp::traits() const {
  NodeTraits traits{.pointwise = true, .outputs_share_domain = true};
  traits.ends_segment = type() == LoadStoreOpType::SegmenterSet;
  traits.view = output(0)->isTensor() && outTensor(this)->hasRoot();
  return traits;
}
ScalarValue LoadStoreOp::foldScalars(const std::vector<ScalarValue>& operands) const {
  return operands[0];
}
namespace {

// The memory order that a copy was asked for, logical order spelled out; empty where nothing was
// asked.
std::vector<int64_t> askedOrder(const TensorView* tv) {
  auto order = tv->domain()->strideOrder();
  if (order.empty() && tv->hasAllocation() &&
      tv->getMaybeAllocationDomain() == tv->getLogicalDomain()) {
    for (int64_t rank = tv->nDims(); rank-- > 0;) {
      order.push_back(rank);
    }
  }
  return order;
}

} // namespace

PythonCall LoadStoreOp::pythonCall() const {
  if (output(0)->isTensor()) {
    const auto* out = outTensor(this);
    if (const auto permutation = permutationOf(out); !permutation.empty()) {
      return {"permute", {py::arg(input(0)), py::kw("dims", py::listText(permutation))}};
    }
    if (const auto order = askedOrder(out); !order.empty()) {
      return {"stride_order", {py::arg(input(0)), py::kw("stride_order", py::listText(order))}};
    }
  }
  if (type() == LoadStoreOpType::SegmenterSet) {
    return {"segment_set", {py::arg(input(0))}};
  }
  // A copy prints as the cast to its own type, as existing callers expect.
  return {"cast", {py::arg(input(0)), py::kw("dtype", py::dtypeText(output(0)->dtype()))}};
}
std::string LoadStoreOp::rhsText(const std::vector<std::string>& operands) const {
  if (type() == LoadStoreOpType::SegmenterSet) {
    return "SegmenterSet( " + operands[0] + " )";
  }
  const bool permutes = output(0)->isTensor() && outTensor(this)->hasRoot();
  return (permutes ? "Set.Permute( " : "Set( ") + operands[0] + " )";
}

// --- reductions ---

NVF_DEFINE_NEW_LIKE(ReductionOp)
ReductionOp::ReductionOp(IrBuilderPasskey key, ReductionType type, TensorView* out, TensorView* in)
    : Expr(key, {{{"in", in}}, {out}, {{"op", static_cast<int64_t>(type)}}}) {}
std::string ReductionOp::rhsText(const std::vector<std::string>& operands) const {
  return detail::concat(
      "reduction( ",
      operands[0],
      ", op = ",
      opText(type()),
      ", axes = ",
      attributeText(reductionAxes(outTensor(this))),
      " )");
}
PythonCall ReductionOp::pythonCall() const {
  PythonCall call{
      std::string(opText(type())),
      {py::arg(input(0)), py::kw("dims", py::listText(reductionAxes(outTensor(this))))}};
  if (type() == ReductionType::Sum || type() == ReductionType::Prod) {
    call.args.push_back(py::kw("dtype", py::dtypeText(output(0)->dtype())));
  }
  return call;
}

NVF_DEFINE_NEW_LIKE(WelfordOp)
WelfordOp::WelfordOp(
    IrBuilderPasskey key,
    TensorView* out_avg,
    TensorView* out_var_sum,
    TensorView* out_n,
    TensorView* in)
    : Expr(key, {{{"in", in}}, {out_avg, out_var_sum, out_n}, {}}) {}
PythonCall WelfordOp::pythonCall() const {
  return {
      "welford", {py::arg(input(0)), py::kw("dims", py::listText(reductionAxes(outTensor(this))))}};
}

// --- shape ---

NVF_DEFINE_NEW_LIKE(BroadcastOp)
BroadcastOp::BroadcastOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    std::vector<bool> is_broadcast_dim)
    : Expr(key, {{{"in", in}}, {out}, {{"is_broadcast_dim", std::move(is_broadcast_dim)}}}) {}
void BroadcastOp::mapDomains(DomainMapper& mapper) const {
  int64_t in_dim = 0;
  const auto& flags = isBroadcastDim();
  for (size_t out_dim = 0; out_dim < flags.size(); ++out_dim) {
    if (!flags[out_dim]) {
      mapper.same(input(0), in_dim++, output(0), static_cast<int64_t>(out_dim));
    }
  }
}
PythonCall BroadcastOp::pythonCall() const {
  return {
      "broadcast", {py::arg(input(0)), py::kw("is_broadcast_dim", py::listText(isBroadcastDim()))}};
}

NVF_DEFINE_NEW_LIKE(SqueezeOp)
SqueezeOp::SqueezeOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    std::vector<bool> is_squeeze_dim,
    bool squeeze_expanded)
    : Expr(
          key,
          {{{"in", in}},
           {out},
           {{"is_squeeze_dim", std::move(is_squeeze_dim)},
            {"squeeze_expanded", squeeze_expanded}}}) {}
void SqueezeOp::mapDomains(DomainMapper& mapper) const {
  int64_t out_dim = 0;
  const auto& flags = isSqueezeDim();
  for (size_t in_dim = 0; in_dim < flags.size(); ++in_dim) {
    if (!flags[in_dim]) {
      mapper.same(input(0), static_cast<int64_t>(in_dim), output(0), out_dim++);
    }
  }
}
PythonCall SqueezeOp::pythonCall() const {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < isSqueezeDim().size(); ++i) {
    if (isSqueezeDim()[i]) {
      dims.push_back(static_cast<int64_t>(i));
    }
  }
  PythonCall call{"squeeze", {py::arg(input(0)), py::kw("dims", py::listText(dims))}};
  if (attribute<bool>("squeeze_expanded")) {
    call.args.push_back(py::kw("squeeze_expanded", py::boolText(true)));
  }
  return call;
}

NVF_DEFINE_NEW_LIKE(ExpandOp)
ExpandOp::ExpandOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    const std::vector<Val*>& shape)
    : Expr(key, {join({{"in", in}}, repeated("shape", shape)), {out}, {}}) {}
void ExpandOp::mapDomains(DomainMapper& mapper) const {
  const auto rank = input(0)->as<TensorView>()->nDims();
  for (int64_t dim = 0; dim < rank; ++dim) {
    mapper.same(input(0), dim, output(0), dim);
  }
}
PythonCall ExpandOp::pythonCall() const {
  return {"expand", {py::arg(input(0)), py::kw("shape", operandList(this, "shape"))}};
}

NVF_DEFINE_NEW_LIKE(ReshapeOp)
ReshapeOp::ReshapeOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    const std::vector<Val*>& shape)
    : Expr(key, {join({{"in", in}}, repeated("shape", shape)), {out}, {}}) {}
void ReshapeOp::mapDomains(DomainMapper& mapper) const {
  // The transforms from root to logical say the rest. Without them nothing is known yet.
  if (outTensor(this)->hasRoot()) {
    const auto rank = input(0)->as<TensorView>()->nDims();
    for (int64_t dim = 0; dim < rank; ++dim) {
      mapper.same(input(0), dim, output(0), dim);
    }
  }
}
PythonCall ReshapeOp::pythonCall() const {
  return {"reshape", {py::arg(input(0)), py::kw("new_shape", operandList(this, "shape"))}};
}

NVF_DEFINE_NEW_LIKE(SliceOp)
SliceOp::SliceOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    const std::vector<Val*>& starts,
    const std::vector<Val*>& stops)
    : Expr(
          key,
          {join({{"in", in}}, join(repeated("start", starts), repeated("stop", stops))),
           {out},
           {}}) {}
PythonCall SliceOp::pythonCall() const {
  const auto starts = operandList(this, "start");
  return {
      "slice",
      {py::arg(input(0)),
       py::kw("start_indices", starts),
       py::kw("end_indices", operandList(this, "stop")),
       py::kw("strides", py::listText(std::vector<int64_t>(starts.size(), 1))),
       py::kw("manual_normalization", py::boolText(true))}};
}

NVF_DEFINE_NEW_LIKE(PadOp)
PadOp::PadOp(
    IrBuilderPasskey key,
    TensorView* out,
    TensorView* in,
    const std::vector<Val*>& widths,
    Val* value)
    : Expr(key, {join({{"in", in}, {"value", value}}, repeated("width", widths)), {out}, {}}) {}
void PadOp::mapDomains(DomainMapper& mapper) const {
  const auto rank = operand("in")->as<TensorView>()->nDims();
  for (int64_t dim = 0; dim < rank; ++dim) {
    mapper.same(operand("in"), dim, output(0), dim);
  }
}
PythonCall PadOp::pythonCall() const {
  // fd.ops.pad lists the innermost dimension first.
  const auto widths = operandList(this, "width");
  std::vector<Val*> innermost_first;
  for (size_t i = widths.size(); i >= 2; i -= 2) {
    innermost_first.push_back(widths[i - 2]);
    innermost_first.push_back(widths[i - 1]);
  }
  return {
      "pad",
      {py::arg(operand("in")),
       py::kw("pad_widths", innermost_first),
       py::kw("value", operand("value"))}};
}

NVF_DEFINE_NEW_LIKE(CatOp)
CatOp::CatOp(IrBuilderPasskey key, TensorView* out, const std::vector<Val*>& inputs, int64_t dim)
    : Expr(key, {repeated("in", inputs), {out}, {{"dim", dim}}}) {}
void CatOp::mapDomains(DomainMapper& mapper) const {
  const auto rank = outTensor(this)->nDims();
  for (const Val* in : inputs()) {
    for (int64_t d = 0; d < rank; ++d) {
      if (d != dim()) {
        mapper.same(in, d, output(0), d);
      }
    }
  }
}
PythonCall CatOp::pythonCall() const {
  return {"cat", {{"", inputs()}, py::kw("dim", std::to_string(dim()))}};
}

// --- factories ---

NVF_DEFINE_NEW_LIKE(FullOp)
FullOp::FullOp(
    IrBuilderPasskey key,
    TensorView* out,
    const std::vector<Val*>& shape,
    Val* fill_value)
    : Expr(key, {join(repeated("shape", shape), {{"fill_value", fill_value}}), {out}, {}}) {}
PythonCall FullOp::pythonCall() const {
  return {
      "full",
      {py::kw("shape", operandList(this, "shape")),
       py::kw("fill_value", operand("fill_value")),
       py::kw("dtype", py::dtypeText(output(0)->dtype()))}};
}

NVF_DEFINE_NEW_LIKE(IotaOp)
IotaOp::IotaOp(IrBuilderPasskey key, TensorView* out, Val* length, Val* start, Val* step)
    : Expr(key, {{{"length", length}, {"start", start}, {"step", step}}, {out}, {}}) {}
PythonCall IotaOp::pythonCall() const {
  PythonCall call{
      "iota",
      {py::kw("length", operand("length")),
       py::kw("start", operand("start")),
       py::kw("step", operand("step"))}};
  if (output(0)->dtype() != DataType::Int) {
    call.args.push_back(py::kw("dtype", py::dtypeText(output(0)->dtype())));
  }
  return call;
}

} // namespace nvfuser
