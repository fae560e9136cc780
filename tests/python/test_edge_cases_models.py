"""Pieces of real models written out by hand: norms and their backward, rotary embedding, GELU, dropout, batch norm."""

import math

import pytest
import torch
from helpers import NVF, assert_values, define, dtype_id, make, run
from nvfuser_direct import DataType


def twice_as_good_as_eager(result, eager, reference):
    """Error against a float64 run at most twice eager's own, plus one step of the dtype."""
    step = torch.finfo(result.dtype).eps * reference.abs().clamp(min=1.0)
    allowed = 2 * (eager.double() - reference).abs().max() + step
    assert ((result.double() - reference).abs() <= allowed).all(), (result.double() - reference).abs().max()


def mean_of(fd, t, dims, count):
    return fd.ops.div(fd.ops.sum(t, dims, True), float(count))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=dtype_id)
@pytest.mark.parametrize("shape", [(4, 16), (1, 1), (2, 0), (3, 1), (0, 8)], ids=str)
def test_layer_norm(shape, dtype, device):
    x = make(shape, dtype, device)
    w, b = make(shape[1:], dtype, device, seed=1), make(shape[1:], dtype, device, seed=2)

    def build(fd, t, scale, shift):
        wide = fd.ops.cast(t, dtype=DataType.Float)
        var, mean = fd.ops.var_mean(wide, [1], 0, True)
        y = fd.ops.mul(fd.ops.sub(wide, mean), fd.ops.rsqrt(fd.ops.add(var, 1e-5)))
        y = fd.ops.add(fd.ops.mul(y, scale), shift)
        return fd.ops.cast(y, dtype=NVF[dtype])

    (result,) = run(build, [x, w, b])
    expected = (
        torch.nn.functional.layer_norm(x.double(), shape[1:], w.double(), b.double())
        if 0 not in shape
        else torch.empty(shape)
    )
    assert result.shape == shape and result.dtype == dtype
    if 0 not in shape:
        twice_as_good_as_eager(result, torch.nn.functional.layer_norm(x, shape[1:], w, b), expected.to(device))


def test_layer_norm_backward_at_several_batch_sizes():
    """Two outputs reduced over the outer dims, one of full size; one definition."""
    width = 24

    def build(fd, grad, x, mean, rstd, w):
        g, t = fd.ops.cast(grad, dtype=DataType.Float), fd.ops.cast(x, dtype=DataType.Float)
        normal = fd.ops.mul(fd.ops.sub(t, mean), rstd)
        gw = fd.ops.mul(g, w)
        m1 = mean_of(fd, gw, [2], width)
        m2 = mean_of(fd, fd.ops.mul(gw, normal), [2], width)
        dx = fd.ops.mul(fd.ops.sub(fd.ops.sub(gw, m1), fd.ops.mul(normal, m2)), rstd)
        return [
            fd.ops.sum(fd.ops.mul(g, normal), [0, 1]),
            fd.ops.sum(g, [0, 1]),
            fd.ops.cast(dx, dtype=DataType.BFloat16),
        ]

    fd = None
    for batch, length in [(2, 5), (4, 3), (2, 5), (8, 2), (3, 7)]:
        x, grad = (
            make((batch, length, width), torch.bfloat16, seed=batch),
            make((batch, length, width), torch.bfloat16, seed=9),
        )
        w = make((width,), torch.float32, seed=3)
        mean = x.float().mean(2, keepdim=True)
        rstd = torch.rsqrt(x.float().var(2, correction=0, keepdim=True) + 1e-5)
        inputs = [grad, x, mean, rstd, w]
        fd = fd or define(build, inputs)
        dw, db, dx = fd.execute(inputs)
        t = x.double().requires_grad_(True)
        wd, bd = w.double().requires_grad_(True), torch.zeros(width, dtype=torch.float64, requires_grad=True)
        torch.nn.functional.layer_norm(t, (width,), wd, bd).backward(grad.double())
        assert_values(dw, wd.grad.float(), rtol=1e-4, atol=1e-4)
        assert_values(db, bd.grad.float(), rtol=1e-4, atol=1e-4)
        assert_values(dx, t.grad.bfloat16(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=dtype_id)
def test_rms_norm(dtype):
    x, w = make((3, 4, 16), dtype), make((16,), dtype, seed=1)

    def build(fd, t, scale):
        wide = fd.ops.cast(t, dtype=DataType.Float)
        power = mean_of(fd, fd.ops.mul(wide, wide), [2], 16)
        y = fd.ops.mul(wide, fd.ops.rsqrt(fd.ops.add(power, 1e-6)))
        return fd.ops.cast(fd.ops.mul(y, scale), dtype=NVF[dtype])

    (result,) = run(build, [x, w])
    reference = torch.nn.functional.rms_norm(x.double(), (16,), w.double(), 1e-6)
    twice_as_good_as_eager(result, torch.nn.functional.rms_norm(x, (16,), w, 1e-6), reference)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=dtype_id)
