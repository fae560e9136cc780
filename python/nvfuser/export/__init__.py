"""Runs programs of ``torch.export`` with the partitions of the torch.compile backend.

``nvfuser.export.compile(exported_program)`` gives a function; ``nvfuser.export.explain(exported_program)`` says which
nodes run as fusions, which attention nodes there are and with which backend, and what is left to ATen and why
(``python -m nvfuser explain model.pt2`` prints it).

``prepare.py`` opens the program's ops as far as the op table knows them, ``inputs.py`` checks what a caller passes,
``program.py`` holds the callable, ``explanation.py`` the explanation.
"""

from __future__ import annotations

from typing import Any

__all__ = ["compile", "explain"]


def compile(exported_program: Any, *, options: Any = None) -> Any:
    """A callable that runs a ``torch.export.ExportedProgram`` with our fusions.

    It takes and returns what ``exported_program.module()`` does, checks its inputs against the export, writes the
    buffers and inputs that the program writes, and keeps the written buffers as its own. The given program stays as it
    is. It is for inference: gradients do not flow through it, and its results do not require grad.

    Args:
        exported_program: from ``torch.export.export`` or ``torch.export.load``, decomposed or not, on CPU or CUDA.
        options: a dict; ``disabled_ops``, ``min_ops`` and ``sdpa_backend`` as for torch.compile, and
            ``replace_fused_sdpa`` (True): turn fused attention variants back into scaled_dot_product_attention first
            (`nvfuser.passes.replace_fused_sdpa`), so that the backend is chosen when the program runs.
            ``fallback_random`` (True here): random ops draw what the program's module draws from the same seed.
    Returns:
        a `nvfuser.export.program.CompiledProgram`: call it; ``report`` says what was fused, ``state_dict()`` and
        ``named_buffers()`` give the state.
    Raises:
        TypeError: not an ExportedProgram. ValueError: an unknown option or a bad value.
        NotImplementedError: a program that computes gradients.
    """
    from .program import CompiledProgram, ExportOptions

    _check_program(exported_program)
    return CompiledProgram(exported_program, ExportOptions.parse(options))


def explain(exported_program: Any, *, options: Any = None, run: bool = False) -> Any:
    """What `compile` makes of a program: an `nvfuser.export.explanation.Explanation`; print it, or call ``as_dict()``.

    Args:
        exported_program, options: as for `compile`.
        run: run the program once with the inputs that it was exported with, and name the attention backends that ran.
    Raises:
        As `compile`; ValueError for `run` with a program that carries no example inputs.
    """
    from .explanation import explain_program
    from .program import ExportOptions

    _check_program(exported_program)
    return explain_program(exported_program, ExportOptions.parse(options), run)


def _check_program(program: Any) -> None:
    from torch.export import ExportedProgram

    if not isinstance(program, ExportedProgram):
        raise TypeError(f"expected a torch.export.ExportedProgram, got {type(program).__name__}")
