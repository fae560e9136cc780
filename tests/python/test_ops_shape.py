"""broadcast, broadcast_in_dim, expand, reshape, permute, squeeze, stride_order, size, shape."""

import itertools

import pytest
import torch
from helpers import ALL_DTYPES, assert_values, define, dtype_id, layouts, make, refused, run, run1
from nvfuser_direct import DataType, FusionDefinition

ONE = torch.float32


def same(result, expected):
    """Moves of data are exact."""
    assert_values(result, expected, rtol=0, atol=0)


# --- broadcast -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape,flags",
    [((), [True]), ((3,), [True, False]), ((3,), [False, True]), ((2, 3), [True, False, True, False, True])],
    ids=str,
)
def test_broadcast(shape, flags, device):
    for x in layouts(make(shape, ONE, device)):
        result = run1(lambda fd, t: fd.ops.broadcast(t, flags), [x])
        expected = x
        for position, flag in enumerate(flags):
            expected = expected.unsqueeze(position) if flag else expected
        same(result, expected)


def test_broadcast_without_new_dims_and_with_pointwise():
    a, b = make((3,), ONE), make((3, 4), ONE, seed=1)
    same(run1(lambda fd, t: fd.ops.broadcast(t, [False]), [a]), a)
    result = run1(lambda fd, x, y: fd.ops.add(fd.ops.broadcast(x, [False, True]), y), [a, b])
    assert_values(result, a[:, None] + b)


@pytest.mark.parametrize("flags", [[True], [False, False, False], [True, False], []], ids=str)
def test_broadcast_counts_its_flags(flags):
    refused(lambda fd, t: fd.ops.broadcast(t, flags), [make((2, 3), ONE)])


def test_broadcast_wrong_types():
    refused(lambda fd, t: fd.ops.broadcast(t, 3), [make((2,), ONE)], error=TypeError)
    refused(lambda fd, t: fd.ops.broadcast(t), [make((2,), ONE)], error=TypeError)


# --- broadcast_in_dim ----------------------------------------------------------------------------------------------------

IN_DIM = [
    ((2,), [2, 2], [0]),
    ((2,), [2, 3], [0]),
    ((2,), [3, 2], [1]),
    ((), [2, 3], []),
    ((1,), [2, 3], [1]),
    ((2, 3), [4, 2, 3], [1, 2]),
    ((2, 3), [2, 4, 3], [0, 2]),
    ((2, 3), [2, 4, 3], [-3, -1]),
    ((1, 3), [5, 3], [0, 1]),
    ((2, 1), [2, 5, 4], [0, 2]),
    ((3,), [0, 3], [1]),
    ((2, 3), [2, 3], [0, 1]),
]


def in_dim_reference(x, shape, dims):
    """The operand's dims placed at `dims` of `shape`."""
    middle = [1] * len(shape)
    for position, dim in enumerate(dims):
        middle[dim] = x.shape[position]
    return x.reshape(middle).expand(shape)


@pytest.mark.parametrize("shape,target,dims", IN_DIM, ids=str)
def test_broadcast_in_dim(shape, target, dims, device):
    x = make(shape, ONE, device)
    as_list, as_tuple = run(
        lambda fd, t: [
            fd.ops.broadcast_in_dim(t, target, dims),
            fd.ops.broadcast_in_dim(t, shape=tuple(target), broadcast_dims=tuple(dims)),
        ],
        [x],
    )
    same(as_list, in_dim_reference(x, target, dims))
    same(as_tuple, in_dim_reference(x, target, dims))


@pytest.mark.parametrize("shape,target,dims", IN_DIM, ids=str)
def test_broadcast_in_dim_with_the_shape_of_another_tensor(shape, target, dims):
    x, other = make(shape, ONE), torch.empty(target)
    fd_shapes = [
        lambda fd, t: fd.ops.shape(t),
        lambda fd, t: t.shape(),
        lambda fd, t: [fd.ops.size(t, d) for d in range(t.ndim)],
    ]
    for shape_of in fd_shapes:
        result = run1(lambda fd, t, o: fd.ops.broadcast_in_dim(t, shape_of(fd, o), dims), [x, other])  # noqa: B023
        same(result, in_dim_reference(x, target, dims))


