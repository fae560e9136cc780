"""What becomes of an exported program: the data behind ``python -m nvfuser explain``, and its text."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from ..dynamo.graph import CompiledGraph
from ..dynamo.lowering import region_device
from ..dynamo.op_table import TABLE, is_scalar_value, metas
from ..dynamo.partition import Region, op_name
from ..dynamo.runtime import RegionCall
from .attention_problem import Candidate, candidates_of
from .inputs import ProgramInputs
from .program import CompiledProgram, ExportOptions

NOT_RUN = "not run"
WIDTH = 116


@dataclass
class AttentionPart:
    """An attention node: the call, and the backends that were asked about it, the preferred one first."""

    node: str
    op: str
    #: "fusion_0", or "ATen" for a node that stays outside
    place: str
    #: why it stays outside of a fusion; "" for one that does not
    reason: str = ""
    #: operand -> dtype and sizes
    operands: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    #: which backend the node asks for; "auto" lets the dispatcher choose
    requested: str = "auto"
    #: the backend that takes it here and now; None when there is none, or it cannot be told
    backend: str | None = None
    #: the answer of each backend
    candidates: list[Candidate] = field(default_factory=list)
    #: why there is no answer
    note: str = ""
    #: the backend that ran; None unless the program was run
    ran: str | None = None


@dataclass
class FusionPart:
    """One fusion: its ops with their counts, the values that go in and come out, its attention nodes, its segments."""

    name: str
    ops: dict[str, int]
    inputs: list[str]
    outputs: list[str]
    attention: list[AttentionPart]
    #: nvfuser_direct.explain.Segment: generated kernels, library calls and views, as far as the definition decides
    #: them; as they ran when the program was run. Empty for a fusion on CUDA that was not run.
    segments: list[Any] = field(default_factory=list)


@dataclass
class EagerPart:
    """A node that is left to ATen, and why."""

    node: str
    op: str
    reason: str


@dataclass
class GraphPart:
    """The program itself ("exported"), or a branch of its control flow."""

    title: str
    fusions: list[FusionPart]
    eager: list[EagerPart]
    #: attention nodes outside of fusions
    eager_attention: list[AttentionPart]

    @property
    def attention(self) -> list[AttentionPart]:
        """All attention nodes of this graph."""
        return [*(a for f in self.fusions for a in f.attention), *self.eager_attention]


@dataclass
class Explanation:
    """What becomes of a program; print it for people, `as_dict` is for machines."""

    inputs: list[str]
    #: what symbolic sizes counted as when the attention backends were asked
    sizes: dict[str, int]
    #: what the attention pass did: one entry a candidate; None when it did not run
    attention_pass: list[PassPart] | None
    graphs: list[GraphPart]

    @property
    def attention(self) -> list[AttentionPart]:
        """All attention nodes of the program and its branches."""
        return [node for graph in self.graphs for node in graph.attention]

    def as_dict(self) -> dict[str, Any]:
        """Dicts, lists, strings and numbers only."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        lines = ["inputs", *(f"  {text}" for text in self.inputs)]
        if self.sizes:
            lines.append(f"attention backends are asked with {', '.join(f'{s} = {n}' for s, n in self.sizes.items())}")
        lines += _pass_lines(self.attention_pass)
        for graph in self.graphs:
            lines += _graph_lines(graph)
        return "\n".join(lines)


@dataclass
class PassPart:
    """A fused attention variant that the pass looked at: rewritten to scaled_dot_product_attention, or kept and why."""

    node: str
    op: str
    rewritten: bool
    reason: str


def explain_program(program: Any, options: ExportOptions, run: bool) -> Explanation:
    """Compiles `program` and describes the result; with `run` it also runs once with the example inputs."""
    compiled = CompiledProgram(program, options)
    example = program.example_inputs
    if run:
        if example is None:
            raise ValueError("the program carries no example inputs to run with")
        # A copy: the program may write its inputs.
        args, kwargs = copy.deepcopy(example)
        compiled(*args, **kwargs)
    sizes = _symbol_values(compiled.inputs, example)
    described = [f"{i.name}: {_described(i.value, compiled.inputs.declared_range)}" for i in compiled.inputs.inputs]
    graphs = [_graph_part(graph, options, sizes, run) for graph in compiled.graphs]
    named = {str(symbol): value for symbol, value in sizes.items()}
    return Explanation(described, named, _pass_parts(compiled.attention_pass), graphs)


