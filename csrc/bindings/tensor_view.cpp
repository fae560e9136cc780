#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ops/shape.h>

namespace nvfuser::bindings {

namespace {

std::vector<IterDomain*> rawDomains(const std::vector<std::shared_ptr<IterDomain>>& handles) {
  std::vector<IterDomain*> result;
  for (const auto& handle : handles) {
    NVF_CHECK_AS(Type, handle != nullptr, "a domain may not be None");
    result.push_back(handle.get());
  }
  return result;
}

std::vector<Expr*> rawExprs(const std::vector<std::shared_ptr<Expr>>& handles) {
  std::vector<Expr*> result;
  for (const auto& handle : handles) {
    NVF_CHECK_AS(Type, handle != nullptr, "an Expr may not be None");
    result.push_back(handle.get());
  }
  return result;
}

// The factor of a split: a positive int or an integer Val.
void splitBy(TensorView& tv, int64_t axis, const Scalar& factor, bool inner_split) {
  FusionGuard guard(tv.fusion());
  if (factor.val != nullptr) {
    NVF_CHECK(factor.val->fusion() == tv.fusion(), "split: the factor belongs to another Fusion");
    tv.split(axis, factor.val, inner_split);
    return;
  }
  NVF_CHECK_AS(
      Type, std::holds_alternative<int64_t>(factor.value), "split: the factor must be an integer");
  tv.split(axis, std::get<int64_t>(factor.value), inner_split);
}

using TvClass = py::class_<TensorView, Val, std::shared_ptr<TensorView>>;

void bindQueries(TvClass& tv) {
  tv.def_property_readonly("ndim", &TensorView::nDims, "Number of dimensions.")
      .def(
          "size",
          [](TensorView& self, int64_t dim) {
            FusionGuard guard(self.fusion());
            return NewVal{size(&self, dim)};
          },
          py::arg("dim"),
          "Size of dimension `dim` (negative: from the end), a Val. RuntimeError when out of "
          "range.")
      .def(
          "shape",
          [](TensorView& self) { return handlesOf(self.shape()); },
          "The sizes of all dimensions, a list of Val.")
      .def("has_root", &TensorView::hasRoot, "True when the root domain differs from the logical.")
      .def(
          "domain",
          [](TensorView& self) { return handleOf(self.domain()); },
          "The TensorDomain that holds all domains.")
      .def(
          "get_logical_domain",
          [](TensorView& self) { return handlesOf(self.getLogicalDomain()); },
          "The dimensions as a user sees them (and reductions), a list of IterDomain.")
      .def(
          "get_root_domain",
          [](TensorView& self) { return handlesOf(self.getMaybeRootDomain()); },
          "The dimensions as the operands have them; the logical domain where there is no other.")
      .def(
          "get_loop_domain",
          [](TensorView& self) { return handlesOf(self.getLoopDomain()); },
          "The loops that compute the tensor.")
      .def(
          "get_allocation_domain",
          [](TensorView& self) { return handlesOf(self.getMaybeAllocationDomain()); },
          "The dimensions in memory order.")
      .def(
          "axis",
          [](TensorView& self, int64_t index) { return handleOf(self.axis(index)); },
          py::arg("index"),
          "Loop number `index` (negative: from the end). RuntimeError when out of range.");
}

void bindTransforms(TvClass& tv) {
  tv.def(
        "split",
        &splitBy,
        py::arg("axis"),
        py::arg("factor"),
        py::arg("inner_split") = true,
        "Splits a loop in two; `factor` is the size of the inner one, or of the outer one where "
        "inner_split is False. RuntimeError for an axis out of range or a factor below 1.")
      .def(
          "inner_split",
          [](TensorView& self, int64_t axis, const Scalar& factor) {
            splitBy(self, axis, factor, true);
          },
          py::arg("axis"),
          py::arg("factor"),
          "split with the inner loop of size `factor`.")
      .def(
          "outer_split",
          [](TensorView& self, int64_t axis, const Scalar& factor) {
            splitBy(self, axis, factor, false);
          },
          py::arg("axis"),
          py::arg("factor"),
          "split with the outer loop of size `factor`.")
      .def(
          "merge",
          [](TensorView& self, int64_t axis_o, int64_t axis_i) {
            FusionGuard guard(self.fusion());
            self.merge(axis_o, axis_i);
          },
          py::arg("axis_o"),
          py::arg("axis_i"),
          "Merges two loops into one at the outer one's place.")
      .def(
          "reorder",
          [](TensorView& self, const std::unordered_map<int64_t, int64_t>& old2new) {
            FusionGuard guard(self.fusion());
            self.reorder(old2new);
          },
          py::arg("old2new") = std::unordered_map<int64_t, int64_t>{},
          "Moves loops: old position -> new position; the others keep their order.")
      .def(
          "swizzle",
          [](TensorView& self, int64_t x, int64_t y) {
            FusionGuard guard(self.fusion());
            self.swizzle(x, y);
          },
          py::arg("x"),
          py::arg("y"),
          "XOR-swizzles two loops of equal size.")
      .def(
          "swizzle1d",
          [](TensorView&, int64_t, ParallelType) {
            throw UserError(
                ErrorKind::NotImplemented,
                "swizzle1d needs code generation, which this version does not have");
          },
          py::arg("x"),
          py::arg("parallel_type"),
          "Not available before code generation: raises NotImplementedError.")
      .def(
          "rfactor",
          [](TensorView& self, const IntList& axes) {
            return NewTensor{self.rfactor(axes.values)};
          },
          py::arg("axes"),
          "Splits a reduction in two; the returned TensorView reduces `axes`, this one the rest.")
      .def(
          "cache_after",
          [](TensorView& self,
             LoadStoreOpType op_type,
             CacheOp cache_op,
             bool propagate_allocation_domain,
             const std::vector<std::shared_ptr<Expr>>& cached_uses) {
            return NewTensor{self.cacheAfter(
                op_type, cache_op, propagate_allocation_domain, rawExprs(cached_uses))};
          },
          py::arg("op_type") = LoadStoreOpType::Set,
          py::arg("cache_op") = CacheOp::Unspecified,
          py::arg("propagate_allocation_domain") = true,
          py::arg("cached_uses") = std::vector<std::shared_ptr<Expr>>{},
          "A copy of this tensor that takes over its uses (or the listed ones). Returns the copy.")
      .def(
          "cache_before",
          [](TensorView& self, LoadStoreOpType op_type) {
            return NewTensor{self.cacheBefore(op_type)};
          },
          py::arg("op_type") = LoadStoreOpType::Set,
          "A tensor that takes over this one's definition; this one becomes its copy.")
      .def(
          "set_memory_type",
          &TensorView::setMemoryType,
          py::arg("memory_type"),
          "Where the tensor lives. RuntimeError for inputs and outputs, which are global.")
      .def(
          "set_allocation_domain",
          [](TensorView& self,
             const std::vector<std::shared_ptr<IterDomain>>& domain,
             bool contiguity) {
            FusionGuard guard(self.fusion());
            self.setAllocationDomain(rawDomains(domain), contiguity);
          },
          py::arg("new_allocation_domain"),
          py::arg("new_contiguity"),
          "Lays the tensor out in memory as the list of IterDomains says, all contiguous or none.")
      .def(
          "set_device_mesh",
          [](TensorView&, const py::object&) {
            throw UserError(
                ErrorKind::NotImplemented,
                "set_device_mesh: this version runs on one device; the multidevice part is "
                "missing");
          },
          py::arg("mesh"),
          "Not available: needs the multidevice part. Raises NotImplementedError.");
}

} // namespace

void bindTensorView(py::module_& m) {
  TvClass tv(m, "TensorView", "A tensor in a fusion.");
  bindQueries(tv);
  bindTransforms(tv);
}

} // namespace nvfuser::bindings
