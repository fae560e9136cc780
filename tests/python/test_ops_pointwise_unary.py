"""Unary pointwise operators: every row of the table over dtypes, sizes and layouts, against torch."""

import pytest
import torch
from helpers import COMPLEX, FLOATS, HALVES, INTS, TOLERANCE, assert_values, define, dtype_id, layouts, make, run, run1
from nvfuser_direct import DataType, FusionDefinition
from opinfo.pointwise import UNARY

SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 1, 4)]
CASES = [pytest.param(row, dtype, id=f"{row.name}-{dtype_id(dtype)}") for row in UNARY for dtype in row.dtypes]
ROWS = [pytest.param(row, id=row.name) for row in UNARY]


def tolerance(row, dtype):
    """(rtol, atol) of a row's result dtype."""
    rtol, atol = TOLERANCE.get(dtype, (0.0, 0.0))
    return {"rtol": rtol * row.slack, "atol": atol * row.slack}


def apply(row):
    """A build function that calls the operator on its only operand."""
    return lambda fd, x: getattr(fd.ops, row.name)(x)


@pytest.mark.parametrize("row,dtype", CASES)
def test_value_and_dtype_for_every_size(row, dtype, device):
    for number, shape in enumerate(SHAPES):
        x = row.sample(0, shape, dtype, device, seed=number)
        expected = row.reference([x])
        result = run1(apply(row), [x], device=device, round_trip=number == 4)
        assert_values(result, expected, **tolerance(row, result.dtype))
        assert result.device.type == device


@pytest.mark.parametrize("row", ROWS)
def test_every_layout(row, device):
    dtype = torch.float32 if torch.float32 in row.dtypes else torch.int64
    base = row.sample(0, (4, 6), dtype, device)
    expected = row.reference([base])
    for x in layouts(base):
        result = run1(apply(row), [x])
        assert_values(result, expected, **tolerance(row, result.dtype))
    expanded = base[:, :1].expand(4, 6)
    assert_values(run1(apply(row), [expanded]), row.reference([expanded]), **tolerance(row, expected.dtype))
    scalar = base[0, 0].expand(3, 2)
    assert_values(run1(apply(row), [scalar]), row.reference([scalar]), **tolerance(row, expected.dtype))


@pytest.mark.parametrize("row", ROWS)
def test_one_definition_serves_many_sizes(row):
    dtype = torch.float32 if torch.float32 in row.dtypes else torch.int64
    fd = define(apply(row), [row.sample(0, (3, 5), dtype)])
    for shape in [(3, 5), (2, 2), (0, 4), (64, 3), (3, 5)]:
        x = row.sample(0, shape, dtype)
        (result,) = fd.execute([x])
        assert_values(result, row.reference([x]), **tolerance(row, result.dtype))


@pytest.mark.parametrize("row", ROWS)
def test_static_sizes(row):
    dtype = torch.float32 if torch.float32 in row.dtypes else torch.int64
    x = row.sample(0, (3, 1, 5), dtype)
    result = run1(apply(row), [x], static_sizes=True)
    assert_values(result, row.reference([x]), **tolerance(row, result.dtype))


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in UNARY if r.specials and torch.float32 in r.dtypes])
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_special_values_follow_torch(row, dtype):
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 2.5, -0.5, 0.5, 1.5], dtype=dtype)
    result = run1(apply(row), [x])
    expected = row.reference([x])
    assert_values(result, expected, **tolerance(row, result.dtype))
    if result.is_floating_point():
        zero = (expected == 0) & (result == 0)
        assert torch.equal(torch.signbit(result[zero]), torch.signbit(expected[zero])), (result, expected)


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in UNARY if r.raises])
def test_refused_dtypes(row):
    for dtype in row.raises:
        with pytest.raises(RuntimeError):
            run1(apply(row), [make((3,), dtype)], round_trip=False)


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in UNARY if torch.float64 in r.dtypes])
def test_scalar_operand_gives_a_scalar(row):
    """A Val or Python number gives a Val, which is seen here through `full`."""
    value = 0.5 if row.name not in ("acosh",) else 1.5

    def build(fd, x, s):
        op = getattr(fd.ops, row.name)
        symbolic, constant = op(s), op(value)
        assert not symbolic.is_tensor() and not constant.is_tensor()
        return [fd.ops.full([2], v, dtype=DataType.Double) for v in (symbolic, constant)]

    x = torch.zeros(1, dtype=torch.float64)
    expected = row.reference([torch.full((2,), value, dtype=torch.float64)]).to(torch.float64)
    for result in run(build, [x, value]):
        assert_values(result, expected, rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize(
    "row", [pytest.param(r, id=r.name) for r in UNARY if torch.int64 in r.dtypes and r.group in "BKDI"]
)
def test_integer_scalar_operand(row):
    value = 3

    def build(fd, x, s):
        return fd.ops.add(x, getattr(fd.ops, row.name)(s))

    x = torch.zeros(2, dtype=torch.int64)
    expected = row.reference([torch.full((2,), value)]).to(torch.int64)
    result = run1(build, [x, value])
    assert torch.equal(result.to(torch.int64), expected)


@pytest.mark.parametrize("row", ROWS)
def test_positional_only_and_arity(row):
    with FusionDefinition() as fd:
        op = getattr(fd.ops, row.name)
        x = fd.define_tensor([-1], contiguity=True)
        with pytest.raises(TypeError):
            op()
        with pytest.raises(TypeError):
            op(x, x)
        with pytest.raises(TypeError):
            op("x")
        with pytest.raises(TypeError):
            op(None)
        with pytest.raises(TypeError):
            op([x])
        fd.add_output(x)


def test_round_is_half_to_even():
    x = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 1e10 + 0.5], dtype=torch.float64)
    result = run1(lambda fd, t: fd.ops.round(t), [x])
    assert torch.equal(result, torch.tensor([-2.0, -2.0, -0.0, 0.0, 2.0, 2.0, 4.0, 1e10], dtype=torch.float64))


@pytest.mark.parametrize("dtype", COMPLEX, ids=dtype_id)
def test_real_and_imag_of_complex(dtype, device):
    x = make((3, 4), dtype, device)
    real, imag = run(lambda fd, t: [fd.ops.real(t), fd.ops.imag(t)], [x])
    assert_values(real, x.real.clone(), rtol=0, atol=0)
    assert_values(imag, x.imag.clone(), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=dtype_id)
def test_imag_of_a_real_operand_is_refused(dtype):
    with pytest.raises(RuntimeError):
        run1(lambda fd, t: fd.ops.imag(t), [make((3,), dtype)])


@pytest.mark.parametrize("dtype", HALVES, ids=dtype_id)
def test_half_group_k_keeps_and_group_f_widens(dtype):
    x = make((5,), dtype)
    kept, wide = run(lambda fd, t: [fd.ops.relu(t), fd.ops.exp(t)], [x])
    assert kept.dtype == dtype
    assert wide.dtype == torch.float32


@pytest.mark.parametrize("name", ["set", "segment_set"])
def test_copies_do_not_share_storage_with_the_input(name):
    x = make((4,), torch.float32)
    result = run1(lambda fd, t: fd.ops.add(getattr(fd.ops, name)(t), 0.0), [x])
    assert result.data_ptr() != x.data_ptr()
    assert torch.equal(result, x)


def test_non_finite_integers_are_finite():
    x = torch.tensor([0, 1, -(2**31)], dtype=torch.int32)
    finite, infinite, nan = run(lambda fd, t: [fd.ops.isfinite(t), fd.ops.isinf(t), fd.ops.isnan(t)], [x])
    assert finite.all() and not infinite.any() and not nan.any()
