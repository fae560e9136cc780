"""index_select, select, gather, take_along_axis, scatter against torch."""

import pytest
import torch
from helpers import ALL_DTYPES, INTS, assert_values, dtype_id, layouts, make, refused, run, run1
from nvfuser_direct import DataType

ONE = torch.float32


def same(result, expected):
    """Moves of data are exact."""
    assert_values(result, expected, rtol=0, atol=0)


def indices(shape, extent, device="cpu", dtype=torch.int64, seed=0):
    """Random valid indices."""
    gen = torch.Generator().manual_seed(50 + seed)
    return torch.randint(0, max(extent, 1), tuple(shape), generator=gen).to(dtype).to(device)


# --- index_select --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index_dtype", INTS, ids=dtype_id)
@pytest.mark.parametrize(
    "shape,dim,length",
    [
        ((4, 2, 3), 0, 8),
        ((4, 2, 3), 1, 7),
        ((4, 2, 3), -1, 2),
        ((5,), 0, 3),
        ((5, 1), 0, 1),
        ((5, 2), 0, 0),
        ((5, 0), 0, 3),
    ],
    ids=str,
)
def test_index_select(shape, dim, length, index_dtype, device):
    index = indices((length,), shape[dim], device, index_dtype)
    for x in layouts(make(shape, ONE, device)):
        for i in layouts(index):
            result = run1(lambda fd, t, k: fd.ops.index_select(t, k, dim), [x, i])
            same(result, torch.index_select(x, dim, index))


def test_index_select_with_a_zero_dim_index():
    x, index = make((4, 3), ONE), torch.tensor(2)
    same(run1(lambda fd, t, k: fd.ops.index_select(t, k, 0), [x, index]), x[2:3])


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_index_select_dtypes_and_pointwise_around_it(dtype, device):
    x, index = make((4, 3), dtype, device), indices((6,), 3, device)
    same(run1(lambda fd, t, k: fd.ops.set(fd.ops.index_select(fd.ops.set(t), k, dim=1)), [x, index]), x[:, index])


def test_index_select_of_a_computed_index():
    x, index = make((8, 3), ONE), indices((5,), 4)
    result = run1(lambda fd, t, k: fd.ops.index_select(t, fd.ops.add(fd.ops.mul(k, 2), 1), 0), [x, index])
    same(result, x[index * 2 + 1])


@pytest.mark.parametrize("dim", [2, -3])
def test_index_select_dim_out_of_range(dim):
    refused(
        lambda fd, t, k: fd.ops.index_select(t, k, dim),
        [make((4, 2), ONE), indices((3,), 2)],
        match="out of boundary index",
    )


def test_index_select_errors():
    x = make((4, 3), ONE)
    select = lambda fd, t, k: fd.ops.index_select(t, k, 0)  # noqa: E731
    refused(select, [x, torch.ones(3)])
    refused(select, [x, torch.zeros(2, 2, dtype=torch.int64)])
    for bad in ([4], [-1], [0, 100], [-5]):
        refused(select, [x, torch.tensor(bad)], error=(IndexError, RuntimeError))
    refused(lambda fd, t: fd.ops.index_select(t, 0, 0), [x], error=TypeError)
    refused(lambda fd, t, k: fd.ops.index_select(t, k), [x, indices((3,), 2)], error=TypeError)


# --- select --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape,dim", [((4, 2, 3), 0), ((4, 2, 3), 1), ((4, 2, 3), -1), ((5,), 0), ((1, 3), 0)], ids=str
)
def test_select(shape, dim, device):
    for x in layouts(make(shape, ONE, device)):
        for index in {0, shape[dim] - 1}:
            symbolic, constant = run(
                lambda fd, t, k: [fd.ops.select(t, k, dim), fd.ops.select(t, fd.define_scalar(index), dim)],  # noqa: B023
                [x, index],
            )
            same(symbolic, x.select(dim, index))
            same(constant, x.select(dim, index))


def test_select_with_a_size_as_index():
    """The last row, spelled as size - 1."""
    x = make((4, 3), ONE)
    result = run1(lambda fd, t: fd.ops.select(t, fd.ops.sub(fd.ops.size(t, 0), 1), 0), [x])
    same(result, x[-1])


