"""When a call of a fused attention variant is provably the same as scaled_dot_product_attention."""

from __future__ import annotations

import contextlib
import math
import operator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx import Node

from .bias import original_bias
from .control_flow import CallGraph
from .layout import LayoutUses, layout_uses, memory_order
from .variants import arguments_of, known_different, known_equal, tensor_of, unknown_form, variant_of


class _Kept(Exception):
    """Carries the reason why a node stays."""


@dataclass
class Plan:
    """How a call becomes scaled_dot_product_attention."""

    call: Node
    #: the nodes that take its attention output; other results are not used
    outputs: list[Node]
    query: Node
    key: Node
    value: Node
    bias: Node | None
    dropout_p: Any
    is_causal: bool
    #: None for the default
    scale: Any
    enable_gqa: bool
    #: how often each key and value head is to be repeated instead of `enable_gqa`; 1 for not at all
    repeats: int
    layout: LayoutUses
    #: the memory order that a copy has to give the output; None where the layout of any kernel will do
    fixed_order: tuple[int, ...] | None = None
    #: nodes that only prepared the bias for the fused kernel, in the order in which they can be erased
    bias_preparation: list[Node] = field(default_factory=list)


def plan_or_reason(node: Node, calls: CallGraph, expand_gqa: bool) -> Plan | str:
    """The plan for a call of a fused variant, or why the call must stay."""
    try:
        return _plan(node, calls, expand_gqa)
    except _Kept as kept:
        return str(kept)


