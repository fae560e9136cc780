"""Single operations inside generated kernels: the numbers are those of ATen's evaluation, for all dtypes and sizes.

Here for the CPU; test_generated_ops_cuda.py runs the same tests with CUDA text.
"""

import math

import helpers
import pytest
import torch
from helpers import FLOATS, INTS, NVF, define, dtype_id
from kernel_targets import target
from nvfuser_direct import DataType, FusionDefinition

F32 = torch.float32


def make(shape, dtype):
    """As helpers.make, on the device of the target."""
    return helpers.make(shape, dtype, target().device)


def run(fd, inputs):
    """Outputs of a run as kernels."""
    return fd.execute(inputs, device=target().device, _enable_options=list(target().options))


def here(values, dtype=None):
    """A tensor of these values on the device of the target."""
    return torch.tensor(values, dtype=dtype).to(target().device)


def kernels_of(fd):
    """The scheduler of each kernel of the last run, and what was left to ATen."""
    heads = [line for line in fd.fec.get_most_recent_scheduled_ir().splitlines() if line.startswith("segment ")]
    heads = [line.split(" (", 1)[1] for line in heads]
    return [h.split(":")[0] for h in heads if not h.startswith("aten")], [h for h in heads if h.startswith("aten")]


def through_aten(fd, inputs):
    """Outputs of a run without kernels."""
    return fd.execute(inputs, device=target().device, _disable_options=["generated_kernels"])


def both(fd, inputs, seed=5, libraries=("a view",)):
    """Outputs of a run as kernels and of one through ATen, each after the same seed."""
    torch.manual_seed(seed)
    found = run(fd, inputs)
    state = target().rng_state()
    made, others = kernels_of(fd)
    torch.manual_seed(seed)
    wanted = through_aten(fd, inputs)
    assert torch.equal(state, target().rng_state())
    assert made and all(reason.removeprefix("aten: ").startswith(libraries) for reason in others), (made, others)
    return found, wanted


def assert_numbers(found, wanted, normal):
    """Uniform numbers are equal; of normal ones logarithm, sine and cosine are other functions here."""
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        if normal and a.dtype.is_floating_point:
            eps = torch.finfo(a.dtype).eps
            torch.testing.assert_close(a, b, rtol=8 * eps, atol=8 * eps)
            assert a.dtype == torch.float64 or (a != b).double().mean() < 1e-3 or a.numel() < 4000
        else:
            assert torch.equal(a, b)


# --- random numbers ---

SIZES = [(1,), (2,), (3,), (5,), (511,), (513,), (7, 3), (3, 517), (129, 65), (2, 5, 31), (20000,), (4100, 3)]


@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_random_sizes(name, dtype):
    for shape in SIZES:
        x = make(shape, dtype)

        def build(fd, t):
            return fd.ops.cast(fd.ops.mul(getattr(fd.ops, name)(t), 2.0), NVF[dtype])

        assert_numbers(*both(define(build, [x]), [x]), name == "randn_like")


@pytest.mark.parametrize("shape", [(7, 37), (2, 1031), (5, 528), (3, 17)], ids=str)
def test_random_numbers_in_rows_of_constant_length(shape):
    """Such rows end with a vector that overlaps the one before it."""
    x = make(shape, F32)

    def build(fd, t):
        kept = fd.ops.mul(t, fd.ops.lt(fd.ops.rand_like(t), 0.5))
        return [fd.ops.sum(kept, [1]), fd.ops.add(fd.ops.rand_like(t), t), fd.ops.mul(fd.ops.randn_like(t), t)]

    found, wanted = both(define(build, [x], static_sizes=True), [x])
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-5, atol=1e-5)
    assert_numbers(found[1:], wanted[1:], True)


