"""where, lerp, threshold, clamp, addcmul."""

import itertools

import pytest
import torch
from helpers import ALL_DTYPES, COMPLEX, FLOATS, HALVES, INTS, assert_values, dtype_id, layouts, make, run, run1
from nvfuser_direct import DataType, FusionDefinition
from opinfo.promotion import common_dtype, operand

TRIPLES = [
    ((), (), ()),
    ((0,), (0,), (0,)),
    ((7,), (7,), (7,)),
    ((3, 5), (3, 5), (3, 5)),
    ((3, 1), (1, 5), (3, 5)),
    ((5,), (3, 1), ()),
    ((), (3, 5), (5,)),
]


# --- where ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_where_sizes(dtype, device):
    for shapes in TRIPLES:
        mask = make(shapes[0], torch.bool, device)
        a, b = make(shapes[1], dtype, device, seed=1), make(shapes[2], dtype, device, seed=2)
        result = run1(lambda fd, m, x, y: fd.ops.where(m, x, y), [mask, a, b])
        assert_values(result, torch.where(mask, a, b), rtol=0, atol=0)


def test_where_dtype_of_every_pair():
    mask = make((4,), torch.bool)
    for left, right in itertools.product(ALL_DTYPES, repeat=2):
        for left_shape, right_shape in [((4,), (4,)), ((4,), ()), ((), (4,))]:
            a, b = make(left_shape, left, seed=1), make(right_shape, right, seed=2)
            common = common_dtype([operand(a), operand(b)])
            result = run1(lambda fd, m, x, y: fd.ops.where(m, x, y), [mask, a, b], round_trip=False)
            expected = torch.where(mask, a.to(common), b.to(common))
            assert_values(result, expected, message=f"{left} {left_shape} {right} {right_shape}")


@pytest.mark.parametrize("value", [2, 2.5, True, 1.5 - 0.5j], ids=str)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_where_with_numbers(dtype, value):
    mask, x = make((6,), torch.bool), make((6,), dtype, seed=1)
    common = common_dtype([operand(x), operand(value)])

    def build(fd, m, t, v):
        return [fd.ops.where(m, t, value), fd.ops.where(m, value, t), fd.ops.where(m, t, v), fd.ops.where(m, v, t)]

    number = torch.full((6,), value, dtype=common)
    kept, swapped = torch.where(mask, x.to(common), number), torch.where(mask, number, x.to(common))
    for result, expected in zip(run(build, [mask, x, value]), [kept, swapped, kept, swapped], strict=True):
        assert_values(result, expected)


def test_where_with_two_numbers():
    mask = make((6,), torch.bool)
    floats, zeros, ints = run(
        lambda fd, m: [fd.ops.where(m, 5.0, 3.0), fd.ops.where(m, -0.0, 0.0), fd.ops.where(m, 1, 2)],
        [mask],
    )
    assert torch.equal(floats.float(), torch.where(mask, 5.0, 3.0))
    assert floats.is_floating_point() and zeros.is_floating_point()
    assert torch.equal(torch.signbit(zeros), mask)
    assert_values(ints, torch.where(mask, 1, 2))


def test_where_with_scalar_conditions():
    x, y = make((3,), torch.float32), make((3,), torch.float32, seed=1)
    for flag in (True, False):
        symbolic, constant = run(lambda fd, a, b, c: [fd.ops.where(c, a, b), fd.ops.where(flag, a, b)], [x, y, flag])  # noqa: B023
        assert torch.equal(symbolic, x if flag else y)
        assert torch.equal(constant, x if flag else y)


@pytest.mark.parametrize("dtype", INTS + FLOATS + COMPLEX, ids=dtype_id)
def test_where_needs_a_bool_condition(dtype):
    with pytest.raises(RuntimeError, match="Condition should be of DataType Bool"), FusionDefinition() as fd:
        c, x = fd.from_pytorch(make((3,), dtype)), fd.define_tensor([-1], contiguity=True)
        fd.ops.where(c, x, x)


def test_where_calls_that_fit_no_overload():
    with FusionDefinition() as fd:
        c = fd.define_tensor([-1], contiguity=True, dtype=DataType.Bool)
        x = fd.define_tensor([-1], contiguity=True)
        for arguments in [(), (c,), (c, x), (c, x, x, x), (c, x, "y"), (c, None, x)]:
            with pytest.raises(TypeError):
                fd.ops.where(*arguments)
        fd.add_output(x)


def test_where_keeps_nan_of_the_chosen_side_only():
    mask = torch.tensor([True, False, True, False])
    a, b = torch.tensor([1.0, float("nan"), float("nan"), 4.0]), torch.tensor([float("nan"), 2.0, 3.0, float("inf")])
    assert_values(run1(lambda fd, m, x, y: fd.ops.where(m, x, y), [mask, a, b]), torch.where(mask, a, b))


# --- lerp, addcmul -------------------------------------------------------------------------------------------------------


def lerp_reference(start, end, weight):
    """start + weight * (end - start)."""
    return start + weight * (end - start)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=dtype_id)
