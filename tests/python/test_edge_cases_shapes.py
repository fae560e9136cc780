"""Sizes 0 and 1, expansion, squeezes and reshapes in combination: inputs that broke other fusion compilers."""

import pytest
import torch
from helpers import assert_values, define, make, refused, run, run1
from nvfuser_direct import DataType, FusionDefinition

ONE = torch.float32


@pytest.mark.parametrize(
    "n,c,h,w", [(2, 3, 4, 5), (2, 3, 1, 5), (2, 1, 4, 5), (1, 3, 4, 5), (1, 1, 1, 1), (2, 3, 1, 1)], ids=str
)
@pytest.mark.parametrize("static", [False, True])
def test_squeeze_and_broadcast_of_a_column_next_to_full_tensors(n, c, h, w, static):
    a, b, col = make((n, c, h, w), ONE), make((n, c), ONE, seed=1), make((n, 1, 1, 1), ONE, seed=2)

    def build(fd, x, y, z):
        per_channel = fd.ops.broadcast(y, [False, False, True, True])
        squeezed = fd.ops.broadcast(fd.ops.squeeze(z, [2, 3]), [False, False, True, True])
        return fd.ops.mul(fd.ops.mul(fd.ops.mul(x, per_channel), squeezed), z)

    assert_values(run1(build, [a, b, col], static_sizes=static), a * b[..., None, None] * col * col)


@pytest.mark.parametrize("shape", [(256, 1, 1, 4), (1, 1, 1, 4), (256, 1, 1, 1), (3, 1, 1, 0), (0, 1, 1, 4)], ids=str)
@pytest.mark.parametrize("static", [False, True])
def test_size_one_dims_between_kept_and_reduced_ones(shape, static, device):
    x = torch.ones(shape, device=device)
    result = run1(lambda fd, t: fd.ops.sum(t, [3]), [x], static_sizes=static)
    assert_values(result, x.sum(3))
    assert_values(run1(lambda fd, t: fd.ops.max(t, [1, 2]), [x], static_sizes=static), x.amax((1, 2)))


@pytest.mark.parametrize("n", [5, 1, 3])
def test_softmax_of_a_vector_then_one_element(n):
    x, scale, index = make((n,), torch.float64), torch.tensor(0.5, dtype=torch.float64), torch.tensor(min(2, n - 1))

    def build(fd, t, s, i):
        peak = fd.ops.max(t, [0], True)
        e = fd.ops.exp(fd.ops.sub(t, peak))
        p = fd.ops.div(e, fd.ops.sum(e, [0], True))
        loss = fd.ops.mul(fd.ops.neg(fd.ops.log(p)), s)
        return fd.ops.gather(loss, fd.ops.reshape(i, [1]), 0)

    expected = (-torch.log_softmax(x, 0) * scale)[index].reshape(1)
    assert_values(run1(build, [x, scale, index]), expected)


def test_a_reduction_of_a_constant_tensor_beside_real_work():
    a, b = make((4,), ONE), make((4,), ONE, seed=1)

    def build(fd, x, y):
        zeros = fd.ops.full([4, 4], 0.0, dtype=DataType.Float)
        return [fd.ops.broadcast_in_dim(fd.ops.sum(zeros, [1]), [4, 1], [0]), fd.ops.ge(x, y)]

    total, compared = run(build, [a, b])
    assert_values(total, torch.zeros(4, 1))
    assert_values(compared, a >= b)


@pytest.mark.parametrize("k", [1, 2])
def test_matmul_over_one_by_declaration_and_by_chance(k):
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1, 1], contiguity=[True, None])
        b = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.matmul(a, b))
    x, y = make((4, 1), ONE), make((k, 3), ONE, seed=1)
    if k == 1:
        assert_values(fd.execute([x, y])[0], x @ y)
    else:
        with pytest.raises(RuntimeError):
            fd.execute([x, y])


def test_linear_with_one_in_feature_by_declaration_and_by_chance():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        w = fd.define_tensor([-1, 1], contiguity=[True, None])
        fd.add_output(fd.ops.linear(x, w))
    a, b = make((4, 1), ONE), make((3, 1), ONE, seed=1)
    assert_values(fd.execute([a, b])[0], a @ b.t())
    with pytest.raises(RuntimeError):
        fd.execute([make((4, 2), ONE), b])


@pytest.mark.parametrize("sizes", [(2, 2), (1, 2), (2, 1), (3, 4), (1, 1)], ids=str)
@pytest.mark.parametrize("static", [False, True])
def test_reshapes_that_create_and_drop_size_one_dims(sizes, static):
    rows, columns = sizes
    x = make(sizes, ONE)

    def build(fd, t):
        middle = fd.ops.reshape(t, [rows, 1, columns])
        var, mean = fd.ops.var_mean(middle, [2], 0)
        wide = fd.ops.broadcast_in_dim(mean, [rows, 1, columns], [0, 1])
        shifted = fd.ops.sub(middle, wide)
        return [fd.ops.reshape(shifted, [rows, columns]), fd.ops.reshape(var, [rows])]

    shifted, var = run(build, [x], static_sizes=static)
    assert_values(shifted, x - x.mean(1, keepdim=True))
    assert_values(var, x.var(1, correction=0))


