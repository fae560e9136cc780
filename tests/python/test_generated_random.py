"""Random fusions through generated kernels and through ATen; fuzz_kernels.py says what is drawn and compared.

`make fuzz` runs more of them, with other seeds; `python tests/python/fuzz_kernels.py --seed N` runs one of these again.
"""

import fuzz_kernels
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

PARTS = 10
CASES_OF_A_PART = 24


@pytest.mark.parametrize("part", range(PARTS))
def test_random_fusions(part):
    """The same cases at every run."""
    first = part * CASES_OF_A_PART
    wrong = [
        found and f"seed {n}: {found}"
        for n in range(first, first + CASES_OF_A_PART)
        if (found := fuzz_kernels.run_seed(n))
    ]
    assert not wrong, "\n".join(wrong)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(st.randoms(use_true_random=False))
def test_random_fusions_that_shrink(rand):
    """Simpler ones, which hypothesis makes smaller still where they fail."""
    graph, outputs = fuzz_kernels.draw_case(rand)
    note(graph.text())
    note(f"outputs {outputs}")
    fuzz_kernels.run_case(graph, outputs)
