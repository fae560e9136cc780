"""slice, pad, cat against torch."""

import pytest
import torch
from helpers import ALL_DTYPES, FLOATS, INTS, NVF, assert_values, define, dtype_id, layouts, make, refused, run, run1
from nvfuser_direct import DataType, FusionDefinition

ONE = torch.float32


def same(result, expected):
    """Moves of data are exact."""
    assert_values(result, expected, rtol=0, atol=0)


def sliced(x, starts, ends):
    """Python slicing of every dim."""
    return x[tuple(slice(a, b) for a, b in zip(starts, ends, strict=True))]


# --- slice ---------------------------------------------------------------------------------------------------------------

SLICES = [
    ((5,), [1], [4]),
    ((5,), [0], [5]),
    ((5,), [2], [2]),
    ((5,), [5], [5]),
    ((5, 7, 8), [1, 0, 3], [2, 6, 8]),
    ((5, 1), [1, 0], [3, 1]),
    ((0, 4), [0, 1], [0, 3]),
    ((4, 4), [3, 1], [100, 7]),
    ((4,), [6], [9]),
]


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("shape,starts,ends", SLICES, ids=str)
def test_slice(shape, starts, ends, static, device):
    for x in layouts(make(shape, ONE, device)):
        same(run1(lambda fd, t: fd.ops.slice(t, starts, ends), [x], static_sizes=static), sliced(x, starts, ends))
        after = run1(
            lambda fd, t: fd.ops.mul(fd.ops.slice(fd.ops.add(t, 1.0), starts, ends), 2.0), [x], static_sizes=static
        )
        assert_values(after, (sliced(x, starts, ends) + 1) * 2)


def test_slice_call_forms():
    x = make((5, 6), ONE)

    def build(fd, t):
        return [
            fd.ops.slice(t, (1, 2), (4, 5)),
            fd.ops.slice(t, start_indices=[1, 2], end_indices=[4, 5]),
            fd.ops.slice(t, [1, 2], [4, 5], [1, 1]),
            fd.ops.slice(t, (1, 2), (4, 5), strides=(1, 1)),
            fd.ops.slice(t, [1, 2], [4, 5], manual_normalization=True),
        ]

    for result in run(build, [x]):
        same(result, x[1:4, 2:5])


