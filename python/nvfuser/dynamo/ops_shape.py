"""Rows for views, concatenation, padding and factories."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from .op_table import HALF_DTYPES, argument, aten, is_one, is_static, meta_of, overloads, prims, translates


def _rank(ctx: Any) -> int:
    return meta_of(ctx.node.args[0]).ndim


def _shape_from_meta(ctx: Any, requested: Any) -> list[Any]:
    """The sizes of the result: static ones from the graph, the others as lowered from the call's arguments."""
    result = ctx.node.meta["val"].shape
    requested = list(requested)
    if len(requested) != len(result):
        return requested
    return [int(size) if is_static(size) else asked for size, asked in zip(result, requested)]


@translates(
    aten.view.default,
    aten._unsafe_view.default,
    *overloads("reshape", "default"),
    kind="view",
)
def _view(ctx, x, size):
    return ctx.ops.reshape(x, _shape_from_meta(ctx, size))


@translates(*overloads("_reshape_copy", "default"), halves="any")
def _reshape_copy(ctx, x, size):
    return ctx.ops.reshape(x, _shape_from_meta(ctx, size))


def _check_as_strided(node: Node) -> str | None:
    x, out = meta_of(node.args[0]), node.meta["val"]
    sizes = (*x.shape, *out.shape, *x.stride(), *out.stride())
    if not all(isinstance(s, int) for s in sizes) or argument(node, "storage_offset"):
        return "as_strided that is no reshape"
    same = x.is_contiguous() and out.is_contiguous() and x.numel() == out.numel()
    return None if same else "as_strided that is no reshape"


@translates(aten.as_strided.default, kind="view", check=_check_as_strided)
def _as_strided(ctx, x, size, stride, storage_offset=None):
    # Only gapless to gapless gets here, which is a reshape.
    return ctx.ops.reshape(x, [int(s) for s in size])


@translates(aten.permute.default, kind="view")
def _permute(ctx, x, dims):
    rank = _rank(ctx)
    return ctx.ops.permute(x, [d % rank for d in dims]) if rank else x


@translates(aten.transpose.int, kind="view")
def _transpose(ctx, x, dim0, dim1):
    rank = _rank(ctx)
    order = list(range(rank))
    if rank:
        order[dim0 % rank], order[dim1 % rank] = order[dim1 % rank], order[dim0 % rank]
    return ctx.ops.permute(x, order) if rank else x


@translates(aten.t.default, kind="view")
def _t(ctx, x):
    return ctx.ops.permute(x, [1, 0]) if _rank(ctx) == 2 else x


@translates(aten.expand.default, kind="view")
def _expand(ctx, x, size, implicit=False):
    return ctx.ops.expand(x, _shape_from_meta(ctx, size))


@translates(aten.unsqueeze.default, kind="view")
def _unsqueeze(ctx, x, dim):
    rank = _rank(ctx)
    flags = [False] * (rank + 1)
    flags[dim % (rank + 1)] = True
    return ctx.ops.broadcast(x, flags)


def _check_squeeze(node: Node) -> str | None:
    # Whether a symbolic size is 1 is not known when the fusion is defined.
    x, out = meta_of(node.args[0]), node.meta["val"]
    return None if sum(is_one(s) for s in x.shape) >= x.ndim - out.ndim else "symbolic size"


@translates(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, kind="view", check=_check_squeeze)
def _squeeze(ctx, x, dims=None):
    sizes = meta_of(ctx.node.args[0]).shape
    rank = len(sizes)
    if dims is None:
        dims = range(rank)
    dims = [dims] if isinstance(dims, int) else dims
    dims = sorted({d % rank for d in dims if is_one(sizes[d % rank])}) if rank else []
    return ctx.ops.squeeze(x, dims) if dims else x


def _clamped(position: Any, size: Any) -> Any:
    """A slice bound after ATen's rules, or None where it cannot be computed without asking symbolic sizes."""
    if not isinstance(position, int):
        return None
    if position >= 2**62:
        return size
    if isinstance(size, int):
        position = position + size if position < 0 else position
        return min(max(position, 0), size)
    return position if position >= 0 else None


def _check_slice(node: Node) -> str | None:
    if argument(node, "step") != 1:
        return "slice with a step"
    size = meta_of(node.args[0]).shape[argument(node, "dim")]
    for name in ("start", "end"):
        bound = meta_of(argument(node, name))
        if bound is not None and isinstance(bound, int) and _clamped(bound, size) is None:
            return "negative bound of a symbolic size"
    return None


