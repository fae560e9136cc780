"""What needs compiled kernels: refuses with a sentence that says what is missing."""

from __future__ import annotations

from typing import Any, NoReturn


def refuse(what: str) -> NoReturn:
    """NotImplementedError for a function that needs generated kernels."""
    raise NotImplementedError(
        f"{what} needs generated kernels, and this version has no code generation: "
        "every segment is evaluated through ATen (use FusionDefinition.execute)"
    )


class KernelExecutor:
    """Compiles one scheduled fusion to one kernel. Not available before code generation."""

    def __init__(self, fusion_id: int = 0, concrete_id: int = 0, runtime_id: int = 0, group_id: int = 0):
        self.ids = (fusion_id, concrete_id, runtime_id, group_id)

    def compile(
        self,
        fusion: Any,
        args: Any = (),
        launch_constraints: Any = None,
        compile_params: Any = None,
        scheduler_type: Any = None,
    ) -> NoReturn:
        """Raises NotImplementedError."""
        refuse("KernelExecutor.compile")

    def run(self, args: Any, launch_constraints: Any = None, compile_params: Any = None) -> NoReturn:
        """Raises NotImplementedError."""
        refuse("KernelExecutor.run")

    def is_compiled(self) -> bool:
        """False: nothing can be compiled."""
        return False

    def is_programmatic_dependent_launch_enabled(self) -> bool:
        """False: nothing can be compiled."""
        return False
