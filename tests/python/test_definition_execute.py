"""execute: forms of the argument list, device, options, special tensors, repeated runs."""

import pytest
import torch
from helpers import define, make
from nvfuser_direct import DataType, FusionDefinition


def scale_and_shift():
    """x * s + y with a scalar input."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        s = fd.define_scalar(DataType.Double)
        y = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.add(fd.ops.mul(x, s), y))
    return fd


X, Y = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])


def test_argument_lists_of_every_kind():
    fd = scale_and_shift()
    for inputs in (
        [X, 3.0, Y],
        (X, 3.0, Y),
        iter([X, 3.0, Y]),
        (v for v in (X, 3.0, Y)),
        [[X, 3.0], Y],
        ((X,), (3.0, Y)),
        [X, 3, Y],
        [X, True, Y],
    ):
        (result,) = fd.execute(inputs)
        factor = 1 if isinstance(inputs, list) and inputs[1] is True else 3
        assert torch.equal(result, X * factor + Y)


def test_the_result_is_a_list_of_fresh_tensors():
    fd = scale_and_shift()
    first, second = fd.execute([X, 3.0, Y]), fd.execute([X, 3.0, Y])
    assert isinstance(first, list) and isinstance(first[0], torch.Tensor)
    first[0].zero_()
    assert torch.equal(second[0], X * 3 + Y)


@pytest.mark.parametrize("bad", ["text", None, {"a": 1}, object(), b"bytes"], ids=lambda v: type(v).__name__)
def test_other_kinds_of_inputs_are_refused(bad):
    fd = scale_and_shift()
    with pytest.raises((RuntimeError, TypeError)):
        fd.execute([X, bad, Y])
    with pytest.raises((RuntimeError, TypeError)):
        fd.execute([bad, 3.0, Y])
    assert torch.equal(fd.execute([X, 3.0, Y])[0], X * 3 + Y)


@pytest.mark.parametrize("bad", [3, None, 1.5], ids=str)
def test_the_argument_must_be_iterable(bad):
    with pytest.raises((RuntimeError, TypeError)):
        scale_and_shift().execute(bad)


@pytest.mark.parametrize("inputs", [[], [X], [X, 3.0], [X, 3.0, Y, Y], [X, 3.0, Y, 1.0]], ids=len)
def test_a_wrong_number_of_inputs_is_refused(inputs):
    with pytest.raises(RuntimeError) as caught:
        scale_and_shift().execute(inputs)
    assert "3" in str(caught.value) and str(len(inputs)) in str(caught.value)


@pytest.mark.parametrize("device", [None, "cpu", torch.device("cpu")], ids=str)
def test_device_argument(device):
    (result,) = scale_and_shift().execute([X, 3.0, Y], device=device)
    assert result.device.type == "cpu"


@pytest.mark.parametrize("device", ["no such device", "meta2", 1.5, [0]], ids=str)
def test_impossible_devices_are_refused(device):
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        scale_and_shift().execute([X, 3.0, Y], device=device)


@pytest.mark.cuda
def test_device_forms_on_cuda():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.full([2], 1.0, DataType.Float))
    for device in (None, 0, "cuda", "cuda:0", torch.device("cuda:0")):
        assert fd.execute([], device=device)[0].device == torch.device("cuda:0")


@pytest.mark.cuda
def test_tensors_of_two_devices_are_refused():
    fd = scale_and_shift()
    with pytest.raises(RuntimeError):
        fd.execute([X.cuda(), 3.0, Y])


@pytest.mark.cuda
def test_a_zero_dim_cpu_tensor_joins_cuda_tensors():
    with FusionDefinition() as fd:
        x, s = fd.define_tensor([-1], contiguity=True), fd.define_tensor([], [], is_cpu=True)
        fd.add_output(fd.ops.mul(x, s))
    (result,) = fd.execute([X.cuda(), torch.tensor(3.0)])
    assert result.is_cuda and torch.equal(result.cpu(), X * 3)


def test_keyword_only_arguments():
    fd = scale_and_shift()
    with pytest.raises(TypeError):
        fd.execute([X, 3.0, Y], "cpu")
    with pytest.raises(TypeError):
        fd.execute([X, 3.0, Y], no_such_keyword=1)


def test_known_options_are_accepted():
    fd = scale_and_shift()
    enable = ["fuse_matmul", "host_ir_lowering", "id_model_extra_validation"]
    disable = ["matmul_expr_eval", "kernel_reuse", "infer_contiguity", "multidevice"]
    expected = X * 3 + Y
    assert torch.equal(fd.execute([X, 3.0, Y], _enable_options=enable[2:])[0], expected)
    assert torch.equal(fd.execute([X, 3.0, Y], _disable_options=disable[1:])[0], expected)
    assert torch.equal(fd.execute([X, 3.0, Y], _enable_options=enable[1:2], _disable_options=[])[0], expected)


def test_unknown_options_are_named():
    fd = scale_and_shift()
    with pytest.raises(RuntimeError, match="Unrecognized enable_option: no_such_option"):
        fd.execute([X, 3.0, Y], _enable_options=["no_such_option"])
    with pytest.raises(RuntimeError, match="Unrecognized disable_option: other"):
        fd.execute([X, 3.0, Y], _disable_options=["other"])


def test_the_first_run_moves_the_fusion_into_the_cache():
    fd = scale_and_shift()
    assert fd._fusion is not None
    fd.execute([X, 3.0, Y])
    assert fd.fec is not None
    assert fd.fusion.inputs() and fd.fusion.outputs()


def test_many_shapes_through_one_definition():
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor([-1, -1], contiguity=True) for _ in range(2))
        fd.add_output(fd.ops.sum(fd.ops.mul(x, y), [1]))
    for rows in range(5):
        for columns in range(5):
            a, b = make((rows, columns), torch.float32), make((rows, columns), torch.float32, seed=1)
            if 1 in (rows, columns):
                continue  # a size of 1 given for a symbolic dim has its own test
            torch.testing.assert_close(fd.execute([a, b])[0], (a * b).sum(1))


def test_a_symbolic_dim_may_have_size_one_at_run_time():
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor([-1, -1], contiguity=True) for _ in range(2))
        fd.add_output(fd.ops.add(x, y))
    a = make((1, 4), torch.float32)
    torch.testing.assert_close(fd.execute([a, a])[0], a + a)
    b = make((3, 1), torch.float32)
    torch.testing.assert_close(fd.execute([b, b])[0], b + b)


def test_symbolic_sizes_do_not_broadcast_silently():
    """-1 against -1 must agree; one of them being 1 at run time is an error or eager's result, never something else."""
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor([-1, -1], contiguity=True) for _ in range(2))
        fd.add_output(fd.ops.add(x, y))
    a, b = make((3, 4), torch.float32), make((1, 4), torch.float32, seed=1)
    try:
        (result,) = fd.execute([a, b])
    except RuntimeError:
        return
    torch.testing.assert_close(result, a + b)


