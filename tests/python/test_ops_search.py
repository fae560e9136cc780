"""topk and argsort against torch."""

import pytest
import torch
from helpers import FLOATS, INTS, assert_values, dtype_id, layouts, make, refused, run, run1
from nvfuser_direct import FusionDefinition

ONE = torch.float32


def distinct(shape, dtype=ONE, device="cpu"):
    """All values different, so that indices are unique."""
    count = int(torch.Size(shape).numel())
    order = torch.randperm(count, generator=torch.Generator().manual_seed(4))
    return (order - count // 2).reshape(shape).to(dtype).to(device)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    "shape,k,dim",
    [
        ((4, 7), 3, -1),
        ((4, 7), 2, 0),
        ((4, 7), 7, 1),
        ((2, 3, 5), 2, 1),
        ((9,), 4, 0),
        ((9,), 0, 0),
        ((4, 1), 1, 1),
        ((0, 3), 2, 1),
    ],
    ids=str,
)
def test_topk(shape, k, dim, ordered, largest, device):
    for x in layouts(distinct(shape, device=device)):
        values, index = run(lambda fd, t, n: list(fd.ops.topk(t, n, dim, largest, ordered)), [x, k])
        expected = torch.topk(x, k, dim, largest, True)
        if ordered:
            assert_values(values, expected.values)
            assert_values(index, expected.indices)
        else:
            assert index.dtype == torch.int64
            assert_values(values.sort(dim).values, expected.values.sort(dim).values)
            assert_values(torch.gather(x, dim, index), values)


def test_topk_defaults_and_constants():
    x = distinct((4, 7))
    default, named = run(
        lambda fd, t, n: [
            fd.ops.topk(t, n)[0],
            fd.ops.topk(t, fd.define_scalar(3), dim=0, largest=False, sorted=True)[1],
        ],
        [x, 3],
    )
    assert_values(default.sort(1).values, torch.topk(x, 3).values.sort(1).values)
    assert_values(named, torch.topk(x, 3, 0, False, True).indices)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=dtype_id)
def test_topk_dtypes(dtype, device):
    x = distinct((3, 8), dtype, device)
    values, index = run(lambda fd, t, n: list(fd.ops.topk(t, n, -1, True, True)), [x, 3])
    assert_values(values, torch.topk(x, 3).values)
    assert_values(index, torch.topk(x, 3).indices)


def test_topk_inside_a_graph():
    x = distinct((4, 7))

    def build(fd, t, n):
        values, index = fd.ops.topk(fd.ops.neg(t), n, 1, True, True)
        return [fd.ops.exp(values), fd.ops.gather(t, index, 1)]

    smallest = torch.topk(x, 2, 1, False, True).values
    exponential, gathered = run(build, [x, 2])
    assert_values(exponential, torch.exp(-smallest.double()).float())
    assert_values(gathered, smallest)


def test_topk_errors():
    x = distinct((4, 7))
    topk = lambda dim: lambda fd, t, n: list(fd.ops.topk(t, n, dim))  # noqa: E731
    for dim in (2, -3):
        refused(topk(dim), [x, 2], match="Tried to access out of boundary index")
    for k in (8, 100, -1, -5):
        refused(topk(1), [x, k])
    refused(lambda fd, t: list(fd.ops.topk(t, 2.5, 1)), [x], error=(TypeError, RuntimeError))
    refused(lambda fd, t: list(fd.ops.topk(t, "k", 1)), [x], error=TypeError)
    refused(lambda fd, t: list(fd.ops.topk(t)), [x], error=TypeError)


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize(
    "shape,dim", [((7,), 0), ((4, 7), 1), ((4, 7), 0), ((2, 3, 5), -2), ((4, 1), 1), ((0, 3), 1), ((3, 0), 1)], ids=str
)
def test_argsort(shape, dim, descending, stable, device):
    for x in layouts(distinct(shape, device=device)):
        result = run1(lambda fd, t: fd.ops.argsort(t, dim, descending, stable), [x])
        assert_values(result, torch.argsort(x, dim=dim, descending=descending, stable=stable))


def test_stable_argsort_keeps_the_order_of_equal_values():
    x = make((3, 40), torch.int64, low=0, high=3)
    up, down = run(
        lambda fd, t: [fd.ops.argsort(t, dim=1, stable=True), fd.ops.argsort(t, dim=1, descending=True, stable=True)],
        [x],
    )
    assert_values(up, torch.argsort(x, dim=1, stable=True))
    assert_values(down, torch.argsort(x, dim=1, descending=True, stable=True))


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=dtype_id)
def test_argsort_dtypes(dtype, device):
    x = distinct((3, 8), dtype, device)
    assert_values(run1(lambda fd, t: fd.ops.argsort(t, dim=-1), [x]), torch.argsort(x, dim=-1))


def test_argsort_of_a_zero_dim_tensor_and_nan():
    zero = run1(lambda fd, t: fd.ops.argsort(t, dim=0), [torch.tensor(3.0)])
    assert zero.shape == () and zero.item() == 0 and zero.dtype == torch.int64
    x = torch.tensor([2.0, float("nan"), 1.0, float("-inf")])
    assert_values(run1(lambda fd, t: fd.ops.argsort(t, 0, False, True), [x]), torch.argsort(x, stable=True))


def test_argsort_errors():
    x = distinct((4, 7))
    for dim in (2, -3):
        refused(lambda fd, t: fd.ops.argsort(t, dim), [x])  # noqa: B023
    with FusionDefinition() as fd:
        t = fd.from_pytorch(x)
        for arguments in [(), (t,), (t, 0.5), (t, "0"), (3, 0)]:
            with pytest.raises(TypeError):
                fd.ops.argsort(*arguments)
        fd.add_output(t)
