"""Rows for matrix products."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from .op_table import HALF_DTYPES, argument, aten, meta_of, overloads, translates


def _is_one(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 1


def _check_float(node: Node) -> str | None:
    dtypes = {meta_of(a).dtype for a in node.args if isinstance(meta_of(a), torch.Tensor)}
    if not node.meta["val"].dtype.is_floating_point:
        return "integer matrix product"
    return "mixed dtypes" if len(dtypes) > 1 else None


@translates(aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default, check=_check_float)
def _matmul(ctx, a, b):
    return ctx.ops.matmul(a, b)


@translates(*overloads("matmul", "default"), check=_check_float)
def _aten_matmul(ctx, a, b):
    return ctx.ops.matmul(a, b)


@translates(*overloads("linear", "default"), check=_check_float)
def _linear(ctx, x, weight, bias=None):
    return ctx.ops.linear(x, weight, bias) if bias is not None else ctx.ops.linear(x, weight)


def _is_plain_bias(node: Node) -> bool:
    """addmm(bias[n], a, b) with no scaling is exactly a linear layer."""
    bias = meta_of(node.args[0])
    return bias.ndim == 1 and _is_one(argument(node, "beta")) and _is_one(argument(node, "alpha"))


def _check_addmm(node: Node) -> str | None:
    if reason := _check_float(node):
        return reason
    # In half precision eager rounds once, a product followed by a sum twice.
    if not _is_plain_bias(node) and node.meta["val"].dtype in HALF_DTYPES:
        return "scaled or non-vector addend in half precision"
    if not (isinstance(argument(node, "beta"), (int, float)) and isinstance(argument(node, "alpha"), (int, float))):
        return "symbolic scale"
    # beta = 0 drops the addend, NaN included.
    return "beta of 0" if argument(node, "beta") == 0 else None


@translates(aten.addmm.default, check=_check_addmm)
def _addmm(ctx, addend, a, b, beta=1, alpha=1):
    if _is_plain_bias(ctx.node) and _has_bias_size(ctx.node):
        return ctx.ops.linear(a, ctx.ops.permute(b, [1, 0]), addend)
    return _scaled_sum(ctx, addend, ctx.ops.matmul(a, b), beta, alpha)


def _has_bias_size(node: Node) -> bool:
    # addmm also broadcasts an addend of one element, linear does not.
    bias, product = meta_of(node.args[0]).shape[0], node.meta["val"].shape[1]
    return isinstance(bias, int) and isinstance(product, int) and bias == product


@translates(aten.baddbmm.default, check=_check_addmm)
def _baddbmm(ctx, addend, a, b, beta=1, alpha=1):
    return _scaled_sum(ctx, addend, ctx.ops.matmul(a, b), beta, alpha)


def _scaled_sum(ctx: Any, addend: Any, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if _is_one(alpha) else ctx.ops.mul(product, alpha)
    addend = addend if _is_one(beta) else ctx.ops.mul(addend, beta)
    return ctx.ops.add(product, addend)