def test_tensors_that_require_grad_run_without_recording():
    fd = scale_and_shift()
    x = X.clone().requires_grad_(True)
    (result,) = fd.execute([x, 3.0, Y])
    assert not result.requires_grad and result.grad_fn is None
    assert torch.equal(result, X * 3 + Y)
    (result,) = fd.execute([x * 1.0, 3.0, Y])
    assert not result.requires_grad


def test_parameters_and_subclasses():
    class Tagged(torch.Tensor):
        """A plain subclass."""

    fd = scale_and_shift()
    (result,) = fd.execute([torch.nn.Parameter(X.clone()), 3.0, Y.as_subclass(Tagged)])
    assert torch.equal(result.as_subclass(torch.Tensor), X * 3 + Y)


def test_inference_mode_and_no_grad():
    fd = scale_and_shift()
    with torch.inference_mode():
        (result,) = fd.execute([X, 3.0, Y])
        assert torch.equal(result, X * 3 + Y)
        inside = X + 0
        assert torch.equal(fd.execute([inside, 3.0, Y])[0], X * 3 + Y)
    with torch.no_grad():
        assert torch.equal(fd.execute([X, 3.0, Y])[0], X * 3 + Y)


def test_conjugate_and_negative_views():
    """Lazily conjugated or negated tensors count with their values."""
    z = make((4,), torch.complex64)
    fd = define(lambda fd, t: fd.ops.mul(t, 2.0), [z])
    torch.testing.assert_close(fd.execute([z.conj()])[0], (z.conj() * 2).resolve_conj())
    imaginary = z.conj().imag
    assert imaginary.is_neg()
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=False)
        fd.add_output(fd.ops.add(x, 1.0))
    torch.testing.assert_close(fd.execute([imaginary])[0], imaginary + 1)


