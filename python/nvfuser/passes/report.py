"""What the attention pass says about a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult


@dataclass
class Candidate:
    """A call of a fused attention variant, and what became of it."""

    #: name of the node that called the variant
    node: str
    #: the op, such as "aten._scaled_dot_product_flash_attention.default"
    op: str
    #: "flash", "efficient", "cudnn", "cpu_flash" or "overrideable"
    variant: str
    #: the branch of control flow that holds the node ("true_graph_0"); "" for the program itself
    graph: str = ""
    rewritten: bool = False
    #: why the node has to stay; "" for one that was rewritten (or, when `strict` raised, could have been)
    reason: str = ""
    #: False for a variant that the caller did not ask to have rewritten
    requested: bool = True
    #: name of the node that is scaled_dot_product_attention now
    replacement: str = ""
    #: what else changed for it, one sentence each
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        place = f" in {self.graph}" if self.graph else ""
        outcome = f"kept: {self.reason}" if self.reason else "can be rewritten"
        if self.rewritten:
            outcome = f"rewritten as {self.replacement}"
        return "; ".join([f"{self.node} ({self.variant}){place} {outcome}", *self.notes])


@dataclass
class Report:
    """All fused attention nodes of a program, in the order of its graphs; print it, or walk it."""

    candidates: list[Candidate] = field(default_factory=list)

    @property
    def rewritten(self) -> list[Candidate]:
        """Those that are scaled_dot_product_attention now."""
        return [c for c in self.candidates if c.rewritten]

    @property
    def kept(self) -> list[Candidate]:
        """Those that have to stay as they were."""
        return [c for c in self.candidates if c.reason]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def __str__(self) -> str:
        if not self.candidates:
            return "no fused attention variant in the program"
        noun = "variant" if len(self.candidates) == 1 else "variants"
        head = f"{len(self.rewritten)} of {len(self.candidates)} fused attention {noun} rewritten"
        return "\n".join([head, *(f"  {c}" for c in self.candidates)])


@dataclass
class ReplaceResult:
    """What `replace_fused_sdpa` gives back."""

    #: the program after the pass; None when a GraphModule was given
    program: Any
    #: the graph after the pass; that of `program` when there is one
    graph_module: GraphModule
    #: False when nothing was rewritten; then the given object itself is returned
    modified: bool
    report: Report


class ReportedPassResult(PassResult):
    """A torch.fx PassResult, ``(graph_module, modified)``, which also carries the `report`."""

    report: Report

    def __new__(cls, graph_module: GraphModule, modified: bool, report: Report) -> ReportedPassResult:
        result = super().__new__(cls, graph_module, modified)
        result.report = report
        return result

    def __getnewargs__(self) -> tuple[Any, ...]:  # copies and pickles keep the report
        return (self.graph_module, self.modified, self.report)


class FusedSdpaKeptError(RuntimeError):
    """Raised with ``strict=True`` when a fused attention node cannot be rewritten; `report` holds all candidates."""

    def __init__(self, report: Report):
        kept = [c for c in report.kept if c.requested]
        nouns = "1 fused attention node" if len(kept) == 1 else f"{len(kept)} fused attention nodes"
        super().__init__("\n".join([f"{nouns} cannot become scaled_dot_product_attention:", *(f"  {c}" for c in kept)]))
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.report,))
