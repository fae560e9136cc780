"""KernelExecutor: runs a fusion as one kernel, by the schedule that the user has given its tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import torch

from nvfuser_direct import _C_DIRECT as _C


def refuse(what: str) -> NoReturn:
    """NotImplementedError for a function that needs generated CUDA kernels."""
    raise NotImplementedError(
        f"{what} needs generated CUDA kernels, and kernels are generated for CPU tensors only: "
        "on CUDA every segment is evaluated through ATen (use FusionDefinition.execute)"
    )


class KernelExecutor:
    """Compiles one scheduled fusion to one CPU kernel and runs it.

    A loop of type grid_x that stands outermost is shared out over torch's threads; loops of every other type run one
    after the other, and memory types change nothing. A tensor that inline_most or inline_at computes at the innermost
    loops of its users has no loops of its own.
    """

    def __init__(self, fusion_id: int = 0, concrete_id: int = 0, runtime_id: int = 0, group_id: int = 0):
        self.ids = (fusion_id, concrete_id, runtime_id, group_id)
        self.cache: Any = None
        """The FusionExecutorCache that runs it, after compile()."""

    def compile(
        self,
        fusion: Any,
        args: Iterable[Any] = (),
        launch_constraints: Any = None,
        compile_params: Any = None,
        scheduler_type: Any = None,
    ) -> None:
        """Compiles the fusion as it is scheduled now; later changes of the schedule count for nothing.

        args: the inputs of the first run. Without them the schedule is only checked, and the first run compiles. The
        other parameters change nothing on the CPU. RuntimeError: an operation is none of generated kernels (matmul,
        attention, ...), the schedule cannot be carried out, args do not fit, or a second compile. NotImplementedError:
        args are on CUDA.
        """
        if self.cache is not None:
            raise RuntimeError("KernelExecutor.compile: it has compiled a fusion already; make a new KernelExecutor()")
        cache = _C.FusionExecutorCache(fusion, self.ids[0], auto_schedule=False)
        args = list(args)
        if args or not fusion.inputs():
            cache.get_scheduled_ir(args)
        else:
            fusion.print_kernel()
        self.cache = cache

    def run(
        self, args: Iterable[Any], launch_constraints: Any = None, compile_params: Any = None
    ) -> list[torch.Tensor]:
        """The outputs for these inputs. RuntimeError: nothing is compiled yet, or the inputs do not fit."""
        if self.cache is None:
            raise RuntimeError("KernelExecutor.run: nothing is compiled yet; call compile(fusion, args) first")
        return self.cache.execute(args)

    def is_compiled(self) -> bool:
        """True after compile()."""
        return self.cache is not None

    def is_programmatic_dependent_launch_enabled(self) -> bool:
        """False: a matter of CUDA launches."""
        return False
