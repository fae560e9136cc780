"""The pass itself: finds the calls, asks the rules, rewrites the graphs."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase

from .control_flow import CallGraph
from .report import Candidate, FusedSdpaKeptError, ReplaceResult, Report, ReportedPassResult
from .rewrite import Rewriter
from .rules import Plan, plan_or_reason
from .variants import VARIANTS, variant_of

logger = logging.getLogger("nvfuser.passes")


class ReplaceFusedSdpaWithSdpaPass(PassBase):
    """Turns fused attention variants back into ``aten.scaled_dot_product_attention``; a pass for torch.fx pass managers.

    An instance is called with a GraphModule (of an ExportedProgram, of make_fx, ...), works in place, and returns a
    PassResult ``(graph_module, modified)`` that also has a `report`. The graphs of control flow (cond, while_loop, map,
    scan, nested ones) are searched too. The nodes that become attention calls keep their names and metadata, so the
    signature of a program stays valid.

    A call is rewritten only when that gives the same result: nothing but its attention output is used; a causal call
    has no bias and equal query and key lengths. Any other one stays, with one line at INFO in the log "nvfuser.passes".
    Dropout is carried over: the same distribution, drawn by the kernel that runs. The call that comes out has

    - no scale where that is the default, 1/sqrt(head dim),
    - ``enable_gqa`` unless the query and key head counts are known to be equal,
    - the bias as it was before padding and expansion, where that is provable.

    Its memory layout is that of the kernel that will run, so views behind it that merge dims become reshapes.

    Args:
        variants: which to rewrite, names out of "flash", "efficient", "cudnn", "cpu_flash", "overrideable"; default all.
        strict: raise instead of keeping a call of these variants; the graph is unchanged then.
        expand_gqa: write groups of heads out (each key and value head repeated) for exporters that refuse
            ``enable_gqa``; a call whose ratio of heads is not known is kept.
    Raises:
        ValueError: an unknown variant. When called: TypeError for anything but a GraphModule, FusedSdpaKeptError (a
        RuntimeError) with `strict`.
    """

    def __init__(self, *, variants: Iterable[str] | None = None, strict: bool = False, expand_gqa: bool = False):
        super().__init__()
        self.variants = _checked_variants(variants)
        self.strict = strict
        self.expand_gqa = expand_gqa

    def call(self, graph_module: GraphModule) -> ReportedPassResult:
        """Rewrites `graph_module` in place; see the class."""
        if not isinstance(graph_module, GraphModule):
            raise TypeError(f"expected a torch.fx.GraphModule, got {type(graph_module).__name__}")
        calls = CallGraph(graph_module)
        report, plans = Report(), []
        # All are decided before the first is rewritten, so that a strict run leaves the graph as it was.
        for name, graph in calls.graphs.items():
            for node in graph.nodes:
                variant = variant_of(node)
                if variant is None:
                    continue
                candidate = Candidate(node.name, str(node.target), variant, graph=name)
                report.candidates.append(candidate)
                decision = self._decide(node, variant, calls)
                if isinstance(decision, Plan):
                    plans.append((decision, candidate))
                    continue
                candidate.reason, candidate.requested = decision, variant in self.variants
                logger.info("%s", candidate)
        if self.strict and any(c.requested for c in report.kept):
            raise FusedSdpaKeptError(report)

        rewriter = Rewriter()
        for plan, candidate in plans:
            rewriter.rewrite(plan, candidate)
        for graph in rewriter.changed:
            calls.recompile(graph)
        return ReportedPassResult(graph_module, bool(plans), report)

    def _decide(self, node: Node, variant: str, calls: CallGraph) -> Plan | str:
        if variant not in self.variants:
            return "the variant is not among those to rewrite"
        return plan_or_reason(node, calls, self.expand_gqa)


def replace_fused_sdpa(
    program_or_graph_module: Any,
    *,
    variants: Iterable[str] | None = None,
    strict: bool = False,
    expand_gqa: bool = False,
) -> ReplaceResult:
    """Turns the fused attention variants of a program back into ``scaled_dot_product_attention``.

    What is rewritten, and how, is said at `ReplaceFusedSdpaWithSdpaPass`. The given object stays as it is: the result
    holds a new ExportedProgram (or GraphModule), which shares parameters, buffers and constants with it; when there was
    nothing to rewrite, the given object itself.

    Args:
        program_or_graph_module: a ``torch.export.ExportedProgram`` or a ``torch.fx.GraphModule`` with fake tensors in
            its metadata (as torch.export and make_fx leave them).
        variants, strict, expand_gqa: as for the class.
    Returns:
        a `ReplaceResult`: ``program``, ``graph_module``, ``modified``, ``report``.
    Raises:
        TypeError: neither of the two. ValueError: an unknown variant. FusedSdpaKeptError: a node was kept and `strict`.
    """
    from torch.export import ExportedProgram

    replace = ReplaceFusedSdpaWithSdpaPass(variants=variants, strict=strict, expand_gqa=expand_gqa)
    given = program_or_graph_module
    if isinstance(given, GraphModule):
        result = replace(_copied(given))
        return ReplaceResult(None, result.graph_module if result.modified else given, result.modified, result.report)
    if not isinstance(given, ExportedProgram):
        raise TypeError(f"expected an ExportedProgram or a GraphModule, got {type(given).__name__}")
    result = replace(_copied(given.graph_module))
    if not result.modified:
        return ReplaceResult(given, given.graph_module, False, result.report)
    program = _with_graph(given, result.graph_module)
    return ReplaceResult(program, program.graph_module, True, result.report)


def _checked_variants(variants: Iterable[str] | None) -> frozenset[str]:
    if variants is None:
        return frozenset(VARIANTS)
    names = [variants] if isinstance(variants, str) else list(variants)
    if unknown := [name for name in names if name not in VARIANTS]:
        raise ValueError(f"unknown attention variants {unknown}; known are {', '.join(VARIANTS)}")
    return frozenset(names)


# ---- copies


def _copied(module: GraphModule) -> GraphModule:
    """A copy with graphs of its own that shares everything that is not a graph: parameters, buffers, constants."""
    shared: dict[int, Any] = {}
    for part in module.modules():
        for held in (part.__dict__, part._parameters, part._buffers):
            for item in held.values():
                if isinstance(item, (Tensor, torch.ScriptObject)) or type(item).__name__ == "FakeScriptObject":
                    shared[id(item)] = item
    return copy.deepcopy(module, shared)


def _with_graph(program: Any, module: GraphModule) -> Any:
    """The program with another graph, checked by its verifiers."""
    from torch.export import ExportedProgram
    from torch.export.graph_signature import ExportGraphSignature

    signature = program.graph_signature
    (output,) = (node for node in module.graph.nodes if node.op == "output")
    outputs = []
    for spec, value in zip(signature.output_specs, output.args[0]):
        # Two nodes that took the same output have become one.
        arg = dataclasses.replace(spec.arg, name=value.name) if isinstance(value, Node) else spec.arg
        outputs.append(dataclasses.replace(spec, arg=arg))
    signature = ExportGraphSignature(list(signature.input_specs), outputs)
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=signature,
        state_dict=program.state_dict,
        range_constraints=copy.deepcopy(program.range_constraints),
        module_call_graph=copy.deepcopy(program.module_call_graph),
        example_inputs=program.example_inputs,
        constants=program.constants,
        verifiers=program.verifiers,
    )
