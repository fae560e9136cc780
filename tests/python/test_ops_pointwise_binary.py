"""Binary pointwise operators: values, broadcasting, layouts, scalars, and the whole promotion table."""

import itertools

import pytest
import torch
from helpers import ALL_DTYPES, TOLERANCE, assert_values, define, dtype_id, layouts, make, run, run1
from nvfuser_direct import DataType, FusionDefinition
from opinfo.pointwise import BINARY, BY_NAME
from opinfo.promotion import common_dtype, operand

CASES = [pytest.param(row, dtype, id=f"{row.name}-{dtype_id(dtype)}") for row in BINARY for dtype in row.dtypes]
ROWS = [pytest.param(row, id=row.name) for row in BINARY]
PAIRS = [
    ((), ()),
    ((0,), (0,)),
    ((1,), (1,)),
    ((7,), (7,)),
    ((3, 5), (3, 5)),
    ((3, 5), (1, 5)),
    ((3, 1), (1, 5)),
    ((3, 5), (5,)),
    ((4,), (2, 3, 4)),
    ((3, 5), ()),
    ((), (2, 3)),
    ((2, 0, 3), (1, 3)),
]


def apply(row):
    """A build function that calls the operator on its two operands."""
    return lambda fd, a, b: getattr(fd.ops, row.name)(a, b)


def tolerance(row, dtype):
    """(rtol, atol) of a row's result dtype."""
    rtol, atol = TOLERANCE.get(dtype, (0.0, 0.0))
    return {"rtol": rtol * row.slack, "atol": atol * row.slack}


def check(row, operands, round_trip=False, static_sizes=False):
    """The operator on tensors or numbers must agree with the row's reference."""
    result = run1(apply(row), operands, round_trip=round_trip, static_sizes=static_sizes)
    expected = row.reference(operands)
    text = f"{row.name} of {[operand(x) for x in operands]}"
    assert_values(result, expected, **tolerance(row, result.dtype), message=text)


@pytest.mark.parametrize("row,dtype", CASES)
def test_values_and_broadcasting(row, dtype, device):
    for number, (left, right) in enumerate(PAIRS):
        a = row.sample(0, left, dtype, device, seed=number)
        b = row.sample(1, right, dtype, device, seed=number)
        check(row, [a, b], round_trip=number in (4, 7))
    a, b = row.sample(0, (3, 1), dtype, device), row.sample(1, (3, 4), dtype, device)
    check(row, [a, b], static_sizes=True)


@pytest.mark.parametrize("row", ROWS)
def test_layouts(row, device):
    dtype = torch.float32 if torch.float32 in row.dtypes else torch.int64
    a, b = row.sample(0, (4, 6), dtype, device), row.sample(1, (4, 6), dtype, device)
    for left, right in itertools.product(layouts(a), layouts(b)):
        check(row, [left, right], round_trip=True)
    check(row, [a, b[:, :1].expand(4, 6)])
    check(row, [a[:1].expand(4, 6), b])
    check(row, [a[1:, 2:], b[:3, :4]])


SCALARS = {"bool": True, "int": 3, "float": 1.5, "complex": 1.5 + 0.5j}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("kind", SCALARS)
def test_python_numbers_on_either_side(row, kind):
    """Constant and symbolic numbers as second and as first operand."""
    value = SCALARS[kind]
    for dtype in row.dtypes:
        tensor = torch.zeros(1, dtype=dtype)
        common = common_dtype([operand(tensor), operand(value)])
        if common not in row.dtypes:
            continue
        for position in (0, 1):
            x = row.sample(1 - position, (5,), dtype)
            operands = [x, x]
            operands[position] = value
            check(row, operands, round_trip=True)

            def constant(fd, t, position=position):
                sides = [t, t]
                sides[position] = value
                return getattr(fd.ops, row.name)(*sides)

            result = run1(constant, [x])
            expected = row.reference(operands)
            assert_values(
                result, expected, **tolerance(row, result.dtype), message=f"{row.name} {dtype} {value} {position}"
            )


def promotion_operands(row, position, dtype, level):
    """Operand of a dtype and class (0: with dimensions, 1: 0-dim, 2: Python number)."""
    if level == 0:
        return row.sample(position, (3,), dtype, seed=3)
    tensor = row.sample(position, (), dtype, seed=4)
    return tensor if level == 1 else tensor.item()


