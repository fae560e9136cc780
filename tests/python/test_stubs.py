"""The type stubs name everything public, with the parameters that the functions have."""

import ast
import inspect
from pathlib import Path

import nvfuser_direct
import pytest

PACKAGE = Path(nvfuser_direct.__file__).parent
SUBMODULES = ("ops", "schedule", "idm")


def stub_of(name: str) -> ast.Module:
    return ast.parse((PACKAGE / f"{name}.pyi").read_text(), filename=f"{name}.pyi")


def names_in(body: list[ast.stmt]) -> set[str]:
    names = set()
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def public(namespace) -> set[str]:
    return {name for name in vars(namespace) if not name.startswith("_")}


def test_package_stub_names_everything_public():
    missing = set(nvfuser_direct.__all__) - names_in(stub_of("__init__").body)
    assert not missing


def test_extension_stub_names_everything_public():
    extension = nvfuser_direct._C_DIRECT
    stub = stub_of("_C_DIRECT")
    assert public(extension) <= names_in(stub.body)
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    for name in public(extension):
        value = getattr(extension, name)
        if inspect.isclass(value):
            missing = public(value) - names_in(classes[name].body) - {"global"}  # a Python word cannot be declared
            assert not missing, name


@pytest.mark.parametrize("name", SUBMODULES)
def test_submodule_stub_names_everything_public(name):
    assert public(getattr(nvfuser_direct, name)) <= names_in(stub_of(name).body)


def test_every_op_has_a_docstring_and_its_parameters_in_the_stub():
    declared: dict[str, str] = {}
    for node in stub_of("ops").body:
        if isinstance(node, ast.FunctionDef):
            # docstrings of pybind11 functions begin with the signature: take the parameter names from there
            declared[node.name] = declared.get(node.name, "") + ast.unparse(node.args)
    for name in public(nvfuser_direct.ops):
        doc = getattr(nvfuser_direct.ops, name).__doc__
        signatures = [line for line in doc.splitlines() if f"{name}(" in line and "->" in line]
        assert signatures and len(doc.splitlines()) > len(signatures), name
        for signature in signatures:
            for parameter in ast.parse(f"def {_plain(signature, name)}: ...").body[0].args.args:
                assert parameter.arg in declared[name], (name, parameter.arg)


def _plain(signature: str, name: str) -> str:
    """`name(a: T, b: U = v) -> R` without annotations and defaults, which need not be Python."""
    depth, word, parameters = 0, "", []
    for character in signature.split(f"{name}(", 1)[1].rsplit(" -> ", 1)[0][:-1] + ",":
        depth += (character in "[(<{") - (character in "])>}")
        if character == "," and depth == 0:
            parameters.append(word.split(":")[0].split("=")[0].strip())
            word = ""
        else:
            word += character
    return f"{name}({', '.join(p for p in parameters if p and p != '/')})"
