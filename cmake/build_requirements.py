"""What a build of nvfuser needs, and the sentence it stops with where something is missing.

setup.py and CMake both ask here. Each `require_*` returns what it found or raises RequirementError.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys

OLDEST_PYTHON, NEWEST_PYTHON = (3, 10), (3, 13)
OLDEST_TORCH, NEWEST_TORCH = (2, 6), (2, 14)
OLDEST_GCC, OLDEST_CLANG = 12, 16

TORCH_RANGE = "torch>=2.6,<2.15"
_COMPILER_REMEDY = "install g++ 12 or newer (Debian: apt-get install g++) or clang 16 or newer and name it with CXX="


class RequirementError(RuntimeError):
    """Something that the build needs is missing or too old; the message is one sentence that says what to install."""


def release(version: str) -> tuple[int, int, int]:
    """The first three numbers of a version, without pre-release and local parts: "2.7.0a0+git1" gives (2, 7, 0)."""
    match = re.match(r"\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?", version)
    if match is None:
        raise RequirementError(f"cannot read the version {version!r}: expected a form like 2.13.0")
    return tuple(int(part or 0) for part in match.groups())


def check_python(version: tuple[int, int]) -> None:
    """Raises when nvfuser does not run under this Python."""
    if not OLDEST_PYTHON <= tuple(version[:2]) <= NEWEST_PYTHON:
        raise RequirementError(
            f"nvfuser runs under Python 3.10 to 3.13, this is {version[0]}.{version[1]}: install one of those and use its pip"
        )


def check_torch_version(version: str) -> None:
    """Raises when nvfuser is not built against this torch."""
    if not OLDEST_TORCH <= release(version)[:2] <= NEWEST_TORCH:
        raise RequirementError(
            f'nvfuser builds against torch 2.6 to 2.14, found {version}: pip install "{TORCH_RANGE}"'
        )


def require_torch():
    """Imports torch and checks its version."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise RequirementError(
            f'nvfuser is built against an installed torch, and torch cannot be imported ({error}): pip install "{TORCH_RANGE}", '
            "then pip install --no-build-isolation ."
        ) from None
    check_torch_version(torch.__version__)
    return torch


def require_module(name: str) -> None:
    """Raises when a Python package that the build needs cannot be imported."""
    try:
        importlib.import_module(name)
    except ImportError:
        raise RequirementError(f"building nvfuser needs the Python package {name}: pip install {name}") from None


def require_tool(name: str) -> str:
    """The path of cmake or ninja: beside this Python first, then on PATH."""
    beside_python = os.path.dirname(sys.executable)
    found = shutil.which(name, path=beside_python) or shutil.which(name)
    if found is None:
        raise RequirementError(f"building nvfuser needs {name}: pip install {name}")
    return found


def check_compiler(command: str, banner: str) -> None:
    """Raises when the compiler whose `--version` printed `banner` is too old or of an unknown kind."""
    first = banner.strip().splitlines()[0] if banner.strip() else ""
    if clang := re.search(r"clang version (\d+)", banner):
        if int(clang[1]) < OLDEST_CLANG:
            raise RequirementError(
                f"nvfuser needs clang 16 or newer, {command} is clang {clang[1]}: {_COMPILER_REMEDY}"
            )
    elif "Free Software Foundation" in banner and (gcc := re.search(r"\)\s+(\d+)\.\d+", first)):
        if int(gcc[1]) < OLDEST_GCC:
            raise RequirementError(f"nvfuser needs g++ 12 or newer, {command} is g++ {gcc[1]}: {_COMPILER_REMEDY}")
    else:
        raise RequirementError(f"{command} is neither g++ nor clang ({first!r}): {_COMPILER_REMEDY}")


def require_compiler() -> str:
    """The C++ compiler of the build: $CXX, else c++, g++ or clang++."""
    wanted = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    for command in wanted:
        words = command.split()  # CXX may carry a launcher or flags
        if shutil.which(words[0]) is None:
            continue
        banner = subprocess.run([*words, "--version"], capture_output=True, text=True).stdout
        check_compiler(command, banner)
        return command
    raise RequirementError(f"no C++ compiler found (looked for {', '.join(wanted)}): {_COMPILER_REMEDY}")


def parallel_jobs() -> int:
    """How many compilers run at a time: the cores this process may use, at most $MAX_JOBS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("MAX_JOBS", "")
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores
