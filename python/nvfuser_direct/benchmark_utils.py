"""Timers for benchmarks. Those that need CUPTI or kernel profiles raise when they are made."""

from __future__ import annotations

import subprocess
import time
from typing import Any, NoReturn

from nvfuser_direct import _C_DIRECT as _C
from nvfuser_direct.kernels import refuse


class Timer:
    """Host clock that waits for the GPU: calling it gives seconds since it was made."""

    def __init__(self) -> None:
        import torch

        self._synchronize = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
        self._synchronize()
        self._start = time.perf_counter()

    def __call__(self) -> float:
        self._synchronize()
        return time.perf_counter() - self._start

    def cleanup(self) -> None:
        """Starts the clock again."""
        self._start = time.perf_counter()


def _need_cupti() -> NoReturn:
    try:
        import cupti  # noqa: F401
    except ImportError as error:
        raise ImportError("CUPTI timers need the packages cupti-python and cxxfilt") from error
    refuse("a CUPTI timer of fused kernels")


class CuptiProfiler:
    """Collects kernel times through CUPTI."""

    def __init__(self) -> None:
        _need_cupti()


class CuptiTimer:
    """Clock of the time spent in kernels, through CUPTI."""

    def __init__(self) -> None:
        _need_cupti()


class FusionProfileTimer:
    """Clock that runs while fusions do: calling it gives the seconds that their kernels and library calls have taken.

    Profiles every run from the time it is made to `cleanup`. One run at most is counted between two calls: the one
    that ended last.
    """

    def __init__(self) -> None:
        self.fd: Any = None
        self.current_time = 0.0
        self._is_active = True
        _C.reset_profiler()
        _C._start_profiling()

    def set_fd(self, fd: Any) -> None:
        """Keeps the definition as `fd`; runs of every definition are counted."""
        self.fd = fd

    def __call__(self) -> float:
        profile = _C._last_profile()
        if profile is not None:
            self.current_time += 1e-3 * profile.kernel_time_ms
            _C.reset_profiler()
        return self.current_time

    def cleanup(self) -> None:
        """Ends profiling and starts the clock again at 0."""
        if self._is_active:
            _C._stop_profiling()
        self._is_active = False
        self.current_time = 0.0


def demangle_kernel_name(name: str) -> str:
    """The C++ name behind a mangled symbol; the symbol itself where c++filt is not installed."""
    try:
        done = subprocess.run(["c++filt", name], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return name
    return done.stdout.strip()


def cupti_call_safe(function: Any, *args: Any) -> Any:
    """Calls a CUPTI function; RuntimeError names the function that failed."""
    try:
        return function(*args)
    except Exception as error:
        raise RuntimeError(f"CUPTI call {getattr(function, '__name__', function)} failed: {error}") from error
