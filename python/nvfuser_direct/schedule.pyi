# Written by tools/gen_stubs.py from the docstrings of the extension.
"""
Schedule functions, as fd.sched offers them.
"""
from __future__ import annotations
import collections.abc
import nvfuser_direct._C_DIRECT
import typing
__all__: list[str] = ['can_schedule', 'compute_heuristics', 'find_compatible_schedulers', 'inline_at', 'inline_most', 'schedule', 'warp_specialize']
def can_schedule(*args, **kwargs) -> typing.Any:
    """
    Not available before code generation: raises NotImplementedError.
    """
def compute_heuristics(*args, **kwargs) -> typing.Any:
    """
    Not available before code generation: raises NotImplementedError.
    """
def find_compatible_schedulers(*args, **kwargs) -> typing.Any:
    """
    Not available before code generation: raises NotImplementedError.
    """
def inline_at(reference_tv: nvfuser_direct._C_DIRECT.TensorView, pos: int = -1, best_effort: bool = False, selected_tensors: collections.abc.Sequence[nvfuser_direct._C_DIRECT.TensorView] = []) -> None:
    """
    Computes the selected tensors (default: all between inputs and outputs) inside their consumers' loops left of `pos`; with best_effort as far as each allows.
    """
def inline_most(selected_tensors: collections.abc.Sequence[nvfuser_direct._C_DIRECT.TensorView] = []) -> None:
    """
    inline_at as far as each tensor allows.
    """
def schedule(*args, **kwargs) -> typing.Any:
    """
    Not available before code generation: raises NotImplementedError.
    """
def warp_specialize(*args, **kwargs) -> typing.Any:
    """
    Not available before code generation: raises NotImplementedError.
    """
