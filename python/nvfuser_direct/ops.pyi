# Written by tools/gen_stubs.py from the docstrings of the extension.
"""
The operators of a definition, as fd.ops offers them.
"""
from __future__ import annotations
import collections.abc
import nvfuser_direct._C_DIRECT
import typing
from nvfuser_direct._C_DIRECT import DataType, TensorView, Val
Scalar: typing.TypeAlias = Val | bool | int | float | complex
Operand: typing.TypeAlias = TensorView | Scalar
__all__: list[str] = ['abs', 'acos', 'acosh', 'add', 'addcmul', 'argsort', 'asin', 'asinh', 'atan', 'atan2', 'atanh', 'bitwise_and', 'bitwise_left_shift', 'bitwise_not', 'bitwise_or', 'bitwise_right_shift', 'bitwise_xor', 'broadcast', 'broadcast_in_dim', 'cast', 'cat', 'ceil', 'clamp', 'complex', 'cos', 'cosh', 'cummax', 'cummin', 'cumprod', 'cumsum', 'cutlass_nvfp4_grouped_mm', 'div', 'embedding_fwd', 'eq', 'erf', 'erfc', 'erfcinv', 'erfinv', 'exp', 'exp2', 'expand', 'expm1', 'floor', 'fmod', 'frac', 'full', 'gather', 'gcd', 'ge', 'grouped_mm', 'gt', 'imag', 'index_select', 'iota', 'isfinite', 'isinf', 'isnan', 'isneginf', 'isposinf', 'isreal', 'le', 'lerp', 'lgamma', 'linear', 'log', 'log10', 'log1p', 'log2', 'logical_and', 'logical_not', 'logical_or', 'logical_right_shift', 'lt', 'matmul', 'max', 'maximum', 'min', 'minimum', 'mod', 'mul', 'ne', 'neg', 'nextafter', 'normal', 'nv_block_quantize', 'nv_grouped_block_quantize', 'pad', 'permute', 'pow', 'preprocess_grouped_matmul_input_sf', 'prod', 'rand_like', 'randn_like', 'real', 'reciprocal', 'relu', 'remainder', 'reshape', 'round', 'rsqrt', 'scaled_mm', 'scatter', 'sdpa_bwd', 'sdpa_fwd', 'sdpfa_bwd', 'sdpfa_fwd', 'segment_set', 'select', 'set', 'shape', 'sigmoid', 'sign', 'signbit', 'silu', 'sin', 'sinh', 'size', 'slice', 'sqrt', 'squeeze', 'stride_order', 'sub', 'sum', 'take_along_axis', 'tan', 'tanh', 'threshold', 'topk', 'triu', 'truediv', 'trunc', 'uniform', 'var', 'var_mean', 'welford', 'where']
@typing.overload
def abs(x: TensorView) -> TensorView:
    """
    |x|; of a complex number its modulus, a real.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def abs(x: Scalar) -> Val:
    ...
@typing.overload
def acos(x: TensorView) -> TensorView:
    """
    Inverse cosine, in radians.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def acos(x: Scalar) -> Val:
    ...
@typing.overload
def acosh(x: TensorView) -> TensorView:
    """
    Inverse hyperbolic cosine.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def acosh(x: Scalar) -> Val:
    ...
@typing.overload
def add(a: TensorView, b: Operand) -> TensorView:
    """
    a + b; logical or of Bools.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def add(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def add(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def addcmul(a: TensorView, b: Operand, c: Operand, alpha: Scalar) -> TensorView:
    """
    a + alpha * b * c with a scalar alpha; a, b and c broadcast. Half types become Float.
    """
@typing.overload
def addcmul(a: Operand, b: TensorView, c: Operand, alpha: Scalar) -> TensorView:
    ...
@typing.overload
def addcmul(a: Operand, b: Operand, c: TensorView, alpha: Scalar) -> TensorView:
    ...
@typing.overload
def addcmul(a: Scalar, b: Scalar, c: Scalar, alpha: Scalar) -> Val:
    ...
def argsort(arg: TensorView, dim: int, descending: bool = False, stable: bool = False) -> TensorView:
    """
    The Int indices that sort `arg` along `dim`; zeros of a 0-dim tensor. RuntimeError: a dim out of range.
    """
@typing.overload
def asin(x: TensorView) -> TensorView:
    """
    Inverse sine, in radians.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def asin(x: Scalar) -> Val:
    ...
@typing.overload
def asinh(x: TensorView) -> TensorView:
    """
    Inverse hyperbolic sine.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def asinh(x: Scalar) -> Val:
    ...
@typing.overload
def atan(x: TensorView) -> TensorView:
    """
    Inverse tangent, in radians.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def atan(x: Scalar) -> Val:
    ...
@typing.overload
def atan2(a: TensorView, b: Operand) -> TensorView:
    """
    Angle of the point (b, a), in radians. Real types only.

    Integers, Bool and half types become Float; complex types are kept.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def atan2(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def atan2(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def atanh(x: TensorView) -> TensorView:
    """
    Inverse hyperbolic tangent.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def atanh(x: Scalar) -> Val:
    ...
@typing.overload
def bitwise_and(a: TensorView, b: Operand) -> TensorView:
    """
    Bitwise and.

    RuntimeError for floating and complex operands.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def bitwise_and(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def bitwise_and(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def bitwise_left_shift(a: TensorView, b: Operand) -> TensorView:
    """
    a shifted left by b bits.

    RuntimeError for Bool, floating and complex operands.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def bitwise_left_shift(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def bitwise_left_shift(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def bitwise_not(x: TensorView) -> TensorView:
    """
    Bitwise complement; logical not of a Bool.

    RuntimeError for floating and complex operands.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def bitwise_not(x: Scalar) -> Val:
    ...
@typing.overload
def bitwise_or(a: TensorView, b: Operand) -> TensorView:
    """
    Bitwise or.

    RuntimeError for floating and complex operands.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def bitwise_or(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def bitwise_or(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def bitwise_right_shift(a: TensorView, b: Operand) -> TensorView:
    """
    a shifted right by b bits; the sign bit fills.

    RuntimeError for Bool, floating and complex operands.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def bitwise_right_shift(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def bitwise_right_shift(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def bitwise_xor(a: TensorView, b: Operand) -> TensorView:
    """
    Bitwise exclusive or.

    RuntimeError for floating and complex operands.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def bitwise_xor(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def bitwise_xor(a: Scalar, b: Scalar) -> Val:
    ...
def broadcast(arg: TensorView, is_broadcast_dim: collections.abc.Sequence[bool]) -> TensorView:
    """
    Inserts dims of size 1 where the flag is True; one flag per dim of the result.

    RuntimeError unless the number of False flags is the rank of `arg`.
    """
def broadcast_in_dim(arg: TensorView, shape: typing.Sequence[Val | int], broadcast_dims: typing.Sequence[int]) -> TensorView:
    """
    `arg` seen in `shape`: broadcast_dims[i] is the dim of the result that dim i of `arg` becomes.

    shape: ints and integer Vals; -1 keeps the operand's size. RuntimeError: len(broadcast_dims) is not the rank of `arg`, the
    shape is shorter than that, a dim is out of range or named twice, sizes do not fit.
    """
@typing.overload
def cast(arg: TensorView, dtype: nvfuser_direct._C_DIRECT.DataType) -> TensorView:
    """
    `arg` (TensorView or scalar) as another DataType; a copy when it has that type.

    Complex to real keeps the real part. RuntimeError "Illegal Cast value" where no conversion exists.
    """
@typing.overload
def cast(arg: Scalar, dtype: nvfuser_direct._C_DIRECT.DataType) -> Val:
    ...
def cat(tensors: collections.abc.Sequence[TensorView], dim: int = 0, manual_padding: bool = False) -> TensorView:
    """
    Joins tensors of one dtype and rank along `dim` (negative: from the end).

    manual_padding: the tensors have the result's size already and are 0 outside their part. One tensor: a copy.
    RuntimeError: no tensors, dtypes, ranks or sizes that differ, a dim out of range.
    """
@typing.overload
def ceil(x: TensorView) -> TensorView:
    """
    Smallest integer not below x, in x's type.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def ceil(x: Scalar) -> Val:
    ...
@typing.overload
def clamp(x: TensorView, min: Scalar | None=None, max: Scalar | None=None) -> TensorView:
    """
    min(max(x, min), max) with scalar bounds, either of which may be None. dtype of x.
    """
@typing.overload
def clamp(x: Scalar, min: Scalar | None=None, max: Scalar | None=None) -> Val:
    ...
@typing.overload
def complex(real: TensorView, imag: Operand) -> TensorView:
    """
    real + 1j * imag: ComplexFloat of two Floats, ComplexDouble of two Doubles.

    Both operands are TensorViews or both scalars, of one real dtype; else RuntimeError.
    """
@typing.overload
def complex(real: Operand, imag: TensorView) -> TensorView:
    ...
@typing.overload
def complex(real: Scalar, imag: Scalar) -> Val:
    ...
@typing.overload
def cos(x: TensorView) -> TensorView:
    """
    Cosine of x in radians.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def cos(x: Scalar) -> Val:
    ...
@typing.overload
def cosh(x: TensorView) -> TensorView:
    """
    Hyperbolic cosine.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def cosh(x: Scalar) -> Val:
    ...
def cummax(arg: TensorView, dim: int, init: Scalar | None = None) -> TensorView:
    """
    Running maximum along `dim`, inclusive; shape and dtype of `arg`.

    init: a scalar that is combined before the first element. RuntimeError: a dim out of range, a 0-dim operand.
    """
def cummin(arg: TensorView, dim: int, init: Scalar | None = None) -> TensorView:
    """
    Running minimum along `dim`, inclusive; shape and dtype of `arg`.

    init: a scalar that is combined before the first element. RuntimeError: a dim out of range, a 0-dim operand.
    """
def cumprod(arg: TensorView, dim: int, init: Scalar | None = None) -> TensorView:
    """
    Running product along `dim`, inclusive; shape and dtype of `arg`.

    init: a scalar that is combined before the first element. RuntimeError: a dim out of range, a 0-dim operand.
    """
def cumsum(arg: TensorView, dim: int, init: Scalar | None = None) -> TensorView:
    """
    Running sum along `dim`, inclusive; shape and dtype of `arg`.

    init: a scalar that is combined before the first element. RuntimeError: a dim out of range, a 0-dim operand.
    """
def cutlass_nvfp4_grouped_mm(mat1: TensorView, mat2: TensorView, scale1: TensorView, scale2: TensorView, alpha: TensorView, problem_sizes: TensorView, expert_offsets: TensorView, sf_offsets: TensorView, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.BFloat16) -> TensorView:
    """
    Needs CUTLASS kernels for Blackwell devices, which this build does not have: raises NotImplementedError.
    """
@typing.overload
def div(a: TensorView, b: Operand) -> TensorView:
    """
    a / b; of integers the quotient truncated toward zero.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def div(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def div(a: Scalar, b: Scalar) -> Val:
    ...
def embedding_fwd(input: TensorView, weight: TensorView, padding_idx: Scalar | None = None, max_norm: Scalar | None = None, norm_type: Scalar | None = None, scale_grad_by_freq: Scalar | None = None, sparse: Scalar | None = None) -> TensorView:
    """
    Rows of `weight` (2-D) that the integer tensor `input` names; shape of input + [weight.size(1)].

    max_norm, norm_type (None_: 2.0): rows are scaled down to that norm. The other options act on gradients only.
    RuntimeError: weight not 2-D, input not integer.
    """
@typing.overload
def eq(a: TensorView, b: Operand) -> TensorView:
    """
    a == b.

    The result is Bool.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def eq(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def eq(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def erf(x: TensorView) -> TensorView:
    """
    Error function. Real types only.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def erf(x: Scalar) -> Val:
    ...
@typing.overload
def erfc(x: TensorView) -> TensorView:
    """
    Complementary error function. Real types only.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def erfc(x: Scalar) -> Val:
    ...
@typing.overload
def erfcinv(x: TensorView) -> TensorView:
    """
    Inverse of erfc. Real types only.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def erfcinv(x: Scalar) -> Val:
    ...
@typing.overload
def erfinv(x: TensorView) -> TensorView:
    """
    Inverse of erf. Real types only.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def erfinv(x: Scalar) -> Val:
    ...
@typing.overload
def exp(x: TensorView) -> TensorView:
    """
    e to the power x.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def exp(x: Scalar) -> Val:
    ...
@typing.overload
def exp2(x: TensorView) -> TensorView:
    """
    2 to the power x.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def exp2(x: Scalar) -> Val:
    ...
def expand(arg: TensorView, shape: typing.Sequence[Val | int]) -> TensorView:
    """
    Sees dims of size 1 as longer ones and may add leading dims; -1 keeps a size. RuntimeError: a shape that is shorter than the rank or does not fit.
    """
@typing.overload
def expm1(x: TensorView) -> TensorView:
    """
    exp(x) - 1 without cancellation near 0.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def expm1(x: Scalar) -> Val:
    ...
@typing.overload
def floor(x: TensorView) -> TensorView:
    """
    Largest integer not above x, in x's type.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def floor(x: Scalar) -> Val:
    ...
@typing.overload
def fmod(a: TensorView, b: Operand) -> TensorView:
    """
    Remainder with the sign of a.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def fmod(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def fmod(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def frac(x: TensorView) -> TensorView:
    """
    x - trunc(x). Floating types only.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def frac(x: Scalar) -> Val:
    ...
def full(shape: typing.Sequence[Val | int], fill_value: Scalar, dtype: nvfuser_direct._C_DIRECT.DataType) -> TensorView:
    """
    A contiguous tensor filled with a scalar, cast to `dtype`, on the device the fusion runs on.

    shape: ints and integer Vals. RuntimeError: a negative size, no cast from the value to dtype.
    """
def gather(arg: TensorView, index: TensorView, dim: int) -> TensorView:
    """
    out[.., i, ..] = arg[.., index[.., i, ..], ..] with `i` in dim `dim`; shape of `index`, as torch.gather.

    RuntimeError: ranks that differ, a dim out of range, an index that is not integer.
    """
@typing.overload
def gcd(a: TensorView, b: Operand) -> TensorView:
    """
    Greatest common divisor.

    RuntimeError for Bool, floating and complex operands.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def gcd(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def gcd(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def ge(a: TensorView, b: Operand) -> TensorView:
    """
    a >= b.

    The result is Bool.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def ge(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def ge(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def grouped_mm(mat1: TensorView, mat2: TensorView, offsets: TensorView) -> TensorView:
    """
    Products of groups that end at the cumulative `offsets` (1-D Int32, length g).

    [m,k] x [k,n] -> [g,m,n] (k is grouped); [g,m,k] x [k,n] -> [m,n] (n is grouped); [m,k] x [g,k,n] -> [m,n] (m is
    grouped). dtype of mat1. RuntimeError: other ranks, dtypes or sizes that do not fit.
    """
@typing.overload
def grouped_mm(mat1: TensorView, mat2: TensorView, offsets: TensorView, scale1: TensorView, scale2: TensorView, alpha: TensorView | None = None, bias: TensorView | None = None, beta: TensorView | None = None, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.BFloat16, output_block_scale_size: int = 0, output_block_scale_dtype: nvfuser_direct._C_DIRECT.DataType = DataType.BFloat16, output_gamma: bool = False) -> tuple[TensorView, typing.Any, typing.Any]:
    """
    (out, None, None): grouped products of scaled matrices, (mat1 * scale1) @ (mat2 * scale2) * alpha + bias * beta.

    The scales have the larger rank of their matrix and the result. RuntimeError: block or gamma outputs, ranks or dtypes that
    do not fit.
    """
@typing.overload
def gt(a: TensorView, b: Operand) -> TensorView:
    """
    a > b.

    The result is Bool.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def gt(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def gt(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def imag(x: TensorView) -> TensorView:
    """
    Imaginary part of a complex value, as the real type.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def imag(x: Scalar) -> Val:
    ...
def index_select(arg: TensorView, index: TensorView, dim: int) -> TensorView:
    """
    Rows `index` of dim `dim`, which gets the length of `index`.

    index: integer, 1-D (0-D counts as one row). RuntimeError: a dim out of range, another rank or dtype of index.
    """
def iota(length: Scalar, start: Scalar | None = None, step: Scalar | None = None, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Int) -> TensorView:
    """
    start, start + step, ...: a 1-D tensor of `length` elements; None: start 0, step 1.

    RuntimeError: a length that is no integer, start or step of another kind than dtype, a step that is 0 or not finite.
    """
@typing.overload
def isfinite(x: TensorView) -> TensorView:
    """
    True where x is neither infinite nor NaN.

    The result is Bool.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def isfinite(x: Scalar) -> Val:
    ...
@typing.overload
def isinf(x: TensorView) -> TensorView:
    """
    True where x is infinite.

    The result is Bool.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def isinf(x: Scalar) -> Val:
    ...
@typing.overload
def isnan(x: TensorView) -> TensorView:
    """
    True where x is NaN.

    The result is Bool.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def isnan(x: Scalar) -> Val:
    ...
@typing.overload
def isneginf(x: TensorView) -> TensorView:
    """
    True where x is minus infinity. Real types only.

    The result is Bool.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def isneginf(x: Scalar) -> Val:
    ...
@typing.overload
def isposinf(x: TensorView) -> TensorView:
    """
    True where x is plus infinity. Real types only.

    The result is Bool.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def isposinf(x: Scalar) -> Val:
    ...
@typing.overload
def isreal(x: TensorView) -> TensorView:
    """
    True where the imaginary part is 0.

    The result is Bool.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def isreal(x: Scalar) -> Val:
    ...
@typing.overload
def le(a: TensorView, b: Operand) -> TensorView:
    """
    a <= b.

    The result is Bool.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def le(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def le(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def lerp(a: TensorView, b: Operand, c: Operand) -> TensorView:
    """
    lerp(start, end, weight): start + weight * (end - start); all broadcast.

    The result has the common dtype of the operands; half types become Float.
    """
@typing.overload
def lerp(a: Operand, b: TensorView, c: Operand) -> TensorView:
    ...
@typing.overload
def lerp(a: Operand, b: Operand, c: TensorView) -> TensorView:
    ...
@typing.overload
def lerp(a: Scalar, b: Scalar, c: Scalar) -> Val:
    ...
@typing.overload
def lgamma(x: TensorView) -> TensorView:
    """
    Logarithm of |Gamma(x)|. Real types only.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def lgamma(x: Scalar) -> Val:
    ...
def linear(arg1: TensorView, arg2: TensorView, bias: TensorView | None = None) -> TensorView:
    """
    arg1 [..., k] times the transpose of arg2 [n, k], plus bias [n]: [..., n].

    RuntimeError: dtypes that differ, ranks or sizes that do not fit.
    """
@typing.overload
def log(x: TensorView) -> TensorView:
    """
    Natural logarithm.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def log(x: Scalar) -> Val:
    ...
@typing.overload
def log10(x: TensorView) -> TensorView:
    """
    Logarithm to base 10.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def log10(x: Scalar) -> Val:
    ...
@typing.overload
def log1p(x: TensorView) -> TensorView:
    """
    log(1 + x) without cancellation near 0.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def log1p(x: Scalar) -> Val:
    ...
@typing.overload
def log2(x: TensorView) -> TensorView:
    """
    Logarithm to base 2.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def log2(x: Scalar) -> Val:
    ...
@typing.overload
def logical_and(a: TensorView, b: Operand) -> TensorView:
    """
    True where both are not 0.

    Operands are taken as Bool; the result is Bool.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def logical_and(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def logical_and(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def logical_not(x: TensorView) -> TensorView:
    """
    True where x is 0.

    Operands are taken as Bool; the result is Bool.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def logical_not(x: Scalar) -> Val:
    ...
@typing.overload
def logical_or(a: TensorView, b: Operand) -> TensorView:
    """
    True where one is not 0.

    Operands are taken as Bool; the result is Bool.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def logical_or(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def logical_or(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def logical_right_shift(a: TensorView, b: Operand) -> TensorView:
    """
    a shifted right by b bits; zeros fill, a shift by the width or more gives 0.

    RuntimeError for Bool, floating and complex operands.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def logical_right_shift(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def logical_right_shift(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def lt(a: TensorView, b: Operand) -> TensorView:
    """
    a < b.

    The result is Bool.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def lt(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def lt(a: Scalar, b: Scalar) -> Val:
    ...
def matmul(arg1: TensorView, arg2: TensorView) -> TensorView:
    """
    Matrix product with the shape rules of torch.matmul: 1-D operands lose their dim, leading dims broadcast.

    RuntimeError: a 0-dim operand, dtypes that differ, inner sizes that differ.
    """
@typing.overload
def max(arg: TensorView, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Maximum over all dims: a 0-dim TensorView (a copy of a 0-dim one).

    The dtype is kept and NaN propagates. RuntimeError for complex operands and when `dtype` is given.
    """
@typing.overload
def max(arg: TensorView, dim: int, keepdim: bool = False, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Maximum over one dim (int) or several (list or tuple; negatives count from the end).

    The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
    The dtype is kept and NaN propagates. RuntimeError for complex operands and when `dtype` is given.
    """
@typing.overload
def max(arg: TensorView, dims: typing.Sequence[int], keepdim: bool = False, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Maximum over one dim (int) or several (list or tuple; negatives count from the end).

    The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
    The dtype is kept and NaN propagates. RuntimeError for complex operands and when `dtype` is given.
    """
@typing.overload
def maximum(a: TensorView, b: Operand) -> TensorView:
    """
    The larger; NaN if one is NaN.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def maximum(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def maximum(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def min(arg: TensorView, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Minimum over all dims: a 0-dim TensorView (a copy of a 0-dim one).

    The dtype is kept and NaN propagates. RuntimeError for complex operands and when `dtype` is given.
    """
@typing.overload
def min(arg: TensorView, dim: int, keepdim: bool = False, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Minimum over one dim (int) or several (list or tuple; negatives count from the end).

    The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
    The dtype is kept and NaN propagates. RuntimeError for complex operands and when `dtype` is given.
    """
@typing.overload
def min(arg: TensorView, dims: typing.Sequence[int], keepdim: bool = False, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Minimum over one dim (int) or several (list or tuple; negatives count from the end).

    The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
    The dtype is kept and NaN propagates. RuntimeError for complex operands and when `dtype` is given.
    """
@typing.overload
def minimum(a: TensorView, b: Operand) -> TensorView:
    """
    The smaller; NaN if one is NaN.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def minimum(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def minimum(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def mod(a: TensorView, b: Operand) -> TensorView:
    """
    Remainder with the sign of a.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def mod(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def mod(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def mul(a: TensorView, b: Operand) -> TensorView:
    """
    a * b; logical and of Bools.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def mul(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def mul(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def ne(a: TensorView, b: Operand) -> TensorView:
    """
    a != b.

    The result is Bool.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def ne(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def ne(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def neg(x: TensorView) -> TensorView:
    """
    -x.

    The result has the common dtype of the operands; half types become Float.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def neg(x: Scalar) -> Val:
    ...
@typing.overload
def nextafter(a: TensorView, b: Operand) -> TensorView:
    """
    The float after a in the direction of b.

    The result is Float or Double. RuntimeError for integer, Bool and complex operands.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def nextafter(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def nextafter(a: Scalar, b: Scalar) -> Val:
    ...
def normal(mean: Scalar, std: Scalar, shape: typing.Sequence[Val | int], *, rng_seed: Scalar | None = None, rng_offset: Scalar | None = None, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Float) -> TensorView:
    """
    Normal random numbers with a mean and a standard deviation in a new tensor of `shape` (ints and integer Vals), on the device the fusion runs on.

    rng_seed, rng_offset: integer scalars that fix the numbers, both or neither; without them the op takes 4 steps of torch's
    generator. RuntimeError: a dtype that is not floating, one of seed and offset without the other.
    """
def nv_block_quantize(input: TensorView, global_scale: TensorView | None = None, swizzle_block_scales: bool = False, block_size: int = 16, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Float4_e2m1fn) -> tuple:
    """
    Needs CUTLASS kernels for Blackwell devices, which this build does not have: raises NotImplementedError.
    """
def nv_grouped_block_quantize(input: TensorView, input_offsets: TensorView, output_offsets: TensorView, global_scale: TensorView | None = None, block_size: int = 16, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Float4_e2m1fn) -> tuple:
    """
    Needs CUTLASS kernels for Blackwell devices, which this build does not have: raises NotImplementedError.
    """
def pad(arg: TensorView, pad_widths: typing.Sequence[Val | int], value: Scalar | None = None) -> TensorView:
    """
    Adds `value` (None_: 0) before and after: pairs (before, after), innermost dim first; negatives crop.

    RuntimeError: an odd count or more than two per dim, a size below 0, a value of another kind of dtype than `arg`.
    """
def permute(arg: TensorView, dims: typing.Sequence[int]) -> TensorView:
    """
    Dim i of the result is dim dims[i] of `arg`. RuntimeError: wrong count, a dim out of range or twice.
    """
@typing.overload
def pow(a: TensorView, b: Operand) -> TensorView:
    """
    a to the power b.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def pow(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def pow(a: Scalar, b: Scalar) -> Val:
    ...
def preprocess_grouped_matmul_input_sf(input: TensorView, input_offsets: TensorView, output_offsets: TensorView) -> TensorView:
    """
    Needs CUTLASS kernels for Blackwell devices, which this build does not have: raises NotImplementedError.
    """
@typing.overload
def prod(arg: TensorView, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Product over all dims: a 0-dim TensorView (a copy of a 0-dim one).

    Bool and integers become Int; with `dtype` the operand is cast first. Empty dims give the identity.
    """
@typing.overload
def prod(arg: TensorView, dim: int, keepdim: bool = False, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Product over one dim (int) or several (list or tuple; negatives count from the end).

    The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
    Bool and integers become Int; with `dtype` the operand is cast first. Empty dims give the identity.
    """
@typing.overload
def prod(arg: TensorView, dims: typing.Sequence[int], keepdim: bool = False, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Product over one dim (int) or several (list or tuple; negatives count from the end).

    The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
    Bool and integers become Int; with `dtype` the operand is cast first. Empty dims give the identity.
    """
def rand_like(x: TensorView) -> TensorView:
    """
    Uniform random numbers in [0, 1), in the shape and dtype of a floating TensorView.
    """
def randn_like(x: TensorView) -> TensorView:
    """
    Standard normal random numbers, in the shape and dtype of a floating TensorView.
    """
@typing.overload
def real(x: TensorView) -> TensorView:
    """
    Real part of a complex value; a copy of a real one.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def real(x: Scalar) -> Val:
    ...
@typing.overload
def reciprocal(x: TensorView) -> TensorView:
    """
    1 / x.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def reciprocal(x: Scalar) -> Val:
    ...
@typing.overload
def relu(x: TensorView) -> TensorView:
    """
    max(x, 0); NaN stays NaN. Real types only.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def relu(x: Scalar) -> Val:
    ...
@typing.overload
def remainder(a: TensorView, b: Operand) -> TensorView:
    """
    Remainder with the sign of b.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def remainder(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def remainder(a: Scalar, b: Scalar) -> Val:
    ...
def reshape(arg: TensorView, new_shape: typing.Sequence[Val | int]) -> TensorView:
    """
    The same elements in row-major order under another shape (ints and integer Vals).

    At most one -1, which stands for what is left. RuntimeError: two of them, another negative size, an element count that
    differs.
    """
@typing.overload
def round(x: TensorView) -> TensorView:
    """
    Nearest integer, ties to even, in x's type.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def round(x: Scalar) -> Val:
    ...
@typing.overload
def rsqrt(x: TensorView) -> TensorView:
    """
    1 / sqrt(x).

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def rsqrt(x: Scalar) -> Val:
    ...
def scaled_mm(mat1: TensorView, mat2: TensorView, scale1: TensorView, scale2: TensorView, alpha: TensorView | None = None, bias: TensorView | None = None, beta: TensorView | None = None, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.BFloat16, output_block_scale_size: int = 0, output_block_scale_dtype: nvfuser_direct._C_DIRECT.DataType = DataType.BFloat16, output_gamma: bool = False) -> tuple[TensorView, typing.Any, typing.Any]:
    """
    (out, None, None) with out = (mat1 * scale1) @ (mat2 * scale2) * alpha + bias * beta, in `dtype`.

    RuntimeError: block or gamma outputs, beta without bias, ranks, sizes or dtypes that do not fit.
    """
def scatter(arg: TensorView, index: TensorView, src: Operand, dim: int) -> TensorView:
    """
    A copy of `arg` in which the places that `index` names along `dim` hold `src`.

    src: a TensorView of the rank of index, or a scalar. Of several writes to one place an unspecified one wins.
    RuntimeError: ranks or dtypes that differ, a dim out of range, an index that is not integer.
    """
def sdpa_bwd(grad_output: TensorView, query: TensorView, key: TensorView, value: TensorView, output: TensorView, logsumexp: TensorView, dropout_p: Operand | None, is_causal: Operand | None, philox_seed: TensorView, philox_offset: TensorView, scale: Operand | None, bias: Operand | None = None, mask: Operand | None = None, *, bias_grad: bool = False, causal_alignment: str = 'top_left', backend: str = 'auto') -> tuple:
    """
    Gradients of sdpa_fwd: (grad_query, grad_key, grad_value), with bias_grad=True also grad_bias.

    Takes the forward's operands and results; dropout_p, is_causal and scale may be None, with the meaning that sdpa_fwd gives
    it. Each gradient has the shape and dtype of its operand.
    RuntimeError: ranks, dtypes or sizes that do not fit, bias_grad without a bias.
    """
def sdpa_fwd(query: TensorView, key: TensorView, value: TensorView, bias: Operand | None = None, mask: Operand | None = None, dropout_p: Operand | None = None, is_causal: Operand | None = None, scale: Operand | None = None, *, causal_alignment: str = 'top_left', backend: str = 'auto', inference: bool = False) -> typing.Any:
    """
    Scaled dot-product attention: softmax(query @ key^T * scale + bias + (0 where mask, else -inf)) @ value.

    query [N*, H, L, E], key [N*, Hk, S, E], value [N*, Hk, S, Ev] of one floating dtype; H is a multiple of Hk (grouped
    queries). bias (floating) and mask (Bool, True keeps) broadcast to [N*, H, L, S]. dropout_p (None_: 0), is_causal (None:
    False) and scale (None_: 1/sqrt(E)) are scalars. causal_alignment "top_left" keeps key j for query i when j <= i,
    "bottom_right" when j <= i + S - L. backend: "auto" or the name of one attention backend.

    Returns (output [N*, H, L, Ev], logsumexp Float [N*, H, L], philox_seed, philox_offset), with inference=True the output
    alone. Rows whose keys are all masked give 0.
    RuntimeError: ranks below 4, ranks, dtypes or sizes that do not fit, dropout_p outside [0, 1], an unknown backend.
    ValueError: an unknown causal_alignment. TypeError: a scalar where a TensorView is expected, or the reverse.
    """
def sdpfa_bwd(grad_output: TensorView, query: TensorView, key: TensorView, value: TensorView, output: TensorView, logsumexp: TensorView, dropout_p: Operand | None, is_causal: Operand | None, philox_seed: TensorView, philox_offset: TensorView, scale: Operand | None) -> tuple:
    """
    Gradients of sdpfa_fwd: (grad_query, grad_key, grad_value), in the shapes and dtypes of the operands. dropout_p, is_causal and scale: scalars or None.
    """
def sdpfa_fwd(query: TensorView, key: TensorView, value: TensorView, bias: Operand | None = None, mask: Operand | None = None, dropout_p: Operand | None = None, is_causal: Operand | None = None, scale: Operand | None = None) -> tuple:
    """
    Attention with the causal diagonal at the bottom right, as flash attention has it; see sdpa_fwd for the operands.

    Returns (output, logsumexp, philox_seed, philox_offset). A scalar in the fourth or fifth place selects the older positional
    form (query, key, value, dropout_p, is_causal, scale).
    """
@typing.overload
def segment_set(x: TensorView) -> TensorView:
    """
    A copy that ends the segment: what comes before it and after it run as different kernels.
    """
@typing.overload
def segment_set(x: Scalar) -> Val:
    ...
def select(arg: TensorView, index: Val, dim: int) -> TensorView:
    """
    Element `index` (an integer Val) of dim `dim`, which goes away. RuntimeError: a dim out of range.
    """
@typing.overload
def set(x: TensorView) -> TensorView:
    """
    A copy of a TensorView or scalar, of the same shape and dtype.
    """
@typing.overload
def set(x: Scalar) -> Val:
    ...
def shape(arg: TensorView) -> list:
    """
    The sizes of all dims, a list of Val.
    """
@typing.overload
def sigmoid(x: TensorView) -> TensorView:
    """
    1 / (1 + exp(-x)).

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def sigmoid(x: Scalar) -> Val:
    ...
@typing.overload
def sign(x: TensorView) -> TensorView:
    """
    -1, 0 or 1; x / |x| of a complex number.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def sign(x: Scalar) -> Val:
    ...
@typing.overload
def signbit(x: TensorView) -> TensorView:
    """
    True where the sign bit is set, -0.0 included. Real types only.

    The result is Bool.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def signbit(x: Scalar) -> Val:
    ...
@typing.overload
def silu(x: TensorView) -> TensorView:
    """
    x * sigmoid(x). Floating and complex types.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def silu(x: Scalar) -> Val:
    ...
@typing.overload
def sin(x: TensorView) -> TensorView:
    """
    Sine of x in radians.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def sin(x: Scalar) -> Val:
    ...
@typing.overload
def sinh(x: TensorView) -> TensorView:
    """
    Hyperbolic sine.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def sinh(x: Scalar) -> Val:
    ...
def size(arg: TensorView, dim: int) -> Val:
    """
    Size of dim `dim` (negative: from the end), a Val. RuntimeError when out of range.
    """
def slice(arg: TensorView, start_indices: typing.Sequence[Val | int], end_indices: typing.Sequence[Val | int], strides: typing.Sequence[Val | int] | None = None, manual_normalization: bool = False) -> TensorView:
    """
    Elements start_indices[i] up to end_indices[i] of every dim i.

    The three sequences are all lists or all tuples of ints and integer Vals, one entry per dim; each stride is 1. Ends are
    clamped to the size unless manual_normalization, with which the caller vouches for 0 <= start <= end <= size.
    RuntimeError: wrong count, a negative start, an end before its start, a stride other than 1. TypeError: lists and tuples
    mixed.
    """
@typing.overload
def sqrt(x: TensorView) -> TensorView:
    """
    Square root.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def sqrt(x: Scalar) -> Val:
    ...
def squeeze(arg: TensorView, dims: typing.Sequence[int], squeeze_expanded: bool = False) -> TensorView:
    """
    Removes dims of size 1; with squeeze_expanded also expanded ones. No dims: a copy.

    RuntimeError: a dim of another size, out of range or named twice.
    """
def stride_order(arg: TensorView, stride_order: typing.Sequence[int]) -> TensorView:
    """
    A copy whose dim i has rank stride_order[i] in memory, 0 = fastest. Empty: a plain copy.

    RuntimeError: wrong count, an entry out of range or twice.
    """
@typing.overload
def sub(a: TensorView, b: Operand) -> TensorView:
    """
    a - b.

    The result has the common dtype of the operands; half types become Float.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def sub(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def sub(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def sum(arg: TensorView, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Sum over all dims: a 0-dim TensorView (a copy of a 0-dim one).

    Bool and integers become Int; with `dtype` the operand is cast first. Empty dims give the identity.
    """
@typing.overload
def sum(arg: TensorView, dim: int, keepdim: bool = False, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Sum over one dim (int) or several (list or tuple; negatives count from the end).

    The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
    Bool and integers become Int; with `dtype` the operand is cast first. Empty dims give the identity.
    """
@typing.overload
def sum(arg: TensorView, dims: typing.Sequence[int], keepdim: bool = False, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Null) -> TensorView:
    """
    Sum over one dim (int) or several (list or tuple; negatives count from the end).

    The reduced dims go away, or have size 1 with keepdim. RuntimeError: no dims, a dim out of range or twice.
    Bool and integers become Int; with `dtype` the operand is cast first. Empty dims give the identity.
    """
def take_along_axis(arg: TensorView, index: TensorView, dim: int) -> TensorView:
    """
    As gather, with the other dims equal or broadcast, as numpy.take_along_axis.

    RuntimeError: ranks that differ, a dim out of range, sizes that do not broadcast, an index that is not integer.
    """
@typing.overload
def tan(x: TensorView) -> TensorView:
    """
    Tangent of x in radians.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def tan(x: Scalar) -> Val:
    ...
@typing.overload
def tanh(x: TensorView) -> TensorView:
    """
    Hyperbolic tangent.

    Integers, Bool and half types become Float; complex types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def tanh(x: Scalar) -> Val:
    ...
@typing.overload
def threshold(x: TensorView, limit: Scalar, value: Scalar) -> TensorView:
    """
    x where x > limit, else value. x: TensorView or scalar; limit and value: scalars. dtype of x.
    """
@typing.overload
def threshold(x: Scalar, limit: Scalar, value: Scalar) -> Val:
    ...
def topk(arg: TensorView, k: Scalar, dim: int = -1, largest: bool = True, sorted: bool = False) -> tuple[TensorView, TensorView]:
    """
    (values, indices) of the k largest (or smallest) elements along `dim`, which gets size k.

    k: an Int scalar. The indices are Int. RuntimeError: a dim out of range, a k of another dtype, a constant k that is
    negative or larger than the size.
    """
def triu(arg: TensorView, diagonal: Scalar = 0) -> TensorView:
    """
    The upper triangle of the last two dims, zeros elsewhere: keeps [i, j] where j - i >= diagonal.

    RuntimeError: rank below 2, a diagonal that is no integer scalar.
    """
@typing.overload
def truediv(a: TensorView, b: Operand) -> TensorView:
    """
    a / b as real numbers.

    Integers, Bool and half types become Float; complex types are kept.
    Operands: TensorViews or scalars; tensors broadcast as in torch. A TensorView if one of them is, else a Val.
    RuntimeError: sizes that do not broadcast, operands of another Fusion.
    """
@typing.overload
def truediv(a: Operand, b: TensorView) -> TensorView:
    ...
@typing.overload
def truediv(a: Scalar, b: Scalar) -> Val:
    ...
@typing.overload
def trunc(x: TensorView) -> TensorView:
    """
    x without its fraction, in x's type.

    The result has the common dtype of the operands; half types are kept.
    Operand: a TensorView of any rank or a scalar; the result is of the same kind and shape.
    """
@typing.overload
def trunc(x: Scalar) -> Val:
    ...
def uniform(minval: Scalar, maxval: Scalar, shape: typing.Sequence[Val | int], *, rng_seed: Scalar | None = None, rng_offset: Scalar | None = None, dtype: nvfuser_direct._C_DIRECT.DataType = DataType.Float) -> TensorView:
    """
    Uniform random numbers in [minval, maxval) in a new tensor of `shape` (ints and integer Vals), on the device the fusion runs on.

    rng_seed, rng_offset: integer scalars that fix the numbers, both or neither; without them the op takes 4 steps of torch's
    generator. RuntimeError: a dtype that is not floating, one of seed and offset without the other.
    """
def var(arg: TensorView, dims: typing.Sequence[int], correction: int = 1, keepdim: bool = False) -> TensorView:
    """
    Variance over `dims` (list or tuple) with divisor max(0, n - correction).

    Half types become Float; complex operands have a real variance. RuntimeError: a negative correction, no dims, a dim out
    of range or twice.
    """
def var_mean(arg: TensorView, dims: typing.Sequence[int], correction: int = 1, keepdim: bool = False) -> tuple[TensorView, TensorView]:
    """
    (variance, mean) over `dims`; see var. RuntimeError for half, fp8 and fp4 types.
    """
def welford(arg: TensorView, dims: typing.Sequence[int]) -> tuple[TensorView, TensorView, TensorView]:
    """
    (mean, sum of squared deviations from it, count) over `dims`, in one pass.

    The count has dtype Index. RuntimeError for a 0-dim operand, no dims, a dim out of range or twice.
    """
@typing.overload
def where(a: TensorView, b: Operand, c: Operand) -> TensorView:
    """
    where(condition, a, b): a where the condition holds, else b; all broadcast.

    condition: Bool, else RuntimeError. The result has the common dtype of a and b; half types are kept.
    """
@typing.overload
def where(a: Operand, b: TensorView, c: Operand) -> TensorView:
    ...
@typing.overload
def where(a: Operand, b: Operand, c: TensorView) -> TensorView:
    ...
@typing.overload
def where(a: Scalar, b: Scalar, c: Scalar) -> Val:
    ...