def test_rotary_embedding_from_a_fused_projection(dtype):
    """Slices of one projection, halves rotated, permuted; sums over batch and length of the products as further outputs."""
    batch, length, heads, width = 1, 12, 3, 8
    qkv = make((batch, length, 3 * heads * width), dtype)
    cos, sin = make((length, width), dtype, seed=1), make((length, width), dtype, seed=2)
    half = width // 2

    def build(fd, t, c, s):
        outputs = []
        rows = fd.ops.reshape(t, [batch, length, 3 * heads, width])
        rows = fd.ops.permute(rows, [0, 2, 1, 3])
        for part in range(2):
            x = fd.ops.slice(rows, [0, part * heads, 0, 0], [batch, (part + 1) * heads, length, width])
            left = fd.ops.slice(x, [0, 0, 0, 0], [batch, heads, length, half])
            right = fd.ops.slice(x, [0, 0, 0, half], [batch, heads, length, width])
            turned = fd.ops.cat([fd.ops.cast(fd.ops.neg(right), dtype=NVF[dtype]), left], 3)
            wide = fd.ops.add(fd.ops.mul(x, c), fd.ops.mul(turned, s))
            outputs.append(fd.ops.cast(wide, dtype=NVF[dtype]))
            outputs.append(fd.ops.sum(wide, [0, 2]))
        return outputs

    def eager(t, c, s):
        rows = t.reshape(batch, length, 3 * heads, width).permute(0, 2, 1, 3)
        outputs = []
        for part in range(2):
            x = rows[:, part * heads : (part + 1) * heads]
            y = x * c + torch.cat([-x[..., half:], x[..., :half]], -1) * s
            outputs += [y, y.sum((0, 2))]
        return outputs

    results = run(build, [qkv, cos, sin])
    for result, plain, reference in zip(
        results, eager(qkv, cos, sin), eager(qkv.double(), cos.double(), sin.double()), strict=True
    ):
        assert result.shape == plain.shape
        twice_as_good_as_eager(result, plain, reference)


