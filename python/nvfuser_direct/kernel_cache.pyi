# Written by tools/gen_stubs.py from the docstrings of the extension.
"""
Compiled CPU kernels, in memory and on disk.
"""
from __future__ import annotations
import collections.abc
import typing
__all__: list[str] = ['Library', 'clear', 'compile', 'compile_cuda', 'info', 'set_generated', 'why_no_nvrtc']
class Library:
    """
    A compiled kernel that is loaded into this process.
    """
    def symbol(self, name: str) -> int:
        """
        The address of a function. RuntimeError when there is none of that name.
        """
def clear() -> int:
    """
    Removes the kernels on disk; their number. Loaded ones stay loaded.
    """
def compile(text: str, name: str = 'kernel', flags: collections.abc.Sequence[str] = []) -> Library:
    """
    Compiles a C++ text, or takes it from the cache. RuntimeError with what the compiler said.
    """
def compile_cuda(text: str, target: str) -> bytes:
    """
    Machine code of a CUDA text for a target such as "sm_90", compiled by NVRTC; needs no GPU.

    RuntimeError with NVRTC's log where it does not compile, or when there is no NVRTC.
    """
def info() -> dict:
    """
    Folder, size, compiler and processor of the cache of compiled kernels.
    """
def set_generated(generated: bool | None) -> None:
    """
    Whether CPU tensors run as generated kernels in this process, in place of what the environment says. None: as it says.
    """
def why_no_nvrtc() -> str:
    """
    Why NVRTC, the compiler of CUDA texts, cannot be used, and how to get it; empty: it can.
    """