def test_broadcast_in_dim_keeps_where_the_shape_says_minus_one():
    x = make((2, 3), ONE)
    same(run1(lambda fd, t: fd.ops.broadcast_in_dim(t, [-1, 4, -1], [0, 2]), [x]), x[:, None].expand(2, 4, 3))


def test_broadcast_in_dim_with_scalar_inputs():
    x = make((3,), ONE)

    def build(fd, t, n):
        return fd.ops.broadcast_in_dim(t, [n, 3], [1])

    same(run1(build, [x, 4]), x.expand(4, 3))


@pytest.mark.parametrize(
    "shape,target,dims",
    [
        ((2, 2), [2, 2, 3], [0]),
        ((2, 2), [2], [0]),
        ((2, 2), [2, 2], [0, 2]),
        ((2, 2), [2, 2], [0, 0]),
        ((2, 2), [2, 2, 2], [0, -4]),
        ((2, 3), [2, 3, 4], [0, 2]),
        ((2,), [2, -3], [0]),
    ],
    ids=str,
)
def test_broadcast_in_dim_errors(shape, target, dims):
    refused(lambda fd, t: fd.ops.broadcast_in_dim(t, target, dims), [make(shape, ONE)])
    refused(lambda fd, t: fd.ops.broadcast_in_dim(t, target, dims), [make(shape, ONE)], static_sizes=True)


def test_broadcast_in_dim_without_redundant_copies():
    """The same size spelled differently gives the same printed fusion."""
    x = make((2, 3), ONE)
    plain = define(lambda fd, t: fd.ops.add(t, 1.0), [x])
    in_dim = define(lambda fd, t: fd.ops.add(fd.ops.broadcast_in_dim(t, [-1, -1], [0, 1]), 1.0), [x])
    assert torch.equal(plain.execute([x])[0], in_dim.execute([x])[0])


# --- expand --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape,target",
    [
        ((3, 1), [3, 4]),
        ((1, 1), [2, 3]),
        ((3, 1), [-1, 4]),
        ((3,), [2, 3]),
        ((3,), [2, -1]),
        ((), [2]),
        ((1, 3), [0, 3]),
        ((2, 3), [2, 3]),
    ],
    ids=str,
)
def test_expand(shape, target, device):
    x = make(shape, ONE, device)
    same(run1(lambda fd, t: fd.ops.expand(t, target), [x]), x.expand(target))
    assert_values(run1(lambda fd, t: fd.ops.add(fd.ops.expand(t, target), 1.0), [x]), x.expand(target) + 1)


def test_expand_to_symbolic_sizes():
    x, other = make((3, 1), ONE), make((3, 5), ONE)
    same(run1(lambda fd, t, o: fd.ops.expand(t, o.shape()), [x, other]), x.expand(3, 5))
    same(run1(lambda fd, t, n: fd.ops.expand(t, [-1, n]), [x, 5]), x.expand(3, 5))


def test_expand_errors():
    x = make((3, 2), ONE)
    refused(lambda fd, t: fd.ops.expand(t, [3, 4]), [x])
    refused(lambda fd, t: fd.ops.expand(t, [3, 4]), [x], static_sizes=True)
    refused(lambda fd, t: fd.ops.expand(t, [2]), [x])
    refused(lambda fd, t: fd.ops.expand(t, [3, -2]), [x])
    refused(lambda fd, t: fd.ops.expand(t, 3), [x], error=TypeError)
    refused(lambda fd, t: fd.ops.expand(t, [3.0, 2.0]), [x], error=TypeError)


# --- reshape -------------------------------------------------------------------------------------------------------------

RESHAPES = [
    ((12,), [3, 4]),
    ((3, 4), [12]),
    ((3, 4), [4, 3]),
    ((3, 4), [2, -1]),
    ((3, 4), [-1]),
    ((3, 4), [3, 1, 4]),
    ((3, 1, 4), [3, 4]),
    ((2, 3, 4), [6, 4]),
    ((2, 3, 4), [2, 2, 6]),
    ((), [1]),
    ((), [1, 1]),
    ((1, 1), []),
    ((1,), [1, 1, 1]),
    ((0, 3), [3, 0]),
    ((0, 3), [0]),
    ((2, 0), [0, 7]),
    ((6, 35), [10, 3, 7]),
]


