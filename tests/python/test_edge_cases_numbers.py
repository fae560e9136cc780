"""Rounding, signs of zero, NaN, infinities, integer limits, complex numbers."""

import subprocess
import sys
import textwrap

import pytest
import torch
from helpers import FLOATS, NVF, assert_values, dtype_id, make, run, run1
from nvfuser_direct import DataType

ONE = torch.float32


def bits_equal(result, expected):
    """Same values including the sign of zero."""
    assert result.dtype == expected.dtype and torch.equal(result, expected), (result, expected)
    assert torch.equal(torch.signbit(result), torch.signbit(expected)), (result, expected)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=dtype_id)
def test_every_kind_of_integer_division(dtype):
    a, b = torch.tensor([7, -7, 7, -7, -6], dtype=dtype), torch.tensor([3, 3, -3, -3, 3], dtype=dtype)

    def build(fd, x, y):
        quotient = fd.ops.div(x, y)
        remainder = fd.ops.remainder(x, y)
        floor = fd.ops.div(fd.ops.sub(x, remainder), y)
        return [quotient, floor, remainder, fd.ops.fmod(x, y), fd.ops.truediv(x, y)]

    truncated, floored, remainder, fmod, exact = run(build, [a, b])
    assert truncated.tolist() == [2, -2, -2, 2, -2]
    assert floored.tolist() == [2, -3, -3, 2, -2]
    assert remainder.tolist() == [1, 2, -2, -1, 0]
    assert fmod.tolist() == [1, -1, 1, -1, 0]
    assert exact.dtype == ONE and torch.equal(exact, a / b)


def test_truncated_float_division_near_integers():
    a = torch.tensor([14.999999, 26.999999, 148.0, 1073.0, 2112.0])
    b = torch.tensor([3.0, 3.0, 37.0, 37.0, 33.0])
    assert run1(lambda fd, x, y: fd.ops.trunc(fd.ops.div(x, y)), [a, b]).tolist() == [4.0, 8.0, 4.0, 29.0, 64.0]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_smallest_integer_divided_by_minus_one_does_not_trap(dtype):
    """In a child process: a trap would end it."""
    code = f"""
        import torch
        from nvfuser_direct import FusionDefinition, DataType
        low = torch.iinfo(torch.{dtype}).min
        x = torch.full((20,), low, dtype=torch.{dtype})
        y = torch.full((20,), -1, dtype=torch.{dtype})
        names = ["div", "remainder", "mod", "fmod"]
        with FusionDefinition() as fd:
            a, b = fd.from_pytorch(x), fd.from_pytorch(y)
            for name in names:
                fd.add_output(getattr(fd.ops, name)(a, b))
                fd.add_output(getattr(fd.ops, name)(a, -1))
        try:
            print([r[0].item() for r in fd.execute([x, y])])
        except RuntimeError as error:
            print("refused", error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    low = torch.iinfo(getattr(torch, dtype)).min
    assert str([low, low, 0, 0, 0, 0, 0, 0]) in done.stdout, done.stdout


def test_integer_division_by_zero_does_not_end_the_process():
    code = """
        import torch
        from nvfuser_direct import FusionDefinition, DataType
        x, y = torch.arange(20), torch.zeros(20, dtype=torch.int64)
        for name in ("div", "remainder", "mod", "fmod"):
            with FusionDefinition() as fd:
                fd.add_output(getattr(fd.ops, name)(fd.from_pytorch(x), fd.from_pytorch(y)))
            try:
                fd.execute([x, y])
            except RuntimeError:
                print("refused", name)
        with FusionDefinition() as fd:
            n = fd.define_scalar(DataType.Int)
            fd.add_output(fd.ops.full([1], fd.ops.div(n, fd.ops.sub(n, n)), DataType.Int))
        try:
            fd.execute([3], device="cpu")
        except RuntimeError:
            print("refused", "scalar")
        print("alive")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0 and "alive" in done.stdout, (done.returncode, done.stderr)


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_sum_and_product_as_bool(dtype):
    x = make((3, 4), dtype, nonzero=True)
    total, product = run(
        lambda fd, t: [fd.ops.sum(t, [0, 1], False, DataType.Bool), fd.ops.prod(t, [0, 1], False, DataType.Bool)], [x]
    )
    assert total.dtype == torch.bool and total.item() is True
    assert product.dtype == torch.bool and product.item() is True


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_rows_of_infinities(dtype):
    inf = float("inf")
    low = torch.full((2, 40), -inf, dtype=dtype)
    assert run1(lambda fd, t: fd.ops.max(t, [1]), [low]).tolist() == [-inf, -inf]
    assert run1(lambda fd, t: fd.ops.min(t, [1]), [-low]).tolist() == [inf, inf]

    def softmax(fd, t):
        e = fd.ops.exp(fd.ops.sub(t, fd.ops.max(t, [1], True)))
        return fd.ops.div(e, fd.ops.sum(e, [1], True))

    assert run1(softmax, [low]).isnan().all()


