// Matrix products.
#pragma once

#include <ir/matmul_nodes.h>

namespace nvfuser {

TensorView* matmul(TensorView* a, TensorView* b);
TensorView* linear(TensorView* x, TensorView* weight, TensorView* bias = nullptr);
/// Dense or grouped product of scaled matrices. Without scales the output has mat1's dtype.
TensorView* scaledMatmul(const ScaledMmaOp::Operands& operands, DataType dtype);

} // namespace nvfuser