def test_gelu_both_ways():
    x = make((64,), torch.float32, low=-8, high=8)

    def build(fd, t):
        exact = fd.ops.mul(fd.ops.mul(t, 0.5), fd.ops.add(fd.ops.erf(fd.ops.mul(t, 1 / math.sqrt(2))), 1.0))
        inner = fd.ops.mul(fd.ops.add(t, fd.ops.mul(fd.ops.pow(t, 3.0), 0.044715)), math.sqrt(2 / math.pi))
        approximate = fd.ops.mul(fd.ops.mul(t, 0.5), fd.ops.add(fd.ops.tanh(inner), 1.0))
        return [exact, approximate]

    exact, approximate = run(build, [x], round_trip=False)
    assert_values(exact, torch.nn.functional.gelu(x.double()).float(), rtol=1e-5, atol=1e-6)
    assert_values(approximate, torch.nn.functional.gelu(x.double(), approximate="tanh").float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("channels_last", [False, True])
def test_batch_norm_training_updates_running_statistics(channels_last):
    x = make((4, 3, 2, 5), torch.float32)
    if channels_last:
        x = x.to(memory_format=torch.channels_last)
    mean_in, var_in = torch.zeros(3), torch.ones(3)
    count, momentum = 4 * 2 * 5, 0.125
    from nvfuser_direct import FusionDefinition

    with FusionDefinition() as fd:
        t, running_mean, running_var = (fd.from_pytorch(v) for v in (x, mean_in, var_in))
        var, mean = fd.ops.var_mean(t, [0, 2, 3], 0)
        unbiased = fd.ops.mul(var, count / (count - 1))
        blend = lambda old, new: fd.ops.add(fd.ops.mul(old, 1 - momentum), fd.ops.mul(new, momentum))  # noqa: E731
        fd.add_output(blend(running_mean, mean), running_mean)
        fd.add_output(blend(running_var, unbiased), running_var)
        place = lambda v: fd.ops.broadcast(v, [True, False, True, True])  # noqa: E731
        y = fd.ops.mul(fd.ops.sub(t, place(mean)), fd.ops.rsqrt(fd.ops.add(place(var), 1e-5)))
        fd.add_output(y)
    mean_eager, var_eager = mean_in.clone(), var_in.clone()
    for _ in range(3):
        (result,) = fd.execute([x, mean_in, var_in])
        expected = torch.nn.functional.batch_norm(x, mean_eager, var_eager, training=True, momentum=momentum)
        assert_values(result, expected, rtol=1e-5, atol=1e-5)
        assert_values(mean_in, mean_eager, rtol=1e-5)
        assert_values(var_in, var_eager, rtol=1e-5)
    assert result.stride() == x.stride()


def test_dropout_with_a_given_mask_and_its_backward():
    x, grad = make((6, 8), torch.float32), make((6, 8), torch.float32, seed=1)
    mask = make((6, 8), torch.bool, seed=2)

    def build(fd, t, g, m):
        scale = 1 / (1 - 0.25)
        return [fd.ops.mul(fd.ops.mul(t, m), scale), fd.ops.mul(fd.ops.mul(g, m), scale)]

    forward, backward = run(build, [x, grad, mask], round_trip=False)
    assert_values(forward, x * mask / 0.75)
    assert_values(backward, grad * mask / 0.75)


def test_adam_step_in_place():
    w, g = make((5, 3), torch.float32), make((5, 3), torch.float32, seed=1)
    m, v = torch.zeros(5, 3), torch.zeros(5, 3)
    from nvfuser_direct import FusionDefinition

    with FusionDefinition() as fd:
        tw, tg, tm, tv = (fd.from_pytorch(t) for t in (w, g, m, v))
        step = fd.define_scalar(DataType.Double)
        new_m = fd.ops.add(fd.ops.mul(tm, 0.9), fd.ops.mul(tg, 0.1))
        new_v = fd.ops.add(fd.ops.mul(tv, 0.999), fd.ops.mul(fd.ops.mul(tg, tg), 0.001))
        m_hat = fd.ops.div(new_m, fd.ops.sub(1.0, fd.ops.pow(0.9, step)))
        v_hat = fd.ops.div(new_v, fd.ops.sub(1.0, fd.ops.pow(0.999, step)))
        fd.add_output(fd.ops.sub(tw, fd.ops.mul(fd.ops.div(m_hat, fd.ops.add(fd.ops.sqrt(v_hat), 1e-8)), 0.01)), tw)
        fd.add_output(new_m, tm)
        fd.add_output(new_v, tv)
    parameter = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.Adam([parameter], lr=0.01)
    for index in range(1, 4):
        assert fd.execute([w, g, m, v, float(index)]) == []
        parameter.grad = g.clone()
        optimizer.step()
        assert_values(w, parameter.detach().clone(), rtol=1e-5, atol=1e-6)
