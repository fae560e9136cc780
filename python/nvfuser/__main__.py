"""The command line: ``python -m nvfuser info | demo | explain | cache`` and ``python -m nvfuser --cmake-prefix-path``."""

from __future__ import annotations

import argparse
import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status (0 good, 1 a check failed or something is missing, 2 wrong usage)."""
    parser = argparse.ArgumentParser(prog="python -m nvfuser", description="nvfuser from the command line")
    parser.add_argument(
        "--cmake-prefix-path", action="store_true", help="print what CMAKE_PREFIX_PATH needs for find_package(nvfuser)"
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="{info,demo,explain,cache}")
    commands.add_parser("info", help="versions, devices, compilers, CUDA libraries, attention backends")
    demo = commands.add_parser("demo", help="run a small language model through the fusion IR and check it")
    demo.add_argument("--device", default=None, help="cpu or cuda (default: cuda where there is one)")
    explain = commands.add_parser("explain", help="what becomes of a saved exported program (model.pt2)")
    explain.add_argument("program", metavar="model.pt2", help="a file from torch.export.save")
    explain.add_argument("--json", action="store_true", help="print JSON")
    explain.add_argument(
        "--run",
        action="store_true",
        help="run it once with its example inputs, and name the attention backends that ran",
    )
    cache = commands.add_parser("cache", help="the cache of compiled CPU kernels")
    cache.add_argument("--clear", action="store_true", help="remove the kernels on disk")
    cache.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(argv)

    try:
        if arguments.cmake_prefix_path:
            from nvfuser.info import package_root

            print(package_root())
            return 0
        if arguments.version:
            import nvfuser

            print(nvfuser.version())
            return 0
        if arguments.command == "info":
            from nvfuser.info import print_info

            print_info()
            return 0
        if arguments.command == "demo":
            from nvfuser.demo import run

            return run(device=arguments.device)
        if arguments.command == "explain":
            return _explain(arguments.program, as_json=arguments.json, run=arguments.run)
        if arguments.command == "cache":
            return _cache(clear=arguments.clear, as_json=arguments.json)
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    parser.print_help(sys.stderr)
    return 2


def _cache(*, clear: bool, as_json: bool) -> int:
    """Shows the kernel cache, or empties it."""
    import json

    from nvfuser import cache

    if not clear:
        cache.print_info(as_json=as_json)
        return 0
    removed = cache.clear()
    print(json.dumps({"removed": removed}) if as_json else f"removed {removed} compiled kernels")
    return 0


def _explain(path: str, *, as_json: bool, run: bool) -> int:
    """Prints what becomes of the program in the file `path`; 1 when it cannot be loaded, compiled or run."""
    import json
    import logging
    import os
    import warnings

    if not os.path.isfile(path):
        print(f"error: there is no file {path}", file=sys.stderr)
        return 1
    import torch

    from nvfuser.export import explain

    # What torch says about its own readers and its own deprecated calls would drown our one line.
    logging.getLogger("torch.export").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore", FutureWarning)
    try:
        program = torch.export.load(path)
    except Exception as error:  # torch raises whatever its readers raise
        text = (str(error).strip().splitlines() or [""])[0]
        print(f"error: {path} is no exported program that this torch ({torch.__version__}) can load", file=sys.stderr)
        print(f"  {type(error).__name__}: {text}", file=sys.stderr)
        return 1
    try:
        explanation = explain(program, run=run)
    except (NotImplementedError, ValueError, RuntimeError) as error:
        print(f"error: {path}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(explanation.as_dict(), indent=2, default=str) if as_json else explanation)
    return 0


if __name__ == "__main__":
    sys.exit(main())
