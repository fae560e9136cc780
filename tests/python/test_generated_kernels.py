"""Generated kernels on the CPU against ATen's evaluation of the same fusion.

Each case defines its fusion twice: one runs node by node through ATen, the other as generated kernels with
`check_kernels`, which compares every kernel with its own nodes. Sizes are odd, 0, 1, prime and larger than the tasks,
chunks and blocks that the schedulers cut.
"""

import math

import pytest
import torch
from helpers import FLOATS, INTS, NVF, define, dtype_id, make
from nvfuser_direct import DataType

OPTIONS = ["generated_kernels", "check_kernels"]
F32 = torch.float32
RTOL = {torch.float32: 2e-5, torch.float64: 1e-11, torch.bfloat16: 1.6e-2, torch.float16: 2e-3}


def kernels_of(fd):
    """The scheduler of each segment of the last run that is a kernel, and why the others are none."""
    heads = [line for line in fd.fec.get_most_recent_scheduled_ir().splitlines() if line.startswith("segment ")]
    heads = [line.split(" (", 1)[1] for line in heads]
    return [h.split(":")[0] for h in heads if not h.startswith("aten")], [h for h in heads if h.startswith("aten")]


def check(build, inputs, *more, kernels=None, scheduler=None, static_sizes=False):
    """Runs `build` both ways on `inputs`, then on each of `more` through the same definition."""
    fd = define(build, inputs, static_sizes)
    for case in (inputs, inputs, *more):
        expected = define(build, case, static_sizes).execute(case)
        results = fd.execute(case, _enable_options=OPTIONS)
        for result, wanted in zip(results, expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            if wanted.numel():
                moving = [d for d, n in enumerate(wanted.shape) if n > 1]
                assert [result.stride(d) for d in moving] == [wanted.stride(d) for d in moving]
            tolerance = RTOL.get(wanted.dtype, 0)
            torch.testing.assert_close(result, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    made, others = kernels_of(fd)
    assert all(reason.startswith("aten: a view") for reason in others), (made, others)
    if kernels is not None:
        assert len(made) == kernels, made
    if scheduler is not None:
        assert all(scheduler in name for name in made), made
    return results


def data(shape, dtype=F32, seed=0):
    if dtype == torch.bool:
        return make(shape, torch.int64, low=0, high=1, seed=seed).to(torch.bool)
    return make(shape, dtype, low=-3, high=3, seed=seed)


def swiglu(fd, a, b):
    return fd.ops.mul(fd.ops.silu(a), b)


# --- pointwise ---


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_pointwise_sizes(dtype):
    shapes = [(3, 5), (2, 7), (127, 33), (2, 4097), (5000, 3)]
    cases = [[data(s, dtype), data(s, dtype, 1)] for s in shapes]
    check(lambda fd, a, b: fd.ops.cast(swiglu(fd, a, b), NVF[dtype]), *cases, scheduler="pointwise")


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (1, 1), (1, 7), (7, 1), (1 << 17,)], ids=str)
def test_pointwise_degenerate(shape):
    check(swiglu, [data(shape), data(shape, seed=1)], kernels=1)


@pytest.mark.parametrize("dtype", [*INTS, torch.bool], ids=dtype_id)
def test_pointwise_integers(dtype):
    def build(fd, a, b):
        both = [fd.ops.bitwise_xor(a, b), fd.ops.bitwise_and(a, b), fd.ops.eq(a, b), fd.ops.lt(a, b)]
        if dtype != torch.bool:
            both += [fd.ops.sub(a, b), fd.ops.mul(a, b), fd.ops.maximum(a, b), fd.ops.abs(a), fd.ops.add(a, 2)]
        return [*both, fd.ops.cast(a, DataType.Float), fd.ops.cast(b, DataType.BFloat16)]

    check(build, [data((13, 11), dtype), data((13, 11), dtype, 1)], scheduler="pointwise")