def test_lerp(dtype, device):
    wide = torch.complex128 if dtype.is_complex else torch.float64
    result_dtype = torch.float32 if dtype in HALVES else dtype
    for shapes in TRIPLES:
        operands = [make(shape, dtype, device, seed=n, low=-1, high=1) for n, shape in enumerate(shapes)]
        result = run1(lambda fd, a, b, w: fd.ops.lerp(a, b, w), operands)
        expected = lerp_reference(*(t.to(wide) for t in operands))
        assert_values(result, expected.to(result_dtype))


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_lerp_with_a_number_as_weight(weight):
    a, b = make((4, 3), torch.float32), make((4, 3), torch.float32, seed=1)
    constant, symbolic = run(lambda fd, x, y, w: [fd.ops.lerp(x, y, weight), fd.ops.lerp(x, y, w)], [a, b, weight])
    expected = torch.lerp(a.double(), b.double(), weight).float()
    assert_values(constant, expected)
    assert_values(symbolic, expected)


@pytest.mark.parametrize("dtype", FLOATS + INTS + COMPLEX, ids=dtype_id)
def test_addcmul(dtype, device):
    wide = torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype
    result_dtype = torch.float32 if dtype in HALVES else dtype
    for shapes in TRIPLES:
        operands = [make(shape, dtype, device, seed=n) for n, shape in enumerate(shapes)]
        a, b, c = (t.to(wide) for t in operands)
        for alpha in (1, 2, -3):
            result = run1(lambda fd, x, y, z: fd.ops.addcmul(x, y, z, alpha), operands)  # noqa: B023
            assert_values(result, (a + alpha * b * c).to(result_dtype))


def test_addcmul_with_symbolic_alpha():
    a, b, c = (make((5,), torch.float32, seed=n) for n in range(3))
    result = run1(lambda fd, x, y, z, s: fd.ops.addcmul(x, y, z, s), [a, b, c, 0.5])
    assert_values(result, torch.addcmul(a.double(), b.double(), c.double(), value=0.5).float())


@pytest.mark.parametrize("name,count", [("lerp", 3), ("addcmul", 4)])
def test_argument_counts(name, count):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        op = getattr(fd.ops, name)
        for wrong in (0, 1, count - 1, count + 1):
            with pytest.raises(TypeError):
                op(*[x] * wrong)
        fd.add_output(x)


# --- threshold, clamp ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
@pytest.mark.parametrize("limit,value", [(0.5, -1.25), (-1.0, 3.0), (0.0, 0.0)])
def test_threshold(dtype, limit, value, device):
    for shape in [(), (0,), (9,), (3, 4)]:
        x = make(shape, dtype, device)
        constant, symbolic = run(
            lambda fd, t, lo, v: [fd.ops.threshold(t, limit, value), fd.ops.threshold(t, lo, v)], [x, limit, value]
        )
        expected = torch.nn.functional.threshold(x, limit, value)
        assert_values(constant, expected, rtol=0, atol=0)
        assert_values(symbolic, expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
def test_threshold_of_integers(dtype):
    x = make((9,), dtype)
    result = run1(lambda fd, t: fd.ops.threshold(t, 1, 7), [x])
    assert_values(result, torch.where(x > 1, x, torch.full_like(x, 7)))


BOUNDS = [(-1.0, 1.5), (None, 0.5), (-0.5, None), (1.0, -1.0), (float("-inf"), float("inf"))]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_clamp(dtype, bounds, device):
    low, high = bounds
    for shape in [(), (0,), (9,), (3, 4)]:
        for x in layouts(make(shape, dtype, device)):
            result = run1(lambda fd, t: fd.ops.clamp(t, low, high), [x])
            assert_values(result, torch.clamp(x, low, high), rtol=0, atol=0)


@pytest.mark.parametrize("bounds", [(-2, 3), (None, 1), (-1, None)], ids=str)
@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
def test_clamp_of_integers(dtype, bounds):
    x = make((9,), dtype)
    result = run1(lambda fd, t: fd.ops.clamp(t, *bounds), [x])
    assert_values(result, torch.clamp(x, *bounds))


def test_clamp_with_symbolic_bounds_and_nan():
    x = torch.tensor([float("nan"), -3.0, 0.25, 7.0, float("inf"), float("-inf")])
    both, low, high = run(
        lambda fd, t, lo, hi: [fd.ops.clamp(t, lo, hi), fd.ops.clamp(t, lo, None), fd.ops.clamp(t, None, hi)],
        [x, -1.0, 2.0],
    )
    assert_values(both, x.clamp(-1.0, 2.0))
    assert_values(low, x.clamp(min=-1.0))
    assert_values(high, x.clamp(max=2.0))


def test_clamp_bounds_may_be_left_out():
    x = make((9,), torch.float32)
    assert_values(run1(lambda fd, t: fd.ops.clamp(t, None, 1.0), [x]), x.clamp(max=1.0))
    assert_values(run1(lambda fd, t: fd.ops.clamp(t, -1.0, None), [x]), x.clamp(min=-1.0))


@pytest.mark.parametrize("name", ["threshold", "clamp"])
def test_tensor_bounds_are_refused(name):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        op = getattr(fd.ops, name)
        with pytest.raises((TypeError, RuntimeError)):
            op(x, x, x)
        with pytest.raises(TypeError):
            op(x, "low", 1.0)
        fd.add_output(x)
