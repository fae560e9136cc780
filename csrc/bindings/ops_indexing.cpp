#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ops/indexing.h>

namespace nvfuser::bindings {

namespace {

void bindLookups(py::module_& ops) {
  ops.def(
      "select",
      [](const Tensor& arg, const ScalarVal& index, int64_t dim) {
        OpCall call("select");
        TensorView* in = call(arg);
        return NewTensor{select(in, call(index), dim)};
      },
      py::arg("arg"),
      py::arg("index"),
      py::arg("dim"),
      "Element `index` (an integer Val) of dim `dim`, which goes away. RuntimeError: a dim out of "
      "range.");
  ops.def(
      "index_select",
      [](const Tensor& arg, const Tensor& index, int64_t dim) {
        OpCall call("index_select");
        TensorView* in = call(arg);
        return NewTensor{indexSelect(in, call(index), dim)};
      },
      py::arg("arg"),
      py::arg("index"),
      py::arg("dim"),
      R"(Rows `index` of dim `dim`, which gets the length of `index`.

index: integer, 1-D (0-D counts as one row). RuntimeError: a dim out of range, another rank or dtype of index.)");
  ops.def(
      "gather",
      [](const Tensor& arg, const Tensor& index, int64_t dim) {
        OpCall call("gather");
        TensorView* in = call(arg);
        return NewTensor{gather(in, call(index), dim)};
      },
      py::arg("arg"),
      py::arg("index"),
      py::arg("dim"),
      R"(out[.., i, ..] = arg[.., index[.., i, ..], ..] with `i` in dim `dim`; shape of `index`, as torch.gather.

RuntimeError: ranks that differ, a dim out of range, an index that is not integer.)");
  ops.def(
      "take_along_axis",
      [](const Tensor& arg, const Tensor& index, int64_t dim) {
        OpCall call("take_along_axis");
        TensorView* in = call(arg);
        return NewTensor{takeAlongAxis(in, call(index), dim)};
      },
      py::arg("arg"),
      py::arg("index"),
      py::arg("dim"),
      R"(As gather, with the other dims equal or broadcast, as numpy.take_along_axis.

RuntimeError: ranks that differ, a dim out of range, sizes that do not broadcast, an index that is not integer.)");
  ops.def(
      "scatter",
      [](const Tensor& arg, const Tensor& index, const Operand& src, int64_t dim) {
        OpCall call("scatter");
        TensorView* in = call(arg);
        TensorView* places = call(index);
        return NewTensor{scatter(in, places, call(src), dim)};
      },
      py::arg("arg"),
      py::arg("index"),
      py::arg("src"),
      py::arg("dim"),
      R"(A copy of `arg` in which the places that `index` names along `dim` hold `src`.

src: a TensorView of the rank of index, or a scalar. Of several writes to one place an unspecified one wins.
RuntimeError: ranks or dtypes that differ, a dim out of range, an index that is not integer.)");
  ops.def(
      "embedding_fwd",
      [](const Tensor& input,
         const Tensor& weight,
         const std::optional<Scalar>& padding_idx,
         const std::optional<Scalar>& max_norm,
         const std::optional<Scalar>& norm_type,
         const std::optional<Scalar>& scale_grad_by_freq,
         const std::optional<Scalar>& sparse) {
        OpCall call("embedding_fwd");
        TensorView* in = call(input);
        TensorView* table = call(weight);
        Val* padding = call(padding_idx);
        Val* norm = call(max_norm);
        Val* type = call(norm_type);
        Val* scale = call(scale_grad_by_freq);
        return NewTensor{embeddingFwd(in, table, padding, norm, type, scale, call(sparse))};
      },
      py::arg("input"),
      py::arg("weight"),
      py::arg("padding_idx") = py::none(),
      py::arg("max_norm") = py::none(),
      py::arg("norm_type") = py::none(),
      py::arg("scale_grad_by_freq") = py::none(),
      py::arg("sparse") = py::none(),
      R"(Rows of `weight` (2-D) that the integer tensor `input` names; shape of input + [weight.size(1)].

max_norm, norm_type (None: 2.0): rows are scaled down to that norm. The other options act on gradients only.
RuntimeError: weight not 2-D, input not integer.)");
}

} // namespace

void bindIndexingOps(py::module_& ops) {
  bindLookups(ops);
  ops.def(
      "topk",
      [](const Tensor& arg, const Scalar& k, int64_t dim, bool largest, bool sorted) {
        OpCall call("topk");
        TensorView* in = call(arg);
        const TopK result = topk(in, call(k), dim, largest, sorted);
        return std::make_tuple(NewTensor{result.values}, NewTensor{result.indices});
      },
      py::arg("arg"),
      py::arg("k"),
      py::arg("dim") = -1,
      py::arg("largest") = true,
      py::arg("sorted") = false,
      R"((values, indices) of the k largest (or smallest) elements along `dim`, which gets size k.

k: an Int scalar. The indices are Int. RuntimeError: a dim out of range, a k of another dtype, a constant k that is
negative or larger than the size.)");
  ops.def(
      "argsort",
      [](const Tensor& arg, int64_t dim, bool descending, bool stable) {
        return NewTensor{argsort(OpCall("argsort")(arg), dim, descending, stable)};
      },
      py::arg("arg"),
      py::arg("dim"),
      py::arg("descending") = false,
      py::arg("stable") = false,
      "The Int indices that sort `arg` along `dim`; zeros of a 0-dim tensor. RuntimeError: a dim "
      "out of "
      "range.");
}

} // namespace nvfuser::bindings