def test_integers_wrap():
    def build(fd, a):
        return [fd.ops.add(a, a), fd.ops.mul(a, a), fd.ops.neg(a)]

    for dtype in INTS:
        info = torch.iinfo(dtype)
        check(build, [torch.tensor([info.min, info.max, info.max // 2 + 1, -1, 0], dtype=dtype)])


SPECIAL = ["maximum", "minimum", "add", "mul", "lt", "ge", "ne"]
SPECIAL += ["exp", "tanh", "erf", "relu", "sigmoid", "abs", "neg", "sign"]


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_pointwise_of_special_values(dtype):
    inf, nan = math.inf, math.nan
    a = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 88.0, -104.0, 3e38, 1e-40, nan, 0.0], dtype=dtype)
    b = torch.tensor([0.0, nan, inf, -0.0, 0.0, nan, inf, 1.0, 2.0, -3e38, -1e-40, nan, -inf], dtype=dtype)

    def build(fd, a, b):
        binary = [getattr(fd.ops, name)(a, b) for name in SPECIAL[:7]]
        unary = [getattr(fd.ops, name)(a) for name in SPECIAL[7:]]
        return [*binary, *unary, fd.ops.where(fd.ops.isnan(a), b, a), fd.ops.isinf(a), fd.ops.signbit(a)]

    results = check(build, [a, b])
    expected = define(build, [a, b]).execute([a, b])
    # The sign of an extremum of zeros changes with the place in eager's vectors.
    for n, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        if result.dtype != torch.bool and n not in (0, 1, SPECIAL.index("relu")):
            zeros = wanted == 0
            assert torch.equal(torch.signbit(result)[zeros], torch.signbit(wanted)[zeros])


@pytest.mark.parametrize("source", [*FLOATS, *INTS, torch.bool], ids=dtype_id)
def test_casts(source):
    def build(fd, a):
        return [fd.ops.cast(a, NVF[target]) for target in (*FLOATS, *INTS, torch.bool)]

    check(build, [data((300,), source)])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=dtype_id)
def test_every_rounding_to_half_types(dtype):
    halves = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(dtype)
    exact = halves.float()
    middle = (exact + torch.nextafter(halves, torch.full_like(halves, math.inf)).float()) / 2
    values = torch.cat([exact, middle, torch.nextafter(middle, exact)])
    fd = define(lambda fd, a: fd.ops.cast(fd.ops.mul(a, 1.0), NVF[dtype]), [values])
    result = fd.execute([values], _enable_options=OPTIONS)[0]
    wanted = values.to(dtype)
    assert torch.equal(result.isnan(), wanted.isnan())
    numbers = ~wanted.isnan()
    assert torch.equal(result.view(torch.int16)[numbers], wanted.view(torch.int16)[numbers])


# --- how inputs lie in memory ---


def strided(shape, form, seed=0):
    x = data(shape, seed=seed)
    if form == "reversed":
        order = list(range(len(shape)))[::-1]
        return x.permute(order).contiguous().permute(order)
    if form == "gaps":
        return torch.stack([x, x + 1], -1)[..., 0]
    if form == "window":
        return torch.cat([x, x], -1)[..., 1 : 1 + shape[-1]]
    if form == "expanded":
        return x[:1].expand(shape)
    return x


FORMS = ["plain", "reversed", "gaps", "window", "expanded"]


@pytest.mark.parametrize("form", FORMS)
def test_strided_pointwise(form):
    check(swiglu, [strided((6, 5, 34), form), strided((6, 5, 34), "plain", 1)])


@pytest.mark.parametrize("form", FORMS)
def test_strided_reductions(form):
    def build(fd, a):
        return [fd.ops.sum(a, [2]), fd.ops.max(a, [2])]

    check(build, [strided((6, 5, 34), form)])
    check(lambda fd, a: fd.ops.sum(a, [0, 1]), [strided((6, 5, 34), form)])


def test_broadcasts():
    def build(fd, a, row, column, number):
        wide = fd.ops.broadcast_in_dim(row, [17, 33], [1])
        return fd.ops.add(fd.ops.mul(fd.ops.add(a, wide), column), number)

    check(build, [data((17, 33)), data((33,), seed=1), data((17, 1), seed=2), data((), seed=3)])


def test_expand_then_merge():
    def build(fd, a):
        wide = fd.ops.expand(fd.ops.broadcast(a, [False, True, False]), [-1, 3, -1])
        return fd.ops.mul(fd.ops.reshape(wide, [12, 5]), 2.0)

    check(build, [data((4, 5))])


# --- reductions ---

SHAPES = [(1, 1), (3, 5), (7, 1031), (1031, 7), (2, 33000), (33000, 2), (129, 513), (1, 40000), (40000, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dims", [[0], [1], [0, 1]], ids=str)
def test_sums(shape, dims):
    check(lambda fd, a: fd.ops.sum(a, dims), [data(shape)])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS], ids=dtype_id)
@pytest.mark.parametrize("dims", [[1], [0]], ids=str)
def test_reductions(dtype, dims):
    def build(fd, a):
        return [fd.ops.sum(a, dims), fd.ops.max(a, dims), fd.ops.min(a, dims, True), fd.ops.prod(a, dims)]

    check(build, [data((23, 9), dtype)], [data((70, 3), dtype, 1)])


@pytest.mark.parametrize("dims", [[0, 2], [1, 3], [0, 1, 2, 3], [2], [0, 3]], ids=str)
def test_reductions_over_several_dims(dims):
    check(lambda fd, a: fd.ops.sum(a, dims), [data((5, 6, 7, 8))], [data((2, 33, 1 << 6, 3))])


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("dims", [[0], [1], [0, 1]], ids=str)
def test_sums_over_nothing(shape, dims):
    check(lambda fd, a: [fd.ops.sum(a, dims), fd.ops.prod(a, dims)], [data(shape)])


def test_extrema_propagate_nan():
    a = data((5, 2100))
    a[0, 0] = a[1, 2099] = a[2, 1024] = math.nan
    a[3, :] = -math.inf
    a[4, 7] = math.inf

    def build(fd, a):
        return [fd.ops.max(a, [1]), fd.ops.min(a, [1]), fd.ops.max(a, [0]), fd.ops.sum(a, [1])]

    check(build, [a])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=dtype_id)
