"""Rows for reductions and scans."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from .op_table import argument, aten, meta_of, overloads, translates


def _dims(ctx: Any, dims: Any) -> list[int]:
    """`dims` as a list of non-negative ints; None, an empty list: all dims."""
    rank = meta_of(ctx.node.args[0]).ndim
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return list(range(rank))
    dims = [dims] if isinstance(dims, int) else list(dims)
    return [d % rank if rank else 0 for d in dims]


def _is_scalar_input(ctx: Any) -> bool:
    return meta_of(ctx.node.args[0]).ndim == 0


def _count(ctx: Any, x: Any, dims: list[int]) -> Any:
    """How many elements one reduction over `dims` adds up: an int, or a Val where a size is symbolic."""
    sizes = meta_of(ctx.node.args[0]).shape
    count: Any = 1
    for dim in dims:
        size = ctx.size(x, dim, sizes[dim])
        if isinstance(count, int) and isinstance(size, int):
            count *= size
        elif isinstance(count, int) and count == 1:
            count = size
        else:
            count = ctx.ops.mul(count, size)
    return count


def _accumulation_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def _check_sum(node: Node) -> str | None:
    # sum(dtype=bool) means "any", and adds nothing up.
    return "bool result" if node.meta["val"].dtype == torch.bool else None


@translates(aten.sum.dim_IntList, check=_check_sum, halves="wide")
def _sum(ctx, x, dims=None, keepdim=False, dtype=None):
    x = ctx.cast(x, _accumulation_dtype(ctx.node.meta["val"].dtype))
    if _is_scalar_input(ctx):
        return ctx.ops.set(x)
    return ctx.ops.sum(x, _dims(ctx, dims), keepdim)


@translates(aten.sum.default, check=_check_sum, halves="wide")
def _sum_all(ctx, x, dtype=None):
    return _sum(ctx, x, None, False, dtype)


@translates(aten.mean.dim, halves="wide")
def _mean(ctx, x, dims=None, keepdim=False, dtype=None):
    x = ctx.cast(x, _accumulation_dtype(ctx.node.meta["val"].dtype))
    if _is_scalar_input(ctx):
        return ctx.ops.set(x)
    dims = _dims(ctx, dims)
    return ctx.ops.truediv(ctx.ops.sum(x, dims, keepdim), _count(ctx, x, dims))


@translates(aten.mean.default, halves="wide")
def _mean_all(ctx, x, dtype=None):
    return _mean(ctx, x, None, False, dtype)


def _check_nonempty(node: Node) -> str | None:
    # Eager raises for a size of 0; a size that is not known to be positive could become 0.
    tensor = meta_of(node.args[0])
    if any(isinstance(size, int) and size == 0 for size in tensor.shape):
        return "empty operand"
    return None


@translates(aten.amax.default, check=_check_nonempty, halves="wide")
def _amax(ctx, x, dims=(), keepdim=False):
    return ctx.ops.set(x) if _is_scalar_input(ctx) else ctx.ops.max(x, _dims(ctx, dims), keepdim)


@translates(aten.amin.default, check=_check_nonempty, halves="wide")
def _amin(ctx, x, dims=(), keepdim=False):
    return ctx.ops.set(x) if _is_scalar_input(ctx) else ctx.ops.min(x, _dims(ctx, dims), keepdim)


@translates(aten.prod.dim_int, check=_check_sum, halves="wide")
def _prod(ctx, x, dim, keepdim=False, dtype=None):
    x = ctx.cast(x, _accumulation_dtype(ctx.node.meta["val"].dtype))
    return ctx.ops.set(x) if _is_scalar_input(ctx) else ctx.ops.prod(x, _dims(ctx, dim), keepdim)


@translates(aten.prod.default, check=_check_sum, halves="wide")
def _prod_all(ctx, x, dtype=None):
    x = ctx.cast(x, _accumulation_dtype(ctx.node.meta["val"].dtype))
    return ctx.ops.set(x) if _is_scalar_input(ctx) else ctx.ops.prod(x, _dims(ctx, None))


def _check_variance(node: Node) -> str | None:
    correction = argument(node, "correction")
    if meta_of(node.args[0]).ndim == 0:
        return "0-dim operand"
    if correction is not None and (correction != int(correction) or correction < 0):
        return f"correction {correction}"
    return None


@translates(aten.var.correction, check=_check_variance, halves="wide")
def _var(ctx, x, dims=None, correction=None, keepdim=False):
    correction = 1 if correction is None else int(correction)
    x = ctx.cast(x, _accumulation_dtype(meta_of(ctx.node.args[0]).dtype))
    return ctx.ops.var(x, _dims(ctx, dims), correction, keepdim)


@translates(aten.var_mean.correction, check=_check_variance, halves="wide")
def _var_mean(ctx, x, dims=None, correction=None, keepdim=False):
    correction = 1 if correction is None else int(correction)
    x = ctx.cast(x, _accumulation_dtype(meta_of(ctx.node.args[0]).dtype))
    return tuple(ctx.ops.var_mean(x, _dims(ctx, dims), correction, keepdim))


def _count_true(ctx: Any, flags: Any, dims: Any, keepdim: bool) -> Any:
    return ctx.ops.sum(ctx.cast(flags, torch.int64), _dims(ctx, dims), keepdim)


@translates(*overloads("any", "default", "dim", "dims"))
def _any(ctx, x, dims=None, keepdim=False):
    flags = ctx.ops.ne(x, 0)
    return flags if _is_scalar_input(ctx) else ctx.ops.gt(_count_true(ctx, flags, dims, keepdim), 0)


@translates(*overloads("all", "default", "dim", "dims"))
def _all(ctx, x, dims=None, keepdim=False):
    flags = ctx.ops.eq(x, 0)
    if _is_scalar_input(ctx):
        return ctx.ops.logical_not(flags)
    return ctx.ops.eq(_count_true(ctx, flags, dims, keepdim), 0)


def _check_scan(node: Node) -> str | None:
    tensor = meta_of(node.args[0])
    if tensor.ndim == 0:
        return "0-dim operand"
    return "bool operand" if node.meta["val"].dtype == torch.bool else None


@translates(aten.cumsum.default, check=_check_scan)
def _cumsum(ctx, x, dim, dtype=None):
    x = ctx.cast(x, ctx.node.meta["val"].dtype)
    return ctx.ops.cumsum(x, _dims(ctx, dim)[0])


@translates(aten.cumprod.default, check=_check_scan)
def _cumprod(ctx, x, dim, dtype=None):
    x = ctx.cast(x, ctx.node.meta["val"].dtype)
    return ctx.ops.cumprod(x, _dims(ctx, dim)[0])
