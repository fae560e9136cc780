"""``torch.compile(f, backend="nvfuser")``.

How a call travels, file by file:

1. ``backend.py``: dynamo hands over a graph; AOTAutograd makes a forward and a backward graph of it.
2. ``attention.py`` keeps attention calls whole on that way, ``decompositions.py`` opens what else has no node.
3. ``graph.py`` takes one graph through the next two steps; ``partition.py`` cuts each graph into regions that become fusions, and nodes that stay in eager, with the help of
   ``op_table.py`` and its rows in ``ops_*.py``.
4. ``lowering.py`` builds the FusionDefinition of a region, ``runtime.py`` calls it and writes the Python function that
   runs fusions and eager nodes in turn.
5. ``report.py`` holds what `nvfuser.compile_report()` shows.
"""

from __future__ import annotations

from typing import Any

from .report import CompileReport, compile_report, reset_compile_report

__all__ = ["CompileReport", "compile_report", "nvfuser_backend", "reset_compile_report"]


def nvfuser_backend(gm: Any, example_inputs: Any, **kwargs: Any) -> Any:
    """The backend function that ``torch.compile(backend="nvfuser")`` calls with a graph and example inputs.

    Options go in through ``torch.compile(..., options={...})``; see `nvfuser.dynamo.backend.Options` for their names.
    An unknown option raises ValueError.
    """
    from .backend import compile_graph

    return compile_graph(gm, example_inputs, **kwargs)
