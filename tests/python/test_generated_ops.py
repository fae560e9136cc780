"""Single operations inside generated CPU kernels: the numbers are those of ATen's evaluation, for all dtypes and sizes."""

import math

import pytest
import torch
from helpers import FLOATS, NVF, define, dtype_id, make
from nvfuser_direct import DataType, FusionDefinition

OPTIONS = ["generated_kernels", "check_kernels"]
F32 = torch.float32


def kernels_of(fd):
    """The scheduler of each kernel of the last run, and what was left to ATen."""
    heads = [line for line in fd.fec.get_most_recent_scheduled_ir().splitlines() if line.startswith("segment ")]
    heads = [line.split(" (", 1)[1] for line in heads]
    return [h.split(":")[0] for h in heads if not h.startswith("aten")], [h for h in heads if h.startswith("aten")]


def through_aten(fd, inputs):
    """Outputs of a run without kernels, whatever the default."""
    try:
        return fd.execute(inputs, device="cpu", _disable_options=["generated_kernels"])
    except RuntimeError as error:
        assert "option" in str(error)
        return fd.execute(inputs, device="cpu")


def both(fd, inputs, seed=5, libraries=("a view",)):
    """Outputs of a run as kernels and of one through ATen, each after the same seed."""
    torch.manual_seed(seed)
    found = fd.execute(inputs, device="cpu", _enable_options=OPTIONS)
    state = torch.get_rng_state()
    made, others = kernels_of(fd)
    torch.manual_seed(seed)
    wanted = through_aten(fd, inputs)
    assert torch.equal(state, torch.get_rng_state())
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


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)], ids=str)
def test_random_degenerate(shape):
    x = make(shape, F32)

    def build(fd, t):
        return [fd.ops.add(fd.ops.rand_like(t), t), fd.ops.add(fd.ops.randn_like(t), t)]

    fd = define(build, [x])
    found, wanted = both(fd, [x]) if x.numel() else (fd.execute([x], _enable_options=OPTIONS), through_aten(fd, [x]))
    assert_numbers(found, wanted, True)


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_random_with_given_seed_and_parameters(name, dtype):
    with FusionDefinition() as fd:
        seed, offset = fd.define_scalar(DataType.Int), fd.define_scalar(DataType.Int)
        a, b = fd.define_scalar(DataType.Double), fd.define_scalar(DataType.Double)
        drawn = getattr(fd.ops, name)(a, b, [13, 37], rng_seed=seed, rng_offset=offset, dtype=NVF[dtype])
        fd.add_output(fd.ops.cast(fd.ops.neg(drawn), NVF[dtype]))
    before = torch.get_rng_state()
    for case in [(3, 1, -1.0, 2.5), (2**63 - 1, 2**40, 0.0, 1.0), (-5, 0, 2.0, 2.0), (0, 7, 0.5, 0.75)]:
        found = fd.execute(list(case), device="cpu", _enable_options=OPTIONS)
        assert kernels_of(fd)[0]
        wanted = through_aten(fd, list(case))
        assert_numbers(found, wanted, name == "normal")
    assert torch.equal(before, torch.get_rng_state())
    for bad in [(0, 0, 1.0, -1.0), (0, 0, -math.inf, 1.0)]:
        if name == "uniform":
            with pytest.raises(RuntimeError, match="range"):
                fd.execute(list(bad), device="cpu", _enable_options=OPTIONS)


def test_random_nodes_of_one_kernel_take_slots_in_order():
    x = make((9, 70), F32)

    def build(fd, t):
        first, second, third = fd.ops.rand_like(t), fd.ops.randn_like(t), fd.ops.rand_like(t)
        return [fd.ops.add(t, third), fd.ops.sub(fd.ops.mul(first, second), t)]

    fd = define(build, [x])
    assert_numbers(*both(fd, [x]), True)
    # The second run goes on where the first one stopped.
    torch.manual_seed(5)
    runs = [fd.execute([x], _enable_options=OPTIONS) for _ in range(2)]
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


def test_random_numbers_of_many_threads():
    x = torch.zeros(1 << 18)
    fd = define(lambda fd, t: fd.ops.add(t, fd.ops.rand_like(t)), [x])
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            torch.manual_seed(1)
            results.append(fd.execute([x], _enable_options=OPTIONS)[0])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
