"""Import root, device marker and seeds of the Python tests."""

import os
import sys
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
