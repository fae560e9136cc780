#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ir/nodes.h>

namespace nvfuser::bindings {

void bindIr(py::module_& m) {
  py::class_<Statement, std::shared_ptr<Statement>>(
      m, "Statement", "Base of everything that stands in a fusion.")
      .def("__str__", &Statement::toString)
      .def("__repr__", &Statement::toString);

  py::class_<Val, Statement, std::shared_ptr<Val>>(
      m, "Val", "A value: a scalar, a tensor, an IterDomain or a TensorDomain.")
      .def(
          "is_symbolic",
          [](const Val& self) { return !self.isConst(); },
          "False for a constant scalar, else True.")
      .def("is_tensor", &Val::isTensor, "True for a TensorView.")
      .def("dtype", &Val::dtype, "The DataType of the value.")
      .def(
          "definition",
          [](Val& self) { return handleOf(self.definition()); },
          "The Expr that computes the value, or None.")
      .def(
          "uses",
          [](Val& self) { return handlesOf(self.uses()); },
          "The list of Exprs that read the value.")
      .def(
          "value",
          [](const Val& self) -> py::object {
            return std::visit(
                [](const auto& v) -> py::object {
                  if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
                    return py::none();
                  } else {
                    return py::cast(v);
                  }
                },
                self.value());
          },
          "The Python number of a constant scalar, else None.");

  py::class_<Expr, Statement, std::shared_ptr<Expr>>(
      m, "Expr", "An operation: computes values from values.")
      .def(
          "input",
          [](const Expr& self, size_t index) { return handleOf(self.input(index)); },
          py::arg("index"),
          "Operand number `index`, absent ones not counted. IndexError when there is none.")
      .def(
          "output",
          [](const Expr& self, size_t index) { return handleOf(self.output(index)); },
          py::arg("index"),
          "Result number `index`. IndexError when there is none.")
      .def(
          "inputs",
          [](const Expr& self) { return handlesOf(self.inputs()); },
          "The operands that are present.")
      .def(
          "outputs", [](const Expr& self) { return handlesOf(self.outputs()); }, "The results.")
      .def(
          "name",
          [](const Expr& self) { return std::string(self.opName()); },
          "The class of the operation, such as \"BinaryOp\" or \"TopKOp\".");

  py::class_<IterDomain, Val, std::shared_ptr<IterDomain>>(
      m, "IterDomain", "One dimension of a tensor or one loop.")
      .def("is_reduction", &IterDomain::isReduction, "True when the dimension is reduced.")
      .def(
          "is_broadcast", &IterDomain::isBroadcast, "True when the dimension has size 1 in memory.")
      .def(
          "extent", [](IterDomain& self) { return handleOf(self.extent()); }, "The size, a Val.")
      .def("parallel_type", &IterDomain::parallelType, "The ParallelType.")
      .def(
          "parallelize",
          &IterDomain::parallelize,
          py::arg("parallel_type"),
          "Maps the loop to a ParallelType.");

  py::class_<TensorDomain, Val, std::shared_ptr<TensorDomain>>(
      m, "TensorDomain", "The domains of a tensor: root, logical, allocation and loop domain.");

  py::class_<Split, Expr, std::shared_ptr<Split>>(m, "Split", "One IterDomain becomes two.")
      .def(
          "outer", [](Split& self) { return handleOf(self.outer()); }, "The outer result.")
      .def("inner", [](Split& self) { return handleOf(self.inner()); }, "The inner result.");
  py::class_<Merge, Expr, std::shared_ptr<Merge>>(m, "Merge", "Two IterDomains become one.")
      .def(
          "outer", [](Merge& self) { return handleOf(self.outer()); }, "The outer operand.")
      .def("inner", [](Merge& self) { return handleOf(self.inner()); }, "The inner operand.");
  py::class_<BroadcastOp, Expr, std::shared_ptr<BroadcastOp>>(
      m, "BroadcastOp", "Inserts dimensions of size 1.");
  py::class_<ReshapeOp, Expr, std::shared_ptr<ReshapeOp>>(
      m, "ReshapeOp", "Gives the same elements another shape.");
  py::class_<SqueezeOp, Expr, std::shared_ptr<SqueezeOp>>(
      m, "SqueezeOp", "Removes dimensions of size 1.");
}

} // namespace nvfuser::bindings