SCALAR_DTYPES = (torch.bool, torch.int64, torch.float64, torch.complex128)


@pytest.mark.parametrize("levels", [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1)], ids=str)
@pytest.mark.parametrize("row", ROWS)
def test_promotion_of_every_pair_of_dtypes(row, levels):
    """Operands of any two dtypes whose common dtype the operator takes: dtype and value follow the rules."""
    for left, right in itertools.product(ALL_DTYPES, repeat=2):
        if (levels[0] == 2 and left not in SCALAR_DTYPES) or (levels[1] == 2 and right not in SCALAR_DTYPES):
            continue
        if left == right and levels[0] == levels[1]:
            continue
        a = promotion_operands(row, 0, left, levels[0])
        b = promotion_operands(row, 1, right, levels[1])
        if common_dtype([operand(a), operand(b)]) not in row.dtypes:
            continue
        if row.group == "L" and (left not in row.dtypes or right not in row.dtypes):
            continue
        check(row, [a, b])


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in BINARY if torch.float64 in r.dtypes])
def test_two_scalars_give_a_scalar(row):
    """Val with Val, Val with number, number with number."""
    left, right = 2.5, 1.5

    def build(fd, a, b):
        op = getattr(fd.ops, row.name)
        vals = [op(a, b), op(a, right), op(left, b), op(left, right)]
        assert not any(v.is_tensor() for v in vals)
        return [fd.ops.full([3], v, dtype=DataType.Double) for v in vals]

    expected = row.reference([torch.full((3,), left).double(), torch.full((3,), right).double()]).double()
    for result in run(build, [left, right]):
        assert_values(result, expected, rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in BINARY if torch.int64 in r.dtypes])
def test_two_integer_scalars(row):
    left, right = 13, 3

    def build(fd, a, b):
        op = getattr(fd.ops, row.name)
        return [fd.ops.full([3], v, dtype=DataType.Double) for v in (op(a, b), op(left, right))]

    expected = row.reference([torch.full((3,), left), torch.full((3,), right)]).double()
    for result in run(build, [left, right]):
        assert_values(result, expected, rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in BINARY if r.raises])
def test_refused_dtypes(row):
    for dtype in row.raises:
        with pytest.raises(RuntimeError):
            x = make((3,), dtype, low=1, high=3)
            run1(apply(row), [x, x], round_trip=False)


@pytest.mark.parametrize("row", ROWS)
def test_sizes_that_differ_at_run_time_are_refused(row):
    dtype = torch.float32 if torch.float32 in row.dtypes else torch.int64
    fd = define(apply(row), [row.sample(0, (4, 5), dtype), row.sample(1, (4, 5), dtype)])
    with pytest.raises(RuntimeError):
        fd.execute([row.sample(0, (4, 5), dtype), row.sample(1, (4, 6), dtype)])


@pytest.mark.parametrize("row", ROWS)
def test_calls_that_fit_no_overload(row):
    with FusionDefinition() as fd:
        op = getattr(fd.ops, row.name)
        x = fd.define_tensor([-1], contiguity=True)
        for arguments in [(), (x,), (x, x, x), (x, "y"), (x, None), (None, x), (x, [1])]:
            with pytest.raises(TypeError):
                op(*arguments)
        fd.add_output(x)


