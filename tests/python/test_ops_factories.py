"""full and iota against torch."""

import pytest
import torch
from helpers import ALL_DTYPES, FLOATS, INTS, NVF, assert_values, dtype_id, make, run, run1
from nvfuser_direct import DataType, FusionDefinition


def no_inputs(build, device="cpu"):
    """Outputs of a fusion without inputs."""
    return run(build, [], device=device)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
@pytest.mark.parametrize("shape", [[], [0], [1], [3], [2, 3], [2, 0, 3], [1, 1]], ids=str)
def test_full(shape, dtype, device):
    value = True if dtype == torch.bool else 3 if dtype in INTS else 1.5 + 2j if dtype.is_complex else 1.5

    def build(fd):
        return [
            fd.ops.full(shape, value, NVF[dtype]),
            fd.ops.full(shape=tuple(shape), fill_value=value, dtype=NVF[dtype]),
            fd.ops.full(shape, fd.define_scalar(value, dtype=NVF[dtype]), NVF[dtype]),
        ]

    for result in no_inputs(build, device):
        assert_values(result, torch.full(shape, value, dtype=dtype, device=device))
        assert result.is_contiguous() and result.device.type == device


@pytest.mark.parametrize("value", [0, 1, -7, 2.75, True, float("inf"), float("nan")], ids=str)
@pytest.mark.parametrize("dtype", FLOATS + INTS + (torch.bool,), ids=dtype_id)
def test_the_fill_value_is_cast(value, dtype):
    if isinstance(value, float) and not torch.isfinite(torch.tensor(value)) and dtype in INTS:
        pytest.skip("undefined conversion")

    def build(fd, s):
        return [fd.ops.full([3], value, dtype=NVF[dtype]), fd.ops.full([3], s, dtype=NVF[dtype])]

    for result in run(build, [value]):
        assert_values(result, torch.full((3,), value).to(dtype))


def test_full_with_symbolic_sizes():
    x = make((3, 5), torch.float32)

    def build(fd, t, n):
        return [
            fd.ops.full([n, 2], 1.0, dtype=DataType.Float),
            fd.ops.full(t.shape(), 2.0, dtype=DataType.Float),
            fd.ops.full([fd.ops.size(t, 1), 1], 3, dtype=DataType.Int),
            fd.ops.add(t, fd.ops.full(fd.ops.shape(t), 0.5, dtype=DataType.Float)),
        ]

    counted, like, column, total = run(build, [x, 4])
    assert_values(counted, torch.ones(4, 2))
    assert_values(like, torch.full((3, 5), 2.0))
    assert_values(column, torch.full((5, 1), 3))
    assert_values(total, x + 0.5)


def test_full_then_everything():
    """A fusion may consist of constants only."""
    total, reshaped, compared = no_inputs(
        lambda fd: [
            fd.ops.sum(fd.ops.full([4, 4], 0.0, dtype=DataType.Float), [1], True),
            fd.ops.reshape(fd.ops.full([2, 6], 2, dtype=DataType.Int), [3, 4]),
            fd.ops.gt(fd.ops.full([3], 1.0, dtype=DataType.Float), 0.5),
        ]
    )
    assert_values(total, torch.zeros(4, 1))
    assert_values(reshaped, torch.full((3, 4), 2))
    assert_values(compared, torch.ones(3, dtype=torch.bool))


def test_full_errors():
    with FusionDefinition() as fd:
        with pytest.raises(RuntimeError, match="-2"):
            fd.ops.full([2, -2], 1.0, DataType.Float)
        for arguments in [
            (),
            ([2],),
            (2, 1.0, DataType.Float),
            ([2], 1.0, "float"),
            ([2], "one", DataType.Float),
            ([2.5], 1.0, DataType.Float),
        ]:
            with pytest.raises(TypeError):
                fd.ops.full(*arguments)
        fd.add_output(fd.ops.full([1], 0, DataType.Int))


def test_full_with_a_negative_size_at_run_time():
    with FusionDefinition() as fd:
        n = fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.full([n], 1.0, DataType.Float))
    assert fd.execute([3], device="cpu")[0].shape == (3,)
    with pytest.raises(RuntimeError):
        fd.execute([-3], device="cpu")
    assert fd.execute([0], device="cpu")[0].shape == (0,)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=dtype_id)
@pytest.mark.parametrize("length,start,step", [(5, 0, 1), (5, 3, 2), (4, -2, -3), (0, 0, 1), (1, 7, 5)], ids=str)
def test_iota_of_integers(length, start, step, dtype, device):
    def build(fd, n, a, b):
        return [fd.ops.iota(length, start, step, NVF[dtype]), fd.ops.iota(length=n, start=a, step=b, dtype=NVF[dtype])]

    expected = (start + step * torch.arange(length)).to(dtype)
    for result in run(build, [length, start, step], device=device):
        assert_values(result, expected.to(device))
        assert result.device.type == device


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=dtype_id)
@pytest.mark.parametrize("start,step", [(0.0, 1.0), (1.5, 0.25), (-1.0, -0.5)], ids=str)
def test_iota_of_floats(start, step, dtype):
    def build(fd, a, b):
        return [fd.ops.iota(6, start, step, NVF[dtype]), fd.ops.iota(6, a, b, NVF[dtype])]

    for result in run(build, [start, step], device="cpu"):
        assert_values(result, (start + step * torch.arange(6).double()).to(dtype))


def test_iota_defaults():
    plain, only_start, floats = no_inputs(
        lambda fd: [fd.ops.iota(4), fd.ops.iota(4, 2), fd.ops.iota(4, dtype=DataType.Float)]
    )
    assert_values(plain, torch.arange(4))
    assert_values(only_start, torch.arange(2, 6))
    assert_values(floats, torch.arange(4).float())


def test_iota_as_long_as_a_tensor():
    x = make((7, 3), torch.float32)
    result = run1(
        lambda fd, t: fd.ops.mul(
            t, fd.ops.broadcast(fd.ops.iota(fd.ops.size(t, 0), dtype=DataType.Int), [False, True])
        ),
        [x],
    )
    assert_values(result, x * torch.arange(7)[:, None])


@pytest.mark.parametrize(
    "arguments",
    [
        (2.5, 0, 1, DataType.Int),
        (2 + 1j, 0, 1, DataType.Int),
        (5, 1.5, 1, DataType.Int),
        (5, 0, 0.5, DataType.Int),
        (5, 0, 1, DataType.Float),
        (5, 0.0, 1, DataType.Float),
        (5, 1j, 1, DataType.Int),
        (5, 0, 1j, DataType.Int),
        (5, 0, 0, DataType.Int),
        (5, 0.0, 0.0, DataType.Float),
        (5, float("inf"), 1.0, DataType.Float),
        (5, 0.0, float("inf"), DataType.Float),
        (5, 0.0, float("nan"), DataType.Double),
        (-1, 0, 1, DataType.Int),
    ],
    ids=str,
)
def test_iota_errors(arguments):
    with pytest.raises(RuntimeError):
        no_inputs(lambda fd: fd.ops.iota(*arguments))


def test_iota_errors_at_run_time():
    with FusionDefinition() as fd:
        n, step = fd.define_scalar(DataType.Int), fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.iota(n, None, step, DataType.Int))
    assert fd.execute([3, 2], device="cpu")[0].tolist() == [0, 2, 4]
    for bad in ([3, 0], [-1, 1]):
        with pytest.raises(RuntimeError):
            fd.execute(bad, device="cpu")
    assert fd.execute([2, -1], device="cpu")[0].tolist() == [0, -1]
