"""Rows for indexing and triangles."""

from __future__ import annotations

import torch
from torch.fx import Node

from .op_table import argument, aten, meta_of, overloads, translates


def _check_index_rank(node: Node) -> str | None:
    x, index = meta_of(node.args[0]), meta_of(argument(node, "index"))
    if x.ndim == 0 or index.ndim == 0:
        return "0-dim operand"
    return None


@translates(aten.index_select.default, check=_check_index_rank, halves="any")
def _index_select(ctx, x, dim, index):
    return ctx.ops.index_select(x, index, dim % meta_of(ctx.node.args[0]).ndim)


@translates(aten.gather.default, check=_check_index_rank, halves="any")
def _gather(ctx, x, dim, index, sparse_grad=False):
    return ctx.ops.gather(x, index, dim % meta_of(ctx.node.args[0]).ndim)


def _check_embedding(node: Node) -> str | None:
    return None if meta_of(node.args[0]).ndim == 2 else "weight is not 2-D"


@translates(aten.embedding.default, check=_check_embedding, halves="any")
def _embedding(ctx, weight, index, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    # The other arguments only matter to the gradient, which is an op of its own.
    return ctx.ops.embedding_fwd(index, weight)


def _check_triangle(node: Node) -> str | None:
    x = meta_of(node.args[0])
    if x.ndim < 2:
        return "rank below 2"
    return None if isinstance(argument(node, "diagonal"), int) else "symbolic diagonal"


@translates(*overloads("triu", "default"), check=_check_triangle, halves="any")
def _triu(ctx, x, diagonal=0):
    return ctx.ops.triu(x, diagonal)


@translates(*overloads("tril", "default"), check=_check_triangle, halves="any")
def _tril(ctx, x, diagonal=0):
    sizes = meta_of(ctx.node.args[0]).shape
    rows = ctx.ops.iota(ctx.size(x, len(sizes) - 2, sizes[-2]))
    columns = ctx.ops.iota(ctx.size(x, len(sizes) - 1, sizes[-1]))
    rows = ctx.ops.broadcast(rows, [False, True])
    columns = ctx.ops.broadcast(columns, [True, False])
    keep = ctx.ops.le(columns, ctx.ops.add(rows, diagonal))
    dtype = ctx.node.meta["val"].dtype
    zero = 0.0 if dtype.is_floating_point else False if dtype == torch.bool else 0
    return ctx.ops.where(keep, x, zero)
