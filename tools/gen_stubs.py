"""Writes the type stubs of the compiled part: python/nvfuser_direct/_C_DIRECT.pyi, ops.pyi and its other submodules.

    .venv/bin/python tools/gen_stubs.py            # writes them
    .venv/bin/python tools/gen_stubs.py --check    # ends with 1 when the committed ones differ

Needs pybind11-stubgen (requirements-dev.txt) and an importable extension. The result is committed, so that neither
users nor the build need either.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "nvfuser_direct"
EXTENSION = "nvfuser_direct._C_DIRECT"
HEADER = "# Written by tools/gen_stubs.py from the docstrings of the extension.\n"


def generate() -> dict[str, str]:
    """-> stub texts by file name, relative to the package folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pybind11_stubgen", EXTENSION, "-o", folder, "--print-invalid-expressions-as-is"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent)
        if done.returncode != 0:
            raise SystemExit(f"pybind11-stubgen failed:\n{done.stderr}")
        root = Path(folder).joinpath(*EXTENSION.split("."))
        if root.is_dir():
            sources = {("_C_DIRECT.pyi" if path.stem == "__init__" else path.name): path for path in root.glob("*.pyi")}
        else:
            sources = {"_C_DIRECT.pyi": root.with_suffix(".pyi")}
        return {name: HEADER + _tidy(path.read_text(), name) for name, path in sorted(sources.items())}


def _tidy(text: str, name: str) -> str:
    """The submodules lie beside the extension's stub, not in a folder of its name (a folder would be importable)."""
    text = text.replace(f"{EXTENSION}.", "nvfuser_direct.") if name == "_C_DIRECT.pyi" else text
    text = text.replace("from . import", "from nvfuser_direct import")
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed stubs instead of writing")
    check = parser.parse_args().check
    different = False
    for name, text in generate().items():
        path = PACKAGE / name
        old = path.read_text() if path.exists() else ""
        if old == text:
            continue
        different = True
        if check:
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), str(path), "generated"))
        else:
            path.write_text(text)
            print(f"wrote {path}")
    return int(check and different)


if __name__ == "__main__":
    sys.exit(main())
