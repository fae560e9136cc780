"""The fused CUDA kernels behind the attention nodes: values, gradients, layouts, random state, choice, graphs."""

import math

import pytest
import torch
from attention_reference import (
    assert_near,
    causal_keep,
    define_state,
    forward_fusion,
    in_order,
    make_qkv,
    reference,
    reference_gradients,
    sdpa,
    sdpa_backward,
)
from nvfuser_direct import FusionDefinition, attention
from nvfuser_direct.attention import sdpa_backends
from torch.nn.attention import SDPBackend, sdpa_kernel

pytestmark = pytest.mark.cuda

HALVES = (torch.float16, torch.bfloat16)
FUSED = ("flash", "efficient", "cudnn")
BACKENDS = (*FUSED, "math")
aten = torch.ops.aten


def cuda_qkv(*args, dtype=torch.bfloat16, **sizes):
    return make_qkv(*args, dtype=dtype, device="cuda", **sizes)


def check(q, k, v, backend, bias=None, bias_grad=False, factor=2.0, **settings):
    forward = sdpa(q, k, v, bias=bias, backend=backend, **settings)
    expected, expected_lse = reference(q, k, v, bias=bias, **settings)
    assert_near(forward[0], expected, factor=factor)
    assert_near(forward[1], expected_lse, factor=10)
    grad = torch.randn_like(forward[0])
    gradients = sdpa_backward(grad, q, k, v, forward, bias=bias, bias_grad=bias_grad, backend=backend, **settings)
    for got, want in zip(gradients, reference_gradients(grad, q, k, v, bias, **settings)):
        assert_near(got, want, factor=factor)
    return forward, gradients


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("hk", (4, 2, 1))
def test_values_and_gradients(backend, dtype, hk):
    check(*cuda_qkv(2, 4, 100, 256, 64, hk=hk, dtype=dtype), backend)


@pytest.mark.parametrize("backend", ("efficient", "math"))
@pytest.mark.parametrize("is_causal", (False, True))
def test_float32(backend, is_causal):
    check(*cuda_qkv(2, 4, 33, 65, 40, hk=2, dtype=torch.float32), backend, factor=20, is_causal=is_causal)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("e", (8, 40, 44, 72, 96, 128, 250, 256))
def test_head_sizes(backend, e):
    check(*cuda_qkv(1, 2, 33, 65, e), backend)


