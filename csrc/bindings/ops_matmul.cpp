#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ops/matmul.h>

namespace nvfuser::bindings {

namespace {

// The second and third result of a scaled product exist only on devices with hardware block
// scaling.
void refuseBlockOutputs(const char* op, int64_t block_scale_size, bool gamma) {
  NVF_CHECK(
      block_scale_size == 0 && !gamma,
      op,
      ": block-scaled outputs (output_block_scale_size, output_gamma) are not supported");
}

using Scaled = std::tuple<NewTensor, py::object, py::object>;

Scaled scaled(const ScaledMmaOp::Operands& operands, DataType dtype) {
  return {NewTensor{scaledMatmul(operands, dtype)}, py::none(), py::none()};
}

[[noreturn]] void needsBlackwell(const char* op) {
  throw UserError(
      ErrorKind::NotImplemented,
      std::string(op) +
          ": needs CUTLASS kernels for compute capability 10.0 (Blackwell), which this build does "
          "not have");
}

void bindGrouped(py::module_& ops) {
  ops.def(
      "grouped_mm",
      [](const Tensor& mat1, const Tensor& mat2, const Tensor& offsets) {
        OpCall call("grouped_mm");
        ScaledMmaOp::Operands operands{
            .mat1 = call(mat1), .mat2 = call(mat2), .offsets = call(offsets)};
        return NewTensor{scaledMatmul(operands, operands.mat1->dtype())};
      },
      py::arg("mat1"),
      py::arg("mat2"),
      py::arg("offsets"),
      R"(Products of groups that end at the cumulative `offsets` (1-D Int32, length g).

[m,k] x [k,n] -> [g,m,n] (k is grouped); [g,m,k] x [k,n] -> [m,n] (n is grouped); [m,k] x [g,k,n] -> [m,n] (m is
grouped). dtype of mat1. RuntimeError: other ranks, dtypes or sizes that do not fit.)");
  ops.def(
      "grouped_mm",
      [](const Tensor& mat1,
         const Tensor& mat2,
         const Tensor& offsets,
         const Tensor& scale1,
         const Tensor& scale2,
         const std::optional<Tensor>& alpha,
         const std::optional<Tensor>& bias,
         const std::optional<Tensor>& beta,
         DataType dtype,
         int64_t output_block_scale_size,
         DataType,
         bool output_gamma) {
        OpCall call("grouped_mm");
        refuseBlockOutputs("grouped_mm", output_block_scale_size, output_gamma);
        return scaled(
            {.mat1 = call(mat1),
             .mat2 = call(mat2),
             .offsets = call(offsets),
             .scale1 = call(scale1),
             .scale2 = call(scale2),
             .alpha = call(alpha),
             .bias = call(bias),
             .beta = call(beta)},
            dtype);
      },
      py::arg("mat1"),
      py::arg("mat2"),
      py::arg("offsets"),
      py::arg("scale1"),
      py::arg("scale2"),
      py::arg("alpha") = py::none(),
      py::arg("bias") = py::none(),
      py::arg("beta") = py::none(),
      py::arg("dtype") = DataType::BFloat16,
      py::arg("output_block_scale_size") = 0,
      py::arg("output_block_scale_dtype") = DataType::BFloat16,
      py::arg("output_gamma") = false,
      R"((out, None, None): grouped products of scaled matrices, (mat1 * scale1) @ (mat2 * scale2) * alpha + bias * beta.

The scales have the larger rank of their matrix and the result. RuntimeError: block or gamma outputs, ranks or dtypes that
do not fit.)");
}

const char* const blackwell_only =
    "Needs CUTLASS kernels for Blackwell devices, which this build does not have: raises "
    "NotImplementedError.";

void bindBlackwellOps(py::module_& ops) {
  using MaybeTensor = std::optional<Tensor>;
  ops.def(
      "cutlass_nvfp4_grouped_mm",
      [](const Tensor&,
         const Tensor&,
         const Tensor&,
         const Tensor&,
         const Tensor&,
         const Tensor&,
         const Tensor&,
         const Tensor&,
         DataType) -> NewTensor { needsBlackwell("cutlass_nvfp4_grouped_mm"); },
      py::arg("mat1"),
      py::arg("mat2"),
      py::arg("scale1"),
      py::arg("scale2"),
      py::arg("alpha"),
      py::arg("problem_sizes"),
      py::arg("expert_offsets"),
      py::arg("sf_offsets"),
      py::arg("dtype") = DataType::BFloat16,
      blackwell_only);
  ops.def(
      "nv_block_quantize",
      [](const Tensor&, const MaybeTensor&, bool, int64_t, DataType) -> py::tuple {
        needsBlackwell("nv_block_quantize");
      },
      py::arg("input"),
      py::arg("global_scale") = py::none(),
      py::arg("swizzle_block_scales") = false,
      py::arg("block_size") = 16,
      py::arg("dtype") = DataType::Float4_e2m1fn,
      blackwell_only);
  ops.def(
      "nv_grouped_block_quantize",
      [](const Tensor&, const Tensor&, const Tensor&, const MaybeTensor&, int64_t, DataType)
          -> py::tuple { needsBlackwell("nv_grouped_block_quantize"); },
      py::arg("input"),
      py::arg("input_offsets"),
      py::arg("output_offsets"),
      py::arg("global_scale") = py::none(),
      py::arg("block_size") = 16,
      py::arg("dtype") = DataType::Float4_e2m1fn,
      blackwell_only);
  ops.def(
      "preprocess_grouped_matmul_input_sf",
      [](const Tensor&, const Tensor&, const Tensor&) -> NewTensor {
        needsBlackwell("preprocess_grouped_matmul_input_sf");
      },
      py::arg("input"),
      py::arg("input_offsets"),
      py::arg("output_offsets"),
      blackwell_only);
}

} // namespace

void bindMatmulOps(py::module_& ops) {
  ops.def(
      "matmul",
      [](const Tensor& arg1, const Tensor& arg2) {
        OpCall call("matmul");
        TensorView* a = call(arg1);
        return NewTensor{matmul(a, call(arg2))};
      },
      py::arg("arg1"),
      py::arg("arg2"),
      R"(Matrix product with the shape rules of torch.matmul: 1-D operands lose their dim, leading dims broadcast.

RuntimeError: a 0-dim operand, dtypes that differ, inner sizes that differ.)");
  ops.def(
      "linear",
      [](const Tensor& arg1, const Tensor& arg2, const std::optional<Tensor>& bias) {
        OpCall call("linear");
        TensorView* in = call(arg1);
        TensorView* weight = call(arg2);
        return NewTensor{linear(in, weight, call(bias))};
      },
      py::arg("arg1"),
      py::arg("arg2"),
      py::arg("bias") = py::none(),
      R"(arg1 [..., k] times the transpose of arg2 [n, k], plus bias [n]: [..., n].

RuntimeError: dtypes that differ, ranks or sizes that do not fit.)");
  bindGrouped(ops);
  ops.def(
      "scaled_mm",
      [](const Tensor& mat1,
         const Tensor& mat2,
         const Tensor& scale1,
         const Tensor& scale2,
         const std::optional<Tensor>& alpha,
         const std::optional<Tensor>& bias,
         const std::optional<Tensor>& beta,
         DataType dtype,
         int64_t output_block_scale_size,
         DataType,
         bool output_gamma) {
        OpCall call("scaled_mm");
        refuseBlockOutputs("scaled_mm", output_block_scale_size, output_gamma);
        NVF_CHECK(
            !beta.has_value() || bias.has_value(), "scaled_mm: beta scales bias, which is absent");
        return scaled(
            {.mat1 = call(mat1),
             .mat2 = call(mat2),
             .offsets = nullptr,
             .scale1 = call(scale1),
             .scale2 = call(scale2),
             .alpha = call(alpha),
             .bias = call(bias),
             .beta = call(beta)},
            dtype);
      },
      py::arg("mat1"),
      py::arg("mat2"),
      py::arg("scale1"),
      py::arg("scale2"),
      py::arg("alpha") = py::none(),
      py::arg("bias") = py::none(),
      py::arg("beta") = py::none(),
      py::arg("dtype") = DataType::BFloat16,
      py::arg("output_block_scale_size") = 0,
      py::arg("output_block_scale_dtype") = DataType::BFloat16,
      py::arg("output_gamma") = false,
      R"((out, None, None) with out = (mat1 * scale1) @ (mat2 * scale2) * alpha + bias * beta, in `dtype`.

RuntimeError: block or gamma outputs, beta without bias, ranks, sizes or dtypes that do not fit.)");
  bindBlackwellOps(ops);
}

} // namespace nvfuser::bindings
