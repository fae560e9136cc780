"""What `torch.compile(backend="nvfuser")` did: the data behind `nvfuser.compile_report()`."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class AttentionEntry:
    """One attention node of a fusion: the op of the graph, and the backend that ran last (None: has not run yet)."""

    op: str
    backend: str | None = None

    def __str__(self) -> str:
        return f"{self.op} on {self.backend or '(not run yet)'}"


@dataclass
class FusionEntry:
    """One fusion: its ops by name, its attention nodes, and how its calls went."""

    name: str
    ops: Counter[str]
    attention: list[AttentionEntry] = field(default_factory=list)
    num_inputs: int = 0
    num_outputs: int = 0
    #: definitions built: one per layout class of the inputs that has been seen
    num_definitions: int = 0
    #: why a call ran in eager although the fusion was built; empty when all is well
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.name}: {_listed(self.ops)}"]
        lines += [f"  attention: {entry}" for entry in self.attention]
        lines += [f"  ran in eager after: {text}" for text in self.failures]
        return "\n".join(lines)


@dataclass
class GraphEntry:
    """One compiled graph; ``eager`` maps (op, reason) to a count.

    ``kind`` is "inference", "forward" or "backward" under torch.compile; for an exported program it is "exported", and
    "cond branch true_graph_0" and the like for the branches of its control flow.
    """

    kind: str
    fusions: list[FusionEntry] = field(default_factory=list)
    eager: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: the Python text that calls the fusions and the eager ops
    code: str = ""

    @property
    def num_fusions(self) -> int:
        return len(self.fusions)

    @property
    def fused_ops(self) -> Counter[str]:
        """How often each op stands in a fusion of this graph."""
        return sum((f.ops for f in self.fusions), Counter())

    @property
    def eager_ops(self) -> Counter[str]:
        """How often each op of this graph runs in eager."""
        counts: Counter[str] = Counter()
        for (op, _), count in self.eager.items():
            counts[op] += count
        return counts

    @property
    def attention(self) -> list[AttentionEntry]:
        return [entry for fusion in self.fusions for entry in fusion.attention]

    def __str__(self) -> str:
        fused, eager = sum(self.fused_ops.values()), sum(self.eager.values())
        lines = [f"{self.kind} graph: {_count(self.num_fusions, 'fusion')} of {_count(fused, 'op')}, {eager} in eager"]
        for fusion in self.fusions:
            lines += [f"  {line}" for line in str(fusion).split("\n")]
        lines += [f"  eager: {count} x {op} ({reason})" for (op, reason), count in sorted(self.eager.items())]
        return "\n".join(lines)


@dataclass
class CompileReport:
    """All graphs compiled since the start, or since `reset_compile_report()`; ``print`` shows it."""

    graphs: list[GraphEntry] = field(default_factory=list)

    @property
    def num_fusions(self) -> int:
        return sum(graph.num_fusions for graph in self.graphs)

    @property
    def fused_ops(self) -> Counter[str]:
        return sum((graph.fused_ops for graph in self.graphs), Counter())

    @property
    def eager_ops(self) -> Counter[str]:
        return sum((graph.eager_ops for graph in self.graphs), Counter())

    @property
    def attention(self) -> list[AttentionEntry]:
        return [entry for graph in self.graphs for entry in graph.attention]

    @property
    def failures(self) -> list[str]:
        """Messages of fusions whose calls had to run in eager."""
        return [text for graph in self.graphs for fusion in graph.fusions for text in fusion.failures]

    def __str__(self) -> str:
        if not self.graphs:
            return 'nothing compiled yet; use torch.compile(f, backend="nvfuser") and call the result'
        head = f"{_count(len(self.graphs), 'graph')}, {_count(self.num_fusions, 'fusion')}"
        head += f", {_count(len(self.attention), 'attention node')}"
        return "\n".join([head, *(f"[{i}] {graph}" for i, graph in enumerate(self.graphs))])


_lock = threading.Lock()
_graphs: list[GraphEntry] = []


def add_graph(entry: GraphEntry) -> None:
    """Puts a newly compiled graph on record."""
    with _lock:
        _graphs.append(entry)


def compile_report(*, reset: bool = False) -> CompileReport:
    """What ``torch.compile(backend="nvfuser")`` has made of the graphs it was given.

    Returns a `CompileReport`: print it, or read ``graphs``, ``num_fusions``, ``fused_ops``, ``eager_ops`` and
    ``attention``. Entries are live: the backend of an attention node is filled in when it runs. With ``reset`` the
    record is emptied after it was read.
    """
    with _lock:
        report = CompileReport(list(_graphs))
        if reset:
            _graphs.clear()
    return report


def reset_compile_report() -> None:
    """Forgets all graphs compiled so far; compiled functions go on working."""
    with _lock:
        _graphs.clear()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(ops: Counter[str]) -> str:
    return ", ".join(op if count == 1 else f"{count} x {op}" for op, count in sorted(ops.items()))