@pytest.mark.parametrize("backend", ("efficient", "cudnn", "math"))
@pytest.mark.parametrize("e,ev", ((48, 32), (64, 128), (20, 12)))
def test_value_head_size_differs(backend, e, ev):
    check(*cuda_qkv(1, 2, 33, 65, e, ev=ev), backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("length,keys", ((40, 100), (100, 40), (64, 64), (1, 64)))
@pytest.mark.parametrize("alignment", ("top_left", "bottom_right"))
def test_causal(backend, length, keys, alignment):
    q, k, v = cuda_qkv(2, 4, length, keys, 64)
    settings = {"is_causal": True, "causal_alignment": alignment}
    other = {"flash": "top_left", "math": None}.get(backend, "bottom_right")
    if alignment == other and length != keys:
        with pytest.raises(RuntimeError, match=f"backend '{backend}' cannot run this: it aligns the causal diagonal"):
            sdpa(q, k, v, backend=backend, **settings)
    else:
        check(q, k, v, backend, **settings)
    check(q, k, v, "auto", **settings)


@pytest.mark.parametrize("backend", ("efficient", "cudnn", "math"))
@pytest.mark.parametrize(
    "shape", ((2, 4, 33, 65), (1, 4, 33, 65), (2, 1, 1, 65), (1, 1, 33, 65), (65,), (2, 4, 33, 1)), ids=str
)
def test_bias_and_mask(backend, shape):
    q, k, v = cuda_qkv(2, 4, 33, 65, 64)
    bias = torch.randn(shape, device="cuda", dtype=q.dtype)
    check(q, k, v, backend, bias=bias)
    mask = torch.rand(shape, device="cuda") > 0.3
    mask[..., :1] = True
    check(q, k, v, backend, mask=mask)
    check(q, k, v, backend, bias=bias, mask=mask)


@pytest.mark.parametrize("shape", ((1, 4, 33, 65), (2, 1, 1, 65), (33, 65)), ids=str)
def test_gradient_of_the_bias(shape):
    q, k, v = cuda_qkv(2, 4, 33, 65, 64)
    bias = torch.randn(shape, device="cuda", dtype=q.dtype)
    for backend in ("efficient", "math", "auto"):
        _, gradients = check_bias(q, k, v, backend, bias)
        assert gradients[3].shape == shape


def check_bias(q, k, v, backend, bias):
    forward = sdpa(q, k, v, bias=bias, backend=backend)
    grad = torch.randn_like(forward[0])
    gradients = sdpa_backward(grad, q, k, v, forward, bias=bias, bias_grad=True, backend=backend)
    for got, want in zip(gradients, reference_gradients(grad, q, k, v, bias)):
        assert_near(got, want, factor=3)
    return forward, gradients


def test_float32_bias_with_half_operands_keeps_its_digits():
    q, k, v = cuda_qkv(2, 4, 33, 65, 64)
    bias = torch.randn(1, 4, 33, 65, device="cuda") * 8
    table = sdpa_backends(q, k, v, bias)
    assert table.eligible == ["math"] and table.reason("efficient") == "needs the bias in query's dtype"
    check(q, k, v, "auto", bias=bias)


@pytest.mark.parametrize("backend", ("efficient", "cudnn", "math"))
@pytest.mark.parametrize("kind", ("bias", "mask"))
def test_rows_without_a_key(backend, kind):
    q, k, v = cuda_qkv(2, 4, 33, 64, 64)
    bias = torch.randn(33, 64, device="cuda", dtype=q.dtype)
    bias[2] = -math.inf
    settings = {"bias": bias} if kind == "bias" else {"mask": bias > -math.inf}
    forward = sdpa(q, k, v, backend=backend, **settings)
    assert not forward[0][:, :, 2].any()
    assert (forward[1][:, :, 2] == -math.inf).all() and torch.isfinite(forward[1][:, :, 3]).all()
    grad = torch.ones_like(forward[0])
    for other in ("efficient", "cudnn", "math"):
        gradients = sdpa_backward(grad, q, k, v, forward, backend=other, **settings)
        for got, want in zip(gradients, reference_gradients(grad, q, k, v, **settings)):
            assert_near(got, want, factor=3)


def test_rows_without_a_key_of_a_causal_call():
    q, k, v = cuda_qkv(2, 4, 10, 4, 64)
    settings = {"is_causal": True, "causal_alignment": "bottom_right"}
    for backend in ("flash", "math"):
        out, lse, *_ = check(q, k, v, backend, **settings)[0]
        assert not out[:, :, :6].any() and (lse[:, :, :6] == -math.inf).all()


@pytest.mark.parametrize("dtype", (*HALVES, torch.float32), ids=str)
def test_row_of_the_lowest_finite_number_is_the_mean(dtype):
    q, k, v = cuda_qkv(1, 1, 4, 8, 8, dtype=dtype)
    bias = torch.zeros(4, 8, dtype=dtype, device="cuda")
    bias[2] = torch.finfo(dtype).min
    expected = reference(q, k, v, bias=bias)[0]
    for backend in sdpa_backends(q, k, v, bias).eligible:
        assert_near(sdpa(q, k, v, bias=bias, backend=backend)[0], expected)


@pytest.mark.parametrize("scale", (0.0, -0.5))
@pytest.mark.parametrize("is_causal", (False, True))
def test_scales_that_are_not_positive(scale, is_causal):
    check(*cuda_qkv(1, 2, 33, 33, 64), "auto", scale=scale, is_causal=is_causal)


# --- layouts ---


@pytest.mark.parametrize("backend", BACKENDS)
def test_stride_orders(backend):
    q, k, v = (in_order(t, (0, 2, 1, 3)) for t in cuda_qkv(2, 4, 33, 65, 64))
    forward, gradients = check(q, k, v, backend)
    assert forward[0].stride() == q.stride()
    assert [g.stride() for g in gradients] == [t.stride() for t in (q, k, v)]
    q, k, v = cuda_qkv(2, 4, 33, 65, 64)
    forward, gradients = check(q, k, v, backend)
    assert forward[0].is_contiguous() and forward[1].is_contiguous()
    assert all(g.is_contiguous() for g in gradients)


@pytest.mark.parametrize("backend", BACKENDS)
def test_slices_views_and_expanded_operands(backend):
    buffer = torch.randn(128, 2, 18, 64, device="cuda", dtype=torch.bfloat16)
    parts = [t.permute(1, 2, 0, 3) for t in buffer.split([16, 1, 1], dim=2)]
    check(*parts, backend, is_causal=True)
    odd = torch.randn(2, 4, 33, 3 * 40 + 1, device="cuda", dtype=torch.bfloat16)[..., 1:]
    check(*odd.split(40, dim=-1), backend)  # misaligned starts
    q, k, v = cuda_qkv(2, 4, 33, 33, 64)
    check(q, *(t[:1].expand(2, -1, -1, -1) for t in (k, v)), backend)
    forward = sdpa(q, k, v)
    ones = torch.ones((), device="cuda", dtype=q.dtype).expand(q.shape)
    gradients = sdpa_backward(ones, q, k, v, forward, backend=backend)
    for got, want in zip(gradients, reference_gradients(ones, q, k, v)):
        assert_near(got, want, factor=2)


def test_mask_views():
    q, k, v = (in_order(t, (0, 2, 1, 3)) for t in cuda_qkv(2, 32, 450, 450, 64))
    wide = torch.randn(2, 1, 450, 512, device="cuda", dtype=q.dtype)[..., :450]
    check(q, k, v, "efficient", bias=wide)
    check(q, k, v, "auto", bias=wide.expand(2, 32, 450, 450))
    check(q[:, :, :1], k, v, "auto", bias=wide[:, :, :1])


@pytest.mark.parametrize("n", (65535, 65536, 65537))
def test_gradient_strides_of_large_batches(n):
    q, k, v = (torch.randn(n, 1, 2, 8, device="cuda", dtype=torch.float16) for _ in range(3))
    forward = sdpa(q, k, v)
    gradients = sdpa_backward(torch.ones_like(q), q, k, v, forward)
    assert [g.stride() for g in gradients] == [t.stride() for t in (q, k, v)]
    assert_near(forward[0][-3:], reference(q[-3:], k[-3:], v[-3:])[0])


def test_decoding_with_grouped_heads():
    k, v = (torch.randn(4, 4, 300, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    first = k[:, :, :1].repeat(1, 8, 1, 1)
    fd = forward_fusion(first, k[:, :, :9], v[:, :, :9], inference=True)  # slices of a cache: not contiguous
    for keys in range(1, 300, 7):
        q = torch.randn(4, 32, 1, 128, device="cuda", dtype=torch.bfloat16)
        (out,) = fd.execute([q, k[:, :, :keys], v[:, :, :keys]])
        assert_near(out, reference(q, k[:, :, :keys], v[:, :, :keys])[0])


def test_broadcast_bias_costs_less_than_one_full_score_tensor():
    q, k, v = cuda_qkv(8, 8, 4096, 4096, 64)
    full = 8 * 8 * 4096 * 4096 * 2
    for bias in (torch.randn(1, 1, 1, 4096, device="cuda"), torch.rand(8, 1, 1, 4096, device="cuda") > 0.3):
        name = "mask" if bias.dtype == torch.bool else "bias"
        settings = {name: bias if name == "mask" else bias.to(q.dtype)}
        for backend in ("auto", "math"):
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            forward = sdpa(q, k, v, backend=backend, **settings)
            sdpa_backward(forward[0], q, k, v, forward, backend=backend, **settings)
            assert torch.cuda.max_memory_allocated() - before < full
            del forward


# --- choice ---


def ran(function):
    attention.reset_sdpa_run_counts()
    function()
    return attention.sdpa_run_log()


def test_auto_prefers_the_fastest():
    q, k, v = cuda_qkv(2, 4, 128, 128, 64)
    major = torch.cuda.get_device_capability()[0]
    assert ran(lambda: sdpa(q, k, v)) == ["cudnn" if major >= 9 else "flash"]
    assert ran(lambda: sdpa(*(t.float() for t in (q, k, v)))) == ["efficient"]
    assert ran(lambda: sdpa(*(t.double() for t in (q, k, v)))) == ["math"]
    assert ran(lambda: sdpa(q, k, v, dropout_p=0.1)) == ["flash"]


@pytest.mark.parametrize(
    "switch,name",
    (
        (SDPBackend.FLASH_ATTENTION, "flash"),
        (SDPBackend.EFFICIENT_ATTENTION, "efficient"),
        (SDPBackend.CUDNN_ATTENTION, "cudnn"),
        (SDPBackend.MATH, "math"),
    ),
)
def test_sdpa_kernel_is_respected(switch, name):
    q, k, v = cuda_qkv(2, 4, 128, 128, 64)
    with sdpa_kernel(switch):
        assert ran(lambda: sdpa(q, k, v)) == [name]
        assert sdpa_backends(q, k, v).eligible == [name]
    with sdpa_kernel(switch):
        forward = sdpa(q, k, v, dropout_p=0.2)
    # The backward has the forward's backend although the switch is off by now.
    assert ran(lambda: sdpa_backward(forward[0], q, k, v, forward, dropout_p=0.2)) == [f"{name}_backward"]


def test_deterministic_mode():
    q, k, v = cuda_qkv(2, 4, 256, 256, 64)
    bias = torch.randn(1, 4, 256, 256, device="cuda", dtype=q.dtype)
    torch.use_deterministic_algorithms(True)
    try:
        for settings in ({}, {"bias": bias}, {"dropout_p": 0.2}):
            forward = sdpa(q, k, v, **settings)
            attention.reset_sdpa_run_counts()
            gradients = [sdpa_backward(forward[0], q, k, v, forward, **settings) for _ in range(3)]
            assert set(attention.sdpa_run_counts()) == {"math_backward" if "bias" in settings else "flash_backward"}
            assert all(torch.equal(a, b) for other in gradients[1:] for a, b in zip(gradients[0], other))
        with pytest.raises(RuntimeError, match="has no deterministic backward"):
            sdpa_backward(forward[0], q, k, v, forward, backend="efficient")
    finally:
        torch.use_deterministic_algorithms(False)


# --- torch's own ops under the same seed ---


def flash_named(grad, q, k, v, dropout_p, is_causal, scale):
    with FusionDefinition() as fd:
        t = [fd.from_pytorch(x) for x in (q, k, v)]
        for result in fd.ops.sdpfa_fwd(*t, dropout_p=dropout_p, is_causal=is_causal, scale=scale):
            fd.add_output(result)
    out, lse, seed, offset = fd.execute([q, k, v])
    with FusionDefinition() as fd:
        t = [fd.from_pytorch(x) for x in (grad, q, k, v, out, lse)]
        state = [define_state(fd, x) for x in (seed, offset)]
        for result in fd.ops.sdpfa_bwd(*t, dropout_p, is_causal, *state, scale):
            fd.add_output(result)
    return (out, lse, seed, offset), fd.execute([grad, q, k, v, out, lse, seed, offset])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("dropout_p", (0.0, 0.2))
@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("scale", (None, 1e-3))
def test_flash_named_ops_equal_torchs_flash_attention(dtype, dropout_p, is_causal, scale):
    q, k, v = (in_order(t, (0, 2, 1, 3)) for t in cuda_qkv(2, 8, 128, 256, 64, dtype=dtype))
    grad = torch.randn_like(q)
    torch.manual_seed(0)
    forward, gradients = flash_named(grad, q, k, v, dropout_p, is_causal, scale)
    torch.manual_seed(0)
    theirs = aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal, False, scale=scale)
    assert torch.equal(forward[0], theirs[0]) and torch.equal(forward[1], theirs[1])
    assert forward[0].stride() == theirs[0].stride()
    if dropout_p:
        assert torch.equal(forward[2].view(torch.int64), theirs[6].view(torch.int64))
    expected = aten._scaled_dot_product_flash_attention_backward(
        grad, q, k, v, *theirs[:2], *theirs[2:6], dropout_p, is_causal, *theirs[6:8], scale=scale
    )
    for got, want in zip(gradients, expected):
        assert_near(got, want, factor=0.5)  # the kernel adds up the query's gradient in any order
        assert got.stride() == want.stride()


@pytest.mark.parametrize("backend", ("flash", "efficient", "cudnn"))
def test_dropout_equals_torchs_ops(backend):
    q, k, v = cuda_qkv(2, 8, 128, 128, 64)
    torch.manual_seed(4)
    forward = sdpa(q, k, v, dropout_p=0.3, backend=backend)
    torch.manual_seed(4)
    if backend == "efficient":
        expected = aten._scaled_dot_product_efficient_attention(q, k, v, None, True, 0.3, False)
    elif backend == "cudnn":
        expected = aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.3, False, False)
    else:
        expected = aten._scaled_dot_product_flash_attention(q, k, v, 0.3, False, False)
    assert torch.equal(forward[0], expected[0])


# --- dropout ---


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("copy_state", (False, True))
def test_backward_uses_the_forwards_mask(backend, copy_state):
    q, k, _ = cuda_qkv(2, 4, 64, 64, 64)
    v = torch.eye(64, device="cuda", dtype=q.dtype).expand(2, 4, 64, 64).contiguous()
    p = 0.25
    forward = sdpa(q, k, v, dropout_p=p, backend=backend)
    dropped, plain = forward[0].double(), reference(q, k, v)[0]
    m = (dropped / plain > 0.5).double() / (1 - p)
    assert abs((m > 0).double().mean() - (1 - p)) < 0.01
    assert_near(forward[0], plain * m)
    grad = torch.randn_like(v)
    state = [t.clone() for t in forward] if copy_state else forward
    gradients = sdpa_backward(grad, q, k, v, state, dropout_p=p, backend=backend)
    for got, want in zip(gradients, reference_gradients(grad, q, k, v, multipliers=m)):
        assert_near(got, want, factor=2)
    if not copy_state:
        attention.reset_sdpa_run_counts()
        again = sdpa_backward(grad, q, k, v, forward, dropout_p=p)  # auto finds the backend of the forward
        assert attention.sdpa_run_log() == [f"{backend}_backward"]
        assert_near(again[2], gradients[2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_has_the_form_of_this_torch(backend):
    q, k, v = cuda_qkv(2, 4, 64, 64, 64)
    form = attention.rng_state_form()
    for p in (0.0, 0.3):
        _, _, seed, offset = sdpa(q, k, v, dropout_p=p, backend=backend)
        assert (
            str(seed.dtype) == f"torch.{form['philox_seed_dtype']}" and tuple(seed.shape) == form["philox_seed_shape"]
        )
        assert str(offset.dtype) == f"torch.{form['philox_offset_dtype']}" and offset.dim() == 0
        assert seed.is_cuda == offset.is_cuda == (form["device"] == "query")


@pytest.mark.parametrize("backend", BACKENDS)
def test_seeds(backend):
    q, k, v = cuda_qkv(2, 4, 64, 64, 64)
    torch.manual_seed(3)
    first, further = (sdpa(q, k, v, dropout_p=0.3, backend=backend)[0] for _ in range(2))
    torch.manual_seed(3)
    assert torch.equal(first, sdpa(q, k, v, dropout_p=0.3, backend=backend)[0])
    assert not torch.equal(first, further)


def test_p_of_one_gives_zeros():
    q, k, v = cuda_qkv(2, 4, 64, 64, 64)
    forward = sdpa(q, k, v, dropout_p=1.0)
    assert torch.equal(forward[0], torch.zeros_like(q))
    gradients = sdpa_backward(torch.ones_like(q), q, k, v, forward, dropout_p=1.0)
    assert not any(g.any() for g in gradients)


@pytest.mark.parametrize("backend", FUSED)
def test_p_of_zero_is_no_dropout_to_the_bit(backend):
    q, k, v = cuda_qkv(2, 4, 64, 64, 64)
    assert torch.equal(sdpa(q, k, v, dropout_p=0.0, backend=backend)[0], sdpa(q, k, v, backend=backend)[0])


@pytest.mark.parametrize("backend", ("flash", "efficient", "cudnn"))
def test_captured_graph_draws_anew_at_every_replay(backend):
    q, k, _ = cuda_qkv(2, 4, 128, 64, 64)
    v = torch.eye(64, device="cuda", dtype=q.dtype).expand(2, 4, 64, 64).contiguous()
    p = 0.1
    grad = torch.randn(2, 4, 128, 64, device="cuda", dtype=q.dtype)
    with FusionDefinition() as fd:
        tg, tq, tk, tv = (fd.from_pytorch(t) for t in (grad, q, k, v))
        out, lse, *state = fd.ops.sdpa_fwd(tq, tk, tv, dropout_p=p, backend=backend)
        fd.add_output(out)
        results = fd.ops.sdpa_bwd(tg, tq, tk, tv, out, lse, p, None, *state, None, backend=backend)
        for result in results:
            fd.add_output(result)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        fd.execute([grad, q, k, v])
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out, _, _, grad_value = fd.execute([grad, q, k, v])
    seen = []
    for _ in range(3):
        graph.replay()
        torch.cuda.synchronize()
        seen.append(out.clone())
        dropped = (out / reference(q, k, v)[0] < 0.5).double().mean().item()
        assert abs(dropped - p) < 3 * (p * (1 - p) / out.numel()) ** 0.5 + 1e-3
        assert_near(grad_value, out.double().mT @ grad.double(), factor=2)
    assert not torch.equal(seen[0], seen[1]) and not torch.equal(seen[1], seen[2])


def test_math_dropout_cannot_be_captured():
    q, k, v = cuda_qkv(2, 4, 64, 64, 64)
    fd = forward_fusion(q, k, v, dropout_p=0.2, backend="math")
    fd.execute([q, k, v])
    with pytest.raises(RuntimeError, match="cannot be captured into a graph"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            fd.execute([q, k, v])


def test_five_dims_with_bias_and_mask():
    n = 37
    q, k, v = (torch.randn(1, n, 4, n, 32, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    bias = torch.randn(1, 1, 4, n, n, device="cuda", dtype=q.dtype)
    mask = torch.rand(1, n, 1, 1, n, device="cuda") > 0.2
    forward = sdpa(q, k, v, bias=bias, mask=mask)
    assert_near(forward[0], reference(q, k, v, bias=bias, mask=mask)[0])
    grad = torch.randn_like(q)
    got = sdpa_backward(grad, q, k, v, forward, bias=bias, mask=mask, bias_grad=True)
    for g, want in zip(got, reference_gradients(grad, q, k, v, bias, mask=mask)):
        assert_near(g, want, factor=3)


def test_empty_sizes_and_no_keys():
    for zero in ("n", "length", "keys"):
        q, k, v = cuda_qkv(**{zero: 0})
        forward = sdpa(q, k, v)
        assert forward[0].is_cuda and not forward[0].any()
        assert not any(g.any() for g in sdpa_backward(forward[0], q, k, v, forward))


def test_bottom_right_equals_an_explicit_mask():
    q, k, v = cuda_qkv(2, 4, 40, 100, 64)
    out = sdpa(q, k, v, is_causal=True, causal_alignment="bottom_right")[0]
    mask = causal_keep(40, 100, "bottom_right", "cuda")
    assert_near(out, torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask), factor=2)
