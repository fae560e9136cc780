"""rand_like, randn_like, uniform, normal: ranges, moments, seeds and offsets."""

import pytest
import torch
from helpers import FLOATS, FULLS, INTS, NVF, define, dtype_id, from_text, make, refused
from nvfuser_direct import DataType, FusionDefinition


def seeded(fd, inputs, seed=7, device="cpu"):
    """Outputs of a run after torch's generator was seeded."""
    torch.manual_seed(seed)
    return fd.execute(inputs, device=device)


@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_like(name, dtype, device):
    for shape in [(), (0,), (1,), (7,), (3, 5), (2, 0, 3)]:
        x = make(shape, dtype, device)
        fd = define(lambda fd, t: getattr(fd.ops, name)(t), [x])
        text = repr(fd)
        (first,) = seeded(fd, [x], device=device)
        (again,) = seeded(fd, [x], device=device)
        (printed,) = seeded(from_text(text), [x], device=device)
        assert first.shape == shape and first.dtype == dtype and first.device.type == device
        assert torch.equal(first, again) and torch.equal(first, printed)


@pytest.mark.parametrize("dtype", INTS + (torch.bool,), ids=dtype_id)
@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
def test_like_needs_a_floating_tensor(name, dtype):
    refused(lambda fd, t: getattr(fd.ops, name)(t), [make((3,), dtype)])


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_uniform_range_and_moments(dtype, device):
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.uniform(-2.0, 3.0, [200, 200], dtype=NVF[dtype]))
    (x,) = seeded(fd, [], device=device)
    assert x.dtype == dtype and x.shape == (200, 200) and x.device.type == device
    values = x.double()
    assert values.min() >= -2.0 and values.max() < 3.0
    assert abs(values.mean().item() - 0.5) < 4 * 5 / 12**0.5 / 200
    assert abs(values.var().item() - 25 / 12) < 0.1


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_normal_moments(dtype, device):
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.normal(1.0, 2.0, [200, 200], dtype=NVF[dtype]))
    (x,) = seeded(fd, [], device=device)
    assert x.dtype == dtype and x.shape == (200, 200)
    values = x.double()
    assert values.isfinite().all()
    assert abs(values.mean().item() - 1.0) < 4 * 2 / 200
    assert abs(values.std().item() - 2.0) < 0.05
    assert 0.66 < ((values - 1).abs() < 2).double().mean().item() < 0.71


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=dtype_id)
def test_uniform_never_reaches_its_upper_end(dtype):
    """Rounding to a short dtype must not produce maxval."""
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.uniform(0.0, 1.0, [16, 1024], dtype=NVF[dtype]))
    total, count = 0.0, 0
    for seed in range(12):
        (x,) = seeded(fd, [], seed=seed)
        assert x.max() < 1.0 and x.min() >= 0.0
        total, count = total + x.double().sum().item(), count + x.numel()
    # A short dtype rounds down near the end, so allow half a step besides four standard errors.
    assert abs(total / count - 0.5) < 4 / (12 * count) ** 0.5 + torch.finfo(dtype).eps / 2


@pytest.mark.parametrize("name", ["uniform", "normal"])
@pytest.mark.parametrize("dtype", FULLS, ids=dtype_id)
def test_same_seed_same_values_and_a_further_call_differs(name, dtype):
    with FusionDefinition() as fd:
        fd.add_output(getattr(fd.ops, name)(0.0, 1.0, [4, 6], dtype=NVF[dtype]))
    (first,) = seeded(fd, [])
    (second,) = fd.execute([], device="cpu")
    (other_seed,) = seeded(fd, [], seed=8)
    (again,) = seeded(fd, [])
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert not torch.equal(first, other_seed)


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_two_ops_of_one_fusion_draw_different_values(name):
    with FusionDefinition() as fd:
        for _ in range(2):
            fd.add_output(getattr(fd.ops, name)(0.0, 1.0, [50], dtype=DataType.Float))
    first, second = seeded(fd, [])
    assert not torch.equal(first, second)


