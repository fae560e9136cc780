"""The cache of compiled CPU kernels: ``nvfuser.cache.info()``, ``nvfuser.cache.clear()``, ``python -m nvfuser cache``."""

from __future__ import annotations

import json
from typing import Any


def _native() -> Any:
    try:
        from nvfuser_direct import _C_DIRECT
    except ImportError as error:
        raise ImportError(
            f"the kernel cache needs the compiled part of nvfuser, which is not usable: {error}"
        ) from error
    return _C_DIRECT.kernel_cache


def info() -> dict[str, Any]:
    """Where compiled kernels are kept and what builds them.

    ``directory`` (None where nothing is kept on disk; ``refused`` then says why), ``entries``, ``bytes``, ``limit``,
    ``compiler``, ``compiler_version``, ``flags``, ``no_compiler`` (why there is none, else ""), ``cpu``, ``generated``
    (whether CPU tensors run as generated kernels where there is a compiler), and what this process has done:
    ``compiled``, ``from_disk``.
    """
    return _native().info()


def clear() -> int:
    """Removes the kernels on disk, and no file that is not ours; returns their number."""
    return _native().clear()


def print_info(*, as_json: bool = False) -> None:
    """Prints ``info()`` for people, or as JSON."""
    values = info()
    if as_json:
        print(json.dumps(values, indent=2))
        return
    compiler = " ".join(values["compiler"])
    rows = {
        "directory": values["directory"] or f"none, kernels are kept in memory only: {values['refused']}",
        "kernels": values["entries"],
        "size": f"{_size(values['bytes'])} of at most {_size(values['limit'])}",
        "compiler": f"{compiler} ({values['compiler_version']})" if compiler else values["no_compiler"],
        "flags": " ".join(values["flags"]),
        "processor": _processor(values["cpu"]),
    }
    for name, value in rows.items():
        print(f"{name:<10} {value}")


def _processor(key: str) -> str:
    for line in key.splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return key.splitlines()[0]


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