def test_expanded_operands_reshaped_and_expanded_again():
    a, b = make((3, 1), ONE).expand(3, 4), make((1, 4), ONE, seed=1).expand(3, 4)

    def build(fd, x, y):
        return fd.ops.expand(fd.ops.reshape(fd.ops.add(x, y), [3, 4, 1]), [3, 4, 5])

    assert_values(run1(build, [a, b]), (a + b)[..., None].expand(3, 4, 5))


def test_a_symbolic_reshape_serves_a_second_call_with_other_sizes():
    def build(fd, t):
        n, m = fd.ops.size(t, 0), fd.ops.size(t, 1)
        one = fd.define_scalar(1)
        middle = fd.ops.reshape(t, [n, one, m])
        return fd.ops.reshape(fd.ops.add(middle, 1.0), [n, m])

    fd = define(build, [make((2, 3), ONE)])
    for shape in [(2, 3), (1, 3), (4, 1), (0, 2), (5, 5)]:
        x = make(shape, ONE)
        assert_values(fd.execute([x])[0], x + 1)


@pytest.mark.parametrize("rows,columns", [(512, 144), (32, 48), (16, 16), (8, 0)], ids=str)
def test_sizes_computed_in_the_graph(rows, columns):
    """Blocks of 16 by size // 16, across several kinds of operations."""

    def build(fd, t):
        n, m = fd.ops.size(t, 0), fd.ops.size(t, 1)
        blocks = fd.ops.div(m, 16)
        parts = fd.ops.reshape(t, [n, blocks, 16])
        peak = fd.ops.max(fd.ops.abs(parts), [2], True)
        scaled = fd.ops.reshape(fd.ops.div(parts, peak), [n, m])
        return fd.ops.matmul(fd.ops.permute(scaled, [1, 0]), t)

    x = make((rows, columns), torch.float64)
    blocks = x.reshape(rows, columns // 16, 16)
    scaled = (blocks / blocks.abs().amax(2, keepdim=True)).reshape(rows, columns)
    assert_values(run1(build, [x]), scaled.t() @ x)


def test_computed_sizes_that_do_not_divide_are_refused():
    def build(fd, t):
        return fd.ops.reshape(t, [fd.ops.size(t, 0), fd.ops.div(fd.ops.size(t, 1), 16), 16])

    refused(build, [make((4, 24), ONE)])


@pytest.mark.parametrize("position", [0, 1])
def test_concatenation_with_a_zero_width_operand_inside_a_graph(position):
    x, empty = make((1, 4, 8, 16), ONE), torch.empty(1, 4, 8, 0)

    def build(fd, a, b):
        operands = [fd.ops.mul(a, 2.0), b]
        return fd.ops.mul(fd.ops.cat(operands if position else operands[::-1], 3), 0.5)

    for static in (False, True):
        assert_values(run1(build, [x, empty], static_sizes=static), x)


def test_rotary_with_a_passthrough_slice_of_no_width():
    x, cos, sin = make((2, 3, 8), ONE), make((3, 8), ONE, seed=1), make((3, 8), ONE, seed=2)

    def build(fd, t, c, s):
        left, right = fd.ops.slice(t, [0, 0, 0], [2, 3, 4]), fd.ops.slice(t, [0, 0, 4], [2, 3, 8])
        rotated = fd.ops.cat([fd.ops.neg(right), left], 2)
        passthrough = fd.ops.slice(t, [0, 0, 8], [2, 3, 8])
        return fd.ops.cat([fd.ops.add(fd.ops.mul(t, c), fd.ops.mul(rotated, s)), passthrough], 2)

    rotated = torch.cat([-x[..., 4:], x[..., :4]], -1)
    for static in (False, True):
        assert_values(run1(build, [x, cos, sin], static_sizes=static), x * cos + rotated * sin)


def test_two_reductions_of_products_without_elements():
    a, b = make((5, 0), torch.bfloat16), make((5, 0), torch.bfloat16, seed=1)

    def build(fd, x, y):
        ones = fd.ops.full([5, 0], 1.0, dtype=DataType.BFloat16)
        p, q = fd.ops.mul(x, ones), fd.ops.mul(y, ones)
        return [fd.ops.sum(p, [1]), fd.ops.sum(q, [0])]

    rows, columns = run(build, [a, b])
    assert torch.equal(rows, torch.zeros(5)) and columns.shape == (0,)


@pytest.mark.parametrize("n", [0, 1, 7])
@pytest.mark.parametrize("static", [False, True])
def test_index_arithmetic_with_a_zero_size_operand(n, static):
    a, b = make((n,), torch.int64), torch.empty(0, dtype=torch.int64)

    def build(fd, x, y):
        wrapped = fd.ops.add(fd.ops.where(fd.ops.lt(x, 0), 5, 0), x)
        joined = fd.ops.cat([fd.ops.cat([wrapped, y], 0), y], 0)
        return fd.ops.cat([fd.ops.add(joined, 5), fd.ops.add(joined, 10)], 0)

    wrapped = torch.where(a < 0, 5, 0) + a
    assert_values(run1(build, [a, b], static_sizes=static), torch.cat([wrapped + 5, wrapped + 10]))


@pytest.mark.parametrize("shape", [(0,), (0, 1), (1, 0), (3, 0)], ids=str)
def test_statistics_of_empty_tensors(shape):
    x = torch.empty(shape)
    dims = list(range(len(shape)))

    def build(fd, t):
        return [*fd.ops.var_mean(t, dims), fd.ops.sum(t, dims), fd.ops.prod(t, dims)]

    var, mean, total, product = run(build, [x])
    assert var.isnan() and mean.isnan() and total.item() == 0 and product.item() == 1
    half = run1(lambda fd, t: fd.ops.sum(t, dims), [x.half()])
    assert half.item() == 0 and half.dtype == torch.float16


def test_a_sum_over_one_of_two_expanded_dims():
    x = torch.tensor(1.5).as_strided((2, 3), (0, 0))
    for static in (False, True):
        assert_values(run1(lambda fd, t: fd.ops.sum(t, [0]), [x], static_sizes=static), torch.full((3,), 3.0))
        assert_values(run1(lambda fd, t: fd.ops.sum(t, [1]), [x], static_sizes=static), torch.full((2,), 4.5))
        assert_values(run1(lambda fd, t: fd.ops.prod(t, [0]), [x], static_sizes=static), torch.full((3,), 2.25))
        assert_values(run1(lambda fd, t: fd.ops.max(t, [0]), [x], static_sizes=static), torch.full((3,), 1.5))


@pytest.mark.parametrize("bounds", [((6, 6), (8, 8)), ((3, 3), (5, 100)), ((0, 0), (2, 5)), ((5, 5), (5, 5))], ids=str)
def test_slices_past_the_end_are_cut_off(bounds):
    starts, ends = bounds
    x = make((5, 5), ONE)
    for static in (False, True):
        result = run1(lambda fd, t: fd.ops.slice(t, list(starts), list(ends)), [x], static_sizes=static)
        assert_values(result, x[starts[0] : ends[0], starts[1] : ends[1]])


@pytest.mark.parametrize("widths", [[10, 10], [0, 3], [2, 0, 1, 1], [1, 1, 1, 1, 1, 1]], ids=str)
def test_padding_a_single_element_does_not_repeat_it(widths, device):
    x = torch.full((1, 1, 1), 3.0, device=device)
    for static in (False, True):
        result = run1(lambda fd, t: fd.ops.pad(t, widths), [x], static_sizes=static)
        assert_values(result, torch.nn.functional.pad(x, widths))
        assert (result != 0).sum() == 1


@pytest.mark.parametrize("n", [1, 7, 1000, 16384, 200_000])
def test_padding_in_front_of_a_large_count(n, device):
    x = torch.ones(1, n, dtype=torch.bool, device=device)

    def build(fd, t):
        return fd.ops.pad(fd.ops.sum(t, [1], False, DataType.Int32), [1, 0])

    result = run1(build, [x])
    assert result.tolist() == [0, n] and result.dtype == torch.int32


def test_an_input_declared_contiguous_but_expanded():
    """After a normal call, the same sizes with stride 0: refused by name, or right; never wrong."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=[True, True])
        fd.add_output(fd.ops.sin(x))
    x = make((3, 3), ONE)
    assert_values(fd.execute([x])[0], torch.sin(x))
    expanded = torch.tensor(0.7).expand(3, 3)
    with pytest.raises(RuntimeError, match="stride mismatch with contiguity info"):
        fd.execute([expanded])
    assert_values(fd.execute([x])[0], torch.sin(x))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0), (1, 1, 1)], ids=str)
def test_a_mixed_graph_on_tiny_tensors(shape):
    x = make(shape, ONE)

    def build(fd, t):
        y = fd.ops.sigmoid(fd.ops.add(t, fd.ops.mul(t, 0.5)))
        total = fd.ops.sum(y)
        return [y, total, fd.ops.reshape(y, [-1]) if 0 not in shape else fd.ops.neg(y), fd.ops.mul(y, total)]

    y = torch.sigmoid(x.double() * 1.5)
    flat = y.reshape(-1) if 0 not in shape else -y
    for result, expected in zip(run(build, [x]), [y, y.sum(), flat, y * y.sum()], strict=True):
        assert_values(result, expected.float())