def test_signs_of_zero():
    minus, plus = torch.tensor([-0.0, 0.0]), torch.tensor([0.0, -0.0])

    def build(fd, x, y):
        return [
            fd.ops.minimum(x, y),
            fd.ops.relu(x),
            fd.ops.neg(x),
            fd.ops.abs(x),
            fd.ops.mul(x, -1.0),
            fd.ops.cast(fd.ops.signbit(x), dtype=DataType.Float),
            fd.ops.set(x),
            fd.ops.where(fd.ops.signbit(x), x, y),
        ]

    results = run(build, [minus, plus])
    expected = [
        torch.minimum(minus, plus),
        torch.relu(minus),
        -minus,
        minus.abs(),
        minus * -1.0,
        torch.tensor([1.0, 0.0]),
        minus,
        torch.where(torch.signbit(minus), minus, plus),
    ]
    for result, wanted in zip(results, expected, strict=True):
        bits_equal(result, wanted)


def test_signs_of_zero_in_rounding_operations():
    x = torch.tensor([-0.5, -0.0, 0.0, 0.5, -0.3])

    def build(fd, t):
        return [
            fd.ops.ceil(t),
            fd.ops.add(fd.ops.ceil(t), 0.0),
            fd.ops.trunc(t),
            fd.ops.round(t),
            fd.ops.floor(t),
            fd.ops.reciprocal(fd.ops.frac(fd.ops.trunc(t))),
        ]

    expected = [x.ceil(), x.ceil() + 0.0, x.trunc(), x.round(), x.floor(), 1 / x.trunc().frac()]
    for result, wanted in zip(run(build, [x]), expected, strict=True):
        bits_equal(result, wanted)


def test_reciprocal_of_a_negative_zero_fraction():
    x = torch.tensor([-0.0, 0.0])
    bits_equal(run1(lambda fd, t: fd.ops.reciprocal(fd.ops.frac(t)), [x]), 1 / torch.frac(x))


def test_signbit_of_doubles():
    x = torch.tensor([-0.0, 0.0, -1.0, float("-inf"), -float("nan")], dtype=torch.float64)
    assert run1(lambda fd, t: fd.ops.signbit(t), [x]).tolist() == torch.signbit(x).tolist()


def test_where_with_two_numbers_is_a_number_of_the_usual_kind():
    """Two floats give a float, two ints an int, a float and an int a float; the sign of zero is kept."""
    mask = torch.tensor([True, False])
    floats, zeros, mixed = run(
        lambda fd, m: [fd.ops.where(m, 5.0, 3.0), fd.ops.where(m, -0.0, 0.0), fd.ops.where(m, 1, 2.5)], [mask]
    )
    assert floats.tolist() == [5.0, 3.0] and mixed.tolist() == [1.0, 2.5]
    assert torch.signbit(zeros).tolist() == [True, False]
    assert floats.is_floating_point() and mixed.is_floating_point()


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=dtype_id)
def test_a_cast_down_and_up_again_keeps_its_rounding(half):
    x = torch.arange(20) / 7
    result = run1(lambda fd, t: fd.ops.cast(fd.ops.cast(t, dtype=NVF[half]), dtype=DataType.Float), [x])
    assert torch.equal(result, x.to(half).float())
    assert 1e-4 < (result - x).abs().max() < (1e-3 if half == torch.float16 else 1e-2)


def test_a_cast_to_int_and_back_keeps_its_truncation():
    x = torch.tensor([1.7, -1.7, 0.2])
    result = run1(lambda fd, t: fd.ops.cast(fd.ops.cast(t, dtype=DataType.Int), dtype=DataType.Float), [x])
    assert result.tolist() == [1.0, -1.0, 0.0]


def test_algebra_that_is_not_valid_for_floats():
    """x * 0, x - x, x / x, x + 0 are not simplified away where NaN, infinity or -0 tell the difference."""
    x = torch.tensor([1.0, float("nan"), float("inf"), -0.0, 0.0])

    def build(fd, t):
        return [
            fd.ops.mul(t, 0.0),
            fd.ops.sub(t, t),
            fd.ops.div(t, t),
            fd.ops.add(t, 0.0),
            fd.ops.pow(t, 0.0),
            fd.ops.eq(t, t),
        ]

    expected = [x * 0.0, x - x, x / x, x + 0.0, x**0.0, x == x]
    for result, wanted in zip(run(build, [x]), expected, strict=True):
        assert_values(result, wanted)
        if result.is_floating_point():
            known = ~wanted.isnan()
            assert torch.equal(torch.signbit(result[known]), torch.signbit(wanted[known]))


