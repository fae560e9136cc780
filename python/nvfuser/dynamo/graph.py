"""From one functional ATen graph to a function that runs it, partition by partition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .lowering import LoweringError
from .ops_random import RANDOM_OPS
from .options import FusionOptions
from .partition import Partitioner, Plan
from .report import GraphEntry
from .runtime import RegionCall, plan_function

BRANCHES = "control flow; its branches are compiled on their own"


@dataclass
class CompiledGraph:
    """A graph ready to run: `run` takes one list of arguments and empties it."""

    run: Callable[..., Any]
    plan: Plan
    #: id(region) -> the callable of that region
    calls: dict[int, RegionCall]
    entry: GraphEntry
    #: the compiled branches of control flow in this graph, by attribute name
    branches: dict[str, CompiledGraph] = field(default_factory=dict)

    def all_graphs(self) -> list[CompiledGraph]:
        """This graph, then the branches below it."""
        return [self, *(g for branch in self.branches.values() for g in branch.all_graphs())]


def compile_functional_graph(
    gm: GraphModule, kind: str, options: FusionOptions, with_branches: bool = False
) -> CompiledGraph:
    """Partitions `gm` and builds its fusions; `kind` is its title in the report.

    `gm` has no writes to its inputs, and its nodes carry their values in ``meta["val"]``. With `with_branches` the
    branches of ``cond`` and ``while_loop`` are compiled too; else they run in eager.
    """
    _fill_attribute_metas(gm)
    branches: dict[str, CompiledGraph] = {}
    reasons: dict[Node, str] = {}
    for node, attributes in _control_flow(gm) if with_branches else ():
        reasons[node] = BRANCHES
        for name in attributes:
            title = f"{node.target.name()} branch {name}"
            branches[name] = compile_functional_graph(getattr(gm, name), title, options, with_branches)
    plan, calls = _plan_that_builds(gm, options, reasons)
    run, code = plan_function(plan, calls, gm, {name: _spread(graph.run) for name, graph in branches.items()})
    entry = GraphEntry(kind, [calls[id(r)].entry for r in plan.regions()], plan.eager_reasons, code)
    return CompiledGraph(run, plan, calls, entry, branches)


def _control_flow(gm: GraphModule) -> list[tuple[Node, list[str]]]:
    """The nodes of `gm` that call cond or while_loop, each with the attributes that hold its branches."""
    higher = torch.ops.higher_order
    # Loaded by torch on first use; without them no graph can hold such a node.
    targets = [op for name in ("cond", "while_loop") if (op := getattr(higher, name, None)) is not None]
    found = []
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target in targets:
            names = [n.target for n in node.args if isinstance(n, Node) and n.op == "get_attr"]
            found.append((node, [n for n in names if isinstance(getattr(gm, n, None), GraphModule)]))
    return found


def _spread(run: Callable[..., Any]) -> Callable[..., Any]:
    def branch(*arguments: Any) -> Any:
        return run(list(arguments))

    return branch


def _fill_attribute_metas(gm: GraphModule) -> None:
    # Constants of the trace have no fake value of their own.
    for node in gm.graph.nodes:
        if node.op == "get_attr" and "val" not in node.meta:
            value = functools.reduce(getattr, node.target.split("."), gm)
            if isinstance(value, torch.Tensor):
                node.meta["val"] = value


def _plan_that_builds(
    gm: GraphModule, options: FusionOptions, reasons: dict[Node, str]
) -> tuple[Plan, dict[int, RegionCall]]:
    """Partitions until every region can be built; a node that our builders refuse goes to eager with their message."""
    refused: dict[Any, str] = dict(reasons)
    if options.fallback_random:
        drawing = (node for node in gm.graph.nodes if node.target in RANDOM_OPS)
        refused.update(dict.fromkeys(drawing, "left to eager by the option fallback_random"))
    while True:
        partitioner = Partitioner(gm.graph, frozenset(options.disabled_ops), options.min_ops, refused)
        plan = partitioner.run()
        calls: dict[int, RegionCall] = {}
        try:
            for number, region in enumerate(plan.regions()):
                calls[id(region)] = RegionCall(region, f"fusion_{number}", options)
        except LoweringError as error:
            refused[error.node] = str(error)
            continue
        return plan, calls
