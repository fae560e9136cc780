# Written by tools/gen_stubs.py from the docstrings of the extension.
"""
Schedule functions, as fd.sched offers them.
"""
from __future__ import annotations
import collections.abc
import nvfuser_direct._C_DIRECT
import typing
__all__: list[str] = ['bounded_transform_backward', 'can_schedule', 'compute_heuristics', 'find_compatible_schedulers', 'inline_at', 'inline_most', 'parallelize_like', 'schedule', 'transform_like', 'warp_specialize']
def bounded_transform_backward(from_: nvfuser_direct._C_DIRECT.TensorView, pos: int, to: collections.abc.Sequence[nvfuser_direct._C_DIRECT.TensorView], propagate_parallel_type: bool = False) -> None:
    """
    Gives the producers of `from`, back to the tensors of the list `to` but without these, the loops of `from` left of `pos`.
    """
def can_schedule(fusion: nvfuser_direct._C_DIRECT.Fusion, scheduler_type: nvfuser_direct._C_DIRECT.SchedulerType, inputs: typing.Any) -> tuple[bool, str]:
    """
    Whether the scheduler takes the whole fusion as one CPU kernel, and the reason where it refuses. RuntimeError when the inputs do not fit.
    """
def compute_heuristics(fusion: nvfuser_direct._C_DIRECT.Fusion, scheduler_type: nvfuser_direct._C_DIRECT.SchedulerType, inputs: typing.Any) -> typing.Any:
    """
    What the scheduler chooses for these inputs, as parameters for schedule(); changes nothing. RuntimeError when it refuses.
    """
def find_compatible_schedulers(fusion: nvfuser_direct._C_DIRECT.Fusion, inputs: typing.Any) -> list[nvfuser_direct._C_DIRECT.SchedulerType]:
    """
    The SchedulerTypes that can_schedule accepts, the preferred one first.
    """
def inline_at(reference_tv: nvfuser_direct._C_DIRECT.TensorView, pos: int = -1, best_effort: bool = False, selected_tensors: collections.abc.Sequence[nvfuser_direct._C_DIRECT.TensorView] = []) -> None:
    """
    Computes the selected tensors (default: all between inputs and outputs) inside their consumers' loops left of `pos`; with best_effort as far as each allows.
    """
def inline_most(selected_tensors: collections.abc.Sequence[nvfuser_direct._C_DIRECT.TensorView] = []) -> None:
    """
    inline_at as far as each tensor allows.
    """
def parallelize_like(reference_tv: nvfuser_direct._C_DIRECT.TensorView, pos: int = -1, selected_tensors: collections.abc.Sequence[nvfuser_direct._C_DIRECT.TensorView] = [], selected_parallel_types: collections.abc.Set[nvfuser_direct._C_DIRECT.ParallelType] = set(), propagate_padding: bool = True) -> None:
    """
    Gives the loops of the selected tensors the ParallelType of the reference's loop that is the same dim; by default every type but serial.
    """
def schedule(fusion: nvfuser_direct._C_DIRECT.Fusion, scheduler_type: nvfuser_direct._C_DIRECT.SchedulerType, inputs: typing.Any) -> typing.Any:
    """
    Schedules the whole fusion as one CPU kernel, for manual_execute.

    inputs: those that the schedule shall be good for, then the chosen parameters are returned; or parameters that
    compute_heuristics has made, then None. A kernel is right for all sizes. RuntimeError when the scheduler refuses.
    """
def transform_like(reference_tv: nvfuser_direct._C_DIRECT.TensorView, selected_tensors: collections.abc.Sequence[nvfuser_direct._C_DIRECT.TensorView] = []) -> None:
    """
    Gives the selected tensors (default: all but the inputs) the loop domain of the reference.
    """
def warp_specialize(*args, **kwargs) -> typing.Any:
    """
    A matter of CUDA kernels: raises NotImplementedError.
    """