def _pass_parts(report: Any) -> list[PassPart] | None:
    if report is None:
        return None
    candidates = getattr(report, "candidates", report)
    return [PassPart(str(c.node), str(c.op), bool(c.rewritten), c.reason or "") for c in candidates]


def _symbol_values(inputs: ProgramInputs, example: Any) -> dict[Any, int]:
    if example is None:
        return {}
    try:
        return inputs.symbols(inputs.flatten(*example))
    except ValueError:  # examples that were put there later need not fit; the hints of the export remain
        return {}


# ---- the parts


def _graph_part(graph: CompiledGraph, options: ExportOptions, sizes: dict[Any, int], run: bool) -> GraphPart:
    fusions, eager, eager_attention = [], [], []
    for step in graph.plan.steps:
        if isinstance(step, Region):
            fusions.append(_fusion_part(graph, step, options, sizes, run))
        elif (reason := graph.plan.node_reasons.get(step)) is not None:
            eager.append(EagerPart(step.name, op_name(step), reason))
            if _is_attention(step):
                eager_attention.append(AttentionPart(step.name, op_name(step), "ATen", reason, _operands(step)))
    return GraphPart(graph.entry.kind, fusions, eager, eager_attention)


def _is_attention(node: Node) -> bool:
    row = TABLE.get(node.target)
    return (row is not None and row.is_attention) or "scaled_dot_product" in op_name(node)


def _fusion_part(
    graph: CompiledGraph, region: Region, options: ExportOptions, sizes: dict[Any, int], run: bool
) -> FusionPart:
    entry = graph.calls[id(region)].entry
    nodes = [n for n in region.computing() if TABLE[n.target].is_attention]
    attention = []
    for node, record in zip(nodes, entry.attention):
        found = candidates_of(node, options, sizes)
        settings = {name: value for name, value in found.settings.items() if value not in (None, False, 0.0)}
        part = AttentionPart(node.name, op_name(node), entry.name, "", _operands(node), settings, found.requested)
        part.backend, part.candidates, part.note = found.chosen, found.candidates, found.note
        part.ran = (record.backend or NOT_RUN) if run else None
        attention.append(part)
    inputs = [f"{n.name}: {_described(n.meta['val'])}" for n in region.inputs]
    outputs = [f"{n.name}: {_described(n.meta['val'])}" for n in region.outputs]
    ops = dict(sorted(entry.ops.items()))
    return FusionPart(entry.name, ops, inputs, outputs, attention, _segments(graph.calls[id(region)]))


def _segments(call: RegionCall) -> list[Any]:
    """The segments of the definition that ran, else of the one that is made for the strides of the graph."""
    from nvfuser_direct import _C_DIRECT
    from nvfuser_direct.explain import segments_from

    caches = [getattr(execute, "func", execute).__self__ for execute in call._executors.values()]
    ran = [cache for cache in caches if cache.num_runtimes() > 0]
    if ran:
        reports = ran[-1]._most_recent_report()
    elif region_device(call.region).type == "cpu":
        reports = _C_DIRECT._planned_report(caches[0].fusion())
    else:
        reports = []
    return segments_from(reports, [], None)


def _operands(node: Node) -> dict[str, str]:
    """The tensors that go into a call, by the names of its schema."""
    names = [argument.name for argument in node.target._schema.arguments]
    given = {**dict(zip(names, node.args)), **node.kwargs}
    return {name: _described(metas(n)[0]) for name, n in given.items() if isinstance(n, Node) and metas(n)}


def _described(value: Any, range_of: Any = None) -> str:
    """``float32 [s0 (1 to 16), 10]``; ``int s0``; a constant as it is."""

    def size(dim: Any) -> str:
        bounds = range_of(dim) if range_of is not None else ""
        return f"{dim}{f' ({bounds})' if bounds else ''}"

    if isinstance(value, torch.Tensor):
        sizes = ", ".join(size(dim) for dim in value.shape)
        place = "" if value.device.type == "cpu" else f" on {value.device}"
        return f"{str(value.dtype).removeprefix('torch.')} [{sizes}]{place}"
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return f"{type(value).__name__.removeprefix('Sym').lower()} {size(value)}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_described(v) for v in value)})"
    return f"{type(value).__name__} {value!r}" if is_scalar_value(value) else repr(value)


