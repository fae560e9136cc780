"""Rows for random ops on CPU tensors, whose numbers come from Philox and are made inside kernels.

They are not those of eager, which draws from a Mersenne twister one after the other. What holds all the same:
``torch.manual_seed`` makes runs repeat, consecutive runs differ, and a mask that backward needs is the one of forward.
The option ``fallback_random`` leaves these ops to eager. On GPUs they stay in eager in any case.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from .op_table import argument, aten, is_static, meta_of, metas, translates


def _why_not_drawn(node: Node) -> str | None:
    if metas(node)[0].device.type != "cpu":
        return "random numbers on a GPU"
    if argument(node, "generator") is not None:
        return "a generator of its own"
    return None if metas(node)[0].dtype.is_floating_point else "random numbers that are no floats"


def _check_dropout(node: Node) -> str | None:
    return _why_not_drawn(node) or ("dropout that does not train" if argument(node, "train") is False else None)


def _check_bernoulli(node: Node) -> str | None:
    p = argument(node, "p")
    is_good = isinstance(p, (int, float)) and 0 <= p <= 1
    return _why_not_drawn(node) or (None if is_good else "a probability that is no number from 0 to 1")


def _sizes(ctx: Any, requested: Any) -> list[Any]:
    return [int(s) if is_static(s) else r for s, r in zip(ctx.node.meta["val"].shape, requested)]


def _shape_of(ctx: Any, x: Any) -> list[Any]:
    return [ctx.size(x, dim, size) for dim, size in enumerate(meta_of(ctx.node.args[0]).shape)]


def _draw(ctx: Any, name: str, shape: list[Any]) -> Any:
    return getattr(ctx.ops, name)(0.0, 1.0, shape, dtype=ctx.dtype(ctx.node.meta["val"].dtype))


def _hits(ctx: Any, x: Any, p: float) -> Any:
    """True with probability `p`, for each element of `x`; float32 decides whatever the dtype."""
    return ctx.ops.lt(ctx.ops.uniform(0.0, 1.0, _shape_of(ctx, x), dtype=ctx.dtype(torch.float32)), p)


@translates(aten.native_dropout.default, check=_check_dropout, halves="wide")
def _dropout(ctx, x, p, train):
    mask = _hits(ctx, x, 1.0 - p)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    # As in eager, what is dropped is multiplied by 0: infinities and NaN stay to be seen.
    return ctx.ops.mul(ctx.ops.mul(x, mask), scale), mask


@translates(aten.bernoulli.p, check=_check_bernoulli)
def _bernoulli(ctx, x, p, generator=None):
    return _hits(ctx, x, float(p))


@translates(aten.rand.default, check=_why_not_drawn)
def _rand(ctx, size, *_):
    return _draw(ctx, "uniform", _sizes(ctx, size))


@translates(aten.randn.default, check=_why_not_drawn)
def _randn(ctx, size, *_):
    return _draw(ctx, "normal", _sizes(ctx, size))


@translates(aten.rand_like.default, check=_why_not_drawn)
def _rand_like(ctx, x, *_):
    return _draw(ctx, "uniform", _shape_of(ctx, x))


@translates(aten.randn_like.default, check=_why_not_drawn)
def _randn_like(ctx, x, *_):
    return _draw(ctx, "normal", _shape_of(ctx, x))


#: what the option ``fallback_random`` leaves to eager
RANDOM_OPS = frozenset(
    {
        aten.native_dropout.default,
        aten.bernoulli.p,
        aten.rand.default,
        aten.randn.default,
        aten.rand_like.default,
        aten.randn_like.default,
    }
)