def test_static_sizes_that_differ_are_refused():
    with pytest.raises(RuntimeError), FusionDefinition() as fd:
        a = fd.define_tensor([3, 4], contiguity=True)
        b = fd.define_tensor([3, 5], contiguity=True)
        fd.add_output(fd.ops.add(a, b))
        fd.execute([torch.ones(3, 4), torch.ones(3, 5)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=dtype_id)
def test_complex_from_two_parts(dtype, device):
    re, im = make((3, 4), dtype, device), make((3, 4), dtype, device, seed=1)
    result = run1(lambda fd, a, b: fd.ops.complex(a, b), [re, im])
    assert_values(result, torch.complex(re, im), rtol=0, atol=0)
    again = run(lambda fd, z: [fd.ops.real(z), fd.ops.imag(z)], [result])
    assert torch.equal(again[0], re) and torch.equal(again[1], im)


def test_complex_from_scalars_and_its_refusals():
    def build(fd, a, b):
        return fd.ops.full([2], fd.ops.complex(a, b), dtype=DataType.ComplexDouble)

    assert torch.equal(run1(build, [1.5, -2.0], device="cpu"), torch.full((2,), 1.5 - 2.0j, dtype=torch.complex128))
    with pytest.raises(RuntimeError):
        run1(lambda fd, a, b: fd.ops.complex(a, b), [torch.ones(2), torch.ones(2).double()])
    with pytest.raises((RuntimeError, TypeError)):
        run1(lambda fd, a: fd.ops.complex(a, 1.0), [torch.ones(2)])


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_nan_wins_in_maximum_and_minimum(name):
    nan = float("nan")
    a, b = torch.tensor([nan, 1.0, nan, 2.0]), torch.tensor([1.0, nan, nan, 3.0])
    result = run1(lambda fd, x, y: getattr(fd.ops, name)(x, y), [a, b])
    assert_values(result, getattr(torch, name)(a, b), rtol=0, atol=0)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "div", "pow", "atan2", "fmod", "remainder", "eq", "lt", "ge", "ne", "logical_or"]
)
def test_special_values_follow_torch(name):
    row = BY_NAME[name]
    nan, inf = float("nan"), float("inf")
    values = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.5, 2.0])
    a, b = values[:, None].expand(8, 8).contiguous(), values.expand(8, 8).contiguous()
    result = run1(apply(row), [a, b])
    assert_values(result, row.reference([a, b]), **tolerance(row, result.dtype))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=dtype_id)
def test_signs_of_integer_division(dtype):
    a = torch.tensor([7, -7, 7, -7, -6], dtype=dtype)
    b = torch.tensor([3, 3, -3, -3, 3], dtype=dtype)

    def build(fd, x, y):
        return [fd.ops.div(x, y), fd.ops.mod(x, y), fd.ops.fmod(x, y), fd.ops.remainder(x, y), fd.ops.truediv(x, y)]

    quotient, mod, fmod, remainder, exact = run(build, [a, b])
    assert quotient.tolist() == [2, -2, -2, 2, -2]
    assert mod.tolist() == [1, -1, 1, -1, 0]
    assert fmod.tolist() == [1, -1, 1, -1, 0]
    assert remainder.tolist() == [1, 2, -2, -1, 0]
    assert_values(exact, torch.tensor([7, -7, 7, -7, -6]).float() / torch.tensor([3, 3, -3, -3, 3]).float())
    assert {t.dtype for t in (quotient, mod, fmod, remainder)} == {dtype}


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=dtype_id)
def test_right_shifts(dtype):
    bits = 32 if dtype == torch.int32 else 64
    a = torch.tensor([-8, -1, 5, 1 << (bits - 2), -(1 << (bits - 1))], dtype=dtype)
    b = torch.tensor([1, bits - 1, 2, 3, bits - 1], dtype=dtype)
    arithmetic, logical = run(
        lambda fd, x, y: [fd.ops.bitwise_right_shift(x, y), fd.ops.logical_right_shift(x, y)], [a, b]
    )
    assert arithmetic.tolist() == [-4, -1, 1, 1 << (bits - 5), -1]
    assert logical.tolist() == [(1 << (bits - 1)) - 4, 1, 1, 1 << (bits - 5), 1]
    wide = torch.full((5,), bits, dtype=dtype)
    assert run1(lambda fd, x, y: fd.ops.logical_right_shift(x, y), [a, wide]).tolist() == [0] * 5


@pytest.mark.parametrize("name", ["nextafter", "atan2", "maximum", "minimum", "fmod", "remainder", "pow", "gcd"])
def test_a_number_beside_a_tensor_of_any_device(name, device):
    dtype, number = (torch.int64, 6) if name == "gcd" else (torch.float32, 3.0)
    x = make((7,), dtype, device, low=1, high=9)
    op = getattr(torch, name)
    right = run1(lambda fd, t: getattr(fd.ops, name)(t, number), [x])
    assert_values(right.cpu(), op(x.cpu(), torch.tensor(number, dtype=dtype)))
    left = run1(lambda fd, t: getattr(fd.ops, name)(number, t), [x])
    assert_values(left.cpu(), op(torch.tensor(number, dtype=dtype), x.cpu()))
