"""Rows for pointwise ops: tables of plain names first, then the ops that need a few nodes.

ATen casts operands to one common dtype, computes (half types in float) and casts to the result dtype. Our builders
promote by nearly the same rules; where they differ (an int tensor with a Python float is float64 for us and float32
for ATen) the operands are cast here first, so that results equal eager's to the last bit wherever the arithmetic does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind
from torch._prims_common import elementwise_dtypes
from torch.fx import Node

from .op_table import (
    Row,
    add_row,
    argument,
    aten,
    is_scalar_value,
    meta_of,
    overloads,
    prims,
    schema_arguments,
    translates,
)

#: our name -> ATen packets with a `default` overload of one tensor; results may be bool or float.
UNARY_KEEP = ["abs", "relu", "silu", "neg"]
#: these jump: on a value that eager would have rounded first they could give another result
UNARY_JUMPS = ["ceil", "floor", "trunc", "round", "sign", "frac"]
UNARY_TO_FLOAT = [
    *[
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "erfinv",
        "exp",
        "exp2",
        "expm1",
    ],
    *[
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "reciprocal",
        "rsqrt",
        "sigmoid",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
    ],
]
UNARY_BOOL = ["isfinite", "isinf", "isnan", "isneginf", "isposinf", "signbit", "logical_not"]

#: ATen packet -> our name; overloads Tensor and Scalar.
BINARY = {
    "mul": "mul",
    "fmod": "fmod",
    "remainder": "remainder",
    "maximum": "maximum",
    "minimum": "minimum",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}
BINARY_TO_FLOAT = {"atan2": "atan2"}
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]
#: rounding keeps a sign, so beside the number 0 they take what is not rounded yet
SIGN_TESTS = ["lt", "le", "gt", "ge"]
LOGICAL = ["logical_and", "logical_or"]


def common_dtype(node: Node, operands: list[Any], kind: Kind = Kind.DEFAULT) -> torch.dtype:
    """The dtype that ATen casts `operands` (fx nodes or Python numbers of `node`) to before computing."""
    values = [meta_of(v) for v in operands if v is not None]
    values = [_as_number(v) if not isinstance(v, torch.Tensor) else v for v in values]
    return elementwise_dtypes(*values, type_promotion_kind=kind)[1]


def _as_number(value: Any) -> Any:
    # Symbolic numbers promote by their type alone.
    if isinstance(value, torch.SymInt):
        return 1
    if isinstance(value, torch.SymFloat):
        return 1.0
    return value


def promote(ctx: Any, node: Node, indices: list[int], lowered: list[Any], kind: Kind = Kind.DEFAULT) -> list[Any]:
    """Casts the tensor operands among `lowered` to ATen's common dtype; `indices` are their schema positions."""
    operands = [schema_arguments(node)[i] for i in indices]
    dtype = common_dtype(node, operands, kind)
    out = []
    for operand, value in zip(operands, lowered):
        meta = meta_of(operand)
        out.append(ctx.cast(value, dtype) if isinstance(meta, torch.Tensor) and meta.dtype != dtype else value)
    return out


def _add_unary(packet: str, name: str, kind: Kind, halves: str = "rounded") -> None:
    def translate(ctx: Any, x: Any, *_: Any) -> Any:
        (x,) = promote(ctx, ctx.node, [0], [x], kind)
        return getattr(ctx.ops, name)(x)

    for target in overloads(packet, "default"):
        add_row(Row(target, translate, halves=halves))


def _add_binary(packet: str, name: str, kind: Kind, check: Any = None, halves: str = "rounded") -> None:
    def translate(ctx: Any, a: Any, b: Any) -> Any:
        a, b = promote(ctx, ctx.node, [0, 1], [a, b], kind)
        return getattr(ctx.ops, name)(a, b)

    for target in overloads(packet, "default", "Tensor", "Scalar"):
        add_row(Row(target, translate, check=check, halves=halves))


def _needs_tensor_first(node: Node) -> str | None:
    return "scalar first operand" if is_scalar_value(meta_of(node.args[0])) else None


def _check_remainder(node: Node) -> str | None:
    # On the CPU a divisor of 0 raises and the smallest int by -1 wraps, as in eager; GPUs do not raise.
    meta = node.meta["val"]
    if meta.dtype == torch.bool or (not meta.dtype.is_floating_point and meta.device.type != "cpu"):
        return "remainder of integers on a GPU" if meta.dtype != torch.bool else "remainder of bools"
    return _needs_tensor_first(node)


def _bool_or_int(node: Node) -> str | None:
    return "no float operands" if node.meta["val"].dtype.is_floating_point else None


