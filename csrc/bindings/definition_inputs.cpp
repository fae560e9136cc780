#include <bindings/args.h>
#include <bindings/bindings.h>

#include <algorithm>
#include <numeric>

namespace nvfuser::bindings {

namespace {

using Contiguity = std::vector<std::optional<bool>>;

struct Descriptor {
  Contiguity contiguity;             ///< in allocation order, slowest first
  std::vector<int64_t> stride_order; ///< rank of each dim in memory, 0 = fastest
};

// Stride-0 dims keep their position; the others are sorted by descending stride, stably.
Descriptor describe(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  NVF_CHECK(
      sizes.size() == strides.size(),
      "compute_tensor_descriptor: ",
      sizes.size(),
      " sizes but ",
      strides.size(),
      " strides");
  const size_t rank = sizes.size();
  std::vector<size_t> sorted;
  for (size_t i = 0; i < rank; ++i) {
    NVF_CHECK(
        strides[i] >= 0,
        "compute_tensor_descriptor: the stride ",
        strides[i],
        " at index ",
        i,
        " is negative");
    if (strides[i] != 0) {
      sorted.push_back(i);
    }
  }
  std::stable_sort(
      sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  std::vector<size_t> allocation(rank);
  for (size_t i = 0, next = 0; i < rank; ++i) {
    allocation[i] = strides[i] == 0 ? i : sorted[next++];
  }
  Descriptor result{Contiguity(rank), std::vector<int64_t>(rank)};
  std::optional<size_t> inner; // the next faster dim that is stored
  for (size_t place = rank; place-- > 0;) {
    const size_t dim = allocation[place];
    result.stride_order[dim] = static_cast<int64_t>(rank - 1 - place);
    if (sizes[dim] == 1 || strides[dim] == 0) {
      continue;
    }
    result.contiguity[place] =
        inner.has_value() ? strides[dim] == strides[*inner] * sizes[*inner] : strides[dim] == 1;
    inner = dim;
  }
  return result;
}

// A packed pair of fp4 values is one byte in torch; in the IR the fastest dim is twice as long.
DataType unpackFp4(std::vector<int64_t>& shape, const std::vector<int64_t>& order, DataType dtype) {
  if (dtype != DataType::Float4_e2m1fn_x2) {
    return dtype;
  }
  NVF_CHECK(!shape.empty(), "define_tensor: a packed fp4 tensor has at least one dim");
  size_t fastest = shape.size() - 1;
  for (size_t i = 0; i < order.size() && i < shape.size(); ++i) {
    if (order[i] == 0 || order[i] == -static_cast<int64_t>(shape.size())) {
      fastest = i;
    }
  }
  if (shape[fastest] != -1) {
    shape[fastest] *= 2;
  }
  return DataType::Float4_e2m1fn;
}

void checkCpu(bool is_cpu, const std::vector<int64_t>& shape) {
  NVF_CHECK(
      !is_cpu || shape.empty(),
      "CPU non-scalar tensor is not supported! is_cpu=True needs shape [], not rank ",
      shape.size());
}

TensorView* build(
    std::vector<int64_t> shape,
    const std::optional<Contiguity>& contiguity,
    bool uniform,
    DataType dtype,
    bool is_cpu,
    const std::vector<int64_t>& stride_order) {
  FusionGuard::activeOrThrow();
  checkCpu(is_cpu, shape);
  NVF_CHECK(dtype != DataType::Null, "define_tensor: a tensor cannot have DataType.Null");
  dtype = unpackFp4(shape, stride_order, dtype);
  TensorViewBuilder builder;
  builder.shape(shape).dtype(dtype).strideOrder(stride_order);
  if (contiguity.has_value()) {
    NVF_CHECK(
        contiguity->size() == shape.size(),
        "define_tensor: contiguity has ",
        contiguity->size(),
        " entries, shape has ",
        shape.size());
    builder.contiguity(*contiguity);
  } else {
    builder.contiguity(uniform);
  }
  TensorView* tv = builder.build();
  tv->setCpuScalar(is_cpu);
  return tv;
}

NewTensor withList(
    const IntList& shape,
    const Contiguity& contiguity,
    DataType dtype,
    bool is_cpu,
    const IntList& stride_order) {
  return {build(shape.values, contiguity, false, dtype, is_cpu, stride_order.values)};
}

NewTensor withFlag(
    const IntList& shape,
    bool contiguity,
    DataType dtype,
    bool is_cpu,
    const IntList& stride_order) {
  return {build(shape.values, std::nullopt, contiguity, dtype, is_cpu, stride_order.values)};
}

NewTensor withStrides(
    const IntList& sizes,
    const IntList& strides,
    DataType dtype,
    bool static_sizes,
    bool is_cpu) {
  const Descriptor descriptor = describe(sizes.values, strides.values);
  std::vector<int64_t> shape = sizes.values;
  for (int64_t& size : shape) {
    NVF_CHECK(size >= 0, "define_tensor: the size ", size, " is negative");
    if (!static_sizes && size != 1) {
      size = -1;
    }
  }
  return {build(
      std::move(shape), descriptor.contiguity, false, dtype, is_cpu, descriptor.stride_order)};
}

// A list or tuple of bool and None; false for other contents, so that the next overload is tried.
struct ContiguityArg {
  Contiguity flags;
};

// bool without a dtype counts as Int, as callers of this API expect.
DataType constantType(const ScalarValue& value) {
  return std::holds_alternative<bool>(value) ? DataType::Int : inferredDataType(value);
}

} // namespace

} // namespace nvfuser::bindings

namespace pybind11::detail {

template <>
struct type_caster<nvfuser::bindings::ContiguityArg> {
  PYBIND11_TYPE_CASTER(nvfuser::bindings::ContiguityArg, const_name("Sequence[bool | None]"));
  bool load(handle source, bool) {
    if (!PyList_Check(source.ptr()) && !PyTuple_Check(source.ptr())) {
      return false;
    }
    for (handle item : reinterpret_borrow<sequence>(source)) {
      if (item.is_none()) {
        value.flags.emplace_back();
      } else if (PyBool_Check(item.ptr())) {
        value.flags.emplace_back(item.ptr() == Py_True);
      } else {
        return false;
      }
    }
    return true;
  }
};

} // namespace pybind11::detail

namespace nvfuser::bindings {

namespace {

Val* constantOf(const Scalar& value, DataType dtype) {
  NVF_CHECK_AS(
      Type,
      value.val == nullptr,
      "define_scalar: expected a Python number, got the Val ",
      value.val != nullptr ? value.val->toString() : std::string());
  return IrBuilder::constant(value.value, dtype);
}

} // namespace

void bindDefinitionInputs(py::module_& m) {
  m.def(
      "define_tensor",
      [](const IntList& shape,
         const ContiguityArg& contiguity,
         DataType dtype,
         bool is_cpu,
         const IntList& stride_order) {
        return withList(shape, contiguity.flags, dtype, is_cpu, stride_order);
      },
      py::arg("shape"),
      py::arg("contiguity"),
      py::arg("dtype") = DataType::Float,
      py::arg("is_cpu") = false,
      py::arg("stride_order") = py::tuple(),
      R"(A tensor in the active fusion, without adding it as an input.

shape: -1 symbolic, 1 broadcast, 0 or more than 1 static. contiguity: one flag per dim in memory order (slowest
first), None for size-1 dims; None for another size marks an expanded dim (stride 0). stride_order: rank of each dim
in memory, 0 = fastest. is_cpu: a 0-dim tensor that stays on the CPU while the fusion runs on a GPU.
RuntimeError: a size below -1, lengths that differ, a stride_order that is no permutation, is_cpu with dims.)");
  m.def(
      "define_tensor",
      &withFlag,
      py::arg("shape"),
      py::arg("contiguity").noconvert() = false,
      py::arg("dtype") = DataType::Float,
      py::arg("is_cpu") = false,
      py::arg("stride_order") = py::tuple(),
      "As above, with the same flag for every dim whose size is not 1.");
  m.def(
      "define_tensor",
      &withStrides,
      py::arg("sizes"),
      py::arg("strides"),
      py::arg("dtype") = DataType::Float,
      py::arg("static_sizes") = false,
      py::arg("is_cpu") = false,
      "A tensor laid out as a torch tensor of these sizes and strides. Sizes other than 1 become "
      "symbolic unless static_sizes.");
  m.def(
      "define_scalar",
      [](DataType dtype) {
        NVF_CHECK(dtype != DataType::Null, "define_scalar: a scalar cannot have DataType.Null");
        return NewVal{IrBuilder::create<Val>(dtype)};
      },
      py::arg("dtype") = DataType::Double,
      "A symbolic scalar in the active fusion, without adding it as an input.");
  m.def(
      "define_scalar",
      [](const std::optional<Scalar>& value, std::optional<DataType> dtype) {
        if (value.has_value()) {
          const DataType type = dtype.value_or(constantType(value->value));
          NVF_CHECK(type != DataType::Null, "define_scalar: a scalar cannot have DataType.Null");
          return NewVal{constantOf(*value, type)};
        }
        NVF_CHECK(dtype.has_value(), "define_scalar: a symbolic scalar (value None) needs a dtype");
        NVF_CHECK(*dtype != DataType::Null, "define_scalar: a scalar cannot have DataType.Null");
        return NewVal{IrBuilder::create<Val>(*dtype)};
      },
      py::arg("value"),
      py::arg("dtype") = py::none(),
      "A constant of this value, cast to `dtype`; with value None a symbolic scalar of `dtype`. "
      "Without "
      "dtype: complex ComplexDouble, float Double, int and bool Int.");
  m.def(
      "compute_tensor_descriptor",
      [](const IntList& sizes, const IntList& strides) {
        auto descriptor = describe(sizes.values, strides.values);
        return std::make_pair(std::move(descriptor.contiguity), std::move(descriptor.stride_order));
      },
      py::arg("sizes"),
      py::arg("strides"),
      R"(The (contiguity, stride order) lists of a torch tensor with these sizes and strides.

Stride-0 dims keep their position; the others are sorted by descending stride. Contiguity is listed in that order:
None for size 1 or stride 0, else whether the dim follows the next inner one without a gap. stride_order[i] is the rank
of dim i in memory, 0 = fastest. RuntimeError: a negative stride, lengths that differ.)");
}

} // namespace nvfuser::bindings
