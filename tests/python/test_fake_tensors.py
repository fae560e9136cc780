"""Runs with FakeTensors, meta tensors and tensor subclasses."""

import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv


@pytest.fixture
def scaled_sum() -> FusionDefinition:
    """Row sums of x * s, and a constant tensor."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        s = fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.sum(fd.ops.mul(x, s), [1]))
        fd.add_output(fd.ops.full([3], 1, DataType.Int))
    return fd


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("inside", [False, True])
def test_fake_inputs_give_fake_outputs_of_their_mode_and_device(scaled_sum, device, inside):
    mode = FakeTensorMode()
    with mode:
        x = torch.empty(4, 5, device=device)
    if inside:
        with mode:
            outputs = scaled_sum.execute([x, 2.0])
    else:
        outputs = scaled_sum.execute([x, 2.0])
    assert all(isinstance(out, FakeTensor) and out.fake_mode is mode for out in outputs)
    assert [tuple(out.shape) for out in outputs] == [(4,), (3,)]
    assert [out.dtype for out in outputs] == [torch.float32, torch.int64]
    assert all(out.device.type == device for out in outputs)


def test_symbolic_sizes_are_fixed(scaled_sum):
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(torch.ones(4, 5))
    assert scaled_sum.execute([x, 2.0])[0].shape == (4,)


def test_real_inputs_stay_real_afterwards(scaled_sum):
    scaled_sum.execute([FakeTensorMode().from_tensor(torch.ones(4, 5)), 2.0])
    x = torch.randn(4, 5)
    out = scaled_sum.execute([x, 2.0])[0]
    assert not isinstance(out, FakeTensor)
    torch.testing.assert_close(out, (x * 2).sum(1))


def test_errors_are_those_of_real_inputs(scaled_sum):
    x = FakeTensorMode().from_tensor(torch.ones(4, 5, dtype=torch.float16))
    with pytest.raises(RuntimeError, match="to be bound to a tensor of dtype float"):
        scaled_sum.execute([x, 2.0])


def test_meta_inputs_give_meta_outputs(scaled_sum):
    outputs = scaled_sum.execute([torch.empty(4, 5, device="meta"), 2.0])
    assert [(out.device.type, tuple(out.shape)) for out in outputs] == [("meta", (4,)), ("meta", (3,))]


def test_plain_subclasses_count_as_tensors(scaled_sum):
    class Named(torch.Tensor):
        pass

    x = torch.randn(4, 5)
    for item in (x.as_subclass(Named), torch.nn.Parameter(x)):
        out = scaled_sum.execute([item, 1.0])[0]
        assert type(out) is torch.Tensor and not out.requires_grad
        torch.testing.assert_close(out, x.sum(1))


def test_in_place_outputs_count_as_writes():
    """autograd notices that a tensor it saved was changed."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.add(x, 1.0), x)
    w = torch.ones(3, requires_grad=True)
    saved = torch.ones(3)
    result = (w * saved).sum()
    fd.execute([saved])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_inference_mode(scaled_sum):
    with torch.inference_mode():
        x = torch.ones(2, 2)
        assert scaled_sum.execute([x, 1.0])[0].tolist() == [2.0, 2.0]