@pytest.mark.parametrize("name", ["uniform", "normal"])
@pytest.mark.parametrize("dtype", FULLS, ids=dtype_id)
def test_explicit_seed_and_offset(name, dtype, device):
    """Run i of a stateful fusion with one random op equals the explicit run with rng_offset=i."""
    with FusionDefinition() as stateful:
        stateful.add_output(getattr(stateful.ops, name)(-1.0, 2.0, [5, 3], dtype=NVF[dtype]))
    with FusionDefinition() as explicit:
        seed, offset = explicit.define_scalar(DataType.Int), explicit.define_scalar(DataType.Int)
        output = getattr(explicit.ops, name)(-1.0, 2.0, [5, 3], rng_seed=seed, rng_offset=offset, dtype=NVF[dtype])
        explicit.add_output(output)
    if device == "cuda":
        torch.cuda.manual_seed(11)
    torch.manual_seed(11)
    for i in range(3):
        (from_state,) = stateful.execute([], device=device)
        (given,) = explicit.execute([11, i], device=device)
        assert torch.equal(from_state, given), i


def test_explicit_runs_do_not_touch_the_generator():
    with FusionDefinition() as fd:
        seed, offset = fd.define_scalar(3), fd.define_scalar(1)
        fd.add_output(fd.ops.uniform(0.0, 1.0, [5], rng_seed=seed, rng_offset=offset, dtype=DataType.Float))
    torch.manual_seed(0)
    before = torch.get_rng_state()
    (first,) = fd.execute([], device="cpu")
    assert torch.equal(before, torch.get_rng_state())
    (second,) = fd.execute([], device="cpu")
    assert torch.equal(first, second)
    assert torch.rand(3).shape == (3,)


def test_symbolic_bounds_and_sizes():
    with FusionDefinition() as fd:
        low, high, n = (
            fd.define_scalar(DataType.Double),
            fd.define_scalar(DataType.Double),
            fd.define_scalar(DataType.Int),
        )
        fd.add_output(fd.ops.uniform(low, high, [n, 2], dtype=DataType.Double))
    for count in (100, 3, 0):
        (x,) = seeded(fd, [5.0, 6.0, count])
        assert x.shape == (count, 2)
        assert ((x >= 5.0) & (x < 6.0)).all()


def test_shape_of_another_tensor():
    x = make((3, 4), torch.float32)
    fd = define(lambda fd, t: fd.ops.add(t, fd.ops.normal(0.0, 1.0, t.shape(), dtype=DataType.Float)), [x])
    (first,) = seeded(fd, [x])
    assert first.shape == (3, 4) and not torch.equal(first, x)


def test_default_dtype_is_float():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.uniform(0.0, 1.0, [3]))
        fd.add_output(fd.ops.normal(0.0, 1.0, [3]))
    assert [t.dtype for t in seeded(fd, [])] == [torch.float32, torch.float32]


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_errors(name):
    with FusionDefinition() as fd:
        op = getattr(fd.ops, name)
        for dtype in (DataType.Int, DataType.Int32, DataType.Bool, DataType.ComplexFloat, DataType.ComplexDouble):
            with pytest.raises(RuntimeError, match="Random distributions only create floating point types"):
                op(0.0, 1.0, [2], dtype=dtype)
        with pytest.raises(RuntimeError):
            op(0.0, 1.0, [2], rng_seed=fd.define_scalar(1))
        with pytest.raises(RuntimeError):
            op(0.0, 1.0, [2], rng_offset=fd.define_scalar(1))
        with pytest.raises(RuntimeError):
            op(0.0, 1.0, [2, -3])
        for arguments in [(), (0.0,), (0.0, 1.0), (0.0, 1.0, 2), ("a", 1.0, [2])]:
            with pytest.raises(TypeError):
                op(*arguments)
        fd.add_output(op(0.0, 1.0, [2]))


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_the_printed_form_draws_the_same(name):
    with FusionDefinition() as fd:
        op = getattr(fd.ops, name)
        fd.add_output(op(0.0, 1.0, [3, 2]))
        fd.add_output(op(-1.5, 0.5, [4], dtype=DataType.Double))
        fd.add_output(
            op(0.5, 2.5, [4], rng_seed=fd.define_scalar(3), rng_offset=fd.define_scalar(9), dtype=DataType.BFloat16)
        )
    text = repr(fd)
    for first, second in zip(seeded(fd, []), seeded(from_text(text), []), strict=True):
        assert first.dtype == second.dtype and torch.equal(first, second)


