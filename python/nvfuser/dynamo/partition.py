"""Cuts an AOTAutograd graph into regions that become fusions and nodes that stay in eager.

Every node is of one class:

* ``fused``: has a row in the op table and computes something;
* ``free``: a view, a factory (``full``, ``arange``) or arithmetic on sizes. It belongs to no region: each region that
  needs its value builds it for itself, and eager nodes that need it run it in eager. So no view is ever materialised
  to cross a border, and graph outputs that are views alias what they alias in eager;
* ``eager``: all the rest, with the reason.

Each fused node gets a level: the number of changes between fused and eager on the longest way to it. A way from one
node to another never leads to a lower level, and one that passes an eager node leads to a higher one; so fused nodes
of one level can always run as one call, no cycle can arise, and finding the regions takes linear time.
"""

from __future__ import annotations

import heapq
import operator
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Graph, Node

from .op_table import COPIES_INPUT, TABLE, load, metas, why_not

#: arithmetic on sizes that a fusion can do with the operators of its scalars
SIZE_ARITHMETIC = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}


@dataclass
class Region:
    """Nodes that become one fusion; `nodes` are in graph order and include the free nodes that it needs."""

    nodes: list[Node]
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)

    def computing(self) -> list[Node]:
        """The nodes that do the work: no views, factories or size arithmetic, no picking from a tuple."""
        return [n for n in self.nodes if n.target is not operator.getitem and not _is_free_target(n)]


@dataclass
class Plan:
    """What runs, in order: `Region`s, and fx nodes that run in eager."""

    graph: Graph
    steps: list[Region | Node]
    #: (op, reason) -> how often
    eager_reasons: Counter[tuple[str, str]]
    #: why each node that runs in eager, and could have been in a fusion, is there
    node_reasons: dict[Node, str] = field(default_factory=dict)

    def regions(self) -> list[Region]:
        return [s for s in self.steps if isinstance(s, Region)]


def op_name(node: Node) -> str:
    """``aten.add.Tensor`` for ATen's ops, the function's name for others."""
    target = node.target
    return str(target) if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", str(target))