for _name in UNARY_KEEP:
    _add_unary(_name, _name, Kind.DEFAULT, halves="wide")
for _name in UNARY_JUMPS:
    _add_unary(_name, _name, Kind.DEFAULT)
for _name in UNARY_TO_FLOAT:
    _add_unary(_name, _name, Kind.INT_TO_FLOAT, halves="wide")
for _name in UNARY_BOOL:
    _add_unary(_name, _name, Kind.DEFAULT)
for _packet, _name in BINARY.items():
    _check = _check_remainder if _name in ("fmod", "remainder") else _needs_tensor_first
    _add_binary(
        _packet, _name, Kind.DEFAULT, _check, halves="wide" if _name in ("mul", "maximum", "minimum") else "rounded"
    )
for _packet, _name in BINARY_TO_FLOAT.items():
    _add_binary(_packet, _name, Kind.INT_TO_FLOAT, halves="wide")
for _name in [*COMPARE, *LOGICAL]:
    _add_binary(_name, _name, Kind.DEFAULT, halves="sign" if _name in SIGN_TESTS else "rounded")


@translates(aten.bitwise_not.default, check=_bool_or_int)
def _bitwise_not(ctx, x):
    return ctx.ops.bitwise_not(x)


@translates(aten.logical_xor.default)
def _logical_xor(ctx, a, b):
    a, b = promote(ctx, ctx.node, [0, 1], [a, b])
    return ctx.ops.bitwise_xor(ctx.ops.ne(a, 0), ctx.ops.ne(b, 0))


def _scaled(ctx: Any, value: Any, alpha: Any) -> Any:
    if isinstance(alpha, (int, float)):
        if alpha == 1:
            return value
        if isinstance(value, (int, float)):
            return value * alpha
    return ctx.ops.mul(value, alpha)


@translates(aten.add.Tensor, aten.add.Scalar, halves="wide")
def _add(ctx, a, b, alpha=1):
    a, b = promote(ctx, ctx.node, [0, 1], [a, b])
    return ctx.ops.add(a, _scaled(ctx, b, alpha))


@translates(aten.sub.Tensor, aten.sub.Scalar, halves="wide")
def _sub(ctx, a, b, alpha=1):
    a, b = promote(ctx, ctx.node, [0, 1], [a, b])
    return ctx.ops.sub(a, _scaled(ctx, b, alpha))


@translates(aten.rsub.Tensor, aten.rsub.Scalar, halves="wide")
def _rsub(ctx, a, b, alpha=1):
    a, b = promote(ctx, ctx.node, [0, 1], [a, b])
    return ctx.ops.sub(b, _scaled(ctx, a, alpha))


def _check_div(node: Node) -> str | None:
    # torch 2.6 traces an integer tensor over a symbolic number as an integer, and runs it as a float.
    dtype = node.meta["val"].dtype
    return None if dtype.is_floating_point or dtype.is_complex else "true division traced as an integer"


@translates(aten.div.Tensor, aten.div.Scalar, check=_check_div, halves="wide")
def _div(ctx, a, b):
    a, b = promote(ctx, ctx.node, [0, 1], [a, b], Kind.INT_TO_FLOAT)
    return ctx.ops.truediv(a, b)


def _check_div_mode(node: Node) -> str | None:
    mode = argument(node, "rounding_mode")
    is_float = node.meta["val"].dtype.is_floating_point
    if mode == "floor" and is_float:
        return "floor division"
    return _check_remainder(node) if mode is not None and not is_float else None


@translates(aten.div.Tensor_mode, aten.div.Scalar_mode, check=_check_div_mode)
def _div_mode(ctx, a, b, rounding_mode):
    kind = Kind.INT_TO_FLOAT if rounding_mode is None else Kind.DEFAULT
    a, b = promote(ctx, ctx.node, [0, 1], [a, b], kind)
    if not ctx.node.meta["val"].dtype.is_floating_point:
        return _int_quotient(ctx, a, b, rounding_mode)
    quotient = ctx.ops.truediv(a, b)
    return quotient if rounding_mode is None else ctx.ops.trunc(quotient)


def _int_quotient(ctx: Any, a: Any, b: Any, rounding_mode: str) -> Any:
    quotient = ctx.ops.div(a, b)
    if rounding_mode == "trunc":
        return quotient
    rest = ctx.ops.sub(a, ctx.ops.mul(quotient, b))
    is_above = ctx.ops.logical_and(ctx.ops.ne(rest, 0), ctx.ops.ne(ctx.ops.lt(rest, 0), ctx.ops.lt(b, 0)))
    return ctx.ops.where(is_above, ctx.ops.sub(quotient, 1), quotient)


