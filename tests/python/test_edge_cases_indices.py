"""Indices out of range, negative, repeated, from threads; gather and scatter in combination."""

import subprocess
import sys
import textwrap

import pytest
import torch
from helpers import assert_values, make, refused, run1

OUT_OF_RANGE = (IndexError, RuntimeError)


@pytest.mark.parametrize("index", [[-1], [2, -2, 1], [5], [0, 5], [-100], [2**40]], ids=str)
def test_indices_outside_are_refused_and_never_wrap(index):
    x, i = make((5, 3), torch.float32), torch.tensor(index)
    refused(lambda fd, t, k: fd.ops.index_select(t, k, 0), [x, i], error=OUT_OF_RANGE)
    refused(lambda fd, t, k: fd.ops.embedding_fwd(k, t), [x, i], error=OUT_OF_RANGE)
    column = i[:, None]
    refused(lambda fd, t, k: fd.ops.gather(t, k, 0), [x, column], error=OUT_OF_RANGE)
    refused(
        lambda fd, t, k: fd.ops.take_along_axis(t, k, 0),
        [x, column.expand(len(index), 3).contiguous()],
        error=OUT_OF_RANGE,
    )
    refused(lambda fd, t, k: fd.ops.scatter(t, k, 1.0, 0), [x, column], error=OUT_OF_RANGE)


def test_the_definition_still_works_after_an_index_error():
    from helpers import define

    x = make((5, 3), torch.float32)
    fd = define(lambda fd, t, k: fd.ops.index_select(t, k, 0), [x, torch.tensor([1, 2])])
    for _ in range(3):
        with pytest.raises(OUT_OF_RANGE):
            fd.execute([x, torch.tensor([7, 0])])
        assert torch.equal(fd.execute([x, torch.tensor([4, 0])])[0], x[[4, 0]])


def test_an_index_error_in_a_parallel_loop_is_catchable():
    """Big enough to run in several threads; in a child process because an uncaught exception there would end it."""
    code = """
        import torch
        from nvfuser_direct import FusionDefinition
        torch.set_num_threads(2)
        x = torch.randn(4, 8, 66, 66)
        bad = torch.full((4, 8, 66, 66), 66)
        index = torch.full((300000,), 4)
        with FusionDefinition() as fd:
            t, k, i = fd.from_pytorch(x), fd.from_pytorch(bad), fd.from_pytorch(index)
            shifted = fd.ops.sub(t, 0.5)
            fd.add_output(fd.ops.gather(shifted, k, 3))
            fd.add_output(fd.ops.index_select(shifted, i, 0))
        try:
            fd.execute([x, bad, index])
            print("no error")
        except (IndexError, RuntimeError) as error:
            print("caught", type(error).__name__)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "caught" in done.stdout


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_along_each_dim(dim):
    x = torch.zeros(8, 2, 3)
    index = make((8, 2, 3), torch.float64, seed=5).argsort(dim)
    src = make((8, 2, 3), torch.float32, seed=1)
    result = run1(lambda fd, t, k, s: fd.ops.scatter(t, k, s, dim), [x, index, src])
    assert_values(result, torch.scatter(x, dim, index, src))


def test_repeated_indices_read_the_same_row():
    x, index = make((4, 3), torch.float32), torch.tensor([2, 2, 2, 0, 2])
    assert_values(run1(lambda fd, t, k: fd.ops.index_select(t, k, 0), [x, index]), x[index])
    assert_values(run1(lambda fd, t, k: fd.ops.embedding_fwd(k, t), [x, index]), x[index])


def test_cross_entropy_of_many_classes():
    logits, labels = (
        make((16, 2048), torch.float32),
        torch.randint(0, 2048, (16, 1), generator=torch.Generator().manual_seed(0)),
    )

    def build(fd, x, k):
        peak = fd.ops.max(x, [1], True)
        shifted = fd.ops.sub(x, peak)
        total = fd.ops.log(fd.ops.sum(fd.ops.exp(shifted), [1], True))
        chosen = fd.ops.take_along_axis(fd.ops.sub(shifted, total), k, 1)
        return fd.ops.neg(fd.ops.div(fd.ops.sum(chosen), fd.ops.size(x, 0)))

    expected = torch.nn.functional.cross_entropy(logits.double(), labels[:, 0]).float()
    assert_values(run1(build, [logits, labels]), expected, rtol=1e-5)


def test_indices_computed_by_argsort_put_a_tensor_in_order():
    x = make((5, 7), torch.float32)
    result = run1(lambda fd, t: fd.ops.gather(t, fd.ops.argsort(t, 1), 1), [x])
    assert_values(result, x.sort(1).values)


def test_inverse_permutation_by_scatter():
    x = make((9,), torch.float32)

    def build(fd, t):
        order = fd.ops.argsort(t, 0)
        return fd.ops.scatter(fd.ops.iota(9), order, fd.ops.iota(9), 0)

    result = run1(build, [x])
    assert torch.equal(result, x.argsort().argsort())


def test_int32_indices_everywhere():
    x, index = make((5, 3), torch.float32), torch.tensor([4, 0, 2], dtype=torch.int32)
    assert_values(run1(lambda fd, t, k: fd.ops.index_select(t, k, 0), [x, index]), x[index.long()])
    assert_values(run1(lambda fd, t, k: fd.ops.embedding_fwd(k, t), [x, index]), x[index.long()])
    assert_values(
        run1(lambda fd, t, k: fd.ops.gather(t, k, 0), [x, index[:, None]]), torch.gather(x, 0, index.long()[:, None])
    )
