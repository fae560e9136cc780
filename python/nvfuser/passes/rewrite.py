"""Puts the call of scaled_dot_product_attention in the place of a fused node."""

from __future__ import annotations

import contextlib
import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .rules import Rewrite, outputs_of, value_of

_ATEN = torch.ops.aten
SDPA = _ATEN.scaled_dot_product_attention.default

#: what of a node's metadata says where it comes from
_ORIGIN = ("stack_trace", "nn_module_stack", "source_fn_stack", "from_node", "torch_fn", "custom")


def rewrite(gm: GraphModule, node: Node, plan: Rewrite) -> dict[str, str]:
    """Rewrites one fused node in place; returns the new name of each node that went."""
    graph, call = gm.graph, plan.call
    picks = outputs_of(node)
    assert not isinstance(picks, str), picks
    outputs = [p for p in picks if p.args[1] == 0]
    origin = {name: node.meta[name] for name in _ORIGIN if name in node.meta}
    with graph.inserting_before(node):
        key, value = call.key, call.value
        if plan.repeats > 1:
            key, value = (_repeated(graph, t, plan.repeats, origin) for t in (key, value))
        args, kwargs = _arguments(plan, key, value)
        new = graph.create_node("call_function", SDPA, args, kwargs, name="scaled_dot_product_attention")
    new.meta = {**node.meta, **origin, **outputs[0].meta}
    new.meta.pop("original_aten", None)
    new.meta["val"], changed = _value(new, outputs[0].meta.get("val"))
    if new.meta["val"] is None:
        del new.meta["val"]
    renamed = {pick.name: new.name for pick in outputs}
    for pick in picks:
        if pick.args[1] == 0:
            pick.replace_all_uses_with(new)
        graph.erase_node(pick)
    leftovers = [a for a in node.all_input_nodes if a not in new.all_input_nodes]
    graph.erase_node(node)
    for leftover in leftovers:
        _erase_bias_chain(graph, leftover)
    _tolerate_strides(new)
    if changed:
        _update_values(new)
    return renamed


def _arguments(plan: Rewrite, key: Any, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Defaults are left out: trailing ones by position, a scale of None and a flag that is off by name."""
    call = plan.call
    args = [call.query, key, value, call.bias, call.dropout_p, call.is_causal]
    for default in (False, 0.0, None):
        if args[-1] is not default and not (default == 0.0 and _is_zero(args[-1])):
            break
        args.pop()
    kwargs: dict[str, Any] = {}
    if call.scale is not None:
        kwargs["scale"] = call.scale
    if plan.enable_gqa:
        kwargs["enable_gqa"] = True
    return tuple(args), kwargs


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def _repeated(graph: torch.fx.Graph, tensor: Node, repeats: int, origin: dict[str, Any]) -> Node:
    """[N, H, S, E] -> [N, H * repeats, S, E], each head `repeats` times in a row."""
    node = graph.call_function(_ATEN.repeat_interleave.self_int, (tensor, repeats, 1))
    node.meta = dict(origin)
    value = _evaluated(node)
    if value is not None:
        node.meta["val"] = value
    return node


# ---- metadata


def _evaluated(node: Node) -> Any:
    """The node's value on the fake tensors of its operands; None where that is not possible. Adds no guard."""
    operands = [value_of(n) for n in node.all_input_nodes]
    mode = next((m for v in operands if v is not None and (m := getattr(v, "fake_mode", None)) is not None), None)
    if mode is None:
        return None

    def val(n: Node) -> Any:
        return n.meta["val"]

    guards = mode.shape_env.suppress_guards() if mode.shape_env is not None else contextlib.nullcontext()
    try:
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), val)
        with mode, guards, torch.no_grad():
            return node.target(*args, **kwargs)
    except Exception:  # sizes that are known at run time only
        return None


def _value(new: Node, old: Any) -> tuple[Any, bool]:
    """The fake tensor of the new node, and whether its strides are others than those of the old one.

    Which kernel torch picks, and so the memory order, may depend on what the fake tensors do not know; shape, dtype and
    device are the same for all, and where they are not found to be, the old value stays.
    """
    if not isinstance(old, torch.Tensor):
        return old, False
    value = _evaluated(new)
    same = isinstance(value, torch.Tensor) and (value.dtype, value.device) == (old.dtype, old.device)
    if not same or len(value.shape) != len(old.shape) or str(value.shape) != str(old.shape):
        return old, False
    return value, str(value.stride()) != str(old.stride())


def _update_values(start: Node) -> None:
    """Recomputes the fake tensors of what is computed from `start`, as far as the other strides are felt."""
    changed = {start}
    for node in list(start.graph.nodes):
        if node.op != "call_function" or not any(n in changed for n in node.all_input_nodes):
            continue
        old = node.meta.get("val")
        if not isinstance(old, torch.Tensor):
            continue
        value = _evaluated(node)
        fits = isinstance(value, torch.Tensor) and str(value.shape) == str(old.shape) and value.dtype == old.dtype
        if fits and str(value.stride()) != str(old.stride()):
            node.meta["val"] = value
            changed.add(node)


#: what keeps the memory order of its operand, so that a view further on feels it
_VIEWS = {
    _ATEN.transpose.int,
    _ATEN.permute.default,
    _ATEN.slice.Tensor,
    _ATEN.select.int,
    _ATEN.unsqueeze.default,
    _ATEN.squeeze.dims,
    _ATEN.squeeze.dim,
    _ATEN.expand.default,
    _ATEN.alias.default,
    _ATEN.detach.default,
    _ATEN.t.default,
    _ATEN.reshape.default,
}


def _tolerate_strides(start: Node) -> None:
    """Makes views of the attention output, which fail for some memory orders, reshapes, which work for all.

    The fused op promised one order; scaled_dot_product_attention has that of the kernel it picks when it runs.
    """
    reached = {start}
    for node in start.graph.nodes:
        if node.op != "call_function" or not any(n in reached for n in node.all_input_nodes):
            continue
        if node.target is _ATEN.view.default:
            node.target = _ATEN.reshape.default
        is_overload = isinstance(node.target, torch._ops.OpOverload)
        if node.target in _VIEWS or (is_overload and torch.Tag.pointwise in node.target.tags):
            reached.add(node)


# ---- what is left of a bias that was undone

_BIAS_OPS = {_ATEN.expand.default, _ATEN.slice.Tensor, _ATEN.constant_pad_nd.default}


def _erase_bias_chain(graph: torch.fx.Graph, node: Node) -> None:
    while node.op == "call_function" and not node.users and (node.target in _BIAS_OPS or _is_unused_pick(node)):
        source = node.args[0]
        graph.erase_node(node)
        if not isinstance(source, Node):
            return
        node = source


def _is_unused_pick(node: Node) -> bool:
    return node.target is operator.getitem and not node.users and "scaled_dot_product" in str(node.args[0].target)
