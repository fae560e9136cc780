"""From dynamo's graph to a compiled function."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch._dynamo.exc
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

from .attention import keep_attention_whole
from .decompositions import decompositions
from .graph import compile_functional_graph
from .options import FusionOptions
from .report import add_graph

# Dynamo wraps what a backend raises, but (from torch 2.7 on) lets this class of its own through.
_PASSES_DYNAMO = getattr(torch._dynamo.exc, "ShortenTraceback", None)


class OptionError(*((_PASSES_DYNAMO, ValueError) if _PASSES_DYNAMO is not None else (ValueError,))):
    """A ValueError: an option that the backend does not know, or a value it cannot take."""

    def __init__(self, message: str):
        super().__init__(message, **({} if _PASSES_DYNAMO is None else {"first_useful_frame": None}))


@dataclass(frozen=True)
class Options(FusionOptions):
    """Options of ``torch.compile(backend="nvfuser", options={...})``."""

    CALLER: ClassVar[str] = "torch.compile(backend='nvfuser')"
    ERROR: ClassVar[type[ValueError]] = OptionError
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {**FusionOptions.CHOICES, "partitioner": ("min_cut", "default")}

    #: keep calls of scaled_dot_product_attention as one node (False: torch picks an op or opens the call)
    whole_attention: bool = True
    #: how forward and backward share work: "min_cut" recomputes cheap ops, "default" saves what backward reads
    partitioner: str = "min_cut"


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
    graph = compile_functional_graph(gm, kind, options)
    add_graph(graph.entry)
    graph.run._boxed_call = True
    return graph.run
