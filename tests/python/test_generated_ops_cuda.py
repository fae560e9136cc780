"""The tests of test_generated_ops.py with kernels that are CUDA text: on a GPU, and emulated on the CPU."""

import pytest
from kernel_targets import on_target
from test_generated_ops import *  # noqa: F403


@pytest.fixture(autouse=True, params=["emulated", pytest.param("cuda", marks=pytest.mark.cuda)])
def _target(request):
    with on_target(request.param):
        yield
