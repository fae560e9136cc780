"""sdpa_bwd: gradients of every operand against float64, across backends, layouts, groups and sizes; gradcheck."""

import pytest
import torch
from attention_reference import (
    DTYPES,
    assert_near,
    in_order,
    make_qkv,
    reference_gradients,
    sdpa,
    sdpa_backward,
)

BACKENDS = ("auto", "math", "cpu_flash")


def check(
    q, k, v, grad=None, factor=3.0, forward_backend="auto", backend="auto", bias=None, bias_grad=False, **settings
):
    forward = sdpa(q, k, v, bias=bias, backend=forward_backend, **settings)
    grad = torch.randn_like(forward[0]) if grad is None else grad
    gradients = sdpa_backward(grad, q, k, v, forward, bias=bias, backend=backend, bias_grad=bias_grad, **settings)
    expected = reference_gradients(grad, q, k, v, bias, **settings)
    for got, want, operand in zip(gradients, expected, (q, k, v, bias)):
        assert got.dtype == operand.dtype and got.device == operand.device
        assert_near(got, want, factor=factor)
    return gradients


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("forward_backend", ("math", "cpu_flash"))
def test_gradients_of_every_dtype(dtype, forward_backend):
    check(*make_qkv(dtype=dtype), forward_backend=forward_backend)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float32), ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("forward_backend", ("math", "cpu_flash"))