@pytest.mark.parametrize("dims", [[0], [1]], ids=str)
def test_a_normalization_of_a_dropout(dims):
    """Several passes over a row see one mask."""
    x, y = make((37, 1100), F32), make((37, 1100), F32)

    def build(fd, t, u):
        s = fd.ops.add(fd.ops.mul(t, fd.ops.lt(fd.ops.rand_like(t), 0.9)), u)
        variance, mean = fd.ops.var_mean(s, dims, 0, True)
        return fd.ops.mul(fd.ops.sub(s, mean), fd.ops.rsqrt(fd.ops.add(variance, 1e-5)))

    found, wanted = both(define(build, [x, y]), [x, y])
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)], ids=str)
def test_random_degenerate(shape):
    x = make(shape, F32)

    def build(fd, t):
        return [fd.ops.add(fd.ops.rand_like(t), t), fd.ops.add(fd.ops.randn_like(t), t)]

    fd = define(build, [x])
    found, wanted = both(fd, [x]) if x.numel() else (run(fd, [x]), through_aten(fd, [x]))
    assert_numbers(found, wanted, True)


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_random_with_given_seed_and_parameters(name, dtype):
    with FusionDefinition() as fd:
        seed, offset = fd.define_scalar(DataType.Int), fd.define_scalar(DataType.Int)
        a, b = fd.define_scalar(DataType.Double), fd.define_scalar(DataType.Double)
        drawn = getattr(fd.ops, name)(a, b, [13, 37], rng_seed=seed, rng_offset=offset, dtype=NVF[dtype])
        fd.add_output(fd.ops.cast(fd.ops.neg(drawn), NVF[dtype]))
    before = target().rng_state()
    for case in [(3, 1, -1.0, 2.5), (2**63 - 1, 2**40, 0.0, 1.0), (-5, 0, 2.0, 2.0), (0, 7, 0.5, 0.75)]:
        found = run(fd, list(case))
        # The first of them is the run that made its plan.
        assert case[0] != 3 or kernels_of(fd)[0]
        wanted = through_aten(fd, list(case))
        assert_numbers(found, wanted, name == "normal")
    assert torch.equal(before, target().rng_state())
    for bad in [(0, 0, 1.0, -1.0), (0, 0, -math.inf, 1.0)]:
        if name == "uniform":
            with pytest.raises(RuntimeError, match="range"):
                run(fd, list(bad))


def test_random_nodes_of_one_kernel_take_slots_in_order():
    x = make((9, 70), F32)

    def build(fd, t):
        first, second, third = fd.ops.rand_like(t), fd.ops.randn_like(t), fd.ops.rand_like(t)
        return [fd.ops.add(t, third), fd.ops.sub(fd.ops.mul(first, second), t)]

    fd = define(build, [x])
    assert_numbers(*both(fd, [x]), True)
    # The second run goes on where the first one stopped.
    torch.manual_seed(5)
    runs = [run(fd, [x]) for _ in range(2)]
    torch.manual_seed(5)
    plain = [through_aten(fd, [x]) for _ in range(2)]
    for found, wanted in zip(runs, plain, strict=True):
        assert_numbers(found, wanted, True)
    assert not torch.equal(runs[0][0], runs[1][0])


def test_random_numbers_do_not_depend_on_how_they_are_read():
    """Transposed, broadcast, sliced, padded, joined and reduced: element e is element e."""
    x, y = make((24, 40), F32), make((40, 24), F32)

    def build(fd, t, u):
        drawn = fd.ops.rand_like(t)
        wide = fd.ops.broadcast_in_dim(fd.ops.uniform(0.0, 1.0, [40]), [24, 40], [1])
        tall = fd.ops.broadcast_in_dim(fd.ops.normal(0.0, 1.0, [24]), [24, 40], [0])
        return [
            fd.ops.add(fd.ops.permute(drawn, [1, 0]), u),
            fd.ops.mul(fd.ops.add(wide, tall), t),
            fd.ops.mul(fd.ops.slice(drawn, [3, 5], [20, 38]), 2.0),
            fd.ops.mul(fd.ops.pad(drawn, [2, 3, 1, 0]), 2.0),
            fd.ops.add(fd.ops.cat([drawn, t], 1), 1.0),
            fd.ops.mul(fd.ops.reshape(drawn, [10, 96]), 3.0),
        ]

    assert_numbers(*both(define(build, [x, y]), [x, y]), True)


