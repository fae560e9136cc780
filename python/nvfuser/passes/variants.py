"""The fused attention ops of ATen, and how the arguments of a call are read."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

SDPA = torch.ops.aten.scaled_dot_product_attention.default

#: name of a variant -> its op in ATen
VARIANTS = {
    "flash": "_scaled_dot_product_flash_attention",
    "efficient": "_scaled_dot_product_efficient_attention",
    "cudnn": "_scaled_dot_product_cudnn_attention",
    "cpu_flash": "_scaled_dot_product_flash_attention_for_cpu",
    "overrideable": "_scaled_dot_product_fused_attention_overrideable",
}

REQUIRED = frozenset({"query", "key", "value", "dropout_p", "is_causal", "scale"})
BIAS = frozenset({"attn_bias", "attn_mask"})
# They say which other results are computed; the attention output is the same either way.
IGNORED = frozenset({"compute_log_sumexp", "return_debug_mask"})


@functools.cache
def _variant_of_packet() -> dict[Any, str]:
    # A torch that lacks one of the ops has no calls of it either.
    packets = {name: getattr(torch.ops.aten, op, None) for name, op in VARIANTS.items()}
    return {packet: name for name, packet in packets.items() if packet is not None}


def variant_of(node: Node) -> str | None:
    """Which variant a node calls, in whatever overload; None for any other node."""
    if node.op != "call_function":
        return None
    if isinstance(node.target, torch._ops.OpOverload):
        return _variant_of_packet().get(node.target.overloadpacket)
    return _variant_of_packet().get(node.target) if isinstance(node.target, torch._ops.OpOverloadPacket) else None


def unknown_form(node: Node) -> str | None:
    """Why the arguments of a call of a variant cannot be read; None when its schema is one that we know."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return "the call names no overload"
    if node.target._overloadname != "default":
        return f"overload {node.target._overloadname} is not known"
    names = {argument.name for argument in node.target._schema.arguments}
    if missing := REQUIRED - names:
        return f"its schema has no {', '.join(sorted(missing))}"
    if unknown := names - REQUIRED - BIAS - IGNORED:
        return f"its schema has the unknown argument {', '.join(sorted(unknown))}"
    return None


def arguments_of(node: Node) -> dict[str, Any]:
    """Every argument of a call of an OpOverload by its name in the schema, whether given by position, name or default."""
    bound = {}
    for position, argument in enumerate(node.target._schema.arguments):
        if position < len(node.args):
            bound[argument.name] = node.args[position]
        elif argument.name in node.kwargs:
            bound[argument.name] = node.kwargs[argument.name]
        elif argument.has_default_value():
            bound[argument.name] = argument.default_value
    return bound


def value_of(node: Any) -> Any:
    """What a node stands for (a fake tensor, a symbolic number); constants stand for themselves, None is unknown."""
    return node.meta.get("val") if isinstance(node, Node) else node


def tensor_of(node: Any) -> Tensor | None:
    """The fake tensor of a node; None when the graph does not tell."""
    value = value_of(node)
    return value if isinstance(value, Tensor) else None


def known_equal(a: Any, b: Any) -> bool:
    """True when two sizes are equal whatever the inputs are; asking adds no guard."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(a == b)


def known_different(a: Any, b: Any) -> bool:
    """True when two sizes differ whatever the inputs are; asking adds no guard."""
    if isinstance(a, int) and isinstance(b, int):
        return a != b
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(a != b)


def known_equal_sizes(a: Any, b: Any) -> bool:
    """True when two shapes are equal whatever the inputs are."""
    return len(a) == len(b) and all(known_equal(x, y) for x, y in zip(a, b))
