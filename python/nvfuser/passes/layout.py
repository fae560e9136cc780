"""What depends on the memory layout of an attention output.

A fused variant has a layout of its own (the efficient kernel writes N, L, H, E in memory order), and tracing has turned
reshapes behind it into views that fit that layout. scaled_dot_product_attention has the layout of whatever kernel it
picks when it runs. So a view behind it that merges dims must become a reshape again. Where that is not enough, because
something reads strides, or writes into a view, or because control flow compares the strides of its branches when a
program is traced again, a copy gives the output the layout that it had.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from .control_flow import CallGraph, operator_name
from .variants import arguments_of, known_equal, tensor_of

aten = torch.ops.aten

VIEWS = frozenset({aten.view.default, aten._unsafe_view.default})
# Their results mean something else when the operand has other strides.
READERS = frozenset(
    {
        "aten::_reshape_alias",
        "aten::as_strided",
        "aten::as_strided_copy",
        "aten::as_strided_scatter",
        "aten::is_contiguous",
        "aten::sym_is_contiguous",
        "aten::is_non_overlapping_and_dense",
        "aten::is_strides_like_format",
        "aten::stride",
        "aten::sym_stride",
        "aten::sym_storage_offset",
        "aten::storage_offset",
        "triton_kernel_wrapper_functional",
        "triton_kernel_wrapper_mutation",
    }
)
# Their results have the same layout whatever that of the operands is.
BARRIERS = frozenset(
    {
        "aten::addmm",
        "aten::baddbmm",
        "aten::bmm",
        "aten::embedding",
        "aten::linear",
        "aten::mm",
        "aten::native_layer_norm",
        "aten::layer_norm",
        "aten::sym_numel",
        "aten::sym_size",
    }
)


@dataclass
class LayoutUses:
    """What a walk over everything that has the layout of an output has found."""

    #: views that may not fit another layout
    views: list[Node] = field(default_factory=list)
    #: nodes that read strides
    readers: list[Node] = field(default_factory=list)
    #: nodes that write into what may be a view of the output
    writers: list[Node] = field(default_factory=list)
    #: nodes that run a branch which gives a result of the layout
    carriers: list[Node] = field(default_factory=list)

    def reason_to_fix(self) -> str | None:
        """Why the output must have the layout that it had; None when reshapes are enough."""
        if self.readers:
            return f"{self.readers[0].name} reads its strides"
        if self.writers:
            return f"{self.writers[0].name} writes to what may be a view of it"
        return f"{self.carriers[0].name} carries it out of a branch" if self.carriers else None


def layout_uses(outputs: Sequence[Node], calls: CallGraph) -> LayoutUses:
    """Follows the layout of `outputs` through their users, and into and out of the branches of control flow."""
    found = LayoutUses()
    seen: set[Node] = set(outputs)
    waiting = list(outputs)
    writers: list[Node] = []

    def reach(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            waiting.append(node)

    while waiting:
        for user in waiting.pop().users:
            if user.op == "output":
                for caller in calls.callers(user.graph):
                    if caller.op == "call_function":
                        found.carriers.append(caller)
                    reach(caller)
                    _enter(caller, calls, reach)
                continue
            if user in seen or _is_barrier(user):
                continue
            if calls.called(user):
                _enter(user, calls, reach)
            elif user.target in VIEWS and not _only_splits(user):
                found.views.append(user)
            elif operator_name(user) in READERS:
                found.readers.append(user)
            elif isinstance(user.target, torch._ops.OpOverload) and user.target._schema.is_mutable:
                writers.append(user)
            reach(user)
    # With another layout a reshape may copy where it was a view, and then a write would miss the output.
    found.writers = [writer for writer in writers if any(node in seen for node in _written(writer))]
    return found


def _written(node: Node) -> list[Any]:
    """The arguments that a call writes to."""
    arguments = arguments_of(node)
    schema = node.target._schema.arguments
    given = [arguments.get(a.name) for a in schema if a.alias_info is not None and a.alias_info.is_write]
    return [n for value in given for n in (value if isinstance(value, (list, tuple)) else [value])]


def memory_order(tensor: Tensor) -> tuple[int, ...] | None:
    """The dims of a tensor without gaps from the outermost in memory to the innermost; None when it is not known."""
    for order in itertools.permutations(range(tensor.ndim)):
        expected: Any = 1
        for dim in reversed(order):
            # The stride of a dim of size 1 is never used.
            if not known_equal(tensor.shape[dim], 1) and not known_equal(tensor.stride(dim), expected):
                break
            expected = expected * tensor.shape[dim]
        else:
            return order
    return None


def _enter(caller: Node, calls: CallGraph, reach: Any) -> None:
    # Which operand becomes which placeholder differs by operator, so all of them count.
    for graph in calls.called(caller):
        for node in graph.nodes:
            if node.op == "placeholder":
                reach(node)


def make_reshape(view: Node) -> None:
    """Turns a view into a reshape; its name and metadata stay."""
    arguments = arguments_of(view)
    view.args = (arguments["self"], arguments["size"])
    view.kwargs = {}
    view.target = aten.reshape.default


def _is_barrier(node: Node) -> bool:
    if operator_name(node) == "aten::clone":
        return arguments_of(node).get("memory_format") == torch.contiguous_format
    return operator_name(node) in BARRIERS


def _only_splits(view: Node) -> bool:
    """True when every dim of the result lies within one dim of the operand: such a view fits any strides."""
    before, after = tensor_of(arguments_of(view)["self"]), tensor_of(view)
    if before is None or after is None:
        return False
    parts = [size for size in after.shape if not known_equal(size, 1)]
    for size in before.shape:
        if known_equal(size, 1):
            continue
        product: Any = 1
        while not known_equal(product, size):
            if not parts:
                return False
            product = product * parts.pop(0)
            if isinstance(product, int) and isinstance(size, int) and product > size:
                return False
    return not parts
