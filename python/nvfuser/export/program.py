"""The callable that `nvfuser.export.compile` returns."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.utils._pytree as pytree
from torch import Tensor
from torch.export.graph_signature import ConstantArgument, InputKind

from ..dynamo.graph import CompiledGraph, compile_functional_graph
from ..dynamo.options import FusionOptions
from ..dynamo.report import CompileReport
from .inputs import ProgramInputs
from .prepare import prepare


@dataclass(frozen=True)
class ExportOptions(FusionOptions):
    """Options of `nvfuser.export.compile`."""

    CALLER: ClassVar[str] = "nvfuser.export.compile"

    #: turn fused attention variants back into scaled_dot_product_attention first, so that "auto" may choose
    replace_fused_sdpa: bool = True
    #: random ops draw what ``exported_program.module()`` draws from the same seed; False: inside fusions, other numbers
    fallback_random: bool = True


class CompiledProgram:
    """An exported program as a function: the signature, results and effects of ``exported_program.module()``.

    It is for inference: it runs without autograd, and its results do not require grad. Parameters are those of the
    exported program (not copies); buffers that the program writes are copies of its own and keep their contents from
    call to call. Calls from several threads are safe; those of a program that writes buffers take turns.

    Attributes:
        report: a `CompileReport` of the program and the branches of its control flow; live, like
            `nvfuser.compile_report`.
        attention_pass: what the attention pass reported (None: it did not run).
        options: the `ExportOptions` in use.
        graphs: the compiled graphs, the program's own first, then the branches of its control flow.
    """

    def __init__(self, exported_program: Any, options: ExportOptions):
        prepared = prepare(exported_program, options.replace_fused_sdpa)
        program = prepared.program
        self.options = options
        self.attention_pass = prepared.attention_pass
        #: names, structure and checks of the inputs
        self.inputs = ProgramInputs(exported_program)
        self._out_spec = exported_program.call_spec.out_spec
        self._signature = program.graph_signature
        self._state = _own_state(program)
        self._persistent = list(program.state_dict)
        self._graph: CompiledGraph = compile_functional_graph(
            program.graph_module, "exported", options, with_branches=True
        )
        self.graphs = self._graph.all_graphs()
        self.report = CompileReport([graph.entry for graph in self.graphs])
        self._template = [_detached(self._state.get(spec.target)) for spec in self._signature.input_specs]
        self._slots = [i for i, spec in enumerate(self._signature.input_specs) if spec.kind == InputKind.USER_INPUT]
        self._results = _Results(self._signature, self._state)
        # Calls that write the same buffers take turns.
        self._turn = threading.Lock() if self._results.writes_state else contextlib.nullcontext()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program; arguments and result are structured as in the export.

        Raises ValueError (`InputError`) or TypeError when an input does not fit, naming it; nothing has run then.
        """
        flat = self.inputs.flatten(args, kwargs)
        self.inputs.check(flat)
        arguments = self._template.copy()
        for slot, value in zip(self._slots, flat):
            arguments[slot] = _detached(value)
        # The dtypes of the graph are fixed: autocast has had its say when the program was exported.
        with torch.no_grad(), torch._C._DisableAutocast(), self._turn:
            results = self._results.finish(flat, self._graph.run(arguments))
        return pytree.tree_unflatten(results, self._out_spec)

    @property
    def code(self) -> str:
        """The Python text that calls the fusions and the eager ops."""
        return self._graph.entry.code

    def state_dict(self) -> dict[str, Any]:
        """Parameters and persistent buffers by name; the tensors in use, so writing into them changes the program."""
        return {name: self._state[name] for name in self._persistent}

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters that the program reads, with their names."""
        yield from ((name, self._state[name]) for name in self._signature.parameters)

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers that the program reads or writes, persistent or not, with their names."""
        yield from ((name, self._state[name]) for name in self._signature.buffers)

    def __repr__(self) -> str:
        names = ", ".join(i.name for i in self.inputs.inputs)
        return f"<nvfuser program ({names}), {self.report.num_fusions} fusions>"


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) and value.requires_grad else value


def _own_state(program: Any) -> dict[str, Any]:
    """Parameters, buffers, constants and custom objects by name; what the program writes is copied."""
    state: dict[str, Any] = {**program.constants, **program.state_dict}
    specs = program.graph_signature.input_specs
    for spec in specs:
        if spec.target is not None and spec.target not in state:
            # A constant lifted out of a branch may be left in the graph module.
            state[spec.target] = program.graph_module.state_dict()[spec.target]
        elif spec.kind == InputKind.BUFFER and spec.persistent is False and spec.target in program.constants:
            state[spec.target] = program.constants[spec.target]
    outputs = program.graph_signature.output_specs
    written = {s.target for s in outputs if s.kind.name in ("BUFFER_MUTATION", "PARAMETER_MUTATION")}
    storages = {state[name].untyped_storage()._cdata: None for name in written}
    for name, value in state.items() if written else ():
        if isinstance(value, Tensor) and value.untyped_storage()._cdata in storages:
            state[name] = _copy_sharing(value, storages)
    return state


def _copy_sharing(tensor: Tensor, copies: dict[int, Any]) -> Tensor:
    """A copy of `tensor` that shares memory with the copies of those that it shares memory with."""
    key = tensor.untyped_storage()._cdata
    if copies[key] is None:
        copies[key] = tensor.untyped_storage().clone()
    copied = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return copied.set_(copies[key], tensor.storage_offset(), tensor.shape, tensor.stride())


class _Results:
    """What becomes of the values that the graph returns: some are written to tensors, some go to the caller."""

    def __init__(self, signature: Any, state: dict[str, Any]):
        self.writes_state = False
        #: (index of the value, tensor of the state or index of the user's input)
        self._writes: list[tuple[int, Tensor | int]] = []
        #: for each result of the caller: (where it comes from, index)
        self._sources: list[tuple[str, int]] = []
        user_inputs = [s.arg.name for s in signature.input_specs if s.kind == InputKind.USER_INPUT]
        written: dict[str, int] = {}
        for index, spec in enumerate(signature.output_specs):
            kind, name = spec.kind.name, getattr(spec.arg, "name", None)
            if kind == "USER_OUTPUT":
                # An input is returned as that very input, what was written as the tensor that it was written to.
                if isinstance(spec.arg, ConstantArgument):
                    self._sources.append(("value", index))
                elif name in user_inputs:
                    self._sources.append(("input", user_inputs.index(name)))
                elif name in written:
                    self._sources.append(("written", written[name]))
                else:
                    self._sources.append(("value", index))
                continue
            is_input = kind == "USER_INPUT_MUTATION"
            self.writes_state = self.writes_state or not is_input
            written.setdefault(name, len(self._writes))
            self._writes.append((index, user_inputs.index(spec.target) if is_input else state[spec.target]))

    def finish(self, flat: list[Any], values: Any) -> list[Any]:
        """Makes the writes, then returns the caller's results in order."""
        targets = [flat[target] if isinstance(target, int) else target for _, target in self._writes]
        if targets:
            _write(targets, [values[index] for index, _ in self._writes])
        pools = {"written": targets, "input": flat, "value": values}
        return [pools[pool][index] for pool, index in self._sources]


def _write(targets: list[Tensor], values: list[Tensor]) -> None:
    """Copies each value into its target; a value that lies in the memory of a target is copied out first."""
    storages = {t.untyped_storage()._cdata for t in targets}
    safe = [v.clone() if v.untyped_storage()._cdata in storages else v for v in values]
    for target, value in zip(targets, safe):
        target.copy_(value)
