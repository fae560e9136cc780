"""The two module names `nvfuser` and `nvfuser_direct`: import orders, laziness, old names, a missing compiled part."""

import os
import pydoc
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON_DIR = Path(__file__).resolve().parents[2] / "python"


def run_python(code: str, path: Path = PYTHON_DIR, *flags: str) -> subprocess.CompletedProcess:
    """Run `code` in a fresh interpreter that finds our packages in `path` first."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=300, env=environment
    )


def output_of(code: str, *flags: str) -> str:
    done = run_python(code, PYTHON_DIR, *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def without_compiled_part(tmp_path_factory) -> Path:
    """A copy of the Python sources of both packages and nothing else."""
    root = tmp_path_factory.mktemp("sources")
    keep_sources = shutil.ignore_patterns("*.so", "lib", "include", "share", "__pycache__")
    for package in ("nvfuser", "nvfuser_direct"):
        shutil.copytree(PYTHON_DIR / package, root / package, ignore=keep_sources)
    return root


# Both fusions are defined with DataType from the other module, so equal names must be the same objects.
USE_BOTH = """
import sys
assert nvfuser.DataType is nvfuser_direct.DataType
assert nvfuser.FusionDefinition is nvfuser_direct.FusionDefinition
assert nvfuser.pytorch_utils.torch_dtype_to_nvfuser_dtype is nvfuser_direct.pytorch_utils.torch_dtype_to_nvfuser_dtype
import torch
for module, other in ((nvfuser, nvfuser_direct), (nvfuser_direct, nvfuser)):
    with module.FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1], contiguity=[True], dtype=other.DataType.Float)
        fd.add_output(fd.ops.cast(x, other.DataType.Double))
    (y,) = fd.execute([torch.ones(3)])
    assert y.dtype == torch.float64 and y.tolist() == [1.0, 1.0, 1.0]