@pytest.mark.parametrize("shape,dims", [((2, 20000), [1]), ((20000, 3), [0])], ids=str)
def test_half_types_are_accumulated_in_float(dtype, shape, dims):
    a = torch.ones(shape, dtype=dtype)
    (result,) = check(lambda fd, a: fd.ops.sum(a, dims), [a])
    assert (result == 20000).all() if dtype == torch.float16 else ((result - 20000).abs() <= 64).all()


def test_float_sums_are_as_exact_as_torch():
    a = torch.rand((3, 1_000_003), generator=torch.Generator().manual_seed(0))
    fd = define(lambda fd, a: fd.ops.sum(a, [1]), [a])
    exact = a.double().sum(1)
    ours = (fd.execute([a], _enable_options=OPTIONS)[0].double() - exact).abs().max()
    theirs = (a.sum(1).double() - exact).abs().max()
    assert ours <= 2 * theirs + 0.07  # half a unit in the last place of 500000 is 0.03


def test_bool_reductions():
    check(lambda fd, a: [fd.ops.max(a, [1]), fd.ops.min(a, [1])], [data((9, 40), torch.bool)])


# --- normalization ---


def softmax(fd, x, dim):
    e = fd.ops.exp(fd.ops.sub(x, fd.ops.max(x, [dim], True)))
    return fd.ops.div(e, fd.ops.sum(e, [dim], True))


def layer_norm(fd, x, weight):
    var, mean = fd.ops.var_mean(x, [1], 0, True)
    scaled = fd.ops.mul(fd.ops.sub(x, mean), fd.ops.rsqrt(fd.ops.add(var, 1e-5)))
    return [fd.ops.mul(scaled, weight), mean]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=dtype_id)
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax(dtype, dim):
    def build(fd, x):
        wide = fd.ops.cast(x, DataType.Float) if dtype == torch.bfloat16 else x
        return fd.ops.cast(softmax(fd, wide, dim), NVF[dtype])

    check(build, [data((6, 34), dtype)], [data((3, 5), dtype)], [data((2, 3001), dtype)], kernels=1)


def test_softmax_of_one_very_long_row():
    check(lambda fd, x: softmax(fd, x, 0), [data((200_003,))])


@pytest.mark.parametrize("shape", [(5, 7), (1, 33), (64, 2049), (0, 8)], ids=str)
def test_layer_norm(shape):
    check(layer_norm, [data(shape), data(shape[1:], seed=1)])


