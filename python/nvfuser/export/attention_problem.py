"""Asks the attention backends about a node of a graph, without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import map_aggregate

from ..dynamo.lowering import layout_of_tensor
from ..dynamo.op_table import TABLE, schema_arguments

#: settings of the node that people want to see
SHOWN = ("is_causal", "scale", "dropout_p", "causal_alignment")


@dataclass
class Candidate:
    """A backend's answer: `reason` says why it does not take the node, "" when it does."""

    name: str
    reason: str


@dataclass
class Answer:
    """What the backends say about one node."""

    requested: str = "auto"
    settings: dict[str, Any] = field(default_factory=dict)
    chosen: str | None = None
    candidates: list[Candidate] = field(default_factory=list)
    #: why nobody could be asked, or none takes it
    note: str = ""


class _Asked(Exception):
    """Carries the operands and settings of ``sdpa_fwd`` out of a translator."""

    def __init__(self, operands: tuple[Any, ...], settings: dict[str, Any]):
        self.operands = operands
        self.settings = settings


class _Recorder:
    """Stands in for the definition under construction while a translator decides how to call ``sdpa_fwd``."""

    def __init__(self, node: Node, options: Any):
        self.node = node
        self.options = options
        self.ops = self

    def broadcast(self, tensor: torch.Tensor, is_new: list[bool]) -> torch.Tensor:
        for dim in (d for d, new in enumerate(is_new) if new):
            tensor = tensor.unsqueeze(dim)
        return tensor

    def sdpa_fwd(self, *operands: Any, **settings: Any) -> Any:
        raise _Asked(operands, settings)


def candidates_of(node: Node, options: Any, symbols: Mapping[Any, int]) -> Answer:
    """What each backend says about the attention node `node`, which has a row in the op table.

    Sizes that are symbolic count as in `symbols`, or as their hints. Never raises: `Answer.note` holds what went wrong.
    """
    from nvfuser_direct.attention import sdpa_backends

    devices = {n.meta["val"].device for n in node.all_input_nodes if isinstance(n.meta["val"], torch.Tensor)}
    if any(d.type == "cuda" and not torch.cuda.is_available() for d in devices):
        return Answer(note="this machine has no CUDA device; the backends can be asked only where there is one")
    recorder = _Recorder(node, options)
    try:
        arguments = [map_aggregate(a, lambda x: _concrete(x, symbols)) for a in schema_arguments(node)]
        TABLE[node.target].translate(recorder, *arguments)
    except _Asked as asked:
        operands, settings = asked.operands, dict(asked.settings)
    except Exception as error:  # a size that cannot be had, no memory for an operand
        return Answer(note=f"{type(error).__name__}: {error}")
    else:
        return Answer(note="not a forward attention node")
    requested, inference = settings.pop("backend", "auto"), settings.pop("inference", False)
    shown = {name: settings[name] for name in SHOWN if name in settings}
    try:
        table = sdpa_backends(*operands, training=not inference, **settings)
    except (RuntimeError, ValueError) as error:
        return Answer(requested, shown, note=str(error))
    answers = [Candidate(row.name, "" if row.eligible else row.reason) for row in table]
    eligible = [row.name for row in table if row.eligible]
    if requested != "auto":
        eligible = [name for name in eligible if name == requested]
    note = "" if eligible else "no backend takes it" if requested == "auto" else f"{requested} does not take it"
    return Answer(requested, shown, eligible[0] if eligible else None, answers, note)


def _concrete(value: Any, symbols: Mapping[Any, int]) -> Any:
    """A tensor (contents undefined) of the sizes, strides, dtype and device that an fx node stands for."""
    if not isinstance(value, Node):
        return value
    meta = value.meta["val"]
    if not isinstance(meta, torch.Tensor):
        return _number(meta, symbols)
    hinted = layout_of_tensor(meta)
    sizes = [_number(s, symbols, hint) for s, hint in zip(meta.shape, hinted[0])]
    strides = [_number(s, symbols, hint) for s, hint in zip(meta.stride(), hinted[1])]
    return torch.empty_strided(sizes, strides, dtype=meta.dtype, device=meta.device)


def _number(value: Any, symbols: Mapping[Any, int], hint: int | None = None) -> Any:
    if not isinstance(value, torch.SymInt):
        return value
    found = value.node.expr.subs(symbols)
    if found.is_number:
        return int(found)
    return hint if hint is not None else int(value.node.hint)
