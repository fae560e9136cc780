"""Brings an exported program into the form that the partitioner reads; the given program stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from ..dynamo.decompositions import decompositions
from ..dynamo.op_table import load, meta_of

#: outputs that a program for inference can have; others belong to training
KNOWN_OUTPUTS = {"USER_OUTPUT", "BUFFER_MUTATION", "PARAMETER_MUTATION", "USER_INPUT_MUTATION"}


@dataclass
class Prepared:
    """A functional program, and what the attention pass said about the one it came from (None: it did not run)."""

    program: Any
    attention_pass: Any = None


def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """What is opened: every composite op without a row in the op table, and what torch.compile's table opens."""
    rows = load()
    table = {
        op: function
        for op, function in torch.export.default_decompositions().items()
        if op not in rows and torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")
    }
    return {**table, **decompositions()}


def prepare(program: Any, replace_fused_sdpa: bool) -> Prepared:
    """A functional program of the ops that the table knows.

    First (with `replace_fused_sdpa`) the fused attention variants turn back into scaled_dot_product_attention, then
    composite ops are opened and writes become outputs. Raises NotImplementedError for a program with gradients.
    """
    kinds = {spec.kind.name for spec in program.graph_signature.output_specs}
    if unknown := kinds - KNOWN_OUTPUTS - {"TOKEN"}:
        raise NotImplementedError(f"nvfuser.export runs programs for inference; this one has {sorted(unknown)}")
    attention_pass = None
    if replace_fused_sdpa:
        program, attention_pass = _attention_restored(program)
    try:
        program = program.run_decompositions(decomposition_table())
    except AssertionError as error:
        if not (names := _shared_state(program)):
            raise
        raise NotImplementedError(
            f"torch cannot decompose this program: {' and '.join(names)} are one tensor, and the program may write it"
        ) from error
    program = _without_tokens(program)
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            _drop_known_assertions(module)
    return Prepared(program, attention_pass)


def _attention_restored(program: Any) -> tuple[Any, Any]:
    """The program after the attention pass, and the pass's report (None where the pass is not installed)."""
    try:
        from nvfuser.passes import replace_fused_sdpa
    except ModuleNotFoundError as error:
        if error.name != "nvfuser.passes":
            raise
        return program, None
    result = replace_fused_sdpa(program)
    return result.program, result.report


def _shared_state(program: Any) -> list[str]:
    """The names of buffers and constants that the program takes as inputs of their own although they share memory."""
    state = {**program.constants, **program.state_dict}
    by_storage: dict[int, list[str]] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind in (InputKind.BUFFER, InputKind.CONSTANT_TENSOR) and spec.target in state:
            by_storage.setdefault(state[spec.target].untyped_storage()._cdata, []).append(spec.target)
    return [name for names in by_storage.values() if len(names) > 1 for name in names]


def _without_tokens(program: Any) -> Any:
    """Takes out the tokens that keep ops with effects in order: our plan keeps that order by itself."""
    signature = program.graph_signature
    token_in, token_out = getattr(InputKind, "TOKEN", None), getattr(OutputKind, "TOKEN", None)
    has_tokens = any(s.kind == token_in for s in signature.input_specs)
    if not has_tokens and not any(s.kind == token_out for s in signature.output_specs):
        return program
    from torch.export._remove_effect_tokens_pass import _remove_effect_tokens

    return _remove_effect_tokens(program)


def _drop_known_assertions(gm: torch.fx.GraphModule) -> None:
    """Removes assertions about dtype and device that hold for the values of the graph; they would cut fusions."""
    target = getattr(torch.ops.aten, "_assert_tensor_metadata", None)
    if target is None:
        return
    removed = False
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and node.target is target.default and _holds(node):
            gm.graph.erase_node(node)
            removed = True
    if removed:
        gm.recompile()


def _holds(node: torch.fx.Node) -> bool:
    """True when an assertion names nothing but the dtype, device and layout that its operand has."""
    names = [argument.name for argument in node.target._schema.arguments]
    asked = {**dict(zip(names, node.args)), **node.kwargs}
    value = meta_of(asked.pop(names[0]))
    asked = {name: wanted for name, wanted in asked.items() if wanted is not None}
    is_known = isinstance(value, torch.Tensor) and set(asked) <= {"dtype", "device", "layout"}
    return is_known and all(getattr(value, name) == wanted for name, wanted in asked.items())