def _is_number(node: Node) -> bool:
    return isinstance(node.meta.get("val"), (int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


def _is_free_target(node: Node) -> bool:
    if _is_number(node):
        return node.target in SIZE_ARITHMETIC
    row = TABLE.get(node.target)
    return row is not None and row.kind in ("view", "create")


def _keeps_order(node: Node) -> bool:
    """True for what must not change places with its like: random ops, effects, writes."""
    if isinstance(node.target, torch._ops.OpOverload):
        return torch.Tag.nondeterministic_seeded in node.target.tags or node.target._schema.is_mutable
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return True
    return node.is_impure()


class Partitioner:
    """Finds the regions of one graph.

    `disabled` holds op names that stay in eager (``"aten.mm"`` stands for all its overloads); a region of fewer
    than `min_ops` computing nodes stays in eager too. `refused` holds nodes that stay in eager for a reason found later.
    """

    def __init__(
        self,
        graph: Graph,
        disabled: frozenset[str] = frozenset(),
        min_ops: int = 1,
        refused: dict[Node, str] | None = None,
    ):
        load()
        self.refused = refused or {}
        self.graph = graph
        self.disabled = disabled
        self.min_ops = min_ops
        self.kind: dict[Node, str] = {}
        self.reason: dict[Node, str] = {}
        self.index = {node: i for i, node in enumerate(graph.nodes)}

    def run(self) -> Plan:
        """Returns the plan; the graph itself is not changed."""
        for node in self.graph.nodes:
            self.kind[node] = self._classify(node)
        regions = self._grown_regions()
        for region in regions:
            self._complete(region)
        self._find_outputs(regions)
        steps = self._ordered(regions)
        reasons = {n: self.reason[n] for n in steps if isinstance(n, Node) and n in self.reason}
        return Plan(self.graph, steps, Counter((op_name(n), text) for n, text in reasons.items()), reasons)

    def _classify(self, node: Node) -> str:
        if node.op != "call_function":
            return node.op
        if node.target is operator.getitem and isinstance(node.args[0], Node) and not _is_number(node):
            kind = self.kind[node.args[0]]
            return kind if kind in ("fused", "free") else "eager"
        if _is_number(node):
            return "free" if _is_free_target(node) else "eager"
        reason = self.refused.get(node) or self._disabled_reason(node) or why_not(node)
        if reason is None:
            return "free" if _is_free_target(node) else "fused"
        self.reason[node] = reason
        return "eager"

    def _disabled_reason(self, node: Node) -> str | None:
        name = op_name(node)
        is_off = name in self.disabled or name.rpartition(".")[0] in self.disabled
        return "switched off by the option disabled_ops" if is_off else None

    def _roots(self) -> dict[Node, list[Node]]:
        """For each node the operands it needs, with free ones replaced by what those need."""
        roots: dict[Node, list[Node]] = {}
        for node in self.graph.nodes:
            found: dict[Node, None] = {}
            for operand in node.all_input_nodes:
                if self.kind[operand] == "free":
                    found.update(dict.fromkeys(roots[operand]))
                else:
                    found[operand] = None
            roots[node] = list(found)
        return roots

    def _levels(self, roots: dict[Node, list[Node]]) -> dict[Node, int]:
        """Even levels hold eager nodes, odd ones fused nodes; placeholders are at 0."""
        level: dict[Node, int] = {}
        last_ordered: Node | None = None
        for node in self.graph.nodes:
            kind = self.kind[node]
            if kind == "free":
                continue
            is_fused = kind == "fused"
            before = roots[node]
            if not is_fused and node.op == "call_function" and _keeps_order(node):
                before = before + [last_ordered] if last_ordered is not None else before
                last_ordered = node
            found = 1 if is_fused else 0
            for operand in before:
                step = 1 if (self.kind[operand] == "fused") != is_fused else 0
                if is_fused and not step and _device(operand) != _device(node):
                    step = 2
                found = max(found, level[operand] + step)
            level[node] = found
        return level

    def _grown_regions(self) -> list[Region]:
        """Fused nodes of one level that are connected, or that read the same tensor."""
        roots = self._roots()
        level = self._levels(roots)
        groups = _UnionFind()
        readers: dict[tuple[Node, int, Any], Node] = {}
        for node in self.graph.nodes:
            if self.kind[node] != "fused":
                continue
            groups.add(node)
            for root in roots[node]:
                if self.kind[root] == "fused" and level[root] == level[node]:
                    groups.union(root, node)
                elif any(m.ndim for m in metas(root)):
                    first = readers.setdefault((root, level[node], _device(node)), node)
                    groups.union(first, node)
        regions = []
        for members in groups.sets():
            region = Region(members)
            computing = region.computing()
            copies_only = all(n.target in COPIES_INPUT for n in computing)
            if len(computing) < self.min_ops or copies_only:
                for node in members:
                    self.kind[node] = "eager"
                    if node.target is not operator.getitem:
                        self.reason[node] = "a copy alone" if copies_only else f"fewer than {self.min_ops} ops"
                continue
            regions.append(region)
        return regions

    def _complete(self, region: Region) -> None:
        """Adds the free nodes that the region needs, and finds its inputs."""
        needed = dict.fromkeys(region.nodes)
        inputs: dict[Node, None] = {}
        stack = list(region.nodes)
        while stack:
            for operand in stack.pop().all_input_nodes:
                if operand in needed:
                    continue
                if self.kind[operand] == "free":
                    needed[operand] = None
                    stack.append(operand)
                else:
                    inputs[operand] = None
        region.nodes = sorted(needed, key=self.index.__getitem__)
        region.inputs = sorted(inputs, key=self.index.__getitem__)

    def _find_outputs(self, regions: list[Region]) -> None:
        used: set[Node] = set()
        for region in regions:
            used.update(region.inputs)
        for node in self._eager_nodes():
            used.update(node.all_input_nodes)
        for region in regions:
            region.outputs = [n for n in region.nodes if n in used and self.kind[n] == "fused"]

    def _eager_nodes(self) -> list[Node]:
        """What runs in eager: eager nodes, and the free nodes that those (or the graph's output) need."""
        needed: list[Node] = []
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes):
            kind = self.kind[node]
            is_unused_free = kind == "free" and node not in seen
            if kind in ("fused", "placeholder") or is_unused_free:
                continue
            needed.append(node)
            seen.update(node.all_input_nodes)
        return needed[::-1]

    def _ordered(self, regions: list[Region]) -> list[Region | Node]:
        """All steps in an order that respects every dependence, as near to the graph's own order as can be."""
        owner: dict[Node, Any] = {}
        for region in regions:
            owner.update(dict.fromkeys((n for n in region.nodes if self.kind[n] == "fused"), id(region)))
        eager = [n for n in self._eager_nodes() if n.op != "output"]
        owner.update((n, n) for n in eager)
        units: dict[Any, Region | Node] = {id(r): r for r in regions} | {n: n for n in eager}

        waits: dict[Any, set[Any]] = {}
        last_ordered: Node | None = None
        for key, unit in units.items():
            operands = unit.inputs if isinstance(unit, Region) else unit.all_input_nodes
            waits[key] = {owner[n] for n in operands if n in owner}
            if isinstance(unit, Node) and unit.op == "call_function" and _keeps_order(unit):
                if last_ordered is not None:
                    waits[key].add(last_ordered)
                last_ordered = unit
        followers: dict[Any, list[Any]] = {}
        for key, before in waits.items():
            for other in before:
                followers.setdefault(other, []).append(key)

        def place(key: Any) -> int:
            unit = units[key]
            return self.index[unit.nodes[0] if isinstance(unit, Region) else unit]

        ready = [(place(k), n, k) for n, k in enumerate(units) if not waits[k]]
        heapq.heapify(ready)
        steps: list[Region | Node] = []
        count = len(units)
        while ready:
            key = heapq.heappop(ready)[2]
            steps.append(units[key])
            for follower in followers.get(key, ()):
                waits[follower].discard(key)
                if not waits[follower]:
                    count += 1
                    heapq.heappush(ready, (place(follower), count, follower))
        if len(steps) != len(units):
            raise RuntimeError("the regions of the graph depend on each other in a circle; this is a bug in nvfuser")
        return steps


def _device(node: Node) -> torch.device | None:
    found = metas(node)
    return found[0].device if found else None


class _UnionFind:
    """Disjoint sets that remember the order in which their members came."""

    def __init__(self) -> None:
        self.parent: dict[Node, Node] = {}

    def add(self, node: Node) -> None:
        self.parent.setdefault(node, node)

    def find(self, node: Node) -> Node:
        while self.parent[node] is not node:
            self.parent[node] = self.parent[self.parent[node]]
            node = self.parent[node]
        return node

    def union(self, a: Node, b: Node) -> None:
        self.parent[self.find(b)] = self.find(a)

    def sets(self) -> list[list[Node]]:
        found: dict[Node, list[Node]] = {}
        for node in self.parent:
            found.setdefault(self.find(node), []).append(node)
        return list(found.values())
