"""Import root, device marker, seeds and generated kernels of the Python tests.

Generated kernels are the default, and compiling them takes most of a test's time. So most modules run as ATen evaluation;
KERNEL_MODULES and tests that are marked `kernels` run as a user would, with kernels. Whoever names generated_kernels in
NVFUSER_ENABLE or NVFUSER_DISABLE decides for all tests. All workers of a run share one empty folder of compiled kernels.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]

# Tests run against this checkout also where the package is not installed, and import each other's helpers by name.
for folder in (REPO / "python", HERE):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# The rules of each stage are checked after every pass, as in debug builds.
os.environ.setdefault("NVFUSER_CHECK_PASSES", "1")

KERNEL_MODULES = {
    "test_definition_caches",
    "test_definition_execute",
    "test_definition_inputs",
    "test_definition_outputs",
    "test_definition_threads",
    "test_demo",
    "test_dynamo_attention",
    "test_dynamo_mlp",
    "test_dynamo_random_graphs",
    "test_edge_cases_indices",
    "test_edge_cases_models",
    "test_edge_cases_numbers",
    "test_edge_cases_scale",
    "test_edge_cases_shapes",
    "test_export",
    "test_fake_tensors",
    "test_generated_kernels",
    "test_generated_ops",
    "test_generated_ops_cuda",
    "test_generated_random",
    "test_generated_robustness",
    "test_ops_indexing",
    "test_ops_reductions",
    "test_ops_shape",
    "test_ops_slice_pad_cat",
    "test_property_random_graphs",
    "test_property_symbolic_sizes",
    "test_readme",
}
KERNELS_ARE_CHOSEN = any("generated_kernels" in os.environ.get(f"NVFUSER_{w}ABLE", "") for w in ("EN", "DIS"))
DISABLED = os.environ.get("NVFUSER_DISABLE", "")


def generate_kernels(on: bool) -> None:
    """Kernels on or off in this process and in those that it starts from now on."""
    words = [word for word in (DISABLED, "" if on else "generated_kernels") if word]
    os.environ["NVFUSER_DISABLE"] = ",".join(words)
    direct = sys.modules.get("nvfuser_direct")
    if direct is not None and hasattr(direct, "_C_DIRECT"):
        direct._C_DIRECT.kernel_cache.set_generated(on)


def pytest_configure(config):
    """Makes the folder of compiled kernels; workers inherit its name."""
    if "NVFUSER_CACHE_DIR" not in os.environ:
        config.kernel_folder = os.environ["NVFUSER_CACHE_DIR"] = tempfile.mkdtemp(prefix="nvfuser-test-kernels-")


def pytest_unconfigure(config):
    """Removes the folder again."""
    if hasattr(config, "kernel_folder"):
        del os.environ["NVFUSER_CACHE_DIR"]
        shutil.rmtree(config.kernel_folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Before the fixtures: some of them compile."""
    if not KERNELS_ARE_CHOSEN:
        generate_kernels(item.path.stem in KERNEL_MODULES or "kernels" in item.keywords)


def pytest_collection_modifyitems(config, items):
    """Skips what is marked `cuda` where torch sees no device."""
    marked = [item for item in items if "cuda" in item.keywords]
    if not marked:
        return
    import torch

    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="no CUDA device")
    for item in marked:
        item.add_marker(skip)


@pytest.fixture(autouse=True)
def _seeded():
    """Every test starts from the same random state, whichever tests ran before it."""
    try:
        import torch
    except ImportError:  # layout and packaging tests need no torch
        yield
        return
    torch.manual_seed(0)
    yield


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The folder that holds version.txt."""
    return REPO


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request) -> str:
    """Device a test runs on: the CPU always, CUDA where there is one."""
    return request.param
