#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ops/factory.h>

namespace nvfuser::bindings {

namespace {

using RandomBuilder = TensorView* (*)(const std::vector<Val*>&, Val*, Val*, DataType, Val*, Val*);

void defineRandom(
    py::module_& ops,
    const char* name,
    const char* first,
    const char* second,
    RandomBuilder build,
    const std::string& what) {
  const std::string doc = what +
      R"( in a new tensor of `shape` (ints and integer Vals), on the device the fusion runs on.

rng_seed, rng_offset: integer scalars that fix the numbers, both or neither; without them the op takes 4 steps of torch's
generator. RuntimeError: a dtype that is not floating, one of seed and offset without the other.)";
  ops.def(
      name,
      [name, build](
          const Scalar& a,
          const Scalar& b,
          const Shape& shape,
          const std::optional<Scalar>& rng_seed,
          const std::optional<Scalar>& rng_offset,
          DataType dtype) {
        OpCall call(name);
        const auto sizes = call(shape);
        Val* low = call(a);
        Val* high = call(b);
        Val* seed = call(rng_seed);
        return NewTensor{build(sizes, low, high, dtype, seed, call(rng_offset))};
      },
      py::arg(first),
      py::arg(second),
      py::arg("shape"),
      py::kw_only(),
      py::arg("rng_seed") = py::none(),
      py::arg("rng_offset") = py::none(),
      py::arg("dtype") = DataType::Float,
      doc.c_str());
}

} // namespace

void bindFactoryOps(py::module_& ops) {
  ops.def(
      "full",
      [](const Shape& shape, const Scalar& fill_value, DataType dtype) {
        OpCall call("full");
        const auto sizes = call(shape);
        return NewTensor{full(sizes, call(fill_value), dtype)};
      },
      py::arg("shape"),
      py::arg("fill_value"),
      py::arg("dtype"),
      R"(A contiguous tensor filled with a scalar, cast to `dtype`, on the device the fusion runs on.

shape: ints and integer Vals. RuntimeError: a negative size, no cast from the value to dtype.)");
  ops.def(
      "iota",
      [](const Scalar& length,
         const std::optional<Scalar>& start,
         const std::optional<Scalar>& step,
         DataType dtype) {
        OpCall call("iota");
        Val* n = call(length);
        Val* first = call(start);
        return NewTensor{iota(n, first, call(step), dtype)};
      },
      py::arg("length"),
      py::arg("start") = py::none(),
      py::arg("step") = py::none(),
      py::arg("dtype") = DataType::Int,
      R"(start, start + step, ...: a 1-D tensor of `length` elements; None: start 0, step 1.

RuntimeError: a length that is no integer, start or step of another kind than dtype, a step that is 0 or not finite.)");
  defineRandom(
      ops, "uniform", "minval", "maxval", &uniform, "Uniform random numbers in [minval, maxval)");
  defineRandom(
      ops,
      "normal",
      "mean",
      "std",
      &normal,
      "Normal random numbers with a mean and a standard deviation");
}

} // namespace nvfuser::bindings