def test_select_errors():
    x = make((4, 3), ONE)
    refused(lambda fd, t: fd.ops.select(t, 1, 0), [x], error=TypeError)
    for dim in (2, -3):
        refused(lambda fd, t, k: fd.ops.select(t, k, dim), [x, 0])  # noqa: B023
    for index in (4, 100):
        refused(lambda fd, t, k: fd.ops.select(t, k, 0), [x, index], error=(IndexError, RuntimeError))
    refused(lambda fd, t, k: fd.ops.select(t, k, 0), [make((), ONE), 0])


# --- gather, take_along_axis ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index_dtype", INTS, ids=dtype_id)
@pytest.mark.parametrize(
    "shape,dim,index_shape",
    [
        ((4, 2, 3), 0, (8, 2, 3)),
        ((4, 2, 3), 1, (4, 5, 3)),
        ((4, 2, 3), -1, (4, 2, 1)),
        ((4, 2, 3), 0, (2, 1, 2)),
        ((5,), 0, (9,)),
        ((5,), 0, (0,)),
        ((3, 0), 0, (2, 0)),
    ],
    ids=str,
)
def test_gather(shape, dim, index_shape, index_dtype, device):
    index = indices(index_shape, shape[dim], device, index_dtype)
    for x in layouts(make(shape, ONE, device)):
        result = run1(lambda fd, t, k: fd.ops.gather(t, k, dim), [x, index])
        same(result, torch.gather(x, dim, index.long()))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_gather_dtypes(dtype, device):
    x, index = make((4, 3), dtype, device), indices((4, 6), 3, device)
    same(run1(lambda fd, t, k: fd.ops.gather(t, k, dim=1), [x, index]), torch.gather(x, 1, index))


def test_gather_errors():
    x = make((4, 3), ONE)
    refused(lambda fd, t, k: fd.ops.gather(t, k, 0), [x, indices((4,), 4)], match="Tensor arguments have dimension")
    refused(lambda fd, t, k: fd.ops.gather(t, k, 2), [x, indices((4, 3), 3)])
    refused(lambda fd, t, k: fd.ops.gather(t, k, -3), [x, indices((4, 3), 3)])
    refused(lambda fd, t, k: fd.ops.gather(t, k, 0), [x, torch.ones(4, 3)])
    refused(lambda fd, t, k: fd.ops.gather(t, k, 0), [x, torch.full((2, 3), 4)], error=(IndexError, RuntimeError))
    refused(lambda fd, t, k: fd.ops.gather(t, k, 0), [x, torch.full((2, 3), -1)], error=(IndexError, RuntimeError))


@pytest.mark.parametrize(
    "shape,dim,index_shape",
    [
        ((4, 2, 3), 0, (8, 2, 3)),
        ((4, 2, 3), 1, (4, 7, 3)),
        ((4, 2, 3), 2, (4, 2, 2)),
        ((4, 2, 3), 1, (4, 7, 1)),
        ((4, 2, 3), -1, (1, 2, 5)),
        ((1, 5), 1, (4, 3)),
        ((6,), 0, (2,)),
    ],
    ids=str,
)
def test_take_along_axis(shape, dim, index_shape, device):
    index = indices(index_shape, shape[dim], device)
    wide_index = [max(a, b) for a, b in zip(shape, index_shape, strict=True)]
    wide_index[dim] = index_shape[dim]
    wide_x = list(wide_index)
    wide_x[dim] = shape[dim]
    for x in layouts(make(shape, ONE, device)):
        result = run1(lambda fd, t, k: fd.ops.take_along_axis(t, k, dim), [x, index])
        same(result, torch.gather(x.expand(wide_x), dim, index.expand(wide_index)))


def test_take_along_axis_for_cross_entropy():
    """Log-probability of a label in every row."""
    x, label = make((6, 10), torch.float64), indices((6, 1), 10)

    def build(fd, t, k):
        peak = fd.ops.max(t, [1], True)
        total = fd.ops.sum(fd.ops.exp(fd.ops.sub(t, peak)), [1], True)
        log_probability = fd.ops.sub(fd.ops.sub(t, peak), fd.ops.log(total))
        return fd.ops.neg(fd.ops.squeeze(fd.ops.take_along_axis(log_probability, k, 1), [1]))

    assert_values(run1(build, [x, label]), torch.nn.functional.cross_entropy(x, label[:, 0], reduction="none"))


