"""The command line: ``python -m nvfuser info | demo`` and ``python -m nvfuser --cmake-prefix-path``."""

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
    commands = parser.add_subparsers(dest="command", metavar="{info,demo}")
    commands.add_parser("info", help="versions, devices, compilers, CUDA libraries, attention backends")
    demo = commands.add_parser("demo", help="run a small language model through the fusion IR and check it")
    demo.add_argument("--device", default=None, help="cpu or cuda (default: cuda where there is one)")
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
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    parser.print_help(sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