@pytest.mark.parametrize("dims", [[0], [1], [0, 1]], ids=str)
def test_random_numbers_in_reductions(dims):
    x = make((33, 517), F32)

    def build(fd, t):
        kept = fd.ops.mul(t, fd.ops.lt(fd.ops.rand_like(t), 0.5))
        return [fd.ops.sum(kept, dims), kept]

    found, wanted = both(define(build, [x]), [x])
    assert torch.equal(found[1], wanted[1])
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_dropout_of_a_softmax(dtype):
    x = make((19, 131), dtype)

    def build(fd, t):
        wide = fd.ops.cast(t, DataType.Float)
        e = fd.ops.exp(fd.ops.sub(wide, fd.ops.max(wide, [1], keepdim=True)))
        y = fd.ops.div(e, fd.ops.sum(e, [1], keepdim=True))
        mask = fd.ops.lt(fd.ops.uniform(0.0, 1.0, t.shape()), 0.75)
        return [fd.ops.cast(fd.ops.mul(fd.ops.mul(y, mask), 1 / 0.75), NVF[dtype]), mask]

    found, wanted = both(define(build, [x]), [x])
    assert torch.equal(found[1], wanted[1])
    eps = torch.finfo(dtype).eps if dtype != torch.float64 else torch.finfo(F32).eps
    torch.testing.assert_close(found[0], wanted[0], rtol=4 * eps, atol=4 * eps)


def test_a_mask_that_two_segments_use():
    """Each computes it for itself; both see the same one, and so does ATen between them."""
    x, w = make((32, 48), F32), make((48, 48), F32)

    def build(fd, t, w):
        mask = fd.ops.lt(fd.ops.rand_like(t), 0.5)
        hidden = fd.ops.matmul(fd.ops.mul(t, mask), w)
        return [fd.ops.mul(hidden, mask), fd.ops.cast(mask, DataType.Float)]

    found, wanted = both(define(build, [x, w]), [x, w], libraries=("MatmulOp",))
    assert torch.equal(found[1], wanted[1])
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-5, atol=1e-4)
    assert torch.equal(found[0] == 0, found[1] == 0)


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_random_numbers_that_are_outputs_or_operands_of_a_library(dtype):
    with FusionDefinition() as fd:
        drawn = fd.ops.uniform(-1.0, 1.0, [33, 47], dtype=NVF[dtype])
        fd.add_output(drawn)
        fd.add_output(fd.ops.matmul(drawn, fd.ops.normal(0.0, 1.0, [47, 5], dtype=NVF[dtype])))
        fd.add_output(fd.ops.permute(drawn, [1, 0]))
    found, wanted = both(fd, [], libraries=("MatmulOp", "a view"))
    assert torch.equal(found[0], wanted[0]) and torch.equal(found[2], wanted[2])
    tolerance = 20 * torch.finfo(dtype).eps
    torch.testing.assert_close(found[1], wanted[1], rtol=tolerance, atol=tolerance)


def test_random_numbers_of_many_threads():
    x = torch.zeros(1 << 18, device=target().device)
    fd = define(lambda fd, t: fd.ops.add(t, fd.ops.rand_like(t)), [x])
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            torch.manual_seed(1)
            results.append(run(fd, [x])[0])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


# --- every operation of the tables, for every dtype ---