def test_slots_follow_the_outputs_and_not_the_order_of_definition():
    """A node that no output needs takes no slot, and the printed form, which is made in reading order, draws the same."""
    with FusionDefinition() as fd:
        late, _, early = (fd.ops.uniform(0.0, 1.0, [8]) for _ in range(3))
        fd.add_output(early)
        fd.add_output(late)
    text = repr(fd)
    first = seeded(fd, [])
    for a, b in zip(first, seeded(from_text(text), []), strict=True):
        assert torch.equal(a, b)
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.uniform(0.0, 1.0, [8]))
    torch.manual_seed(7)
    assert torch.equal(fd.execute([], device="cpu")[0], first[0])
    assert torch.equal(fd.execute([], device="cpu")[0], first[1])


def test_dropout_of_a_broadcast_operand_keeps_rows_equal():
    """The mask is drawn for the small tensor and then stretched."""
    x, ones = torch.ones(64), torch.ones(16, 64)

    def build(fd, t, u):
        mask = fd.ops.lt(fd.ops.uniform(0.0, 1.0, t.shape(), dtype=DataType.Float), 0.7)
        return fd.ops.mul(fd.ops.mul(t, mask), u)

    (result,) = seeded(define(build, [x, ones]), [x, ones])
    assert torch.equal(result, result[:1].expand(16, 64))
    assert 0 < result[0].sum() < 64


def test_grad_mode_of_an_input_does_not_change_the_values():
    x = torch.ones(5, 4)
    fd = define(
        lambda fd, t: [fd.ops.mul(t, fd.ops.rand_like(t)), fd.ops.add(fd.ops.rand_like(t), t), fd.ops.rand_like(t)], [x]
    )
    plain = seeded(fd, [x])
    recorded = seeded(fd, [x.clone().requires_grad_(True)])
    for a, b in zip(plain, recorded, strict=True):
        assert torch.equal(a, b) and not b.requires_grad


def test_neighbouring_values_are_uncorrelated():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.normal(0.0, 1.0, [20000], dtype=DataType.Double))
    (x,) = seeded(fd, [])
    for lag in (1, 2, 3, 4, 8):
        assert abs((x[:-lag] * x[lag:]).mean().item()) < 4 / 20000**0.5


@pytest.mark.cuda
def test_the_cuda_generator_moves_by_4_for_each_op_and_run():
    with FusionDefinition() as fd:
        for _ in range(3):
            fd.add_output(fd.ops.uniform(0.0, 1.0, [8]))
    torch.cuda.manual_seed(5)
    generator = torch.cuda.default_generators[0]
    for run in range(4):
        assert generator.get_offset() == 12 * run
        fd.execute([], device="cuda")
    assert generator.initial_seed() == 5 and generator.get_offset() == 48


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["uniform", "normal"])
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_cuda_and_cpu_draw_the_same_numbers(name, dtype):
    with FusionDefinition() as fd:
        seed, offset = fd.define_scalar(2**40 + 3), fd.define_scalar(9)
        fd.add_output(getattr(fd.ops, name)(-1.0, 2.0, [1001], rng_seed=seed, rng_offset=offset, dtype=NVF[dtype]))
    (on_cpu,), (on_cuda,) = fd.execute([], device="cpu"), fd.execute([], device="cuda")
    torch.testing.assert_close(on_cuda.cpu(), on_cpu)


@pytest.mark.cuda
def test_each_replay_of_a_cuda_graph_draws_anew():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.uniform(0.0, 1.0, [512]))
        fd.add_output(fd.ops.normal(0.0, 1.0, [512]))
    fd.execute([], device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = fd.execute([], device="cuda")

    def replay():
        graph.replay()
        return [t.clone() for t in outputs]

    torch.cuda.manual_seed(1)
    first, second = replay(), replay()
    torch.cuda.manual_seed(1)
    again = replay()
    for a, b, c in zip(first, second, again, strict=True):
        assert not torch.equal(a, b) and torch.equal(a, c)
    assert first[0].min() >= 0 and first[0].max() < 1 and abs(first[0].mean().item() - 0.5) < 0.1
    assert not torch.equal(first[0], first[1])