# ---- the text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _wrapped(head: str, items: list[str]) -> list[str]:
    """A list after a head, never broken inside an item; lines that follow are indented to the head's end."""
    lines = [head]
    for number, item in enumerate(items or ["none"]):
        text = item + ("; " if number + 1 < len(items) else "")
        if len(lines[-1]) + len(text.rstrip()) > WIDTH and lines[-1].strip():
            lines.append(" " * len(head))
        lines[-1] += text
    return [line.rstrip() for line in lines]


def _pass_lines(parts: list[PassPart] | None) -> list[str]:
    if parts is None:
        return ["attention pass: did not run"]
    if not parts:
        return ["attention pass: no fused attention variant in the program"]
    done = sum(part.rewritten for part in parts)
    lines = [f"attention pass: {done} of {len(parts)} fused variants become scaled_dot_product_attention"]
    for part in parts:
        outcome = "rewritten" if part.rewritten else f"kept: {part.reason}"
        lines.append(f"  {part.node} = {part.op}  {outcome}")
    return lines


def _graph_lines(graph: GraphPart) -> list[str]:
    ops = sum(sum(fusion.ops.values()) for fusion in graph.fusions)
    title = "program" if graph.title == "exported" else graph.title
    lines = ["", f"{title}: {_count(len(graph.fusions), 'fusion')} of {_count(ops, 'op')}"]
    lines[-1] += f", {_count(len(graph.eager), 'node')} left to ATen"
    for fusion in graph.fusions:
        lines.append(f"  {fusion.name}")
        lines += _wrapped("    ops      ", [op if n == 1 else f"{n} x {op}" for op, n in fusion.ops.items()])
        lines += _wrapped("    inputs   ", fusion.inputs)
        lines += _wrapped("    outputs  ", fusion.outputs)
        lines += _segment_lines(fusion.segments)
        for node in fusion.attention:
            lines += _attention_lines(node)
    if graph.eager:
        lines.append("  left to ATen")
        names = {part.reason: [] for part in graph.eager}
        counts = Counter((part.reason, part.op) for part in graph.eager)
        for (reason, op), n in counts.items():
            names[reason].append(op if n == 1 else f"{n} x {op}")
        for reason, found in names.items():
            lines += _wrapped(f"    {reason}: ", found)
    return lines


def _segment_lines(segments: list[Any]) -> list[str]:
    """A line for each kernel and library call, and one for each row of views."""
    lines: list[str] = []
    for kind, group in itertools.groupby(segments, key=lambda s: (s.kind, None if s.kind == "view" else s.number)):
        row = list(group)
        numbers = f"segment {row[0].number}" if len(row) == 1 else f"segments {row[0].number} to {row[-1].number}"
        title = _count(len(row), "view") if kind[0] == "view" else kind[0]
        if row[0].kernels and row[0].scheduler:
            title += f", {row[0].scheduler}"
        lines += _wrapped(f"    {numbers}  {title}: ", [text for segment in row for text in segment.op_counts()])
    return lines


def _attention_lines(node: AttentionPart) -> list[str]:
    lines = [f"    attention  {node.node} = {node.op}"]
    given = [f"{name} {text}" for name, text in node.operands.items()]
    lines += _wrapped("      ", [*given, *(f"{name}={value}" for name, value in node.settings.items())])
    asked = "" if node.requested == "auto" else f" (the node asks for {node.requested})"
    lines.append(f"      backend {node.backend or 'unknown'}{asked}{': ' + node.note if node.note else ''}")
    if node.ran is not None:
        lines[-1] += f"; ran on {node.ran}" if node.ran != NOT_RUN else "; not run with these inputs"
    for candidate in node.candidates:
        if candidate.name != node.backend:
            lines.append(f"        {candidate.name}: {candidate.reason or 'would take it too'}")
    return lines