@translates(aten.slice.Tensor, kind="view", check=_check_slice)
def _slice(ctx, x, dim=0, start=None, end=None, step=1):
    sizes = meta_of(ctx.node.args[0]).shape
    dim %= len(sizes)
    start = 0 if start is None else start
    end = 2**63 - 1 if end is None else end
    # Vals stay as they are: dynamo has guarded that symbolic bounds lie inside the tensor.
    begin = _clamped(start, sizes[dim]) if isinstance(start, int) else start
    stop = _clamped(end, sizes[dim]) if isinstance(end, int) else end
    if isinstance(begin, int) and isinstance(stop, int):
        stop = max(begin, stop)
    begins = [0] * len(sizes)
    ends = [ctx.size(x, d, size) for d, size in enumerate(sizes)]
    begins[dim] = begin
    ends[dim] = ctx.size(x, dim, sizes[dim]) if isinstance(stop, torch.SymInt) else stop
    return ctx.ops.slice(x, begins, ends)


def _check_slice_scatter(node: Node) -> str | None:
    if argument(node, "step") != 1:
        return "slice with a step"
    x, source = meta_of(node.args[0]), meta_of(node.args[1])
    size = x.shape[argument(node, "dim")]
    if x.dtype != source.dtype:
        return "mixed dtypes"
    start, end = argument(node, "start"), argument(node, "end")
    if not isinstance(_clamped(0 if start is None else start, size), int):
        return "symbolic bound"
    stop = size if end is None else _clamped(end, size)
    return None if stop is size or isinstance(stop, int) and isinstance(size, int) else "symbolic bound"


@translates(aten.slice_scatter.default, check=_check_slice_scatter)
def _slice_scatter(ctx, x, source, dim=0, start=None, end=None, step=1):
    size = meta_of(ctx.node.args[0]).shape[dim]
    begin = _clamped(0 if start is None else start, size)
    stop = size if end is None else _clamped(end, size)
    return _replaced(ctx, x, source, dim, begin, None if stop is size else max(begin, stop))


def _replaced(ctx: Any, x: Any, source: Any, dim: int, begin: int, end: int | None) -> Any:
    """`x` with positions [begin, end) of `dim` replaced by `source`; end None: up to the end."""
    sizes = meta_of(ctx.node.args[0]).shape
    dim %= len(sizes)
    lows, highs = [0] * len(sizes), [ctx.size(x, d, size) for d, size in enumerate(sizes)]
    parts = [source]
    if begin > 0:
        parts.insert(0, ctx.ops.slice(x, lows, [begin if d == dim else h for d, h in enumerate(highs)]))
    if end is not None and end < int(sizes[dim]):
        parts.append(ctx.ops.slice(x, [end if d == dim else 0 for d in range(len(sizes))], highs))
    return ctx.ops.cat(parts, dim) if len(parts) > 1 else ctx.ops.set(source)


def _check_select_scatter(node: Node) -> str | None:
    x, source = meta_of(node.args[0]), meta_of(node.args[1])
    if x.dtype != source.dtype:
        return "mixed dtypes"
    is_known = isinstance(argument(node, "index"), int) and isinstance(x.shape[argument(node, "dim")], int)
    return None if is_known else "symbolic size or index"


@translates(aten.select_scatter.default, check=_check_select_scatter)
def _select_scatter(ctx, x, source, dim, index):
    sizes = meta_of(ctx.node.args[0]).shape
    flags = [d == dim % len(sizes) for d in range(len(sizes))]
    index %= sizes[dim]
    return _replaced(ctx, x, ctx.ops.broadcast(source, flags), dim, index, index + 1)


def _check_select(node: Node) -> str | None:
    size = meta_of(node.args[0]).shape[argument(node, "dim")]
    index = argument(node, "index")
    if not isinstance(index, int):
        return "symbolic index"
    return "negative index of a symbolic size" if index < 0 and not isinstance(size, int) else None


@translates(aten.select.int, kind="view", check=_check_select)
def _select(ctx, x, dim, index):
    sizes = meta_of(ctx.node.args[0]).shape
    dim %= len(sizes)
    index = index + sizes[dim] if index < 0 else index
    return ctx.ops.select(x, ctx.constant(index), dim)


@translates(*overloads("alias", "default"), *overloads("detach", "default"), kind="view")
def _alias(ctx, x):
    return x


@translates(aten.clone.default, *overloads("lift_fresh_copy", "default"), halves="any")
def _clone(ctx, x, memory_format=None):
    return ctx.ops.set(x)


def _check_split(node: Node) -> str | None:
    x = meta_of(node.args[0])
    dim = argument(node, "dim") if "dim" in {a.name for a in node.target._schema.arguments} else 0
    return None if isinstance(x.shape[dim], int) else "split of a symbolic size"


