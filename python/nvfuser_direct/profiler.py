"""PythonProfiler: profiles the runs of fusions inside a with block."""

from __future__ import annotations

from typing import Any

from nvfuser_direct import _C_DIRECT as _C


class PythonProfiler:
    """Context manager: the runs inside, on all threads, are profiled; `profile` is the one that ended last.

    >>> with PythonProfiler() as profiler:
    ...     fd.execute(inputs)
    >>> print(profiler.profile)

    Times are those of the host's clock on the CPU; on CUDA each segment is waited for. auto_scheduled=False is for
    FusionDefinition.manual_execute and measures the same way. Blocks may be nested.
    """

    def __init__(self, auto_scheduled: bool = True):
        self.auto_scheduled = auto_scheduled
        self._profile: Any = None
        self._is_active = False

    def __enter__(self) -> PythonProfiler:
        if self._is_active:
            raise RuntimeError("this PythonProfiler is active already; make another one")
        _C.reset_profiler()
        _C._start_profiling()
        self._is_active = True
        self._profile = None
        return self

    def __exit__(self, *exception: Any) -> None:
        _C._stop_profiling()
        self._is_active = False
        if exception[0] is None:
            self._profile = _C._last_profile()

    @property
    def profile(self) -> Any:
        """The FusionProfile of the run that ended last. RuntimeError when no fusion ran inside."""
        profile = _C._last_profile() if self._is_active else self._profile
        if profile is None:
            raise RuntimeError("no fusion has run inside of this PythonProfiler")
        return profile
