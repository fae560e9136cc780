"""When a fused attention node is provably scaled_dot_product_attention, and with which arguments."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from .variants import Call, read_call

_ATEN = torch.ops.aten
#: rank of the fused ops' operands: [N, H, L, E]
_RANK = 4
#: results after the attention output, for messages
_OTHER_RESULTS = "its logsumexp, random state or debug mask"


@dataclass
class Rewrite:
    """The call that takes a fused node's place."""

    call: Call
    enable_gqa: bool
    #: how often each key head is repeated, where the caller wants no grouped-query flag
    repeats: int = 1


def known_equal(a: Any, b: Any) -> bool:
    """Whether two sizes are equal for all values of their symbols; asking adds no guard."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    try:
        from torch.fx.experimental.symbolic_shapes import statically_known_true

        return statically_known_true(a == b)
    except Exception:  # a symbol that no shape environment knows
        return False


def value_of(node: Any) -> torch.Tensor | None:
    """The fake tensor of a node; None where the graph carries none."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    return value if isinstance(value, torch.Tensor) else None


def size_of(node: Any, dim: int) -> Any:
    value = value_of(node)
    return None if value is None or value.ndim != _RANK else value.shape[dim]


def sizes_known_equal(a: Any, a_dim: int, b: Any, b_dim: int) -> bool:
    left, right = size_of(a, a_dim), size_of(b, b_dim)
    return left is not None and right is not None and known_equal(left, right)


def outputs_of(node: Node) -> list[Node] | str:
    """The nodes that pick the attention output; or what else of the node's results is used."""
    picks = []
    for user in node.users:
        if user.op != "call_function" or user.target is not operator.getitem:
            return f"{user.name} uses all of its results"
        if user.args[1] != 0:
            if user.users:
                return f"{_OTHER_RESULTS} is used (result {user.args[1]}, by {next(iter(user.users)).name})"
        picks.append(user)
    return picks if any(p.args[1] == 0 for p in picks) else "nothing uses its output"


def decide(node: Node, variant: str, expand_gqa: bool) -> Rewrite | str:
    """The rewrite of a fused node; or the reason to keep it."""
    if variant == "unknown":
        return f"the overload {node.target._overloadname} is not one that is known"
    call = read_call(node, variant)
    if isinstance(call, str):
        return call
    outputs = outputs_of(node)
    if isinstance(outputs, str):
        return outputs
    if not isinstance(call.is_causal, bool):
        return "whether it is causal is not a constant"
    if call.is_causal and call.bias is not None:
        return "it is causal and has a bias, which scaled_dot_product_attention refuses together"
    if call.is_causal and not sizes_known_equal(call.query, 2, call.key, 2):
        lengths = size_of(call.query, 2), size_of(call.key, 2)
        return (
            f"it is causal and its query and key lengths, {lengths[0]} and {lengths[1]}, are not known to be equal:"
            " variants align the diagonal differently"
        )
    reason = _refused_bias(call)
    if reason is not None:
        return reason
    call.bias = original_bias(call.bias, call) if call.bias is not None else None
    if sizes_known_equal(call.query, 1, call.key, 1):
        return Rewrite(call, enable_gqa=False)
    if not expand_gqa:
        return Rewrite(call, enable_gqa=True)
    heads, key_heads = size_of(call.query, 1), size_of(call.key, 1)
    if not isinstance(heads, int) or not isinstance(key_heads, int) or key_heads == 0 or heads % key_heads != 0:
        return f"key heads cannot be expanded: the head counts are {heads} and {key_heads}"
    return Rewrite(call, enable_gqa=False, repeats=heads // key_heads)


def _refused_bias(call: Call) -> str | None:
    bias, query = value_of(call.bias), value_of(call.query)
    if bias is None or query is None or bias.dtype in (torch.bool, query.dtype):
        return None
    return f"its bias has dtype {bias.dtype}, its query {query.dtype}"


# ---- the bias that eager's efficient path has padded


def original_bias(bias: Any, call: Call) -> Any:
    """The tensor that eager padded to an aligned width, sliced back and expanded to all heads; `bias` itself where it
    is nothing of the kind.

    Undone only where the elements are provably the same: the slice starts at 0, ends at the width from before the
    padding, and the padding is at the end of the last dim. An expand goes where attention's own broadcast does the same.
    """
    inner = _without_expand(bias)
    unpadded = _without_padding(inner)
    if unpadded is not inner:
        return unpadded
    return inner if _is_node(inner) else bias


def _is_node(value: Any) -> bool:
    return isinstance(value, Node)


def _without_expand(bias: Any) -> Any:
    if not _is_node(bias) or bias.target is not _ATEN.expand.default:
        return bias
    inner = value_of(bias.args[0])
    # Attention wants a mask of rank 2 or more and broadcasts its leading dims.
    return bias.args[0] if inner is not None and 2 <= inner.ndim <= _RANK else bias


def _without_padding(sliced: Any) -> Any:
    """The operand of a padding at the end of the last dim that `sliced` takes away again; else `sliced`."""
    node, width = sliced, None
    while _is_node(node) and node.target is _ATEN.slice.Tensor:
        source, result = value_of(node.args[0]), value_of(node)
        if source is None or result is None:
            return sliced
        dim, start, _, step = _slice_arguments(node)
        dim = dim + source.ndim if dim < 0 else dim
        if start not in (None, 0) or step != 1:
            return sliced
        if dim == source.ndim - 1:
            width = result.shape[-1] if width is None else width
        elif not known_equal(result.shape[dim], source.shape[dim]):
            return sliced
        node = node.args[0]
    if width is None or not _is_node(node) or node.target is not _ATEN.constant_pad_nd.default:
        return sliced
    before, amounts = value_of(node.args[0]), node.args[1]
    at_the_end = len(amounts) >= 2 and all(known_equal(a, 0) for i, a in enumerate(amounts) if i != 1)
    if before is None or not at_the_end or not known_equal(before.shape[-1], width):
        return sliced
    return node.args[0]


def _slice_arguments(node: Node) -> tuple[int, Any, Any, Any]:
    names = ("self", "dim", "start", "end", "step")
    values = {**dict(zip(names, node.args)), **node.kwargs}
    return values.get("dim", 0), values.get("start"), values.get("end"), values.get("step", 1)
