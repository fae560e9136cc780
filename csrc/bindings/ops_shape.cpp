#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ops/shape.h>

namespace nvfuser::bindings {

namespace {

void bindBroadcasts(py::module_& ops) {
  ops.def(
      "broadcast",
      [](const Tensor& arg, const std::vector<bool>& is_broadcast_dim) {
        return NewTensor{broadcast(OpCall("broadcast")(arg), is_broadcast_dim)};
      },
      py::arg("arg"),
      py::arg("is_broadcast_dim"),
      R"(Inserts dims of size 1 where the flag is True; one flag per dim of the result.

RuntimeError unless the number of False flags is the rank of `arg`.)");
  ops.def(
      "broadcast_in_dim",
      [](const Tensor& arg, const Shape& shape, const IntList& broadcast_dims) {
        OpCall call("broadcast_in_dim");
        TensorView* in = call(arg);
        return NewTensor{broadcastInDim(in, call(shape), broadcast_dims.values)};
      },
      py::arg("arg"),
      py::arg("shape"),
      py::arg("broadcast_dims"),
      R"(`arg` seen in `shape`: broadcast_dims[i] is the dim of the result that dim i of `arg` becomes.

shape: ints and integer Vals; -1 keeps the operand's size. RuntimeError: len(broadcast_dims) is not the rank of `arg`, the
shape is shorter than that, a dim is out of range or named twice, sizes do not fit.)");
  ops.def(
      "expand",
      [](const Tensor& arg, const Shape& shape) {
        OpCall call("expand");
        TensorView* in = call(arg);
        return NewTensor{expand(in, call(shape))};
      },
      py::arg("arg"),
      py::arg("shape"),
      "Sees dims of size 1 as longer ones and may add leading dims; -1 keeps a size. RuntimeError: "
      "a shape "
      "that is shorter than the rank or does not fit.");
}

void bindLayouts(py::module_& ops) {
  ops.def(
      "reshape",
      [](const Tensor& arg, const Shape& new_shape) {
        OpCall call("reshape");
        TensorView* in = call(arg);
        return NewTensor{reshape(in, call(new_shape))};
      },
      py::arg("arg"),
      py::arg("new_shape"),
      R"(The same elements in row-major order under another shape (ints and integer Vals).

At most one -1, which stands for what is left. RuntimeError: two of them, another negative size, an element count that
differs.)");
  ops.def(
      "permute",
      [](const Tensor& arg, const IntList& dims) {
        return NewTensor{permute(OpCall("permute")(arg), dims.values)};
      },
      py::arg("arg"),
      py::arg("dims"),
      "Dim i of the result is dim dims[i] of `arg`. RuntimeError: wrong count, a dim out of range "
      "or twice.");
  ops.def(
      "squeeze",
      [](const Tensor& arg, const IntList& dims, bool squeeze_expanded) {
        return NewTensor{squeeze(OpCall("squeeze")(arg), dims.values, squeeze_expanded)};
      },
      py::arg("arg"),
      py::arg("dims"),
      py::arg("squeeze_expanded") = false,
      R"(Removes dims of size 1; with squeeze_expanded also expanded ones. No dims: a copy.

RuntimeError: a dim of another size, out of range or named twice.)");
  ops.def(
      "stride_order",
      [](const Tensor& arg, const IntList& stride_order) {
        return NewTensor{strideOrder(OpCall("stride_order")(arg), stride_order.values)};
      },
      py::arg("arg"),
      py::arg("stride_order"),
      R"(A copy whose dim i has rank stride_order[i] in memory, 0 = fastest. Empty: a plain copy.

RuntimeError: wrong count, an entry out of range or twice.)");
}

TensorView* sliceOf(
    const Tensor& arg,
    const Shape& start_indices,
    const Shape& end_indices,
    const std::optional<Shape>& strides,
    bool manual_normalization) {
  OpCall call("slice");
  NVF_CHECK_AS(
      Type,
      start_indices.is_tuple == end_indices.is_tuple &&
          (!strides.has_value() || strides->is_tuple == start_indices.is_tuple),
      "slice: start_indices, end_indices and strides must all be lists or all be tuples");
  TensorView* in = call(arg);
  const auto starts = call(start_indices);
  const auto stops = call(end_indices);
  return slice(in, starts, stops, call(strides), manual_normalization);
}

void bindSlices(py::module_& ops) {
  ops.def(
      "slice",
      [](const Tensor& arg,
         const Shape& start_indices,
         const Shape& end_indices,
         const std::optional<Shape>& strides,
         bool manual_normalization) {
        return NewTensor{sliceOf(arg, start_indices, end_indices, strides, manual_normalization)};
      },
      py::arg("arg"),
      py::arg("start_indices"),
      py::arg("end_indices"),
      py::arg("strides") = py::none(),
      py::arg("manual_normalization") = false,
      R"(Elements start_indices[i] up to end_indices[i] of every dim i.

The three sequences are all lists or all tuples of ints and integer Vals, one entry per dim; each stride is 1. Ends are
clamped to the size unless manual_normalization, with which the caller vouches for 0 <= start <= end <= size.
RuntimeError: wrong count, a negative start, an end before its start, a stride other than 1. TypeError: lists and tuples
mixed.)");
  ops.def(
      "cat",
      [](const std::vector<Tensor>& tensors, int64_t dim, bool manual_padding) {
        return NewTensor{cat(OpCall("cat")(tensors), dim, manual_padding)};
      },
      py::arg("tensors"),
      py::arg("dim") = 0,
      py::arg("manual_padding") = false,
      R"(Joins tensors of one dtype and rank along `dim` (negative: from the end).

manual_padding: the tensors have the result's size already and are 0 outside their part. One tensor: a copy.
RuntimeError: no tensors, dtypes, ranks or sizes that differ, a dim out of range.)");
  ops.def(
      "pad",
      [](const Tensor& arg, const Shape& pad_widths, const std::optional<Scalar>& value) {
        OpCall call("pad");
        TensorView* in = call(arg);
        const auto widths = call(pad_widths);
        return NewTensor{pad(in, widths, call(value))};
      },
      py::arg("arg"),
      py::arg("pad_widths"),
      py::arg("value") = py::none(),
      R"(Adds `value` (None: 0) before and after: pairs (before, after), innermost dim first; negatives crop.

RuntimeError: an odd count or more than two per dim, a size below 0, a value of another kind of dtype than `arg`.)");
}

} // namespace

void bindShapeOps(py::module_& ops) {
  bindBroadcasts(ops);
  bindLayouts(ops);
  bindSlices(ops);
  ops.def(
      "size",
      [](const Tensor& arg, int64_t dim) { return NewVal{size(OpCall("size")(arg), dim)}; },
      py::arg("arg"),
      py::arg("dim"),
      "Size of dim `dim` (negative: from the end), a Val. RuntimeError when out of range.");
  ops.def(
      "shape",
      [](const Tensor& arg) { return handlesOf(OpCall("shape")(arg)->shape()); },
      py::arg("arg"),
      "The sizes of all dims, a list of Val.");
}

} // namespace nvfuser::bindings
