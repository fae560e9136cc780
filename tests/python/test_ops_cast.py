"""cast between every pair of dtypes, of tensors and of scalars."""

import itertools
import warnings

import pytest
import torch
from helpers import ALL_DTYPES, FULLS, HALVES, INTS, NVF, assert_values, dtype_id, layouts, make, run, run1
from nvfuser_direct import DataType, FusionDefinition


@pytest.mark.parametrize("source,target", list(itertools.product(ALL_DTYPES, repeat=2)), ids=dtype_id)
def test_every_pair(source, target, device):
    for shape in [(), (0,), (5,), (2, 3)]:
        x = make(shape, source, device, low=-3, high=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = run1(lambda fd, t: fd.ops.cast(t, dtype=NVF[target]), [x])
            expected = (x.real if source.is_complex and not target.is_complex else x).to(target)
        assert_values(result, expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_layouts_and_positional_dtype(dtype):
    for x in layouts(make((3, 4), torch.float32)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_values(run1(lambda fd, t: fd.ops.cast(t, NVF[dtype]), [x]), x.to(dtype))


@pytest.mark.parametrize("value", [2, 2.75, True, -1.5], ids=str)
@pytest.mark.parametrize("target", FULLS + INTS + (torch.bool, torch.complex128), ids=dtype_id)
def test_scalars(value, target):
    def build(fd, s):
        symbolic, constant = fd.ops.cast(s, dtype=NVF[target]), fd.ops.cast(value, dtype=NVF[target])
        assert not symbolic.is_tensor() and not constant.is_tensor()
        return [fd.ops.full([2], v, dtype=NVF[target]) for v in (symbolic, constant)]

    for result in run(build, [value]):
        assert_values(result, torch.full((2,), value).to(target))


@pytest.mark.parametrize("half", HALVES, ids=dtype_id)
def test_casting_down_and_up_again_rounds(half):
    x = torch.arange(20).float() / 7
    result = run1(lambda fd, t: fd.ops.cast(fd.ops.cast(t, dtype=NVF[half]), dtype=DataType.Float), [x])
    assert_values(result, x.to(half).float(), rtol=0, atol=0)
    assert (result - x).abs().max() > 0


@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
def test_float_to_integer_truncates(dtype):
    x = torch.tensor([1.9, -1.9, 0.5, -0.5, 2.0, 1e6])
    assert run1(lambda fd, t: fd.ops.cast(t, dtype=NVF[dtype]), [x]).tolist() == [1, -1, 0, 0, 2, 1000000]


def test_to_bool_is_not_zero():
    x = torch.tensor([0.0, -0.0, 0.1, -3.0, float("nan"), float("inf")])
    assert_values(run1(lambda fd, t: fd.ops.cast(t, dtype=DataType.Bool), [x]), x.bool())


def test_complex_to_bool_looks_at_the_real_part():
    x = torch.tensor([0j, 1j, 1 + 0j, 1 + 1j])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run1(lambda fd, t: fd.ops.cast(t, dtype=DataType.Bool), [x])
    assert result.tolist() == [False, False, True, True]


@pytest.mark.parametrize("target", [torch.float32, torch.float16], ids=dtype_id)
@pytest.mark.parametrize("fp8", ["float8_e4m3fn", "float8_e5m2"])
def test_fp8_and_back(fp8, target):
    name = fp8.replace("float", "Float")
    x = torch.tensor([0.0, 0.5, -1.25, 3.0, 100.0, 0.019, -0.7])

    def build(fd, t):
        low = fd.ops.cast(t, dtype=getattr(DataType, name))
        return [low, fd.ops.cast(low, dtype=NVF[target])]

    low, back = run(build, [x], round_trip=False)
    assert low.dtype == getattr(torch, fp8)
    assert_values(back, x.to(getattr(torch, fp8)).to(target), rtol=0, atol=0)


def test_null_dtype_and_wrong_types_are_refused():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        with pytest.raises(RuntimeError):
            fd.ops.cast(x, dtype=DataType.Null)
        for arguments in [(), (x,), (x, "float"), (x, torch.float32), (x, 3)]:
            with pytest.raises(TypeError):
                fd.ops.cast(*arguments)
        fd.add_output(x)


def test_same_dtype_gives_a_copy():
    x = make((4,), torch.float32)
    result = run1(lambda fd, t: fd.ops.cast(t, dtype=DataType.Float), [x])
    assert torch.equal(result, x)
