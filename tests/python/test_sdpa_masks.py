"""sdpa_fwd and sdpa_bwd with bias and mask: broadcast, both together, rows without a key, gradients of the bias."""

import math

import pytest
import torch
from attention_reference import assert_near, make_qkv, reference, reference_gradients, sdpa, sdpa_backward

N, H, L, S = 2, 4, 7, 9
SHAPES = [
    (N, H, L, S),
    (1, H, L, S),
    (N, 1, L, S),
    (1, 1, L, S),
    (N, 1, 1, S),
    (1, 1, 1, S),
    (N, H, L, 1),
    (1, 1, 1, 1),
]
FEWER_DIMS = [(L, S), (1, S), (S,), (H, 1, S)]
BACKENDS = ("math", "cpu_flash")


def masks(shape):
    mask = torch.rand(shape) > 0.3
    mask[..., :1] = True
    return mask


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", SHAPES + FEWER_DIMS, ids=str)
def test_bias_broadcasts(shape, backend):
    q, k, v = make_qkv(N, H, L, S)
    bias = torch.randn(shape)
    out, lse, *_ = sdpa(q, k, v, bias=bias, backend=backend)
    expected, expected_lse = reference(q, k, v, bias=bias)
    assert_near(out, expected)
    assert_near(lse, expected_lse)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", SHAPES + FEWER_DIMS, ids=str)
def test_mask_broadcasts(shape, backend):
    q, k, v = make_qkv(N, H, L, S)
    mask = masks(shape)
    out, lse, *_ = sdpa(q, k, v, mask=mask, backend=backend)
    expected, expected_lse = reference(q, k, v, mask=mask)
    assert_near(out, expected)
    assert_near(lse, expected_lse)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("is_causal", (False, True))
def test_bias_and_mask_together(backend, is_causal):
    q, k, v = make_qkv(N, H, L, S)
    bias, mask = torch.randn(1, H, L, S), masks((N, 1, 1, S))
    out, lse, *_ = sdpa(q, k, v, bias=bias, mask=mask, is_causal=is_causal, backend=backend)
    expected, expected_lse = reference(q, k, v, bias=bias, mask=mask, is_causal=is_causal)
    assert_near(out, expected)
    assert_near(lse, expected_lse)


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16, torch.float64), ids=str)
@pytest.mark.parametrize("bias_dtype", (None, torch.float32), ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_bias_in_querys_dtype_or_float32(dtype, bias_dtype, backend):
    q, k, v = make_qkv(N, H, L, S, dtype=dtype)
    bias = torch.randn(1, 1, L, S).to(bias_dtype or dtype)
    out = sdpa(q, k, v, bias=bias, backend=backend)[0]
    assert out.dtype == dtype
    assert_near(out, reference(q, k, v, bias=bias)[0])


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16, torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize("kind", ("mask", "bias", "both", "causal and mask"))
@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_without_a_key(backend, kind, dtype):
    q, k, v = make_qkv(N, H, L, S, dtype=dtype)
    bias, mask = torch.zeros(L, S, dtype=dtype), torch.ones(L, S, dtype=torch.bool)
    settings = {}
    if kind == "bias":
        bias[2], settings["bias"] = -math.inf, bias
    elif kind == "mask":
        mask[2], settings["mask"] = False, mask
    elif kind == "both":
        bias[2, :4], mask[2, 4:] = -math.inf, False
        settings.update(bias=bias, mask=mask)
    else:
        mask[2, :3], settings["mask"], settings["is_causal"] = False, mask, True
    settings = {
        name: t[None, None].expand(N, H, L, S).contiguous() if torch.is_tensor(t) else t for name, t in settings.items()
    }
    forward = sdpa(q, k, v, backend=backend, **settings)
    out, lse = forward[:2]
    assert torch.equal(out[:, :, 2], torch.zeros_like(out[:, :, 2]))
    assert torch.equal(lse[:, :, 2], torch.full_like(lse[:, :, 2], -math.inf))
    expected, expected_lse = reference(q, k, v, **settings)
    assert_near(out, expected)
    assert_near(lse, expected_lse)  # float32, whatever the operands are
    grad = torch.ones_like(out)
    for other in BACKENDS:
        gradients = sdpa_backward(grad, q, k, v, forward, backend=other, **settings)
        wanted = reference_gradients(grad, q, k, v, **settings)
        for got, want in zip(gradients, wanted):
            assert not got.isnan().any()
            # The kernel for the CPU works from a float32 logsumexp in float64 too.
            factor = 1e3 if other == "cpu_flash" and dtype == torch.float64 else 3
            assert_near(got, want, factor=factor)
        assert not gradients[0][:, :, 2].any()


@pytest.mark.parametrize("shape", SHAPES + FEWER_DIMS, ids=str)
def test_gradient_of_the_bias_has_its_shape(shape):
    q, k, v = make_qkv(N, H, L, S)
    bias, mask, grad = torch.randn(shape), masks((N, 1, 1, S)), torch.randn(N, H, L, 16)
    forward = sdpa(q, k, v, bias=bias, mask=mask)
    gradients = sdpa_backward(grad, q, k, v, forward, bias=bias, mask=mask, bias_grad=True)
    expected = reference_gradients(grad, q, k, v, bias, mask=mask)
    assert len(gradients) == 4 and gradients[3].shape == shape and gradients[3].dtype == bias.dtype
    for got, want in zip(gradients, expected):
        assert_near(got, want, factor=3)


@pytest.mark.parametrize("lead", ((3, 2), (1, 2), (3, 1), (1, 1)), ids=str)
def test_bias_and_mask_of_five_dims(lead):
    q, k, v = make_qkv(lead=(3,), n=2)
    bias, mask = torch.randn(*lead, 1, 7, 9), masks((*lead[:1], 1, 4, 1, 9))
    forward = sdpa(q, k, v, bias=bias, mask=mask)
    assert_near(forward[0], reference(q, k, v, bias=bias, mask=mask)[0])
    grad = torch.randn(forward[0].shape)
    gradients = sdpa_backward(grad, q, k, v, forward, bias=bias, mask=mask, bias_grad=True)
    for got, want in zip(gradients, reference_gradients(grad, q, k, v, bias, mask=mask)):
        assert_near(got, want, factor=3)


def test_bias_and_mask_too_large_to_sum_at_once():
    # Their sum has 40 * 400 * 400 elements, the bias one batch row and the mask one head.
    q, k, v = make_qkv(40, 2, 400, 400, 8)
    bias, mask = torch.randn(1, 1, 400, 400), masks((40, 1, 1, 400))
    forward = sdpa(q, k, v, bias=bias, mask=mask, backend="cpu_flash")
    expected, expected_lse = reference(q, k, v, bias=bias, mask=mask)
    assert_near(forward[0], expected)
    assert_near(forward[1], expected_lse)
    grad = torch.randn_like(forward[0])
    gradients = sdpa_backward(grad, q, k, v, forward, bias=bias, mask=mask, backend="cpu_flash")
    for got, want in zip(gradients, reference_gradients(grad, q, k, v, bias, mask=mask)):
        assert_near(got, want, factor=3)