UNARY = """abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf erfc erfcinv erfinv exp exp2 expm1 floor frac
isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not neg real reciprocal relu round rsqrt
sigmoid sign signbit silu sin sinh sqrt tan tanh trunc""".split()
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div eq fmod gcd ge gt le
logical_and logical_or logical_right_shift lt maximum minimum mod mul ne nextafter pow remainder sub truediv""".split()
TESTED = [*FLOATS, *INTS, torch.bool]


def special(dtype, other=False):
    """Values at the ends of the range and between; with `other` in another order, and no zeros among integers."""
    if dtype == torch.bool:
        return here(([False, True, True, False] if other else [False, True, False, True]) * 5)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        values = [info.min, info.max, info.min + 1, -1, 1, 2, -2, 3, -3, 7, -16, 31, 33, 63, 64, 1000, -1001]
        values = [*values[3:], *values[:3], 5] if other else [*values, 0]
        return here(values + values[::-1], dtype)
    inf, nan = math.inf, math.nan
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.75,
        2.0,
        -3.5,
        0.999,
        1e-6,
        -1e-6,
        30.0,
        -30.0,
        1e4,
        inf,
        -inf,
        nan,
        1.25,
        2.5,
    ]
    values = values[7:] + values[:7] if other else values
    return here(values + values[::-1], dtype)


EPS = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 3e-6, torch.float64: 1e-14}


def on_gpu() -> bool:
    return target().device.startswith("cuda")


def assert_same_results(cases, inputs, tolerance=0.0):
    """Each case (a name and a builder) gives the same numbers both ways, or raises both ways.

    Those that do not raise are compiled into one kernel.
    """
    good = {}
    for name, build in cases.items():
        try:
            fd = define(build, inputs)
        except RuntimeError:
            continue  # not defined for these dtypes
        try:
            good[name] = build, through_aten(fd, inputs)[0]
        except RuntimeError:
            with pytest.raises(RuntimeError):
                run(fd, inputs)
    fd = define(lambda fd, *symbols: [build(fd, *symbols) for build, _ in good.values()], inputs)
    found = run(fd, inputs)
    made, others = kernels_of(fd)
    if on_gpu():
        # ATen has some operations there that it has not on the CPU.
        others = [other for other in others if "has no text" not in other]
    assert made and not others, others
    for name, a in zip(good, found, strict=True):
        b = good[name][1]
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        message = lambda text, name=name: f"{name}: {text}"  # noqa: E731
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True, msg=message)
    return set(good)


@pytest.mark.parametrize("dtype", TESTED, ids=dtype_id)
def test_unary(dtype, capfd):
    cases = {name: lambda fd, t, name=name: getattr(fd.ops, name)(t) for name in UNARY}
    good = assert_same_results(cases, [special(dtype)], EPS.get(dtype, 3e-6))
    assert "does not compile" not in capfd.readouterr().err
    assert len(good) >= 36, sorted(good)


@pytest.mark.parametrize("dtype", TESTED, ids=dtype_id)
def test_binary(dtype, capfd):
    cases = {name: lambda fd, a, b, name=name: getattr(fd.ops, name)(a, b) for name in BINARY if name != "pow"}
    good = assert_same_results(cases, [special(dtype), special(dtype, other=True)], EPS.get(dtype, 3e-6))
    assert "does not compile" not in capfd.readouterr().err
    assert len(good) >= 15, sorted(good)


@pytest.mark.parametrize("dtype", TESTED, ids=dtype_id)
def test_pow(dtype):
    a, b = special(dtype), special(dtype, other=True)
    if dtype.is_floating_point:
        a, b = a[:14], b[:14]
    elif on_gpu():
        keep = (a != 0) & (a > -1000) & (a < 1000)  # it divides by powers there, which may wrap to 0
        a, b = a[keep], b[keep]
    cases = {"tensors": lambda fd, a, b: fd.ops.pow(a, b)}
    for number in (-3, -2, -1, 0, 1, 2, 3, 31, 0.5, -0.5, 1.5):
        cases[f"{number}"] = lambda fd, a, b, number=number: fd.ops.pow(a, number)
    if dtype != torch.bool:
        assert "tensors" in assert_same_results(cases, [a, b], EPS.get(dtype, 3e-6))


@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
def test_integers_wrap(dtype):
    """No compiler concludes from a sum that it does not overflow."""
    x = special(dtype)
    cases = {
        "add": lambda fd, t: fd.ops.gt(fd.ops.add(t, 1), t),
        "sub": lambda fd, t: fd.ops.lt(fd.ops.sub(t, 1), t),
        "mul": lambda fd, t: fd.ops.div(fd.ops.mul(t, 2), 2),
        "neg": lambda fd, t: fd.ops.ge(fd.ops.neg(fd.ops.abs(t)), 0),
    }
    assert len(assert_same_results(cases, [x])) == 4


@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
@pytest.mark.parametrize("name", ["div", "mod", "fmod", "remainder"])
@pytest.mark.parametrize("divisor", [1, -1, 3, -7, 16, 2**20])
def test_integers_divided_by_numbers(name, dtype, divisor):
    x = special(dtype)
    assert assert_same_results({name: lambda fd, t: getattr(fd.ops, name)(t, divisor)}, [x])
    fd = define(lambda fd, t, n: getattr(fd.ops, name)(t, n), [x, divisor])
    (found,) = run(fd, [x, divisor])
    assert torch.equal(found, through_aten(fd, [x, divisor])[0])


@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
@pytest.mark.parametrize("name", ["div", "mod", "fmod", "remainder"])
@pytest.mark.parametrize("n", [1, 5, 40000])
def test_division_of_integers_by_zero(name, dtype, n):
    if target().is_cuda_text:
        pytest.skip("as in eager, a GPU reports no division by zero")
    a, b = torch.arange(n, dtype=dtype), torch.arange(1, n + 1, dtype=dtype)
    fd = define(lambda fd, a, b: fd.ops.add(getattr(fd.ops, name)(a, b), 1), [a, b])
    run(fd, [a, b])
    assert kernels_of(fd)[0]
    b[n // 2] = 0
    for execute in (run, through_aten):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            execute(fd, [a, b])
    b[n // 2] = 1
    run(fd, [a, b])
    for zero in (0, False):
        with pytest.raises(RuntimeError):
            fd = define(lambda fd, a, zero=zero: getattr(fd.ops, name)(a, zero), [a])
            run(fd, [a])


def test_what_nobody_needs_is_not_divided():
    """Padding and joining compute some elements of an operand in vain: those divide by nothing."""
    a, b = here(range(12)).reshape(3, 4), here(range(1, 13)).reshape(3, 4)

    cases = {
        "pad": lambda fd, a, b: fd.ops.pad(fd.ops.div(a, b), [1, 2, 3, 0]),
        "cat": lambda fd, a, b: fd.ops.cat([fd.ops.remainder(a, b), a], 1),
        "sum": lambda fd, a, b: fd.ops.sum(fd.ops.pad(fd.ops.fmod(a, b), [5, 0]), [0, 1]),
    }
    for name, build in cases.items():
        assert assert_same_results({name: build}, [a, b])


@pytest.mark.parametrize("dtype", TESTED, ids=dtype_id)
def test_lerp_threshold_clamp_where(dtype):
    x, y = special(dtype), special(dtype, other=True)
    assert_same_results(
        {"lerp": lambda fd, a, b: fd.ops.lerp(a, b, a), "where": lambda fd, a, b: fd.ops.where(fd.ops.lt(a, b), a, b)},
        [x[:12], y[:12]],
        EPS.get(dtype, 0.0),
    )
    cases = {}
    for bound in (1, -2, 0.5, 1.0001, 2.5, math.inf):
        for value in (0, 3, -7):
            cases[f"threshold {bound} {value}"] = lambda fd, a, b=bound, v=value: fd.ops.threshold(a, b, v)
    for low, high in [(-2, 3), (3, -2), (None, 1), (0.5, None), (0.5, 1.5), (math.nan, 1)]:
        cases[f"clamp {low} {high}"] = lambda fd, a, low=low, high=high: fd.ops.clamp(a, low, high)
    assert len(assert_same_results(cases, [x])) >= 18


@pytest.mark.parametrize("source", TESTED, ids=dtype_id)
def test_casts_at_the_ends_of_the_range(source):
    x = special(source)
    if source.is_floating_point:
        more = [3e9, -3e9, 1e19, -1e19, 2147483647.5, 2147483648.0, -2147483649.0, 9.3e18, 1e38, 65520.0, 1e-8, 3.4e38]
        x = torch.cat([x, here(more, torch.float64).to(source)])
        if target().name == "emulated":
            x = x[x.abs() < 2**31]  # what no integer holds becomes another one on a GPU
    elif source == torch.int64:
        x = torch.cat([x, here([2**24 + 1, 2**53 + 1, 2**62 + 1, 2**63 - 513, -(2**40) - 1, 16777217 * 3])])
    x = x.repeat(3)
    cases = {str(t): lambda fd, a, t=t: fd.ops.cast(a, NVF[t]) for t in TESTED if t != source}
    assert len(assert_same_results(cases, [x])) == 6
    for dtype in TESTED:
        (found,) = run(define(lambda fd, a, t=dtype: fd.ops.cast(a, NVF[t]), [x]), [x])
        assert torch.equal(found.nan_to_num(7), x.to(dtype).nan_to_num(7))


def test_inverses_of_erf():
    ends = here([1.0, -1.0, 0.0, 1.5, -1.5, math.nan, 1 - 2**-53, 1e-300, -1e-20, 0.5, -0.5, 0.49999], torch.float64)
    for dtype, tolerance in [(torch.float32, 2e-6), (torch.float64, 1e-12)]:
        x = torch.cat(
            [here(torch.linspace(-0.9999, 0.9999, 4001, dtype=torch.float64).tolist(), torch.float64), ends]
        ).to(dtype)
        (found,) = run(define(lambda fd, t: fd.ops.erfinv(t), [x]), [x])
        torch.testing.assert_close(found, torch.erfinv(x), rtol=tolerance, atol=0, equal_nan=True)
        y = here([*torch.logspace(-30, 0, 501, dtype=torch.float64).tolist(), 0.0, 2.0, 2.5, -1.0], dtype)
        y = torch.cat([y, 2 - y])
        (found,) = run(define(lambda fd, t: fd.ops.erfcinv(t), [y]), [y])
        inside = (y > 0) & (y < 2)
        torch.testing.assert_close(torch.erfc(found[inside]), y[inside], rtol=80 * tolerance, atol=0)
        assert found[y == 0].eq(math.inf).all() and found[y == 2].eq(-math.inf).all()
        assert found[(y < 0) | (y > 2)].isnan().all()


def test_unsigned_numbers():
    if on_gpu():
        pytest.skip("ATen has no bitwise operations on UInt64 on a GPU to compare with")

    def make_fd(build):
        with FusionDefinition() as fd:
            a, b = (fd.define_tensor([-1, -1], [True, True], dtype=DataType.UInt64) for _ in range(2))
            for output in build(fd, a, b):
                fd.add_output(output)
        return fd

    a = here([[0, 1, 2**62], [2**63 - 1, 5, 9]]).to(torch.uint64)
    b = here([[-1, 7, -(2**63)], [3, -5, 9]]).view(torch.uint64)

    def build(fd, a, b):
        return [
            fd.ops.bitwise_xor(a, b),
            fd.ops.cast(b, DataType.Double),
            fd.ops.cast(b, DataType.Int),
            fd.ops.cast(fd.ops.cast(b, DataType.Int32), DataType.UInt64),
            fd.ops.where(fd.ops.lt(fd.ops.cast(a, DataType.Int), 3), a, b),
            fd.ops.permute(fd.ops.bitwise_or(a, b), [1, 0]),
        ]

    fd = make_fd(build)
    found = run(fd, [a, b])
    assert kernels_of(fd)[0]
    wanted = through_aten(fd, [a, b])
    for x, y in zip(found, wanted, strict=True):
        assert x.dtype == y.dtype
        x, y = (t.contiguous().view(torch.int64) if t.dtype == torch.uint64 else t for t in (x, y))
        assert torch.equal(x, y)