def test_layer_norm_backward():
    def build(fd, g, x, mean, rstd, w):
        column = lambda t: fd.ops.broadcast(t, [False, True])  # noqa: E731
        hat = fd.ops.mul(fd.ops.sub(x, column(mean)), column(rstd))
        gw = fd.ops.mul(g, w)
        n = 1.0 / 37
        s1 = fd.ops.mul(fd.ops.sum(gw, [1], True), n)
        s2 = fd.ops.mul(fd.ops.sum(fd.ops.mul(gw, hat), [1], True), n)
        dx = fd.ops.mul(fd.ops.sub(fd.ops.sub(gw, s1), fd.ops.mul(hat, s2)), column(rstd))
        return [dx, fd.ops.sum(fd.ops.mul(g, hat), [0]), fd.ops.sum(g, [0])]

    inputs = [data((130, 37)), data((130, 37), seed=1), data((130,), seed=2), data((130,), seed=3), data((37,), seed=4)]
    check(build, inputs)


def test_a_row_that_every_row_reads():
    """One row of a value that is kept for several passes is read in the loops over all rows."""

    def build(fd, x):
        a = fd.ops.atan(x)
        row = fd.ops.slice(a, [2, 0], [3, 5])
        total = fd.ops.sum(fd.ops.abs(fd.ops.minimum(row, fd.ops.silu(x))), [1], True)
        return [fd.ops.sub(row, x), fd.ops.div(a, fd.ops.add(total, 1.0))]

    check(build, [data((5, 5))])


@pytest.mark.parametrize("dims", [[0, 2], [3]], ids=str)
def test_normalized_values_joined(dims):
    def build(fd, x):
        y = fd.ops.div(x, fd.ops.add(fd.ops.sum(fd.ops.abs(x), dims, True), 1.0))
        return fd.ops.sin(fd.ops.cat([x, y, y], 3))

    check(build, [data((4, 4, 8, 5))], static_sizes=True)


def test_one_row_of_a_normalized_value():
    def build(fd, x):
        y = fd.ops.div(x, fd.ops.add(fd.ops.sum(fd.ops.abs(x), [1], True), 1.0))
        return [fd.ops.mul(fd.ops.slice(y, [1, 0], [2, 7]), x), y]

    check(build, [data((6, 7))])


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.int64, torch.bool], ids=dtype_id)
@pytest.mark.parametrize("length", [17, 31, 45])
def test_rows_that_end_inside_a_vector(length, dtype):
    """The last vector overlaps the one before; nothing may be counted twice."""

    def build(fd, x):
        if dtype == torch.bool:
            return [fd.ops.sum(fd.ops.cast(x, DataType.Int), [1]), fd.ops.logical_not(x)]
        ones = fd.ops.where(fd.ops.gt(x, 0), fd.ops.sub(x, x), x)
        signs = fd.ops.sign(x)
        return [fd.ops.sum(x, [1]), fd.ops.max(x, [1]), fd.ops.min(x, [1]), fd.ops.prod(signs, [1]), fd.ops.neg(ones)]

    x = data((5, length), dtype)
    check(build, [x], static_sizes=True)
    if dtype.is_floating_point:
        x[1, length - 1] = math.nan
        x[2, 0] = -math.inf
        x[3, length - 2] = math.inf
        check(build, [x], static_sizes=True)


def test_a_tensor_plus_its_transpose():
    check(lambda fd, x: fd.ops.add(x, fd.ops.permute(x, [1, 0])), [data((67, 67))])


# --- shape operations ---


def test_rotate_halves():
    def build(fd, x, cos, sin):
        left = fd.ops.slice(x, [0, 0, 0], [3, 5, 8])
        right = fd.ops.slice(x, [0, 0, 8], [3, 5, 16])
        turned = fd.ops.cat([fd.ops.neg(right), left], 2)
        return fd.ops.add(fd.ops.mul(x, cos), fd.ops.mul(turned, sin))

    check(build, [data((3, 5, 16)), data((1, 5, 16), seed=1), data((1, 5, 16), seed=2)])


@pytest.mark.parametrize("widths", [[2, 3], [0, 1, 4, 0], [-1, 2], [-1, -2, 3, -1]], ids=str)
def test_pads(widths):
    check(lambda fd, x: fd.ops.sin(fd.ops.pad(fd.ops.cos(x), widths, 0.5)), [data((7, 9))])


def test_two_pads_of_equal_offset():
    """The second one is longer than what the first one's operand allows its index to be."""

    def build(fd, x, y):
        flat = fd.ops.reshape(fd.ops.reshape(x, [2, 3]), [6])
        return fd.ops.add(fd.ops.pad(flat, [1, 5]), fd.ops.pad(y, [1, 1]))

    check(build, [data((6,)), data((10,), seed=1)], static_sizes=True)