def _pieces(ctx: Any, x: Any, dim: int) -> tuple[Any, ...]:
    sizes = meta_of(ctx.node.args[0]).shape
    dim %= len(sizes)
    position, pieces = 0, []
    for piece in ctx.node.meta["val"]:
        begins = [0] * len(sizes)
        ends = [ctx.size(x, d, size) for d, size in enumerate(sizes)]
        begins[dim], ends[dim] = position, position + int(piece.shape[dim])
        position = ends[dim]
        pieces.append(ctx.ops.slice(x, begins, ends))
    return tuple(pieces)


@translates(aten.split.Tensor, aten.split_with_sizes.default, kind="view", check=_check_split)
def _split(ctx, x, sizes, dim=0):
    return _pieces(ctx, x, dim)


def _check_unbind(node: Node) -> str | None:
    size = meta_of(node.args[0]).shape[argument(node, "dim")]
    return None if isinstance(size, int) else "unbind of a symbolic size"


@translates(aten.unbind.int, kind="view", check=_check_unbind)
def _unbind(ctx, x, dim=0):
    sizes = meta_of(ctx.node.args[0]).shape
    dim %= len(sizes)
    return tuple(ctx.ops.select(x, ctx.constant(i), dim) for i in range(sizes[dim]))


def _is_old_empty(tensor: torch.Tensor) -> bool:
    # cat skips 1-D tensors of no elements, whatever the rank of the others.
    return tensor.ndim == 1 and isinstance(tensor.shape[0], int) and tensor.shape[0] == 0


def _check_cat(node: Node) -> str | None:
    tensors = [meta_of(t) for t in node.args[0]]
    if any(t.dtype != node.meta["val"].dtype and t.dtype == torch.bool for t in tensors):
        return "bool and other dtypes concatenated"
    return None


@translates(aten.cat.default, halves="any", check=_check_cat)
def _cat(ctx, tensors, dim=0):
    result = ctx.node.meta["val"]
    kept = [t for t, n in zip(tensors, ctx.node.args[0]) if result.ndim == 1 or not _is_old_empty(meta_of(n))]
    is_wide = result.dtype in HALF_DTYPES and any(t.dtype() == ctx.dtype(torch.float32) for t in kept)
    dtype = torch.float32 if is_wide else result.dtype
    return ctx.ops.cat([ctx.cast(t, dtype) for t in kept], dim % result.ndim)


def _check_pad(node: Node) -> str | None:
    if not all(isinstance(width, int) for width in argument(node, "pad")):
        return "symbolic padding"
    return None


@translates(aten.constant_pad_nd.default, check=_check_pad, halves="any")
def _pad(ctx, x, pad, value=0):
    dtype = ctx.node.meta["val"].dtype
    if not any(pad):
        return ctx.ops.set(x)
    value = bool(value) if dtype == torch.bool else float(value) if dtype.is_floating_point else int(value)
    return ctx.ops.pad(x, list(pad), ctx.typed_constant(value, dtype))


def _check_create(node: Node) -> str | None:
    if argument(node, "pin_memory"):
        return "pinned memory"
    value = argument(node, "fill_value") if node.target is aten.full.default else 0
    return "symbolic fill value" if isinstance(meta_of(value), (torch.SymInt, torch.SymFloat, torch.SymBool)) else None


@translates(aten.full.default, kind="create", check=_check_create)
def _full(ctx, size, value, *_):
    return _filled(ctx, size, value)


def _filled(ctx: Any, size: Any, value: Any) -> Any:
    dtype = ctx.node.meta["val"].dtype
    value = bool(value) if dtype == torch.bool else float(value) if dtype.is_floating_point else int(value)
    return ctx.ops.full(_shape_from_meta(ctx, size), value, ctx.dtype(dtype))


@translates(aten.scalar_tensor.default, kind="create", check=lambda node: _check_scalar_tensor(node))
def _scalar_tensor(ctx, value, *_):
    return _filled(ctx, [], value)


def _check_scalar_tensor(node: Node) -> str | None:
    return None if isinstance(node.args[0], (bool, int, float)) else "symbolic value"


def _check_iota(node: Node) -> str | None:
    dtype = node.meta["val"].dtype
    if dtype not in (torch.int64, torch.int32):
        return f"arange of {dtype}"
    parts = (
        node.args[:3] if node.target is aten.arange.start_step else (argument(node, "start"), argument(node, "step"))
    )
    return None if all(isinstance(p, int) for p in parts) else "symbolic or float bounds"


@translates(aten.arange.start_step, kind="create", check=_check_iota)
def _arange(ctx, start, end, step=1, *_):
    length = len(range(start, end, step))
    return ctx.ops.iota(length, start, step, ctx.dtype(ctx.node.meta["val"].dtype))


@translates(prims.iota.default, kind="create", check=_check_iota)
def _iota(ctx, length, *_):
    start, step = argument(ctx.node, "start"), argument(ctx.node, "step")
    return ctx.ops.iota(length, start, step, ctx.dtype(ctx.node.meta["val"].dtype))
