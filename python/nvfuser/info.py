"""``python -m nvfuser info``: what this installation is and what it finds on this machine."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

Section = list[tuple[str, str]]


def package_root() -> Path:
    """The folder of nvfuser_direct: what CMAKE_PREFIX_PATH needs for find_package(nvfuser) to work.

    Nothing is imported. Raises ImportError when nvfuser_direct is not installed.
    """
    spec = importlib.util.find_spec("nvfuser_direct")
    locations = list(spec.submodule_search_locations or ()) if spec else []
    if not locations:
        raise ImportError("nvfuser_direct is not installed beside nvfuser")
    return Path(locations[0])


def _versions() -> Section:
    rows = [("nvfuser", _nvfuser_version()), ("python", f"{platform.python_version()} ({sys.executable})")]
    try:
        import torch
    except ImportError as error:
        return [*rows, ("torch", f"cannot be imported: {error}")]
    built_for = "CPU only"
    if torch.version.hip:
        built_for = f"ROCm {torch.version.hip}"
    elif torch.version.cuda:
        built_for = f"CUDA {torch.version.cuda}"
    return [*rows, ("torch", f"{torch.__version__}, built for {built_for}")]


def _nvfuser_version() -> str:
    try:
        import nvfuser_direct

        return f"{nvfuser_direct.version()}, compiled part at {nvfuser_direct._C_DIRECT.__file__}"
    except ImportError as error:
        try:
            version = importlib.metadata.version("nvfuser")
        except importlib.metadata.PackageNotFoundError:
            version = "unknown version"
        return f"{version}, compiled part not usable: {error}"


def _devices() -> Section:
    try:
        import torch
    except ImportError:
        return []
    rows = [("cpu", f"{cpu_model()}, {os.cpu_count()} cores, torch uses {torch.get_num_threads()} threads")]
    if not torch.cuda.is_available():
        return [*rows, ("cuda", "no usable device")]
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        memory = properties.total_memory / 2**30
        rows.append((f"cuda:{index}", f"{properties.name}, sm_{properties.major}{properties.minor}, {memory:.0f} GiB"))
    return rows


def cpu_model() -> str:
    """The processor as /proc/cpuinfo names it, or the architecture where that says nothing."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def find_compilers() -> Section:
    """(name, path and version) for the C++ compilers that a CPU kernel can be built with, in order of preference."""
    rows = []
    for name in dict.fromkeys(filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++"))):
        words = shlex.split(name)  # CXX may be "ccache g++"
        path = shutil.which(words[0]) if words else None
        if path is None:
            rows.append((name, "not found"))
            continue
        try:
            done = subprocess.run([path, *words[1:], "--version"], capture_output=True, text=True, timeout=30)
            lines = done.stdout.splitlines()
            rows.append((name, f"{path}: {lines[0] if lines else 'prints no version'}"))
        except (OSError, subprocess.TimeoutExpired) as error:
            rows.append((name, f"{path} does not run: {error}"))
    return rows


def _load(names: list[str]) -> str:
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return f"found ({name})"
    return "not found"


def _nvrtc_candidates() -> list[str]:
    """Full paths first (the nvidia-cuda-nvrtc package, torch's own folder), then what the loader knows by name."""
    paths = []
    for package, pattern in (("nvidia", "*/lib/libnvrtc.so*"), ("torch", "lib/libnvrtc*.so*")):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            paths += sorted(str(p) for p in Path(root).glob(pattern) if "builtins" not in p.name)
    return [*paths, "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"]


def find_cuda_libraries() -> Section:
    """(library, found or not) for the two libraries that CUDA kernels need at run time; both are loaded by dlopen."""
    return [
        ("libcuda", _load(["libcuda.so.1", "libcuda.so"])),
        ("NVRTC", _load(_nvrtc_candidates())),
    ]


def _kernels() -> Section:
    try:
        from nvfuser.cache import info

        values = info()
    except ImportError as error:
        return [("generated CPU kernels", f"not available: {error}")]
    if not values["generated"]:
        state = "off (NVFUSER_DISABLE=generated_kernels)"
    elif not values["compiler"]:
        state = f"off: {values['no_compiler']}"
    else:
        state = f"on, compiled by {' '.join(values['compiler'])} ({values['compiler_version']})"
    folder = values["directory"] or f"memory only: {values['refused']}"
    return [("state", state), ("kept in", f"{folder} ({values['entries']} kernels)")]


def _attention() -> Section:
    try:
        import torch

        import nvfuser
        from nvfuser.attention import rng_state_form
    except ImportError as error:
        return [("attention", f"not available: {error}")]

    form = rng_state_form()
    device = {"query": "on the query's device", "cpu": "on the CPU"}[form["device"]]
    parts = [f"{n} {form[f'{n}_dtype']} {list(form[f'{n}_shape'])}" for n in ("philox_seed", "philox_offset")]
    rows = [("RNG state of this torch", f"{', '.join(parts)}, {device}")]
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    for device in devices:
        dtype = torch.float32 if device == "cpu" else torch.bfloat16
        q = torch.zeros(1, 8, 128, 64, dtype=dtype, device=device)
        label = f"{device}, {str(dtype).removeprefix('torch.')} [1, 8, 128, 64]"
        for line in str(nvfuser.sdpa_backends(q, q, q)).splitlines():
            rows.append((label, line))
            label = ""
    return rows


def collect() -> dict[str, Section]:
    """All sections by title, each a list of (name, text). Never raises for something that is merely not there."""
    return {
        "versions": _versions(),
        "devices": _devices(),
        "C++ compilers": find_compilers(),
        "generated CPU kernels": _kernels(),
        "CUDA libraries": find_cuda_libraries(),
        "attention backends": _attention(),
    }


def print_info() -> None:
    """Print every section of `collect` to stdout."""
    for title, rows in collect().items():
        print(title)
        width = max((len(name) for name, _ in rows), default=0)
        for name, text in rows:
            print(f"  {name:<{width}}  {text}".rstrip())
