"""Finds the bias that a caller gave, behind the padding and the expansion that the efficient kernel asks for.

Eager pads the last dim of a bias to an aligned size, slices it back (so that only the strides change) and expands it to
[batch, query heads, query length, key length]. None of that changes a number that attention reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node

from .variants import arguments_of, known_equal, known_equal_sizes, tensor_of, value_of

aten = torch.ops.aten


def _overloads(*names: str) -> frozenset[Any]:
    found = (getattr(getattr(aten, op, None), overload, None) for op, overload in (n.split(".") for n in names))
    return frozenset(op for op in found if op is not None)


EXPAND = _overloads("expand.default", "expand_copy.default")
SLICE = _overloads("slice.Tensor", "slice_copy.Tensor")
PAD = _overloads("constant_pad_nd.default", "pad.default")


def original_bias(bias: Node, scores: Sequence[Any], call: Node) -> tuple[Node, list[Node]]:
    """The node that `call`, over scores of the sizes [N, H, L, S], can take as its mask instead of `bias`.

    Returns it with the nodes that are passed over, outermost first; `bias` itself and [] when nothing can be proven.
    """
    found, passed = bias, []
    while True:
        step = _before_expansion(found, scores) or _before_padding(found)
        # A pad copies: what is written after it reaches the copy or the original, not both.
        if step is None or _is_written_between(step[1][-1], call):
            return found, passed
        passed += step[1]
        found = step[0]


def _before_expansion(node: Node, scores: Sequence[Any]) -> tuple[Node, list[Node]] | None:
    """Looks through an expansion to the sizes of the scores: attention broadcasts its mask to just these."""
    if node.target not in EXPAND:
        return None
    source = arguments_of(node)["self"]
    before, after = tensor_of(source), tensor_of(node)
    if before is None or after is None or not 2 <= before.ndim <= 4 or not known_equal_sizes(after.shape, scores):
        return None
    return source, [node]


def _before_padding(node: Node) -> tuple[Node, list[Node]] | None:
    """Looks through a slice that cuts off exactly what a pad has put behind the last element of a dim."""
    if node.target not in SLICE:
        return None
    cut = arguments_of(node)
    padded = cut["self"]
    if not isinstance(padded, Node) or padded.target not in PAD:
        return None
    pad = arguments_of(padded)
    source = tensor_of(pad["self"])
    if source is None or pad.get("mode", "constant") != "constant" or not isinstance(cut["dim"], int):
        return None
    dim, amounts = cut["dim"] % source.ndim, pad["pad"]
    # Amounts come in pairs (before, after), the last dim first; only the one behind `dim` may be something.
    behind = 2 * (source.ndim - 1 - dim) + 1
    if any(not _is_zero(amount) for i, amount in enumerate(amounts) if i != behind):
        return None
    starts_at_zero = cut["start"] is None or _is_zero(cut["start"])
    result = tensor_of(node)
    # From zero in steps of one as many elements as there were: those that were there.
    if not starts_at_zero or cut["step"] != 1 or result is None or not known_equal_sizes(result.shape, source.shape):
        return None
    return pad["self"], [node, padded]


def _is_written_between(first: Node, last: Node) -> bool:
    """True when a call between two nodes of a graph may write to a tensor; only programs that are not functional do."""
    node = first.next
    while node is not last and node.op != "root":
        if node.op in ("call_module", "call_method"):
            return True
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            return True
        node = node.next
    return False


def _is_zero(size: Any) -> bool:
    value = value_of(size)
    return value is not None and known_equal(value, 0)