def _plan(node: Node, calls: CallGraph, expand_gqa: bool) -> Plan:
    if reason := unknown_form(node):
        raise _Kept(reason)
    outputs = _attention_outputs(node)
    arguments = arguments_of(node)
    query, key, value = (arguments[name] for name in ("query", "key", "value"))
    bias = arguments.get("attn_bias", arguments.get("attn_mask"))
    operands = [operand for operand in (query, key, value, bias) if operand is not None]
    tensors = [tensor_of(operand) for operand in operands]
    output = tensor_of(outputs[0])
    if output is None or any(t is None for t in tensors):
        raise _Kept("the graph does not tell the sizes of its operands (no fake tensors)")
    q, k, v = tensors[:3]
    if any(t.layout != torch.strided for t in tensors):
        raise _Kept("an operand is not a strided tensor")
    if any(t.ndim != 4 for t in (q, k, v)):
        raise _Kept("an operand does not have four dims")
    if calls.runs_under_autocast(node.graph):
        raise _Kept("it runs under autocast, which casts the operands of scaled_dot_product_attention only")
    is_causal, dropout_p = arguments["is_causal"], arguments["dropout_p"]
    if not isinstance(is_causal, bool):
        raise _Kept("its causal flag is computed by the graph")
    if variant_of(node) == "cpu_flash" and dropout_p != 0.0:
        raise _Kept("the CPU kernel has no dropout; the call fails when it runs")
    _check_causal(is_causal, bias, q, k)

    scores = (*q.shape[:3], k.shape[2])
    preparation: list[Node] = []
    if bias is not None:
        bias, preparation = original_bias(bias, scores, node)
    scale = _scale_unless_default(arguments["scale"], q.shape[3])
    is_grouped, repeats = _grouping(q.shape[1], k.shape[1], expand_gqa)
    mask = None if bias is None else tensor_of(bias)
    _check_accepts(q, k, v, mask, is_causal, is_grouped, output)
    layout = layout_uses(outputs, calls)
    fixed_order = None
    if reason := layout.reason_to_fix():
        fixed_order = memory_order(output)
        if fixed_order is None:
            raise _Kept(f"{reason}, and its layout is not known well enough to be restored")
    enable_gqa = is_grouped and repeats == 1
    return Plan(
        *(node, outputs, query, key, value, bias),
        **{"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa},
        **{"repeats": repeats, "layout": layout, "fixed_order": fixed_order, "bias_preparation": preparation},
    )


def _attention_outputs(node: Node) -> list[Node]:
    outputs = []
    for user in node.users:
        if user.op != "call_function" or user.target is not operator.getitem:
            raise _Kept(f"{user.name} takes all of its results")
        if user.args[1] == 0:
            outputs.append(user)
        elif user.users:
            raise _Kept(f"its result {user.args[1]} ({_result_name(node, user.args[1])}) is used")
    if not outputs:
        raise _Kept("its output is not used")
    return [n for n in node.graph.nodes if n in outputs] if len(outputs) > 1 else outputs


def _result_name(node: Node, index: Any) -> str:
    results = node.target._schema.returns
    if not isinstance(index, int):
        return "several"
    return results[index].name or "unnamed" if -len(results) <= index < len(results) else "unnamed"


def _check_causal(is_causal: bool, bias: Any, q: Tensor, k: Tensor) -> None:
    if not is_causal:
        return
    if bias is not None:
        raise _Kept("it is causal and has a bias; scaled_dot_product_attention takes one of them")
    if not known_equal(q.shape[2], k.shape[2]):
        # Flash lets the last query see all keys, the others let the first one see the first key.
        raise _Kept(f"it is causal and its lengths {q.shape[2]} and {k.shape[2]} are not known to be equal")


def _scale_unless_default(scale: Any, head_dim: Any) -> Any:
    # Some paths of eager write the default out, some leave it; both become the same node.
    is_number = isinstance(scale, (int, float)) and isinstance(head_dim, int) and head_dim > 0
    return None if is_number and scale == 1 / math.sqrt(head_dim) else scale


def _grouping(heads: Any, key_heads: Any, expand_gqa: bool) -> tuple[bool, int]:
    """Whether heads count as grouped, and how often a key head is repeated when they are to be written out."""
    if known_equal(heads, key_heads):
        return False, 1
    if isinstance(heads, int) and isinstance(key_heads, int) and (key_heads == 0 or heads % key_heads):
        raise _Kept(f"its {heads} query heads are not a multiple of its {key_heads} key heads")
    if not expand_gqa:
        return True, 1
    repeats = _known_ratio(heads, key_heads)
    if repeats is None:
        raise _Kept(f"its head counts {heads} and {key_heads} have no known ratio, so that groups cannot be expanded")
    return True, repeats


def _known_ratio(heads: Any, key_heads: Any) -> int | None:
    ratio = heads // key_heads
    if isinstance(ratio, torch.SymInt):
        expression = ratio.node.expr
        ratio = int(expression) if expression.is_number else None
    return ratio if ratio is not None and known_equal(heads, key_heads * ratio) else None


def _check_accepts(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, is_grouped: bool, output: Tensor
) -> None:
    """Asks scaled_dot_product_attention itself, on tensors without contents, whether it gives such an output."""
    operands = [t for t in (q, k, v, mask) if t is not None]
    if any(t.device != output.device for t in operands):
        raise _Kept("its operands and its output are on several devices")
    if mask is not None and mask.dtype not in (torch.bool, torch.float32, q.dtype):
        raise _Kept(f"scaled_dot_product_attention takes no bias of dtype {mask.dtype}")
    result = _run_on_meta(q, k, v, mask, is_causal, is_grouped)
    if result is None:
        return
    differs = result.dtype != output.dtype or result.ndim != output.ndim
    if differs or any(known_different(a, b) for a, b in zip(result.shape, output.shape)):
        raise _Kept(f"scaled_dot_product_attention gives {_described(result)} instead of {_described(output)}")


def _described(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _run_on_meta(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, is_grouped: bool
) -> Tensor | None:
    """scaled_dot_product_attention for the sizes and dtypes only; None when unbacked sizes leave it undecided."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    sizes = [size for t in (q, k, v, mask) if t is not None for size in (*t.shape, *t.stride())]
    shape_env = next((size.node.shape_env for size in sizes if isinstance(size, torch.SymInt)), None)
    unguarded = contextlib.nullcontext() if shape_env is None else shape_env.suppress_guards()
    # On the meta device no question about the hardware at hand is asked.
    with FakeTensorMode(shape_env=shape_env), unguarded, torch.no_grad():
        fakes = [
            None if t is None else torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
            for t in (q, k, v, mask)
        ]
        try:
            return F.scaled_dot_product_attention(*fakes, is_causal=is_causal, enable_gqa=is_grouped)
        except GuardOnDataDependentSymNode:
            return None
        except Exception as error:  # whatever it raises, it does not take the operands
            line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise _Kept(f"scaled_dot_product_attention refuses its operands: {line}") from error
