#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ops/factory.h>
#include <ops/indexing.h>
#include <ops/reduction.h>

namespace nvfuser::bindings {

namespace {

void defineReduction(
    py::module_& ops,
    const char* name,
    ReductionType type,
    const std::string& what,
    const std::string& types) {
  const std::string all =
      what + " over all dims: a 0-dim TensorView (a copy of a 0-dim one).\n\n" + types;
  const std::string some = what +
      R"( over one dim (int) or several (list or tuple; negatives count from the end).

The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
)" + types;
  ops.def(
      name,
      [name, type](const Tensor& arg, DataType dtype) {
        return NewTensor{reductionOpAll(type, OpCall(name)(arg), dtype)};
      },
      py::arg("arg"),
      py::arg("dtype") = DataType::Null,
      all.c_str());
  ops.def(
      name,
      [name, type](const Tensor& arg, int64_t dim, bool keepdim, DataType dtype) {
        return NewTensor{reductionOp(type, OpCall(name)(arg), {dim}, keepdim, dtype)};
      },
      py::arg("arg"),
      py::arg("dim"),
      py::arg("keepdim") = false,
      py::arg("dtype") = DataType::Null,
      some.c_str());
  ops.def(
      name,
      [name, type](const Tensor& arg, const IntList& dims, bool keepdim, DataType dtype) {
        return NewTensor{reductionOp(type, OpCall(name)(arg), dims.values, keepdim, dtype)};
      },
      py::arg("arg"),
      py::arg("dims"),
      py::arg("keepdim") = false,
      py::arg("dtype") = DataType::Null,
      some.c_str());
}

void defineScan(py::module_& ops, const char* name, ScanType type, const std::string& what) {
  const std::string doc = what +
      R"( along `dim`, inclusive; shape and dtype of `arg`.

init: a scalar that is combined before the first element. RuntimeError: a dim out of range, a 0-dim operand.)";
  ops.def(
      name,
      [name, type](const Tensor& arg, int64_t dim, const std::optional<Scalar>& init) {
        OpCall call(name);
        TensorView* in = call(arg);
        return NewTensor{scan(type, in, dim, call(init))};
      },
      py::arg("arg"),
      py::arg("dim"),
      py::arg("init") = py::none(),
      doc.c_str());
}

void bindMoments(py::module_& ops) {
  ops.def(
      "var",
      [](const Tensor& arg, const IntList& dims, int64_t correction, bool keepdim) {
        return NewTensor{variance(OpCall("var")(arg), dims.values, correction, keepdim)};
      },
      py::arg("arg"),
      py::arg("dims"),
      py::arg("correction") = 1,
      py::arg("keepdim") = false,
      R"(Variance over `dims` (list or tuple) with divisor max(0, n - correction).

Half types become Float; complex operands have a real variance. RuntimeError: a negative correction, no dims, a dim out
of range or twice.)");
  ops.def(
      "var_mean",
      [](const Tensor& arg, const IntList& dims, int64_t correction, bool keepdim) {
        const VarMean result =
            varianceMean(OpCall("var_mean")(arg), dims.values, correction, keepdim);
        return std::make_tuple(NewTensor{result.var}, NewTensor{result.mean});
      },
      py::arg("arg"),
      py::arg("dims"),
      py::arg("correction") = 1,
      py::arg("keepdim") = false,
      "(variance, mean) over `dims`; see var. RuntimeError for half, fp8 and fp4 types.");
  ops.def(
      "welford",
      [](const Tensor& arg, const IntList& dims) {
        const WelfordResult result = welford(OpCall("welford")(arg), dims.values);
        return std::make_tuple(
            NewTensor{result.avg}, NewTensor{result.var_sum}, NewTensor{result.n});
      },
      py::arg("arg"),
      py::arg("dims"),
      R"((mean, sum of squared deviations from it, count) over `dims`, in one pass.

The count has dtype Index. RuntimeError for a 0-dim operand, no dims, a dim out of range or twice.)");
}

} // namespace

void bindReductionOps(py::module_& ops) {
  const std::string sums =
      "Bool and integers become Int; with `dtype` the operand is cast first. Empty dims give the "
      "identity.";
  const std::string extremes =
      "The dtype is kept and NaN propagates. RuntimeError for complex operands and when `dtype` is "
      "given.";
  defineReduction(ops, "sum", ReductionType::Sum, "Sum", sums);
  defineReduction(ops, "prod", ReductionType::Prod, "Product", sums);
  defineReduction(ops, "max", ReductionType::Max, "Maximum", extremes);
  defineReduction(ops, "min", ReductionType::Min, "Minimum", extremes);
  bindMoments(ops);
  defineScan(ops, "cumsum", ScanType::Sum, "Running sum");
  defineScan(ops, "cumprod", ScanType::Prod, "Running product");
  defineScan(ops, "cummin", ScanType::Min, "Running minimum");
  defineScan(ops, "cummax", ScanType::Max, "Running maximum");
  ops.def(
      "triu",
      [](const Tensor& arg, const Scalar& diagonal) {
        OpCall call("triu");
        TensorView* in = call(arg);
        return NewTensor{triu(in, call(diagonal))};
      },
      py::arg("arg"),
      py::arg("diagonal") = 0,
      R"(The upper triangle of the last two dims, zeros elsewhere: keeps [i, j] where j - i >= diagonal.

RuntimeError: rank below 2, a diagonal that is no integer scalar.)");
}

} // namespace nvfuser::bindings
