"""The attention pass, as a torch.fx pass and as a function for exported programs."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from .report import Candidate, SdpaPassError, SdpaPassReport
from .rewrite import rewrite
from .rules import Rewrite, decide
from .variants import VARIANTS, variant_of


class SdpaPassOutcome(PassResult):
    """A `PassResult` (``graph_module``, ``modified``) with the pass's ``report``."""

    def __new__(cls, graph_module: GraphModule, modified: bool, report: SdpaPassReport) -> SdpaPassOutcome:
        outcome = super().__new__(cls, graph_module, modified)
        outcome.report = report
        return outcome

    def __init__(self, graph_module: GraphModule, modified: bool, report: SdpaPassReport):
        pass  # a tuple: all is done in __new__


class ReplaceFusedSdpaWithSdpaPass(PassBase):
    """Turns fused attention variants back into ``aten.scaled_dot_product_attention``.

    ``_scaled_dot_product_flash_attention``, ``..._efficient_attention``, ``..._cudnn_attention``,
    ``..._flash_attention_for_cpu`` and ``..._fused_attention_overrideable`` nodes become one
    ``scaled_dot_product_attention`` node each, with the same query, key, value, bias, dropout, causal flag and scale.
    A node is rewritten only where the result is provably the same: only its output is used, a causal call has no bias
    and has query and key lengths known to be equal. Other nodes stay; the report and one INFO line of the logger
    "nvfuser.passes" for each say why. Branches of control flow are searched as well.

    Views of the output become reshapes, because the memory order of the output is the business of whatever kernel runs.

    Args:
        variants: which to rewrite, of "flash", "efficient", "cudnn", "cpu_flash", "overrideable".
        strict: raise `SdpaPassError` instead of keeping a node; nothing is changed then.
        expand_gqa: repeat key and value heads instead of setting ``enable_gqa``, for exporters that refuse the flag.
    Raises:
        ValueError: an unknown variant. TypeError: not a GraphModule.

    Works in place, like other passes of this form; ``pass_(graph_module)`` returns a `PassResult` with a ``report``.
    """

    def __init__(self, variants: Iterable[str] = VARIANTS, *, strict: bool = False, expand_gqa: bool = False):
        super().__init__()
        self.variants = _checked(variants)
        self.strict = strict
        self.expand_gqa = expand_gqa
        #: names of output nodes that the last call replaced in the main graph -> their new names
        self.renamed: dict[str, str] = {}

    def call(self, graph_module: GraphModule) -> PassResult:
        """Rewrites `graph_module` and the graph modules inside it, each once."""
        if not isinstance(graph_module, GraphModule):
            raise TypeError(f"ReplaceFusedSdpaWithSdpaPass takes a GraphModule, not {type(graph_module).__name__}")
        report, plans = self._plans(graph_module)
        if self.strict and report.kept:
            raise SdpaPassError(report)
        self.renamed = {}
        for gm, found in plans:
            for node, plan in found:
                renamed = rewrite(gm, node, plan)
                if gm is graph_module:
                    self.renamed.update(renamed)
            if found:
                gm.graph.lint()
                gm.recompile()
        report.log_kept()
        return SdpaPassOutcome(graph_module, bool(report.rewritten), report)

    def _plans(self, root: GraphModule) -> tuple[SdpaPassReport, list[tuple[GraphModule, list[tuple[Node, Rewrite]]]]]:
        report, plans = SdpaPassReport(), []
        for path, gm in root.named_modules():  # a module that sits in two places comes once
            if not isinstance(gm, GraphModule):
                continue
            found: list[tuple[Node, Rewrite]] = []
            for node in gm.graph.nodes:
                variant = variant_of(node)
                if variant is None:
                    continue
                off = variant != "unknown" and variant not in self.variants
                decision = "its variant is switched off" if off else decide(node, variant, self.expand_gqa)
                is_kept = isinstance(decision, str)
                reason = decision if is_kept else ""
                report.candidates.append(Candidate(node.name, str(node.target), variant, not is_kept, reason, path))
                if not is_kept:
                    found.append((node, decision))
            plans.append((gm, found))
        return report, plans


def _checked(variants: Iterable[str]) -> frozenset[str]:
    names = [variants] if isinstance(variants, str) else list(variants)
    if unknown := sorted(str(n) for n in set(names) - set(VARIANTS)):
        raise ValueError(f"unknown attention variant {', '.join(unknown)}; known: {', '.join(VARIANTS)}")
    return frozenset(names)


@dataclass
class SdpaPassResult:
    """What `replace_fused_sdpa` returns."""

    #: the rewritten program, or None when a GraphModule was given
    program: Any
    graph_module: GraphModule
    modified: bool
    report: SdpaPassReport


def replace_fused_sdpa(
    program_or_graph_module: Any,
    *,
    variants: Iterable[str] = VARIANTS,
    strict: bool = False,
    expand_gqa: bool = False,
) -> SdpaPassResult:
    """Turns fused attention variants of a program back into ``scaled_dot_product_attention``.

    Args:
        program_or_graph_module: a ``torch.export.ExportedProgram`` or a ``torch.fx.GraphModule``; stays as it is.
        variants, strict, expand_gqa: see `ReplaceFusedSdpaWithSdpaPass`.
    Returns:
        an `SdpaPassResult`: ``program`` (a verified ExportedProgram that shares the given one's parameters, the given
        one itself where nothing changed; None for a GraphModule), ``graph_module``, ``modified`` and ``report``.
    Raises:
        SdpaPassError: with ``strict``, when a node has to be kept. ValueError: an unknown variant.
        TypeError: neither a program nor a GraphModule.
    """
    pass_ = ReplaceFusedSdpaWithSdpaPass(variants, strict=strict, expand_gqa=expand_gqa)
    given = program_or_graph_module
    if isinstance(given, GraphModule):
        result = pass_(_copied(given))
        return SdpaPassResult(None, result.graph_module if result.modified else given, result.modified, result.report)
    if not isinstance(given, torch.export.ExportedProgram):
        raise TypeError(f"replace_fused_sdpa takes an ExportedProgram or a GraphModule, not {type(given).__name__}")
    result = pass_(_copied(given.graph_module))
    if not result.modified:
        return SdpaPassResult(given, given.graph_module, False, result.report)
    program = _with_graph(given, result.graph_module, pass_.renamed)
    return SdpaPassResult(program, program.graph_module, True, result.report)


def _copied(gm: GraphModule) -> GraphModule:
    """A copy whose graphs may change; tensors are shared."""
    memo: dict[int, Any] = {}
    for module in gm.modules():
        for tensor in [*module._parameters.values(), *module._buffers.values()]:
            if tensor is not None:
                memo[id(tensor)] = tensor
        for value in vars(module).values():
            if isinstance(value, torch.Tensor):
                memo[id(value)] = value
    return copy.deepcopy(gm, memo)


def _with_graph(program: Any, gm: GraphModule, renamed: dict[str, str]) -> Any:
    """`program` with another graph, whose nodes carry new names where `renamed` says so."""
    signature = copy.deepcopy(program.graph_signature)
    for spec in signature.output_specs:
        name = getattr(spec.arg, "name", None)
        if name in renamed:
            spec.arg = dataclasses.replace(spec.arg, name=renamed[name])
    return torch.export.ExportedProgram(
        root=gm,
        graph=gm.graph,
        graph_signature=signature,
        state_dict=program.state_dict,
        range_constraints=copy.copy(program.range_constraints),
        module_call_graph=copy.deepcopy(program.module_call_graph),
        example_inputs=program.example_inputs,
        constants=program.constants,
        verifiers=[program.verifier],
    )