def test_take_along_axis_errors():
    x = make((4, 3), ONE)
    refused(lambda fd, t, k: fd.ops.take_along_axis(t, k, 0), [x, indices((4,), 4)])
    refused(lambda fd, t, k: fd.ops.take_along_axis(t, k, 2), [x, indices((4, 3), 3)])
    refused(lambda fd, t, k: fd.ops.take_along_axis(t, k, -3), [x, indices((4, 3), 3)])
    refused(lambda fd, t, k: fd.ops.take_along_axis(t, k, 0), [x, torch.ones(4, 3)])
    refused(lambda fd, t, k: fd.ops.take_along_axis(t, k, 0), [x, indices((4, 2), 3)])
    refused(
        lambda fd, t, k: fd.ops.take_along_axis(t, k, 0), [x, torch.full((2, 3), 9)], error=(IndexError, RuntimeError)
    )


# --- scatter -------------------------------------------------------------------------------------------------------------


def unique_indices(shape, dim, extent, device="cpu"):
    """Indices without a repeat along `dim`."""
    full = list(shape)
    full[dim] = extent
    order = make(full, torch.float64, device, seed=9).argsort(dim)
    return order.narrow(dim, 0, shape[dim]).contiguous()


@pytest.mark.parametrize(
    "shape,dim,count",
    [((8, 2, 3), 0, 8), ((8, 2, 3), 1, 2), ((8, 2, 3), -1, 3), ((8, 2, 3), 0, 4), ((6,), 0, 3), ((6,), 0, 0)],
    ids=str,
)
def test_scatter(shape, dim, count, device):
    index_shape = list(shape)
    index_shape[dim] = count
    index, src = unique_indices(index_shape, dim, shape[dim], device), make(index_shape, ONE, device, seed=3)
    for x in layouts(make(shape, ONE, device)):
        result = run1(lambda fd, t, k, s: fd.ops.scatter(t, k, s, dim), [x, index, src])
        same(result, torch.scatter(x, dim, index, src))
        constant, symbolic = run(
            lambda fd, t, k, v: [fd.ops.scatter(t, k, 2.5, dim), fd.ops.scatter(t, k, v, dim)], [x, index, 2.5]
        )
        same(constant, torch.scatter(x, dim, index, 2.5))
        same(symbolic, torch.scatter(x, dim, index, 2.5))


def test_scatter_leaves_its_input_alone_and_feeds_pointwise():
    x, index, src = make((6, 3), ONE), unique_indices((2, 3), 0, 6), make((2, 3), ONE, seed=1)
    result = run1(lambda fd, t, k, s: fd.ops.sigmoid(fd.ops.scatter(t, k, fd.ops.neg(s), 0)), [x, index, src])
    assert_values(result, torch.sigmoid(torch.scatter(x, 0, index, -src)))


def test_scatter_errors():
    x, index, src = make((4, 3), ONE), unique_indices((2, 3), 0, 4), make((2, 3), ONE)
    refused(lambda fd, t, k, s: fd.ops.scatter(t, k, s, 0), [x, indices((2,), 4), make((2,), ONE)])
    refused(lambda fd, t, k, s: fd.ops.scatter(t, k, s, 0), [x, index, make((2,), ONE)])
    refused(lambda fd, t, k, s: fd.ops.scatter(t, k, s, 2), [x, index, src])
    refused(lambda fd, t, k, s: fd.ops.scatter(t, k, s, 0), [x, index.float(), src])
    refused(
        lambda fd, t, k, s: fd.ops.scatter(t, k, s, 0),
        [x, torch.full((2, 3), 4), src],
        error=(IndexError, RuntimeError),
    )
    refused(
        lambda fd, t, k, s: fd.ops.scatter(t, k, s, 0),
        [x, torch.full((2, 3), -5), src],
        error=(IndexError, RuntimeError),
    )


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_scatter_dtypes(dtype, device):
    x, index, src = (
        make((4, 3), dtype, device),
        unique_indices((2, 3), 0, 4, device),
        make((2, 3), dtype, device, seed=1),
    )
    same(run1(lambda fd, t, k, s: fd.ops.scatter(t, k, s, dim=0), [x, index, src]), torch.scatter(x, 0, index, src))


def test_index_from_iota():
    """A window of rows chosen by a computed range."""
    x = make((8, 3), ONE)

    def build(fd, t):
        rows = fd.ops.iota(3, 1, 2, dtype=DataType.Int)
        return fd.ops.index_select(t, rows, 0)

    same(run1(build, [x]), x[1:7:2])
