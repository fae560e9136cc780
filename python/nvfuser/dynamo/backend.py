"""From dynamo's graph to a compiled function."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch._dynamo.exc
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

from .attention import keep_attention_whole
from .decompositions import decompositions
from .lowering import LoweringError
from .partition import Partitioner, Plan
from .report import GraphEntry, add_graph
from .runtime import RegionCall, plan_function

SDPA_BACKENDS = ("auto", "flash", "efficient", "cudnn", "math", "cpu_flash", "generated")


# Dynamo wraps what a backend raises, but (from torch 2.7 on) lets this class of its own through.
_PASSES_DYNAMO = getattr(torch._dynamo.exc, "ShortenTraceback", None)


class OptionError(*((_PASSES_DYNAMO, ValueError) if _PASSES_DYNAMO is not None else (ValueError,))):
    """A ValueError: an option that the backend does not know, or a value it cannot take."""

    def __init__(self, message: str):
        super().__init__(message, **({} if _PASSES_DYNAMO is None else {"first_useful_frame": None}))


@dataclass(frozen=True)
class Options:
    """Options of ``torch.compile(backend="nvfuser", options={...})``."""

    #: ops that stay in eager, as "aten.mm" (all overloads) or "aten.add.Tensor"
    disabled_ops: tuple[str, ...] = ()
    #: a group of fewer ops than this stays in eager
    min_ops: int = 1
    #: which backend attention nodes ask for; "auto" lets the dispatcher choose
    sdpa_backend: str = "auto"
    #: keep calls of scaled_dot_product_attention as one node (False: torch picks an op or opens the call)
    whole_attention: bool = True
    #: how forward and backward share work: "min_cut" recomputes cheap ops, "default" saves what backward reads
    partitioner: str = "min_cut"

    @classmethod
    def parse(cls, options: Any) -> Options:
        """Checks names and values; raises `OptionError` (a ValueError)."""
        options = dict(options or {})
        known = {f.name: f for f in dataclasses.fields(cls)}
        if unknown := sorted(set(options) - set(known)):
            raise OptionError(
                f"torch.compile(backend='nvfuser'): unknown option {', '.join(map(repr, unknown))};"
                f" known options: {', '.join(known)}"
            )
        if isinstance(options.get("disabled_ops"), (list, set, frozenset)):
            options["disabled_ops"] = tuple(sorted(options["disabled_ops"]))
        for name, value in options.items():
            cls._check(name, value)
        return cls(**options)

    @staticmethod
    def _check(name: str, value: Any) -> None:
        choices = {"sdpa_backend": SDPA_BACKENDS, "partitioner": ("min_cut", "default")}.get(name)
        if choices is not None:
            is_good, wanted = value in choices, f"one of {', '.join(choices)}"
        elif name == "disabled_ops":
            is_good = isinstance(value, tuple) and all(isinstance(v, str) for v in value)
            wanted = 'op names such as ["aten.mm"]'
        elif name == "min_ops":
            is_good, wanted = type(value) is int and value >= 1, "an int of 1 or more"
        else:
            is_good, wanted = isinstance(value, bool), "True or False"
        if not is_good:
            raise OptionError(f"torch.compile(backend='nvfuser'): option {name!r} is {value!r}, expected {wanted}")


def compile_graph(gm: GraphModule, example_inputs: Sequence[Any], *, mode: Any = None, options: Any = None) -> Any:
    """The backend function: dynamo's graph and example inputs in, a callable with the graph's signature out.

    Raises `OptionError`, a ValueError, for unknown options and for a `mode` (modes are Inductor's).
    """
    if mode is not None:
        raise OptionError(f"torch.compile(backend='nvfuser') has no mode {mode!r}; use options={{...}}")
    parsed = Options.parse(options)
    if parsed.whole_attention:
        keep_attention_whole(gm)
    return _aot_backend(parsed)(gm, example_inputs)


def _aot_backend(options: Options) -> Any:
    from functorch.compile import default_partition, min_cut_rematerialization_partition

    return aot_autograd(
        fw_compiler=_compiler("forward", options),
        bw_compiler=_compiler("backward", options),
        inference_compiler=_compiler("inference", options),
        partition_fn=default_partition if options.partitioner == "default" else min_cut_rematerialization_partition,
        decompositions=decompositions(),
        # Writes to inputs happen after the graph, in AOTAutograd's own code: the graph has no effects to keep in order.
        keep_inference_input_mutations=False,
    )


def _compiler(kind: str, options: Options) -> Any:
    return functools.partial(compile_aot_graph, kind=kind, options=options)


def compile_aot_graph(gm: GraphModule, example_inputs: Sequence[Any], *, kind: str, options: Options) -> Any:
    """Compiles one functional graph of AOTAutograd; `kind` is "inference", "forward" or "backward".

    The result takes one list of arguments and empties it (AOTAutograd's boxed convention).
    """
    _fill_attribute_metas(gm)
    plan, calls = _plan_that_builds(gm, options)
    run, code = plan_function(plan, calls, gm)
    entry = GraphEntry(kind, [calls[id(r)].entry for r in plan.regions()], plan.eager_reasons, code)
    add_graph(entry)
    run._boxed_call = True
    return run


def _fill_attribute_metas(gm: GraphModule) -> None:
    # Constants of the trace have no fake value of their own.
    for node in gm.graph.nodes:
        if node.op == "get_attr" and "val" not in node.meta:
            value = functools.reduce(getattr, node.target.split("."), gm)
            if isinstance(value, torch.Tensor):
                node.meta["val"] = value


def _plan_that_builds(gm: GraphModule, options: Options) -> tuple[Plan, dict[int, RegionCall]]:
    """Partitions until every region can be built; a node that our builders refuse goes to eager with their message."""
    refused: dict[Any, str] = {}
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