def test_sparse_and_quantized_tensors_are_refused():
    fd = define(lambda fd, t: fd.ops.neg(t), [torch.ones(2, 2)])
    with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
        fd.execute([torch.eye(2).to_sparse()])
    assert torch.equal(fd.execute([torch.ones(2, 2)])[0], -torch.ones(2, 2))


def test_meta_tensors_give_shapes_only():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True, dtype=DataType.Half)
        fd.add_output(fd.ops.exp(x))
        fd.add_output(fd.ops.sum(fd.ops.permute(x, [1, 0]), [1]))
    wide, total = fd.execute([torch.empty(3, 4, dtype=torch.float16, device="meta")])
    assert wide.device.type == "meta" and wide.shape == (3, 4) and wide.dtype == torch.float32
    assert total.device.type == "meta" and total.shape == (4,) and total.dtype == torch.float16


def test_fake_tensors_give_fake_results():
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    fd = scale_and_shift()
    with FakeTensorMode() as mode:
        a, b = mode.from_tensor(X), mode.from_tensor(Y)
        (result,) = fd.execute([a, 3.0, b])
    assert isinstance(result, FakeTensor) or result.device.type == "meta"
    assert result.shape == (2,) and result.dtype == torch.float32
    assert torch.equal(fd.execute([X, 3.0, Y])[0], X * 3 + Y)


def test_large_and_small_numbers_as_scalar_inputs():
    with FusionDefinition() as fd:
        n = fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.full([1], n, DataType.Int))
    for value in (0, -1, 2**62, -(2**63), 2**63 - 1):
        assert fd.execute([value], device="cpu")[0].item() == value
    with pytest.raises((RuntimeError, OverflowError, TypeError)):
        fd.execute([2**63], device="cpu")


def test_numpy_scalars_are_numbers_or_refused():
    import numpy

    fd = scale_and_shift()
    try:
        (result,) = fd.execute([X, numpy.float64(3.0), Y])
    except (RuntimeError, TypeError):
        return
    assert torch.equal(result, X * 3 + Y)


def test_manual_execution_after_automatic_execution():
    fd = scale_and_shift()
    fd.execute([X, 3.0, Y])
    with pytest.raises((AssertionError, NotImplementedError)):
        fd.manual_execute([X, 3.0, Y])


def test_repeated_runs_do_not_leak_memory():
    """The same call many times keeps the process size steady."""
    import resource

    fd = define(lambda fd, t: fd.ops.sum(fd.ops.exp(t), [0]), [make((64, 64), torch.float32)])
    x = make((64, 64), torch.float32)
    for _ in range(50):
        fd.execute([x])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1500):
        fd.execute([x])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024


def test_inputs_of_another_layout_than_at_the_first_call():
    """A definition that promises nothing about contiguity takes any strides."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=False)
        fd.add_output(fd.ops.mul(x, 2.0))
    base = make((4, 6), torch.float32)
    for t in (
        base,
        base.t(),
        base[::2, 1:],
        base[:, :1].expand(4, 6),
        base[0, 0].expand(3, 3),
        base.t().contiguous().t(),
    ):
        assert torch.equal(fd.execute([t])[0], t * 2)
