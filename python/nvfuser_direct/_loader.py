"""Finds and loads the compiled part, or says why that is not possible."""

from __future__ import annotations

import importlib
import sysconfig
from pathlib import Path
from types import ModuleType

from nvfuser_direct.nvfuser_direct_version import release

HERE = Path(__file__).resolve().parent
NAME = "_C_DIRECT"

_HOW_TO_BUILD = (
    "Build it for this torch with `make build` in the source tree, or with "
    "`pip install --no-build-isolation --force-reinstall --no-deps .`"
)


def built_with_torch() -> str | None:
    """The torch release that the compiled part was built for, or None when there was no build."""
    try:
        from nvfuser_direct._build_info import BUILT_WITH_TORCH
    except ImportError:
        return None
    return BUILT_WITH_TORCH


def load() -> ModuleType:
    """The extension module. ImportError names the file, the torch it was built for and the torch that is here."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"nvfuser_direct needs torch, which cannot be imported ({error}). Install torch 2.6 or newer first"
        ) from error

    file = HERE / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
    built_for = built_with_torch()
    versions = f"built for torch {built_for or '(unknown)'}, found torch {torch.__version__}"
    if not file.exists():
        others = ", ".join(sorted(path.name for path in HERE.glob(f"{NAME}*.so")))
        hint = f" (there is {others}, for another Python)" if others else ""
        raise ImportError(f"nvfuser_direct: the compiled part {file} does not exist{hint}. {_HOW_TO_BUILD}")
    # torch keeps no C++ ABI from one minor release to the next.
    if built_for is not None and release(built_for)[:2] != release(torch.__version__)[:2]:
        raise ImportError(f"nvfuser_direct: {file} does not fit the torch in use: {versions}. {_HOW_TO_BUILD}")
    try:
        return importlib.import_module(f"nvfuser_direct.{NAME}")
    except ImportError as error:
        raise ImportError(
            f"nvfuser_direct: {file} cannot be loaded: {versions}. {_HOW_TO_BUILD}. The loader says: {error}"
        ) from error