def _check_floor_divide(node: Node) -> str | None:
    return "floor division" if node.meta["val"].dtype.is_floating_point else _check_remainder(node)


@translates(*overloads("floor_divide", "default", "Scalar"), check=_check_floor_divide)
def _floor_divide(ctx, a, b):
    a, b = promote(ctx, ctx.node, [0, 1], [a, b])
    return _int_quotient(ctx, a, b, "floor")


def _check_pow(node: Node) -> str | None:
    # An int to a negative power must raise, which depends on values.
    return None if node.meta["val"].dtype.is_floating_point else "integer power"


@translates(aten.pow.Tensor_Scalar, aten.pow.Tensor_Tensor, aten.pow.Scalar, check=_check_pow, halves="wide")
def _pow(ctx, a, b):
    a, b = promote(ctx, ctx.node, [0, 1], [a, b])
    return ctx.ops.pow(a, b)


@translates(aten.square.default, halves="wide")
def _square(ctx, x):
    return ctx.ops.mul(x, x)


@translates(aten.where.self, halves="wide")
def _where(ctx, condition, a, b):
    a, b = promote(ctx, ctx.node, [1, 2], [a, b])
    return ctx.ops.where(condition, a, b)


@translates(aten.masked_fill.Scalar, aten.masked_fill.Tensor, halves="wide")
def _masked_fill(ctx, x, mask, value):
    x_meta = meta_of(ctx.node.args[0])
    if isinstance(meta_of(ctx.node.args[2]), torch.Tensor):
        value = ctx.cast(value, x_meta.dtype)
    # A fill value of another kind is converted to the dtype of the tensor, as ATen does.
    elif isinstance(value, (bool, int, float)):
        value = _constant_of(value, x_meta.dtype)
    return ctx.ops.where(mask, value, x)


def _constant_of(value: Any, dtype: torch.dtype) -> Any:
    if dtype == torch.bool:
        return bool(value)
    return float(value) if dtype.is_floating_point else int(value)


@translates(aten.clamp.default, halves="wide")
def _clamp(ctx, x, low=None, high=None):
    (x,) = promote(ctx, ctx.node, [0, 1, 2], [x, low, high])[:1]
    return ctx.ops.clamp(x, low, high)


@translates(aten.clamp.Tensor, halves="wide")
def _clamp_tensor(ctx, x, low=None, high=None):
    x, low, high = promote(ctx, ctx.node, [0, 1, 2], [x, low, high])
    x = x if low is None else ctx.ops.maximum(x, low)
    return x if high is None else ctx.ops.minimum(x, high)


@translates(*overloads("clamp_min", "default"), halves="wide")
def _clamp_min(ctx, x, low):
    x, low = promote(ctx, ctx.node, [0, 1], [x, low])
    return ctx.ops.clamp(x, low, None)


@translates(*overloads("clamp_max", "default"), halves="wide")
def _clamp_max(ctx, x, high):
    x, high = promote(ctx, ctx.node, [0, 1], [x, high])
    return ctx.ops.clamp(x, None, high)


def _float_result(node: Node) -> str | None:
    return None if node.meta["val"].dtype.is_floating_point else "integer operands"


@translates(aten.addcmul.default, check=_float_result, halves="wide")
def _addcmul(ctx, a, b, c, value=1):
    a, b, c = promote(ctx, ctx.node, [0, 1, 2], [a, b, c])
    return ctx.ops.add(a, ctx.ops.mul(_scaled(ctx, b, value), c))


@translates(aten.addcdiv.default, check=_float_result, halves="wide")
def _addcdiv(ctx, a, b, c, value=1):
    a, b, c = promote(ctx, ctx.node, [0, 1, 2], [a, b, c])
    return ctx.ops.add(a, ctx.ops.truediv(_scaled(ctx, b, value), c))


@translates(aten.lerp.Tensor, aten.lerp.Scalar, halves="wide")
def _lerp(ctx, start, end, weight):
    return ctx.ops.lerp(start, end, weight)


def _check_cast(node: Node) -> str | None:
    source, result = meta_of(node.args[0]), node.meta["val"]
    if source.device != result.device:
        return f"copy from {source.device} to {result.device}"
    if "pin_memory" in node.kwargs and node.kwargs["pin_memory"]:
        return "pinned memory"
    return None


# What is still float goes on unrounded to a wider type.
@translates(aten._to_copy.default, prims.convert_element_type.default, halves="any", check=_check_cast)
def _to_copy(ctx, x, *_):
    # Not ctx.cast: a copy is asked for even where the dtype stays.
    return ctx.ops.cast(x, ctx.dtype(ctx.node.meta["val"].dtype))