def test_slice_with_values():
    x = make((8, 6), ONE)

    def build(fd, t, a, b):
        rows = fd.ops.size(t, 0)
        half = fd.ops.div(rows, 2)
        return [
            fd.ops.slice(t, [a, 0], [b, 6]),
            fd.ops.slice(t, [half, 0], [rows, 3]),
            fd.ops.slice(t, [0, 1], [half, 5]),
        ]

    fd = define(build, [x, 2, 5])
    for low, high, rows in [(2, 5, 8), (0, 8, 8), (3, 3, 6), (1, 20, 4)]:
        y = make((rows, 6), ONE)
        results = fd.execute([y, low, high])
        expected = [y[low:high], y[rows // 2 :, :3], y[: rows // 2, 1:5]]
        for result, wanted in zip(results, expected, strict=True):
            same(result, wanted)


def test_slice_at_the_right_sizes_of_another_call():
    """An end past the extent is clamped anew for every call."""
    x = make((10,), ONE)
    fd = define(lambda fd, t: fd.ops.slice(t, [2], [6]), [x])
    for n in (10, 6, 4, 3, 2, 1, 0):
        y = make((n,), ONE)
        same(fd.execute([y])[0], y[2:6])


@pytest.mark.parametrize(
    "starts,ends,strides",
    [
        ([-1, -2], [5, 5], None),
        ([3, 4], [1, 2], [1, 1]),
        ([0, 0], [5, 5], [5, 5]),
        ([0, 0, 0], [4, 4, 4], [1, 1, 1]),
        ([0, 0, 0], [4, 4], [1, 1]),
        ([0, 0], [4, 4, 4], [1, 1]),
        ([0, 0], [4, 4], [1, 1, 1]),
        ([0], [4], None),
        ([0, 0], [4, -1], None),
        ([0, 0], [4, 4], [0, 1]),
        ([0, 0], [4, 4], [-1, 1]),
    ],
    ids=str,
)
@pytest.mark.parametrize("static", [False, True])
def test_slice_errors(starts, ends, strides, static):
    def build(fd, t):
        return fd.ops.slice(t, starts, ends, strides) if strides else fd.ops.slice(t, starts, ends)

    refused(build, [make((10, 10), ONE)], static_sizes=static)


def test_slice_wrong_types():
    x = make((5, 5), ONE)
    refused(lambda fd, t: fd.ops.slice(t, [0, 0], (2, 2)), [x], error=TypeError)
    refused(lambda fd, t: fd.ops.slice(t, [0, 0]), [x], error=TypeError)
    refused(lambda fd, t: fd.ops.slice(t, [0.0, 0.0], [2.0, 2.0]), [x], error=(TypeError, RuntimeError))
    refused(lambda fd, t: fd.ops.slice(t, 0, 2), [x], error=TypeError)
    refused(lambda fd, t: fd.ops.slice([0, 0], [2, 2]), [x], error=TypeError)


# --- pad -----------------------------------------------------------------------------------------------------------------

PADS = [
    ((3,), [1, 2]),
    ((3, 4), [0, 0]),
    ((3, 4), [1, 0]),
    ((3, 4), [1, 2, 3, 0]),
    ((3, 4), [-1, 2]),
    ((3, 4), [-1, -2, 1, -1]),
    ((1, 1, 1), [10, 10]),
    ((0, 3), [0, 0, 2, 1]),
    ((0,), [3, 0]),
    ((2, 3, 4), [0, 1, 0, 0, 2, 0]),
    ((3,), [-3, 0]),
    ((2, 3), []),
]


@pytest.mark.parametrize("value", [None, 0.0, 1.5, float("-inf")], ids=str)
@pytest.mark.parametrize("shape,widths", PADS, ids=str)
def test_pad(shape, widths, value, device):
    for x in layouts(make(shape, ONE, device)):
        result = run1(lambda fd, t: fd.ops.pad(t, widths) if value is None else fd.ops.pad(t, widths, value), [x])
        expected = torch.nn.functional.pad(x, widths, value=value or 0.0) if widths else x
        same(result, expected)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_pad_dtypes(dtype, device):
    x = make((3, 4), dtype, device)
    value = True if dtype == torch.bool else 2 + 1j if dtype.is_complex else 2.5 if dtype.is_floating_point else 7
    zero, filled = run(
        lambda fd, t: [fd.ops.pad(t, [1, 2, 0, 1]), fd.ops.pad(t, pad_widths=(1, 2, 0, 1), value=value)], [x]
    )
    expected = torch.zeros(4, 7, dtype=dtype, device=device)
    expected[:3, 1:5] = x
    same(zero, expected)
    expected = torch.full((4, 7), value, dtype=dtype, device=device)
    expected[:3, 1:5] = x
    same(filled, expected)


def test_pad_with_values():
    x = make((3, 4), ONE)

    def build(fd, t, before, fill):
        return fd.ops.pad(t, [before, fd.ops.size(t, 0)], fill)

    same(run1(build, [x, 2, 0.5]), torch.nn.functional.pad(x, [2, 3], value=0.5))


def test_pad_errors():
    x = make((2, 2), ONE)
    refused(
        lambda fd, t: fd.ops.pad(t, [1, 1, -1, 2], 1), [x], match="Tensor arg and pad value must have the same dtype"
    )
    refused(
        lambda fd, t: fd.ops.pad(t, [1, 1], 1.0),
        [make((2, 2), torch.int64)],
        match="Tensor arg and pad value must have the same dtype",
    )
    refused(lambda fd, t: fd.ops.pad(t, [1, 1], 1j), [x], match="Tensor arg and pad value must have the same dtype")
    for static in (False, True):
        refused(lambda fd, t: fd.ops.pad(t, [-3, 0, 0, 0]), [x], static_sizes=static)
        refused(lambda fd, t: fd.ops.pad(t, [-2, -1]), [x], static_sizes=static)
        refused(lambda fd, t: fd.ops.pad(t, [1, 1, 1, 1, 1, 1]), [x], static_sizes=static)
        refused(lambda fd, t: fd.ops.pad(t, [1, 1, 0]), [x], static_sizes=static)
    refused(lambda fd, t: fd.ops.pad(t, 1), [x], error=TypeError)
    refused(lambda fd, t: fd.ops.pad(t), [x], error=TypeError)


def test_pad_then_reduce_and_pointwise():
    x = make((3, 4), ONE)
    total, product = run(
        lambda fd, t: [fd.ops.sum(fd.ops.pad(t, [1, 1], 2.0), [1]), fd.ops.mul(fd.ops.pad(fd.ops.exp(t), [0, 2]), 3.0)],
        [x],
    )
    assert_values(total, torch.nn.functional.pad(x, [1, 1], value=2.0).double().sum(1).float())
    assert_values(product, torch.nn.functional.pad(torch.exp(x), [0, 2]) * 3)


# --- cat -----------------------------------------------------------------------------------------------------------------

CATS = [
    ([(2,), (3,)], 0),
    ([(2, 3), (4, 3)], 0),
    ([(2, 3), (2, 1), (2, 5)], 1),
    ([(2, 3), (2, 4)], -1),
    ([(2, 3, 4), (2, 1, 4)], -2),
    ([(2, 3)], 0),
    ([(2, 0), (2, 3)], 1),
    ([(2, 3), (2, 0), (2, 1)], 1),
    ([(0,), (0,)], 0),
    ([(0, 3), (2, 3)], 0),
    ([(1, 1), (1, 1), (1, 1)], 0),
]


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("shapes,dim", CATS, ids=str)
def test_cat(shapes, dim, static, device):
    tensors = [make(s, ONE, device, seed=n) for n, s in enumerate(shapes)]
    same(run1(lambda fd, *t: fd.ops.cat(list(t), dim), tensors, static_sizes=static), torch.cat(tensors, dim))
    mixed = [layouts(t)[-1] for t in tensors]
    same(run1(lambda fd, *t: fd.ops.cat(list(t), dim=dim), mixed, static_sizes=static), torch.cat(tensors, dim))
    after = run1(lambda fd, *t: fd.ops.add(fd.ops.cat([fd.ops.neg(p) for p in t], dim), 1.0), tensors)
    assert_values(after, 1 - torch.cat(tensors, dim))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_cat_dtypes(dtype, device):
    a, b = make((2, 3), dtype, device), make((4, 3), dtype, device, seed=1)
    same(run1(lambda fd, p, q: fd.ops.cat([p, q, p]), [a, b]), torch.cat([a, b, a]))


def test_cat_of_padded_tensors_by_hand():
    """manual_padding: the tensors already have the result's size and are zero outside their part."""
    a, b = make((2, 3), ONE), make((2, 4), ONE, seed=1)

    def build(fd, p, q):
        return fd.ops.cat([fd.ops.pad(p, [0, 4]), fd.ops.pad(q, [3, 0])], dim=1, manual_padding=True)

    same(run1(build, [a, b]), torch.cat([a, b], 1))


def test_cat_with_nan_and_infinities():
    a, b = torch.tensor([float("nan"), float("inf"), -0.0]), torch.tensor([1.0, float("-inf")])
    result = run1(lambda fd, p, q: fd.ops.cat([p, q]), [a, b])
    same(result, torch.cat([a, b]))
    assert torch.signbit(result[2])


def test_cat_errors():
    with pytest.raises((RuntimeError, TypeError)), FusionDefinition() as fd:
        fd.ops.cat([], 0)
    refused(lambda fd, a, b: fd.ops.cat([a, b], 1), [make((1,), ONE), make((2,), ONE)])
    refused(lambda fd, a, b: fd.ops.cat([a, b], -2), [make((2,), ONE), make((2,), ONE)])
    refused(lambda fd, a, b: fd.ops.cat([a, b], 0), [make((2,), ONE), make((2, 3), ONE)])
    for static in (False, True):
        refused(lambda fd, a, b: fd.ops.cat([a, b], 0), [make((2, 3), ONE), make((4, 5), ONE)], static_sizes=static)
    refused(lambda fd, a, b: fd.ops.cat([a, b], 0), [make((2,), ONE), make((2,), torch.float64)])
    refused(lambda fd, a: fd.ops.cat([a, 1.0], 0), [make((2,), ONE)], error=TypeError)
    refused(lambda fd, a: fd.ops.cat(a, 0), [make((2,), ONE)], error=TypeError)
    refused(lambda fd, a: fd.ops.cat([a], 0.5), [make((2,), ONE)], error=TypeError)


def test_split_and_join_again():
    """Slices at symbolic halves, joined in swapped order."""

    def build(fd, t):
        n = fd.ops.size(t, 1)
        half = fd.ops.div(n, 2)
        left = fd.ops.slice(t, [0, 0], [fd.ops.size(t, 0), half])
        right = fd.ops.slice(t, [0, half], [fd.ops.size(t, 0), n])
        return fd.ops.cat([fd.ops.neg(right), left], dim=1)

    fd = define(build, [make((2, 6), ONE)])
    for n in (6, 2, 8, 0):
        x = make((2, n), ONE)
        same(fd.execute([x])[0], torch.cat([-x[:, n // 2 :], x[:, : n // 2]], 1))


@pytest.mark.parametrize("dtype", INTS + FLOATS, ids=dtype_id)
def test_full_next_to_data_in_a_cat(dtype):
    x = make((3, 2), dtype)

    def build(fd, t):
        return fd.ops.cat([fd.ops.full([3, 1], 1, dtype=NVF[dtype]), t], dim=1)

    same(run1(build, [x]), torch.cat([torch.ones(3, 1, dtype=dtype), x], 1))


def test_define_vector_gives_slice_bounds():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True, dtype=DataType.Float)
        starts, ends = fd.define_vector(2), fd.define_vector(2)
        fd.add_output(fd.ops.slice(x, starts, ends))
    x = make((5, 6), ONE)
    same(fd.execute([x, [1, 2], [4, 6]])[0], x[1:4, 2:6])
    same(fd.execute([x, (0, 0), (5, 1)])[0], x[0:5, 0:1])
    same(fd.execute([x, 0, 3, 2, 6])[0], x[0:2, 3:6])
