"""Writes the type stubs of nvfuser_direct: _C_DIRECT.pyi, one stub a submodule of it (ops.pyi, ...), __init__.pyi.

    .venv/bin/python tools/gen_stubs.py            # writes them
    .venv/bin/python tools/gen_stubs.py --check    # ends with 1 when the committed ones differ

Needs pybind11-stubgen (requirements-dev.txt) and an importable extension. The result is committed, so that neither
users nor the build need either.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import difflib
import importlib
import inspect
import keyword
import re
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
        command = [
            sys.executable,
            "-m",
            "pybind11_stubgen",
            EXTENSION,
            "-o",
            folder,
            "--print-invalid-expressions-as-is",
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent)
        if done.returncode != 0:
            raise SystemExit(f"pybind11-stubgen failed:\n{done.stderr}")
        root = Path(folder).joinpath(*EXTENSION.split("."))
        texts = {path.stem: path.read_text() for path in sorted(root.glob("*.pyi"))}
    extension = texts.pop("__init__")
    stubs = {"_C_DIRECT.pyi": _exceptions_defined(extension.replace("from . import", "from nvfuser_direct import"))}
    # A folder _C_DIRECT/ would be importable where the extension is missing, so the submodules lie beside it.
    stubs |= {f"{name}.pyi": text for name, text in texts.items()}
    stubs = {name: _names_imported(_tidy(text), name) for name, text in stubs.items()}
    stubs["ops.pyi"] = _kinds_told_apart(stubs["ops.pyi"])
    stubs = {name: HEADER + text for name, text in stubs.items()}
    return {**stubs, "__init__.pyi": HEADER + _package_stub()}


def _tidy(text: str) -> str:
    text = text.replace("typing.SupportsInt | typing.SupportsIndex", "int")
    text = text.replace("typing.SupportsFloat | typing.SupportsIndex", "float")
    text = re.sub(r"<(\w+\.\w+): -?\d+>", r"\1", text)  # defaults that are enum members
    words = "|".join(keyword.kwlist)  # a parameter called `from` can only be given by position
    text = re.sub(rf"([(,] ?)({words}): ", r"\1\2_: ", text)
    # An enum member that is a Python word (MemoryType.global) can only be reached through getattr.
    reserved = tuple(f"    {word}: " for word in keyword.kwlist)
    return "\n".join(line.rstrip() for line in text.splitlines() if not line.startswith(reserved)) + "\n"


def _exceptions_defined(text: str) -> str:
    """An exception that the extension creates under the package's name is defined in its stub, not imported."""
    package = importlib.import_module("nvfuser_direct")
    for name, value in vars(package).items():
        line = f"from nvfuser_direct import {name}\n"
        if inspect.isclass(value) and issubclass(value, Exception) and line in text:
            text = text.replace(line, "")
            text += f'class {name}({value.__bases__[0].__name__}):\n    """\n    {inspect.getdoc(value)}\n    """\n'
    return text


def _kinds_told_apart(text: str) -> str:
    """Ops that take tensors and scalars alike return a TensorView as soon as one operand is one: overloads say so."""
    scalar = "Val | bool | int | float | complex"
    text = text.replace(f"TensorView | {scalar}", "Operand").replace(scalar, "Scalar")
    lines = text.splitlines()
    for node in reversed([node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]):
        slots = [
            a for a in node.args.posonlyargs + node.args.args if a.annotation and ast.unparse(a.annotation) == "Operand"
        ]
        if not slots or node.returns is None or ast.unparse(node.returns) != "Val":
            continue
        body = lines[node.body[0].lineno - 1 : node.end_lineno]
        overloads = []
        for tensor in [*slots, None]:
            for slot in slots:
                kind = "TensorView" if slot is tensor else "Scalar" if tensor is None else "Operand"
                slot.annotation = ast.Name(kind)
            result = "Val" if tensor is None else "TensorView"
            overloads += ["@typing.overload", f"def {node.name}({ast.unparse(node.args)}) -> {result}:"]
            overloads += body if tensor is slots[0] else ["    ..."]
        lines[node.lineno - 1 : node.end_lineno] = overloads
    aliases = [f"Scalar: typing.TypeAlias = {scalar}", "Operand: typing.TypeAlias = TensorView | Scalar"]
    first = next(i for i, line in enumerate(lines) if line.startswith("__all__"))
    return "\n".join([*lines[:first], *aliases, *lines[first:]]) + "\n"


def _names_imported(text: str, name: str) -> str:
    """Adds imports for names that signatures use as plain words and that the stub does not define."""
    tree = ast.parse(text)
    defined = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    defined |= {a.asname or a.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - defined - set(dir(builtins))
    if name == "_C_DIRECT.pyi":
        return text
    known = vars(importlib.import_module(EXTENSION))
    missing = ", ".join(sorted(used & set(known)))
    return (
        text.replace("import typing\n", f"import typing\nfrom {EXTENSION} import {missing}\n", 1) if missing else text
    )


def _package_stub() -> str:
    """__init__.pyi: the package fills its namespace at run time, which type checkers cannot follow."""
    package = importlib.import_module("nvfuser_direct")
    extension = importlib.import_module(EXTENSION)
    lines = ["from nvfuser_direct import _C_DIRECT as _C_DIRECT"]
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.ismodule(value):
            lines.append(f"from nvfuser_direct import {name} as {name}")
        elif getattr(extension, name, None) is value:
            lines.append(f"from {EXTENSION} import {name} as {name}")
        elif value.__module__ != "nvfuser_direct":
            lines.append(f"from {value.__module__} import {name} as {name}")
    lines += ["", "__version__: str", "", "def version() -> NvfuserVersion:", f'    """{package.version.__doc__}"""']
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed stubs instead of writing")
    check = parser.parse_args().check
    sys.path.insert(0, str(PACKAGE.parent))
    different = False
    for name, text in generate().items():
        path = PACKAGE / name
        old = path.read_text() if path.exists() else ""
        if old == text:
            continue
        different = True
        if check:
            sys.stdout.writelines(
                difflib.unified_diff(old.splitlines(True), text.splitlines(True), str(path), "generated")
            )
        else:
            path.write_text(text)
            print(f"wrote {path}")
    return int(check and different)


if __name__ == "__main__":
    sys.exit(main())
