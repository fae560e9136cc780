"""Rewrites planned calls in their graphs."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from .layout import make_reshape
from .report import Candidate
from .rules import Plan
from .variants import SDPA, tensor_of

aten = torch.ops.aten

# What belongs to a value, not to the call that made it.
OF_THE_VALUE = ("val", "tensor_meta")


class Rewriter:
    """Carries plans of one program out, one after the other."""

    def __init__(self) -> None:
        #: the graphs that were written to, in order
        self.changed: dict[Graph, None] = {}
        # A later plan may name a node that an earlier one has merged into another.
        self._merged: dict[Node, Node] = {}

    def rewrite(self, plan: Plan, candidate: Candidate) -> None:
        """Makes the call of `plan` scaled_dot_product_attention, and says so in `candidate`."""
        graph = plan.call.graph
        self.changed[graph] = None
        first, *others = plan.outputs
        # Where the variant stood: its operands may be written to before its output is taken.
        plan.call.append(first)
        query, key, value, bias = (self._merged.get(n, n) for n in (plan.query, plan.key, plan.value, plan.bias))
        if plan.repeats > 1:
            with graph.inserting_before(first):
                repeated = {t: _repeated(t, plan.repeats, plan.call) for t in dict.fromkeys((key, value))}
                key, value = repeated[key], repeated[value]
            candidate.notes.append(f"each key and value head is repeated {plan.repeats} times")
        positional = [query, key, value, bias, plan.dropout_p, plan.is_causal]
        # As torch.export writes a call: defaults at the end are left out.
        for default in (False, 0.0, None):
            if isinstance(positional[-1], Node) or positional[-1] != default:
                break
            positional.pop()
        keywords = {"scale": plan.scale} if plan.scale is not None else {}
        if plan.enable_gqa:
            keywords["enable_gqa"] = True

        # The node that took the output stays, with its name, users and metadata, and becomes the call itself.
        for name, entry in plan.call.meta.items():
            if name not in OF_THE_VALUE:
                first.meta.setdefault(name, entry)
        attention = first
        if plan.fixed_order is None:
            first.target, first.args, first.kwargs = SDPA, tuple(positional), keywords
        else:
            with graph.inserting_before(first):
                attention = graph.create_node(
                    "call_function", SDPA, tuple(positional), keywords, name="scaled_dot_product_attention"
                )
                attention.meta = dict(first.meta)
                _restore_layout(first, attention, plan.fixed_order)
            candidate.notes.append(f"a copy restores its layout, since {plan.layout.reason_to_fix()}")
        for other in others:
            other.replace_all_uses_with(first)
            graph.erase_node(other)
            self._merged[other] = first
        for unused in list(plan.call.users):
            graph.erase_node(unused)
        graph.erase_node(plan.call)
        candidate.rewritten, candidate.replacement = True, attention.name

        self._drop_bias_preparation(plan, candidate)
        for view in plan.layout.views if plan.fixed_order is None else ():
            if view.target is not aten.reshape.default:
                make_reshape(view)
                self.changed[view.graph] = None
                candidate.notes.append(f"{view.name} is a reshape now")

    def _drop_bias_preparation(self, plan: Plan, candidate: Candidate) -> None:
        if not plan.bias_preparation:
            return
        candidate.notes.append(f"the bias is {plan.bias.name}, from before padding and expansion")
        for node in plan.bias_preparation:
            if not node.users:
                node.graph.erase_node(node)


def _add(graph: Graph, origin: Node, target: Any, *args: Any, **kwargs: Any) -> Node:
    """A new call with the metadata of `origin` and the value that its arguments give."""
    node = graph.call_function(target, args, kwargs)
    node.meta.update({name: entry for name, entry in origin.meta.items() if name not in OF_THE_VALUE})
    values, keywords = map_arg((args, kwargs), lambda n: n.meta["val"])
    node.meta["val"] = target(*values, **keywords)
    return node


def _restore_layout(output: Node, attention: Node, order: tuple[int, ...]) -> None:
    """Makes `output` a copy of `attention` that has its dims in memory in `order`."""
    contiguous = {"memory_format": torch.contiguous_format}
    if order == tuple(range(len(order))):
        output.target, output.args, output.kwargs = aten.clone.default, (attention,), contiguous
        return
    in_order = _add(attention.graph, attention, aten.permute.default, attention, list(order))
    copied = _add(attention.graph, attention, aten.clone.default, in_order, **contiguous)
    back = [order.index(dim) for dim in range(len(order))]
    output.target, output.args, output.kwargs = aten.permute.default, (copied, back), {}


def _repeated(tensor: Node, repeats: int, origin: Node) -> Node:
    """[N, H, S, E] with each head `repeats` times in a row, in core ATen ops."""

    call = functools.partial(_add, tensor.graph, origin)
    shape = tensor_of(tensor).shape
    batch, length, dim = (
        shape[d] if isinstance(shape[d], int) else call(aten.sym_size.int, tensor, d) for d in (0, 2, 3)
    )
    heads = shape[1] * repeats if isinstance(shape[1], int) else -1
    grouped = call(aten.expand.default, call(aten.unsqueeze.default, tensor, 2), [-1, -1, repeats, -1, -1])
    copied = call(aten.clone.default, grouped, memory_format=torch.contiguous_format)
    return call(aten.view.default, copied, [batch, heads, length, dim])