def test_backward_by_another_backend_than_the_forward(dtype, forward_backend, backend):
    check(*make_qkv(dtype=dtype), forward_backend=forward_backend, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("hk", (1, 2, 3))
def test_grouped_heads(hk, backend):
    check(*make_qkv(h=6, hk=hk), backend=backend)


@pytest.mark.parametrize("e,ev", ((1, 1), (3, 3), (40, 40), (96, 96), (16, 8), (8, 16), (136, 136)))
@pytest.mark.parametrize("is_causal", (False, True))
def test_head_sizes(e, ev, is_causal):
    check(*make_qkv(e=e, ev=ev), is_causal=is_causal)


@pytest.mark.parametrize("scale", (1.0, 0.0, -0.5))
@pytest.mark.parametrize("is_causal", (False, True))
def test_scale(scale, is_causal):
    check(*make_qkv(length=9), scale=scale, is_causal=is_causal)


@pytest.mark.parametrize("alignment", ("top_left", "bottom_right"))
@pytest.mark.parametrize("length,keys", ((5, 2), (2, 5), (4, 4)))
def test_causal(alignment, length, keys):
    check(*make_qkv(length=length, keys=keys), is_causal=True, causal_alignment=alignment)


@pytest.mark.parametrize("lead", ((3,), (2, 3)))
def test_more_leading_dims(lead):
    check(*make_qkv(lead=lead))


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradient_that_is_expanded_from_one_number(backend):
    q, k, v = make_qkv(length=16, keys=32, e=32)
    grad = torch.ones(()).expand(q.shape)
    gradients = check(q, k, v, grad=grad, backend=backend)
    dense = check(q, k, v, grad=grad.contiguous(), backend=backend)
    assert all(torch.equal(a, b) for a, b in zip(gradients, dense))


@pytest.mark.parametrize("backend", BACKENDS)
def test_strided_operands(backend):
    q, k, v = (t.mT.contiguous().mT for t in make_qkv(length=8, keys=8))
    grad = torch.randn(2, 4, 16, 8).mT
    check(q, k, v, grad=grad, backend=backend)
    check(*(t[:1].expand(2, -1, -1, -1) for t in make_qkv()), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_have_the_stride_orders_of_their_operands(backend):
    q, k, v = make_qkv()
    q, k, v = in_order(q, (0, 2, 1, 3)), in_order(k, (1, 0, 2, 3)), v
    gradients = check(q, k, v, backend=backend)
    assert [g.stride() for g in gradients] == [t.stride() for t in (q, k, v)]


@pytest.mark.parametrize("zero", ("n", "h", "length", "keys"))
def test_empty_operands(zero):
    q, k, v = make_qkv(**{zero: 0})
    forward = sdpa(q, k, v)
    gradients = sdpa_backward(torch.ones_like(forward[0]), q, k, v, forward)
    assert all(g.shape == t.shape and not g.any() for g, t in zip(gradients, (q, k, v)))


def test_bias_gradient_of_many_pieces():
    q, k, v = make_qkv(h=4, hk=2, length=1500, keys=2048, e=8, n=2)
    bias = torch.randn(1, 4, 1, 2048)
    check(q, k, v, bias=bias, bias_grad=True, backend="math", is_causal=True)


def test_gradients_of_rows_from_a_wider_softmax():
    # logsumexp and output may cover more keys than these, as when a ring of ranks holds the keys.
    q, k, v = make_qkv(keys=12)
    out, lse, seed, offset = sdpa(q, k, v)
    grad = torch.randn_like(out)
    whole = sdpa_backward(grad, q, k, v, (out, lse, seed, offset))
    parts = [
        sdpa_backward(grad, q, k[:, :, part], v[:, :, part], (out, lse, seed, offset), backend=backend)
        for part, backend in ((slice(0, 5), "math"), (slice(5, 12), "cpu_flash"))
    ]
    assert_near(parts[0][0] + parts[1][0], whole[0])
    assert_near(torch.cat([p[1] for p in parts], 2), whole[1])
    assert_near(torch.cat([p[2] for p in parts], 2), whole[2])


class Attention(torch.autograd.Function):
    """The two nodes as one differentiable function."""

    @staticmethod
    def forward(ctx, q, k, v, bias, settings):
        forward = sdpa(q, k, v, bias=bias, **settings)
        ctx.save_for_backward(q, k, v, bias, *forward)
        ctx.settings = settings
        return forward[0]

    @staticmethod
    def backward(ctx, grad):
        q, k, v, bias, *forward = ctx.saved_tensors
        settings = dict(ctx.settings, bias=bias, bias_grad=bias is not None)
        gradients = sdpa_backward(grad, q, k, v, forward, **settings)
        return (*gradients, *([None] * (5 - len(gradients))))


@pytest.mark.parametrize("with_bias", (False, True))
@pytest.mark.parametrize(
    "settings", ({}, {"is_causal": True}, {"scale": -0.7}, {"causal_alignment": "bottom_right", "is_causal": True})
)
def test_gradcheck_of_math(settings, with_bias):
    q, k, v = make_qkv(n=1, h=2, hk=1, length=3, keys=4, e=2, ev=3, dtype=torch.float64)
    bias = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True) if with_bias else None
    settings = dict(settings, backend="math")
    leaves = tuple(t.requires_grad_() for t in (q, k, v))
    assert torch.autograd.gradcheck(
        lambda *t: Attention.apply(*t[:3], t[3] if with_bias else None, settings), (*leaves, bias)
    )


@pytest.mark.parametrize("form", ("sdpfa", "sdpa"))
def test_flash_named_backward(form):
    from nvfuser_direct import FusionDefinition

    q, k, v = make_qkv(length=3, keys=5, dtype=torch.bfloat16)
    settings = {"is_causal": True, "causal_alignment": "bottom_right"}
    out, lse, seed, offset = sdpa(q, k, v, **settings)
    grad = torch.randn_like(out)
    with FusionDefinition() as fd:
        from attention_reference import define_state

        args = [fd.from_pytorch(t) for t in (grad, q, k, v, out, lse)]
        state = [define_state(fd, t) for t in (seed, offset)]
        if form == "sdpfa":
            results = fd.ops.sdpfa_bwd(*args, 0.0, True, *state, None)
        else:
            results = fd.ops.sdpa_bwd(*args, None, True, *state, None, causal_alignment="bottom_right")
        for result in results:
            fd.add_output(result)
    expected = reference_gradients(grad, q, k, v, **settings)
    for got, want in zip(fd.execute([grad, q, k, v, out, lse, seed, offset]), expected):
        assert_near(got, want, factor=2)