def test_joins():
    def build(fd, a, b, c):
        return fd.ops.mul(fd.ops.cat([a, fd.ops.sin(b), a, c], 1), 2.0)

    check(build, [data((4, 3)), data((4, 1), seed=1), data((4, 5), seed=2)])
    check(build, [data((4, 0)), data((4, 2), seed=1), data((4, 0), seed=2)])


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0], [0, 2, 1]], ids=str)
def test_transposes(order):
    def build(fd, x, y):
        return fd.ops.add(fd.ops.permute(x, order), y)

    for shape in ((5, 7, 3), (33, 65, 31), (2, 100, 129)):
        check(build, [data(shape), data([shape[d] for d in order], seed=1)])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, torch.bool], ids=dtype_id)
@pytest.mark.parametrize("shape", [(1, 70), (64, 64), (129, 65), (257, 300)], ids=str)
def test_tiles_that_are_transposed_in_registers(shape, dtype):
    def build(fd, x):
        return fd.ops.stride_order(fd.ops.permute(x, [1, 0]), [1, 0])

    check(build, [data(shape, dtype)])


def test_reshapes_of_computed_values():
    def build(fd, x):
        y = fd.ops.permute(fd.ops.reshape(fd.ops.sin(x), [6, 5, 7]), [2, 0, 1])
        return fd.ops.cos(fd.ops.reshape(y, [14, 15]))

    check(build, [data((30, 7))])


def test_reshapes_and_permutations_in_turn():
    """The text of an index must not double with each of them."""

    def build(fd, x):
        for k in range(12):
            x = fd.ops.permute(fd.ops.reshape(x, [9, 8, 10] if k % 2 else [10, 8, 9]), [2, 0, 1])
            x = fd.ops.permute(fd.ops.reshape(x, [72, 10] if k % 3 else [6, 120]), [1, 0])
        return fd.ops.sin(x)

    check(build, [data((8, 9, 10))], static_sizes=True)


@pytest.mark.parametrize("shape", [(3, 2), (3, 0), (0, 3), (1, 1)], ids=str)
def test_joining_what_may_be_empty(shape):
    def build(fd, x, y):
        flat = fd.ops.reshape(y, [fd.ops.mul(fd.ops.size(y, 0), fd.ops.size(y, 1))])
        return [fd.ops.sin(fd.ops.cat([x, flat], 0)), fd.ops.cos(fd.ops.pad(flat, [2, 3]))]

    inputs = [data((7,)), data(shape, seed=1)]
    fd = define(build, inputs)
    results = fd.execute(inputs, _enable_options=OPTIONS)
    assert not fd.fec.is_compiled(inputs), "a run without the check has another runtime"
    fd.execute(inputs)
    assert fd.fec.is_compiled(inputs)
    for result, wanted in zip(results, define(build, inputs).execute(inputs), strict=True):
        torch.testing.assert_close(result, wanted)


def test_reduction_of_a_reshape():
    check(lambda fd, x: fd.ops.sum(fd.ops.reshape(x, [6, 35]), [1]), [data((30, 7))])


def test_expanded_to_nothing():
    def build(fd, x):
        wide = fd.ops.expand(fd.ops.broadcast(x, [True, False]), [0, -1])
        return [fd.ops.sin(wide), fd.ops.sum(fd.ops.cos(wide), [1])]

    check(build, [data((9,))])


# --- indices ---


@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
def test_indexed_reads(dtype):
    def build(fd, x, i, rows):
        picked = fd.ops.index_select(fd.ops.mul(x, 2.0), i, 0)
        return [fd.ops.sin(picked), fd.ops.cos(fd.ops.take_along_axis(x, rows, 0))]

    index = torch.tensor([3, 0, 6, 6, 2], dtype=dtype)
    rows = torch.tensor([[0, 1, 2, 3], [6, 5, 4, 3]], dtype=dtype)
    check(build, [data((7, 4)), index, rows])


def test_embedding_with_positions():
    def build(fd, index, table, positions):
        return fd.ops.add(fd.ops.embedding_fwd(index, table), positions)

    index = make((2, 5), torch.int64, low=0, high=10)
    check(build, [index, data((11, 6)), data((1, 5, 6), seed=1)])