def test_complex_sums_with_broadcast():
    x, y = torch.ones(2, 2, dtype=torch.complex64), torch.ones(2, 1)
    result = run1(lambda fd, a, b: fd.ops.add(a, b), [x, y])
    assert torch.equal(result, torch.full((2, 2), 2 + 0j, dtype=torch.complex64))


def test_complex_conjugate_spelled_out():
    x = make((3, 4), torch.complex64)

    def build(fd, z):
        conjugate = fd.ops.complex(fd.ops.real(z), fd.ops.neg(fd.ops.imag(z)))
        return [fd.ops.add(z, conjugate), fd.ops.mul(z, conjugate)]

    total, product = run(build, [x])
    assert_values(total, x + x.conj())
    assert_values(product, x * x.conj())


def test_rotary_by_complex_product_of_a_transposed_view():
    pairs = make((3, 4, 2), ONE).transpose(0, 1)
    z = torch.complex(pairs[..., 0].contiguous(), pairs[..., 1].contiguous())
    angle = make((4, 3), ONE, seed=1)

    def build(fd, a, t):
        turned = fd.ops.mul(a, fd.ops.complex(fd.ops.cos(t), fd.ops.sin(t)))
        return [fd.ops.real(turned), fd.ops.imag(turned)]

    real, imag = run(build, [z, angle])
    expected = z * torch.polar(torch.ones_like(angle), angle)
    assert_values(real, expected.real.clone())
    assert_values(imag, expected.imag.clone())


def test_complex_specials():
    nan, inf = float("nan"), float("inf")
    z = torch.tensor([complex(nan, 0), complex(0, nan), complex(inf, 1), complex(1, -inf), 1 + 0j, 2j])

    def build(fd, t):
        return [fd.ops.isnan(t), fd.ops.isinf(t), fd.ops.isfinite(t), fd.ops.isreal(t)]

    for result, function in zip(run(build, [z]), [torch.isnan, torch.isinf, torch.isfinite, torch.isreal], strict=True):
        assert torch.equal(result, function(z))


def test_large_magnitudes_do_not_overflow_in_between():
    """Magnitude of a complex number near the limits."""
    z = torch.tensor([complex(3e30, 4e30), complex(3e-30, 4e-30)])
    assert_values(run1(lambda fd, t: fd.ops.abs(t), [z]), torch.tensor([5e30, 5e-30]), atol=0)


@pytest.mark.parametrize(
    "name,values",
    [
        ("expm1", [1e-10, -1e-10, 1e-5]),
        ("log1p", [1e-10, -1e-10, 1e-5]),
        ("sinh", [1e-8]),
        ("erfc", [5.0, 8.0]),
        ("tanh", [1e-9]),
    ],
    ids=str,
)
def test_no_cancellation(name, values):
    x = torch.tensor(values)
    function = getattr(torch, name, None) or getattr(torch.special, name)
    assert_values(run1(lambda fd, t: getattr(fd.ops, name)(t), [x]), function(x.double()).float(), rtol=1e-5, atol=0)


def test_saturating_functions():
    x = torch.tensor([-1e4, -200.0, 200.0, 1e4])

    def build(fd, t):
        return [fd.ops.sigmoid(t), fd.ops.tanh(t), fd.ops.exp(t), fd.ops.silu(t), fd.ops.erf(t)]

    expected = [torch.sigmoid(x), torch.tanh(x), torch.exp(x), torch.nn.functional.silu(x), torch.erf(x)]
    for result, wanted in zip(run(build, [x]), expected, strict=True):
        assert_values(result, wanted)


def test_integers_beyond_the_precision_of_doubles():
    x = torch.tensor([2**53 + 1, -(2**53) - 1, 2**62 + 3])

    def build(fd, t):
        return [
            fd.ops.add(t, 1),
            fd.ops.mul(t, 1),
            fd.ops.maximum(t, 0),
            fd.ops.abs(t),
            fd.ops.neg(t),
            fd.ops.div(t, 1),
            fd.ops.remainder(t, 10),
        ]

    expected = [x + 1, x, x.clamp(min=0), x.abs(), -x, x, x.remainder(10)]
    for result, wanted in zip(run(build, [x]), expected, strict=True):
        assert torch.equal(result, wanted)


def test_integer_overflow_wraps():
    x = torch.tensor([2**31 - 1, -(2**31)], dtype=torch.int32)
    up, down, double = run(lambda fd, t: [fd.ops.add(t, 1), fd.ops.sub(t, 1), fd.ops.mul(t, 2)], [x])
    assert torch.equal(up, x + 1) and torch.equal(down, x - 1) and torch.equal(double, x * 2)