print("same")
"""


@pytest.mark.parametrize("order", [("nvfuser", "nvfuser_direct"), ("nvfuser_direct", "nvfuser")])
@pytest.mark.parametrize("torch_first", [False, True])
def test_both_import_orders_give_no_warning(order, torch_first):
    imports = (["import torch"] if torch_first else []) + [f"import {name}" for name in order]
    assert output_of("\n".join(imports) + USE_BOTH, "-W", "error::UserWarning") == "same\n"


@pytest.mark.parametrize("name", ["nvfuser", "nvfuser_direct"])
def test_works_as_the_first_import_of_a_process(name):
    code = f"import {name}\nprint({name}.FusionDefinition().__class__.__name__, {name}.version())"
    assert output_of(code, "-W", "error::UserWarning").startswith("FusionDefinition 0.")


def test_direct_does_not_import_nvfuser():
    assert output_of("import sys, nvfuser_direct\nprint('nvfuser' in sys.modules)") == "False\n"


def test_import_alone_loads_neither_torch_nor_the_compiled_part():
    code = "import sys, nvfuser\nprint([n for n in ('torch', 'nvfuser_direct') if n in sys.modules])"
    assert output_of(code) == "[]\n"


def test_every_public_name_of_direct_is_there():
    import nvfuser
    import nvfuser_direct

    public = [name for name in dir(nvfuser_direct) if not name.startswith("_")]
    assert {"FusionDefinition", "DataType", "ops", "schedule", "version", "compute_tensor_descriptor"} <= set(public)
    modules_of_its_own = {"attention", "pytorch_utils"}
    for name in public:
        if name not in modules_of_its_own:
            assert getattr(nvfuser, name) is getattr(nvfuser_direct, name), name
    assert set(nvfuser.__all__) <= set(dir(nvfuser))
    assert nvfuser.__version__ == str(nvfuser.version())


def test_star_import_brings_the_api():
    names = output_of("from nvfuser import *\nprint(FusionDefinition, DataType, ops, compile_report, sdpa_backends)")
    assert "FusionDefinition" in names


def test_what_thunder_needs_from_nvfuser():
    import nvfuser

    contiguity, order = nvfuser.compute_tensor_descriptor((2, 3, 4), (12, 4, 1))
    assert list(contiguity) == [True, True, True] and list(order) == [2, 1, 0]
    assert nvfuser.version() >= "0.2.34"


def test_help_of_an_op_is_enough_to_use_it():
    import nvfuser

    text = pydoc.plain(pydoc.render_doc(nvfuser.ops.slice))
    for word in ("start_indices", "end_indices", "strides", "manual_normalization"):
        assert word in text
    assert len(text.splitlines()) > 5


def test_unknown_name_is_an_attribute_error():
    import nvfuser

    with pytest.raises(AttributeError, match="module 'nvfuser' has no attribute 'no_such_name'"):
        nvfuser.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", ["FusionCache", "_C", "Scalar", "Tensor", "compute_contiguity", "contrib"])
def test_old_attributes_point_to_what_replaces_them(name):
    import nvfuser

    assert not hasattr(nvfuser, name)
    with pytest.raises(AttributeError, match=f"nvfuser.{name} no longer exists; use"):
        getattr(nvfuser, name)
    for statement in (f"from nvfuser import {name}", f"import nvfuser.{name}"):
        with pytest.raises(ImportError, match=f"nvfuser.{name} no longer exists; use"):
            exec(statement, {})


# ---- the torch.compile backend name ----------------------------------------------------------------------------------

COMPILE = """
import torch
f = torch.compile(lambda x: torch.relu(x) * 2 + 1, backend="nvfuser")
x = torch.randn(5)
assert torch.equal(f(x), torch.relu(x) * 2 + 1)
print(torch._dynamo.list_backends())
"""


@pytest.mark.parametrize("before", ["import nvfuser", "import torch._dynamo, nvfuser", "import nvfuser.dynamo"])
def test_compile_backend_works_after_import(before):
    backends = output_of(before + COMPILE)
    assert "'nvfuser'" in backends and backends.count("nvfuser") == 1


def test_compile_backend_is_found_through_the_entry_point():
    from importlib.metadata import entry_points

    found = [e for e in entry_points(group="torch_dynamo_backends") if e.name == "nvfuser"]
    if not found:
        pytest.skip("the package is not installed in this environment")
    assert "'nvfuser'" in output_of(COMPILE)


@pytest.mark.parametrize("name", ["nvprims_nvfuser", "aot_nvfuser", "ts_nvfuser"])
def test_old_backend_names_point_to_the_new_one(name):
    code = f"""
import nvfuser, torch
try:
    torch.compile(lambda x: x + 1, backend={name!r})(torch.ones(2))
except Exception as error:
    print(error)
"""
    assert 'use torch.compile(f, backend="nvfuser")' in output_of(code)


# ---- no compiled part ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["import nvfuser_direct", "import nvfuser; nvfuser.FusionDefinition"])
def test_missing_compiled_part_says_what_was_looked_for_and_where(statement, without_compiled_part):
    done = run_python(statement, without_compiled_part)
    assert done.returncode == 1
    message = done.stderr.strip().splitlines()
    text = "\n".join(message)
    assert "ImportError" in text
    assert "_C_DIRECT" in text and str(without_compiled_part / "nvfuser_direct") in text
    assert "make build" in text or "pip install" in text


def test_passes_import_without_the_compiled_part(without_compiled_part):
    if not (PYTHON_DIR / "nvfuser" / "passes").is_dir():
        pytest.skip("this checkout has no graph passes")
    done = run_python("import nvfuser.passes, sys\nprint('nvfuser_direct' in sys.modules)", without_compiled_part)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False\n"


def test_listing_names_works_without_the_compiled_part(without_compiled_part):
    done = run_python("import nvfuser\nprint('compile_report' in dir(nvfuser))", without_compiled_part)
    assert done.stdout == "True\n", done.stderr
