"""Dropout on the CPU: statistics, reproduction from torch's seed and from the returned state, gradients, p of 0 and 1."""

import pytest
import torch
from attention_reference import assert_near, make_qkv, reference, reference_gradients, sdpa, sdpa_backward
from nvfuser_direct import attention


def multipliers_of(q, k, state_source):
    """The factors of the softmax's entries, read off a run whose values are the identity."""
    keys = k.shape[-2]
    identity = torch.eye(keys, dtype=q.dtype).expand(*k.shape[:-2], keys, keys)
    dropped = state_source(identity)
    plain = sdpa(q, k, identity)[0]
    return dropped / plain


def test_drop_rate_and_factor():
    q, k, _ = make_qkv(2, 4, 64, 128)
    for p in (0.1, 0.5, 0.9):
        m = multipliers_of(q, k, lambda v, p=p: sdpa(q, k, v, dropout_p=p)[0])
        kept = m > 0.5
        assert_near(m[kept], torch.full_like(m[kept], 1 / (1 - p)), factor=10)
        assert not m[~kept].any()
        n = m.numel()
        assert abs((~kept).sum().item() - n * p) < 4 * (n * p * (1 - p)) ** 0.5


def test_entries_are_dropped_independently():
    q, k, _ = make_qkv(2, 4, 64, 64)
    kept = multipliers_of(q, k, lambda v: sdpa(q, k, v, dropout_p=0.5)[0]).gt(0.5).double() - 0.5
    n = kept.numel()
    for dim in range(4):  # neighbours in any direction do not correlate
        correlation = (kept * kept.roll(1, dim)).sum() / n * 4
        assert abs(correlation) < 5 / n**0.5
    assert kept.abs().sum() == n / 2


def test_the_same_seed_gives_the_same_result_and_a_further_call_another():
    q, k, v = make_qkv(1, 2, 16, 16, 8)
    torch.manual_seed(3)
    first, further = (sdpa(q, k, v, dropout_p=0.3)[0] for _ in range(2))
    torch.manual_seed(3)
    again = sdpa(q, k, v, dropout_p=0.3)[0]
    assert torch.equal(first, again) and not torch.equal(first, further)


def test_the_state_is_that_of_torchs_generator():
    q, k, v = make_qkv()
    torch.manual_seed(5)
    sdpa(q, k, v, dropout_p=0.3)
    after_one = torch.get_rng_state()
    torch.manual_seed(5)
    sdpa(q, k, v)  # without dropout nothing is drawn
    assert not torch.equal(after_one, torch.get_rng_state())
    torch.manual_seed(5)
    assert torch.equal(torch.get_rng_state(), torch.manual_seed(5).get_state())


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize("hk", (4, 2))
def test_backward_uses_the_forwards_mask(dtype, hk):
    q, k, v = make_qkv(hk=hk, dtype=dtype)
    p = 0.4
    torch.manual_seed(11)
    forward = sdpa(q, k, v, dropout_p=p, is_causal=True)
    q32, k32 = q.float(), k.float()

    def rerun(identity):
        torch.manual_seed(11)
        return sdpa(q32, k32, identity, dropout_p=p)[0]

    m = (multipliers_of(q32, k32, rerun) > 0.5).double() / (1 - p)
    settings = {"is_causal": True, "multipliers": m}
    assert_near(forward[0], reference(q, k, v, **settings)[0])
    grad = torch.randn_like(forward[0])
    gradients = sdpa_backward(grad, q, k, v, forward, dropout_p=p, is_causal=True)
    for got, want in zip(gradients, reference_gradients(grad, q, k, v, **settings)):
        assert_near(got, want, factor=3)


def test_the_mask_depends_on_the_state_alone():
    q, k, v = make_qkv(2, 4, 70, 90)
    forward = sdpa(q, k, v, dropout_p=0.4)
    grad = torch.randn_like(forward[0])
    first = sdpa_backward(grad, q, k, v, forward, dropout_p=0.4)
    torch.manual_seed(123)
    copied = [t.clone() for t in forward]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        second = sdpa_backward(grad, q, k, v, copied, dropout_p=0.4)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(first, second))


def test_dropout_over_scores_made_in_pieces():
    q, k, v = make_qkv(1, 4, 3000, 2048, 4)
    torch.manual_seed(1)
    out = sdpa(q, k, v, dropout_p=0.5)[0]
    torch.manual_seed(1)
    part = sdpa(q[:, :, :100], k, v, dropout_p=0.5)[0]
    assert_near(out[:, :1, :100], part[:, :1])  # the first head's rows have the same numbers


def test_with_mask_and_bias():
    q, k, v = make_qkv()
    bias, mask = torch.randn(4, 7, 9), torch.ones(7, 9, dtype=torch.bool)
    mask[3] = False
    forward = sdpa(q, k, v, bias=bias, mask=mask, dropout_p=0.3)
    assert not forward[0][:, :, 3].any()
    gradients = sdpa_backward(
        torch.randn_like(forward[0]), q, k, v, forward, bias=bias, mask=mask, dropout_p=0.3, bias_grad=True
    )
    assert gradients[3].shape == bias.shape and not any(g.isnan().any() for g in gradients)
    assert not gradients[0][:, :, 3].any()


@pytest.mark.parametrize("dtype", (torch.float16, torch.float32), ids=str)
def test_p_of_one_gives_zeros(dtype):
    q, k, v = make_qkv(dtype=dtype)
    forward = sdpa(q, k, v, dropout_p=1.0)
    assert torch.equal(forward[0], torch.zeros_like(forward[0]))
    gradients = sdpa_backward(torch.ones_like(forward[0]), q, k, v, forward, dropout_p=1.0)
    assert all(torch.equal(g, torch.zeros_like(g)) for g in gradients)


@pytest.mark.parametrize("backend", ("auto", "math", "cpu_flash"))
def test_p_of_zero_is_no_dropout_to_the_bit(backend):
    q, k, v = make_qkv()
    state = torch.get_rng_state()
    assert torch.equal(sdpa(q, k, v, dropout_p=0.0, backend=backend)[0], sdpa(q, k, v, backend=backend)[0])
    assert torch.equal(state, torch.get_rng_state())


def test_inference_form_drops_too():
    q, k, v = make_qkv()
    torch.manual_seed(2)
    (out,) = sdpa(q, k, v, dropout_p=0.5, inference=True)
    torch.manual_seed(2)
    assert torch.equal(out, sdpa(q, k, v, dropout_p=0.5)[0])


def test_math_runs_it_on_the_cpu():
    q, k, v = make_qkv()
    attention.reset_sdpa_run_counts()
    forward = sdpa(q, k, v, dropout_p=0.2)
    sdpa_backward(forward[0], q, k, v, forward, dropout_p=0.2)
    assert attention.sdpa_run_counts() == {"math": 1, "math_backward": 1}