@pytest.mark.parametrize("bad", [7, -1, 1 << 40])
def test_wrong_index(bad):
    x, index = data((7, 4)), torch.tensor([0, bad])
    fd = define(lambda fd, x, i: fd.ops.sin(fd.ops.index_select(x, i, 0)), [x, index])
    for _ in range(2):
        with pytest.raises(IndexError, match="out of range"):
            fd.execute([x, index], _enable_options=["generated_kernels"])
    good = torch.tensor([0, 6])
    result = fd.execute([x, good], _enable_options=["generated_kernels"])[0]
    torch.testing.assert_close(result, x[good].sin(), rtol=1e-6, atol=1e-6)


def test_wrong_index_that_nobody_reads():
    """A position outside of the slice that is used does not matter to the kernel; the node itself would refuse it."""

    def build(fd, x, i):
        return fd.ops.sin(fd.ops.slice(fd.ops.index_select(x, i, 0), [0, 0], [1, 4]))

    x = data((7, 4))
    check(build, [x, torch.tensor([3, 6, 2])])


def test_factories():
    def build(fd, x):
        steps = fd.ops.cast(fd.ops.iota(7, -2, 3, DataType.Int), DataType.Float)
        return [fd.ops.mul(x, steps), fd.ops.add(x, fd.ops.full([5, 7], 1.5, DataType.Float))]

    check(build, [data((5, 7))])


def test_reshape_that_sizes_decide():
    def build(fd, x, i):
        return fd.ops.sin(fd.ops.reshape(fd.ops.index_select(x, i, 0), [3, 3, 2]))

    check(build, [data((5, 6)), torch.tensor([4, 0, 2])])


def test_negated_views():
    x = torch.complex(data((9,)), data((9,), seed=1))
    check(lambda fd, a: fd.ops.mul(a, 2.0), [torch.conj(x).imag])


# --- one definition, many sizes; errors ---


def test_one_kernel_serves_all_sizes():
    fd = define(lambda fd, x: softmax(fd, x, 1), [data((3, 5))])
    for shape in ((3, 5), (2, 7), (100, 1025), (5, 3), (17, 2500)):
        x = data(shape)
        result = fd.execute([x], _enable_options=OPTIONS)[0]
        torch.testing.assert_close(result, x.softmax(1), rtol=1e-5, atol=1e-6)
    assert fd.fec.num_runtimes() == 1


def test_sizes_that_do_not_agree():
    inputs = [data((3, 5)), data((3, 5), seed=1)]
    fd = define(swiglu, inputs)
    fd.execute(inputs, _enable_options=OPTIONS)
    with pytest.raises(RuntimeError, match="sizes do not agree"):
        fd.execute([inputs[0], data((3, 4))], _enable_options=OPTIONS)


def test_a_size_that_only_a_value_tells():
    """A reshape by a number that is an input."""

    def build(fd, x, n):
        return fd.ops.sin(fd.ops.reshape(x, [n, fd.ops.div(fd.ops.size(x, 0), n)]))

    x = data((12,))
    fd = define(build, [x, 3])
    for n in (3, 4, 1):
        result = fd.execute([x, n], _enable_options=["generated_kernels"])[0]
        torch.testing.assert_close(result, x.reshape(n, -1).sin(), rtol=1e-6, atol=1e-6)


def test_scalar_inputs():
    def build(fd, x, a, b):
        return [fd.ops.add(fd.ops.mul(x, a), b), fd.ops.gt(x, b)]

    x = data((4, 5))
    fd = define(build, [x, 2.5, 3])
    for a, b in ((2.5, 3), (-1.0, 0), (math.inf, 7)):
        results = fd.execute([x, a, b], _enable_options=OPTIONS)
        torch.testing.assert_close(results[0], x * a + b)
        assert torch.equal(results[1], x > b)


def test_outputs_that_are_operands_of_others():
    def build(fd, x):
        a = fd.ops.sin(x)
        total = fd.ops.sum(a, [1], True)
        b = fd.ops.div(a, total)
        return [a, total, b, fd.ops.sum(b, [1]), fd.ops.permute(b, [1, 0])]

    check(build, [data((9, 21))])


def test_a_long_chain_is_cut():
    def build(fd, x):
        for _ in range(1200):
            x = fd.ops.add(fd.ops.mul(x, 0.5), 0.25)
        return x

    check(build, [data((5,))])