@pytest.mark.parametrize("shape,target", RESHAPES, ids=str)
def test_reshape(shape, target, device):
    for x in layouts(make(shape, ONE, device)):
        same(run1(lambda fd, t: fd.ops.reshape(t, target), [x]), x.reshape(target))
    x = make(shape, ONE, device)
    same(run1(lambda fd, t: fd.ops.reshape(t, new_shape=tuple(target)), [x], static_sizes=True), x.reshape(target))
    assert_values(
        run1(lambda fd, t: fd.ops.mul(fd.ops.reshape(fd.ops.add(t, 1.0), target), 2.0), [x]),
        (x + 1).reshape(target) * 2,
    )


def test_reshape_with_sizes_of_tensors_and_scalars():
    x, other = make((6, 4), ONE), torch.empty(3, 8)
    same(run1(lambda fd, t, o: fd.ops.reshape(t, o.shape()), [x, other]), x.reshape(3, 8))
    same(run1(lambda fd, t, n: fd.ops.reshape(t, [n, -1]), [x, 3]), x.reshape(3, 8))

    def split(fd, t):
        outer = fd.ops.div(fd.ops.size(t, 0), 2)
        return fd.ops.reshape(t, [outer, 2, fd.ops.size(t, 1)])

    fd = define(split, [x])
    for rows in (6, 2, 10):
        y = make((rows, 4), ONE)
        same(fd.execute([y])[0], y.reshape(rows // 2, 2, 4))


def test_reshape_errors():
    x = make((3, 4), ONE)
    for target in ([5, 2], [-1, -1], [3, 5], [-1, 5], [3, -2], [0]):
        refused(lambda fd, t: fd.ops.reshape(t, target), [x])  # noqa: B023
        refused(lambda fd, t: fd.ops.reshape(t, target), [x], static_sizes=True)  # noqa: B023
    refused(lambda fd, t: fd.ops.reshape(t, 12), [x], error=TypeError)
    refused(lambda fd, t: fd.ops.reshape(t, [3.0, 4.0]), [x], error=TypeError)
    refused(lambda fd, t, n: fd.ops.reshape(t, [n, 2]), [x, 5])


# --- permute, stride_order -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_permute(rank, device):
    x = make((2, 3, 4)[:rank], ONE, device)
    for order in itertools.permutations(range(rank)):
        same(run1(lambda fd, t: fd.ops.permute(t, list(order)), [x]), x.permute(order))  # noqa: B023
    negative = [-1 - d for d in range(rank)]
    same(run1(lambda fd, t: fd.ops.permute(t, negative), [x]), x.permute(negative))


@pytest.mark.parametrize("dims", [[0, 1, 1, 3], [0, 1, 2, 4], [0, 1, 2, -5], [0], [0, 1, 2, 3, 4], []], ids=str)
def test_permute_errors(dims):
    refused(lambda fd, t: fd.ops.permute(t, dims), [make((2, 3, 4, 4), ONE)])


def test_permute_wrong_types():
    refused(lambda fd, t: fd.ops.permute(t, [0.0, 1.0]), [make((2, 3), ONE)], error=TypeError)
    refused(lambda fd, t: fd.ops.permute(t, 0), [make((2, 3), ONE)], error=TypeError)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_stride_order(rank, device):
    shape = (2, 3, 4, 5)[:rank]
    for x in layouts(make(shape, ONE, device)):
        for order in itertools.permutations(range(rank)):
            result = run1(lambda fd, t: fd.ops.stride_order(t, list(order)), [x], round_trip=rank < 4)  # noqa: B023
            same(result, x)
            fastest_first = sorted(range(rank), key=lambda d: order[d])
            expected, step = [0] * rank, 1
            for dim in fastest_first:
                expected[dim] = step
                step *= shape[dim]
            assert list(result.stride()) == expected, (order, result.stride())


def test_stride_order_of_a_computed_tensor_and_empty_order():
    x = make((2, 3, 4), ONE)
    result = run1(lambda fd, t: fd.ops.stride_order(fd.ops.add(t, 1.0), [0, 2, 1]), [x])
    assert_values(result, x + 1)
    assert result.stride() == (1, 8, 2)
    same(run1(lambda fd, t: fd.ops.stride_order(t, []), [x]), x)


@pytest.mark.parametrize("order", [[0, 0, 1], [0, 1, 3], [0, 1], [0, 1, 2, 3]], ids=str)
def test_stride_order_errors(order):
    refused(lambda fd, t: fd.ops.stride_order(t, order), [make((2, 3, 4), ONE)])


# --- squeeze -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape,dims",
    [
        ((1,), [0]),
        ((3, 1), [1]),
        ((1, 3, 1), [0, 2]),
        ((1, 3, 1), [-1, 0]),
        ((1, 3, 1), [0]),
        ((1, 1), [0, 1]),
        ((3, 4), []),
    ],
    ids=str,
)
def test_squeeze(shape, dims, device):
    x = make(shape, ONE, device)
    expected = x.squeeze(tuple(dims)) if dims else x
    as_list, as_tuple = run(lambda fd, t: [fd.ops.squeeze(t, dims), fd.ops.squeeze(t, dims=tuple(dims))], [x])
    same(as_list, expected)
    same(as_tuple, expected)


def test_squeeze_of_expanded_dims():
    x = make((3, 1), ONE)

    def build(fd, t):
        return fd.ops.squeeze(fd.ops.expand(t, [3, 5]), [1], squeeze_expanded=True)

    same(run1(build, [x]), x[:, 0])
    refused(lambda fd, t: fd.ops.squeeze(fd.ops.expand(t, [3, 5]), [1]), [x])


def test_squeeze_errors():
    x = make((3, 1, 2), ONE)
    refused(lambda fd, t: fd.ops.squeeze(t, [0]), [x], static_sizes=True)
    refused(lambda fd, t: fd.ops.squeeze(t, [0]), [x])
    for dims in ([3], [-4], [0, 1, 2, 1]):
        refused(lambda fd, t: fd.ops.squeeze(t, dims), [x])  # noqa: B023
    refused(lambda fd, t: fd.ops.squeeze(t, 1), [x], error=TypeError)
    refused(lambda fd, t: fd.ops.squeeze(t, [1.0]), [x], error=TypeError)


# --- size, shape ---------------------------------------------------------------------------------------------------------


def test_size_and_shape_as_values():
    x = make((2, 1, 5), ONE)

    def build(fd, t):
        vals = [*fd.ops.shape(t), fd.ops.size(t, 0), fd.ops.size(t, -1), t.size(2), *t.shape()]
        assert not any(v.is_tensor() for v in vals)
        return [fd.ops.full([1], v, dtype=DataType.Int) for v in vals]

    sizes = [r.item() for r in run(build, [x])]
    assert sizes == [2, 1, 5, 2, 5, 5, 2, 1, 5]


def test_size_takes_part_in_arithmetic():
    """A mean written as sum / number of elements."""
    x = make((3, 7), ONE)
    result = run1(lambda fd, t: fd.ops.div(fd.ops.sum(t, [1]), fd.ops.size(t, 1)), [x])
    assert_values(result, x.double().mean(1).float())


@pytest.mark.parametrize("dim", [2, -3])
def test_size_out_of_range(dim):
    refused(lambda fd, t: fd.ops.full([1], fd.ops.size(t, dim), dtype=DataType.Int), [make((2, 3), ONE)])


def test_rank_of_tensors_and_wrong_types():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, 1, 4], contiguity=[True, None, True])
        assert x.ndim == 3
        assert len(fd.ops.shape(x)) == 3
        with pytest.raises(TypeError):
            fd.ops.size(x, 0.5)
        with pytest.raises(TypeError):
            fd.ops.shape(3)
        fd.add_output(x)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_moves_keep_every_dtype(dtype, device):
    x = make((2, 3, 4), dtype, device)

    def build(fd, t):
        return [
            fd.ops.permute(t, [2, 0, 1]),
            fd.ops.reshape(t, [6, 4]),
            fd.ops.broadcast(t, [False, True, False, False]),
            fd.ops.broadcast_in_dim(t, [5, 2, 3, 4], [1, 2, 3]),
            fd.ops.stride_order(t, [0, 1, 2]),
        ]

    expected = [x.permute(2, 0, 1), x.reshape(6, 4), x[:, None], x.expand(5, 2, 3, 4), x]
    for result, wanted in zip(run(build, [x]), expected, strict=True):
        same(result, wanted)


def test_reshape_with_a_size_computed_in_real_numbers():
    """192 * (1 / 32) is a real scalar; it is cut to the integer 6."""
    x = make((4, 48), ONE)

    def build(fd, t, n):
        return fd.ops.reshape(t, [n, fd.ops.mul(192, fd.ops.reciprocal(n))])

    same(run1(build, [x, 32]), x.reshape(32, 6))
