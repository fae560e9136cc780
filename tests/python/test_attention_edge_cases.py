"""Inputs that broke other attention kernels, through the attention nodes of a FusionDefinition.

Each test says in its name what went wrong elsewhere. Values are compared with eager torch, or with the formula in
float64 where eager is one of the sides that got it wrong. The same inputs through torch.compile are tested elsewhere.
"""

import math
import subprocess
import sys

import pytest
import torch
from attention_reference import (
    assert_near,
    causal_keep,
    forward_fusion,
    in_order,
    make_qkv,
    reference,
    reference_gradients,
    sdpa,
    sdpa_backward,
)
from nvfuser_direct import FusionDefinition

F = torch.nn.functional
CPU_BACKENDS = ("math", "cpu_flash")
LOW_AND_SINGLE = (torch.float32, torch.bfloat16, torch.float16)


def eager(q, k, v, mask=None, **settings):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **settings)


# --- the causal diagonal ---


def test_causal_with_one_query_sees_the_first_key_only():
    q, k, v = make_qkv(1, 1, 1, 8, 8)
    assert_near(sdpa(q, k, v, is_causal=True)[0], v[:, :, :1])
    last = sdpa(q, k, v, is_causal=True, causal_alignment="bottom_right")[0]
    assert_near(last, eager(q, k, v, causal_keep(1, 8, "bottom_right")))


def test_causal_with_more_queries_than_keys():
    q, k, v = make_qkv(1, 1, 5, 2, 8)
    assert_near(sdpa(q, k, v, is_causal=True)[0], eager(q, k, v, torch.ones(5, 2, dtype=torch.bool).tril()))
    bottom_right = sdpa(q, k, v, is_causal=True, causal_alignment="bottom_right")[0]
    assert not bottom_right[:, :, :3].any() and bottom_right[:, :, 3:].all()


@pytest.mark.parametrize("length", (1, 2, 3, 4))
def test_cached_decoding_by_name(length):
    q, k, v = make_qkv(length=length, keys=8)
    out = sdpa(q, k, v, is_causal=True, causal_alignment="bottom_right")[0]
    assert_near(out, eager(q, k, v, causal_keep(length, 8, "bottom_right")))


# --- rows without a key, huge negative numbers, NaN ---


@pytest.mark.parametrize("dtype", LOW_AND_SINGLE, ids=str)
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_bool_mask_row_that_is_all_false(backend, dtype):
    q, k, v = make_qkv(1, 2, 6, 10, 8, dtype=dtype)
    mask = torch.ones(6, 10, dtype=torch.bool).tril()
    mask[5] = False
    out = sdpa(q, k, v, mask=mask, backend=backend)[0]
    assert torch.equal(out[:, :, 5], torch.zeros_like(out[:, :, 5]))
    assert_near(out, eager(q, k, v, mask), factor=2)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradients_of_a_row_that_is_masked_out(backend):
    q, k, v = make_qkv(1, 2, 4, 4, 8)
    bias = torch.zeros(4, 4)
    bias[2] = -math.inf
    forward = sdpa(q, k, v, bias=bias)
    grad = torch.ones(()).expand(q.shape)
    gradients = sdpa_backward(grad, q, k, v, forward, bias=bias, backend=backend)
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    eager(*leaves, bias).sum().backward()
    for got, leaf in zip(gradients, leaves):
        assert not got.isnan().any()
        assert_near(got, leaf.grad)
    assert not gradients[0][:, :, 2].any()


@pytest.mark.parametrize("dtype", LOW_AND_SINGLE, ids=str)
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_row_of_the_lowest_finite_number_is_the_mean(backend, dtype):
    q, k, v = make_qkv(1, 1, 4, 8, 8, dtype=dtype)
    bias = torch.zeros(4, 8, dtype=dtype)
    bias[2] = torch.finfo(dtype).min
    out = sdpa(q, k, v, bias=bias, backend=backend)[0]
    mean = v.double().mean(2)
    # float16's lowest number leaves the scores visible beside it.
    expected = mean if dtype != torch.float16 else reference(q, k, v, bias=bias)[0][:, :, 2]
    assert_near(out[:, :, 2], expected, dtype)
    assert_near(out, eager(q, k, v, bias), factor=2)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_nan_in_a_masked_key_reaches_the_output_as_in_eager(backend):
    q = torch.arange(8.0).view(1, 1, 2, 4)
    k = q.clone()
    k[0, 0, 1, 2] = math.nan
    mask = torch.tensor([[True, False], [True, False]])
    out = sdpa(q, k, k, mask=mask, backend=backend)[0]
    assert torch.equal(out.isnan(), eager(q, k, k, mask).isnan())
    assert out.isnan().any()


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("with_mask", (False, True))
def test_query_of_nan_gives_nan(backend, with_mask):
    q, k, v = make_qkv(2, 4, 16, 16, 8)
    mask = torch.ones(16, 16, dtype=torch.bool).tril() if with_mask else None
    assert sdpa(torch.full_like(q, math.nan), k, v, mask=mask, backend=backend)[0].isnan().all()


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_infinite_scores_give_nan_as_in_eager(backend):
    q, k, v = make_qkv()
    k[0, 0, 3] = math.inf
    assert torch.equal(sdpa(q, k, v, backend=backend)[0].isnan(), eager(q, k, v).isnan())


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_scores_with_a_large_common_part(backend):
    q, k, v = make_qkv(e=64)
    k = k + 100.0
    out, lse, *_ = sdpa(q, k, v, backend=backend)
    expected, expected_lse = reference(q, k, v)
    assert_near(out, expected, factor=100)
    assert_near(lse, expected_lse)


def test_left_padded_batch_with_a_sliding_window():
    # Two layers; the rows of the padding see no key and must not spoil the next layer.
    torch.manual_seed(0)
    lengths, window, width = (5, 2), 4, 16
    x = torch.randn(2, 1, 5, width, dtype=torch.bfloat16)
    i, j = torch.arange(5)[:, None], torch.arange(5)[None]
    visible = (j <= i) & (j > i - window)
    real = torch.stack([torch.arange(5) >= 5 - n for n in lengths])
    mask = visible[None, None] & real[:, None, None, :]

    def layers(t, m):
        with FusionDefinition() as fd:
            tt, tm = fd.from_pytorch(t), fd.from_pytorch(m)
            for _ in range(2):
                tt = fd.ops.cast(fd.ops.add(tt, fd.ops.sdpa_fwd(tt, tt, tt, mask=tm, inference=True)), tt.dtype())
            fd.add_output(tt)
        return fd.execute([t, m])[0]

    padded = layers(x, mask)
    assert not padded.isnan().any()
    for row, n in enumerate(lengths):
        alone = layers(x[row : row + 1, :, 5 - n :].contiguous(), visible[None, None, 5 - n :, 5 - n :].contiguous())
        assert_near(padded[row : row + 1, :, 5 - n :], alone)


# --- heads and head sizes ---


def test_no_key_heads_is_an_error_and_not_the_end_of_the_process():
    script = (
        "import torch\n"
        "from nvfuser_direct import FusionDefinition\n"
        "q, k, v = torch.ones(2, 4, 8, 16), torch.ones(2, 0, 8, 16), torch.ones(2, 4, 8, 16)\n"
        "for kv in ((k, v), (k, k)):\n"
        "    try:\n"
        "        with FusionDefinition() as fd:\n"
        "            fd.add_output(fd.ops.sdpa_fwd(*[fd.from_pytorch(t) for t in (q, *kv)])[0])\n"
        "        fd.execute([q, *kv])\n"
        "    except RuntimeError as error:\n"
        "        print('caught', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("caught") == 2


def test_grouped_heads_and_heads_that_do_not_divide():
    q, k, v = make_qkv(2, 6, 7, 9, 16, hk=2)
    repeated = [t.repeat_interleave(3, dim=1) for t in (k, v)]
    assert torch.equal(sdpa(q, k, v, backend="cpu_flash")[0], sdpa(q, *repeated, backend="cpu_flash")[0])
    with pytest.raises(RuntimeError, match="query has 6 heads, key has 4"):
        sdpa(*make_qkv(2, 6, 7, 9, 16, hk=4))


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=str)
def test_value_head_size_differs(dtype):
    for e, ev in ((8, 16), (48, 32)):
        q, k, v = make_qkv(1, 2, 4, 4, e, ev=ev, dtype=dtype)
        forward = sdpa(q, k, v, is_causal=True)
        assert forward[0].shape == (1, 2, 4, ev)
        assert_near(forward[0], eager(q, k, v, is_causal=True), factor=2)
        grad = torch.randn_like(forward[0])
        expected = reference_gradients(grad, q, k, v, is_causal=True)
        for got, want in zip(sdpa_backward(grad, q, k, v, forward, is_causal=True), expected):
            assert_near(got, want, factor=2)


@pytest.mark.parametrize("e", (1, 3, 8, 20, 40, 72, 80, 96, 100, 136, 256, 257, 512))
def test_head_sizes_outside_the_short_list(e):
    q, k, v = make_qkv(1, 2, 9, 9, e)
    forward = sdpa(q, k, v)
    assert_near(forward[0], eager(q, k, v))
    grad = torch.randn_like(q)
    for got, want in zip(sdpa_backward(grad, q, k, v, forward), reference_gradients(grad, q, k, v)):
        assert_near(got, want, factor=3)


# --- bias and mask ---


def test_mask_with_fewer_dims_on_five_dim_inputs():
    q, k, v = (torch.randn(3, 2, 4, n, e) for n, e in ((7, 16), (5, 16), (5, 32)))
    bias = torch.randn(1, 1, 5)
    out = sdpa(q, k, v, bias=bias)[0]
    assert out.shape == (3, 2, 4, 7, 32)
    assert_near(out, eager(q, k, v, bias.expand(3, 2, 4, 7, 5)))


@pytest.mark.parametrize("shape", ((1, 1, 8, 8), (2, 1, 8, 8), (1, 4, 1, 8), (2, 1, 1, 8), (1, 1, 1, 8)), ids=str)
def test_gradient_of_a_broadcast_bias(shape):
    q, _, _ = make_qkv(2, 4, 8, 8, 16)
    bias = torch.randn(shape)
    forward = sdpa(q, q, q, bias=bias)
    grad = torch.randn_like(q)
    got = sdpa_backward(grad, q, q, q, forward, bias=bias, bias_grad=True)[3]
    leaf = bias.clone().requires_grad_()
    eager(q, q, q, leaf).backward(grad)
    assert got.shape == shape
    assert_near(got, leaf.grad, factor=3)


def test_no_mask_has_no_gradient_of_a_mask():
    q, k, v = make_qkv(10, 128, 4, 4, 32)
    forward = sdpa(q, k, v)
    gradients = sdpa_backward(torch.ones_like(q), q, k, v, forward)
    assert len(gradients) == 3
    for got, want in zip(gradients, reference_gradients(torch.ones_like(q), q, k, v)):
        assert_near(got, want, factor=3)


def test_mask_that_is_a_slice_of_a_wider_buffer():
    q, k, v = (in_order(t, (0, 2, 1, 3)) for t in make_qkv(length=9, keys=13))
    bias = torch.randn(1, 1, 9, 16)[..., :13]
    mask = (torch.rand(1, 1, 9, 32) > 0.2)[..., :13]
    out = sdpa(q, k, v, bias=bias, mask=mask)[0]
    dense = [t.contiguous() for t in (q, k, v, bias, mask)]
    assert_near(out, sdpa(*dense)[0])
    assert_near(out, reference(*dense)[0])


def test_bias_built_inside_the_fusion():
    q, k, v = make_qkv(2, 4, 10, 10, 16)
    keep = torch.rand(2, 1, 10, 10) > 0.3
    with FusionDefinition() as fd:
        tq, tk, tv, tm = (fd.from_pytorch(t) for t in (q, k, v, keep))
        zero, hidden = fd.define_scalar(0.0), fd.define_scalar(-1e9)
        bias = fd.ops.where(tm, zero, hidden)
        bias = fd.ops.expand(fd.ops.cast(bias, tq.dtype()), [2, 4, 10, 10])
        fd.add_output(fd.ops.sdpa_fwd(tq, tk, tv, bias=bias, inference=True))
    (out,) = fd.execute([q, k, v, keep])
    assert_near(out, eager(q, k, v, torch.where(keep, 0.0, -1e9)))


def test_five_dim_attention_with_bias_over_rows_and_mask_over_heads():
    n = 37
    q, k, v = (torch.randn(1, n, 4, n, 32) for _ in range(3))
    bias, mask = torch.randn(1, 1, 4, n, n), torch.rand(1, n, 1, 1, n) > 0.2
    forward = sdpa(q, k, v, bias=bias, mask=mask)
    assert_near(forward[0], reference(q, k, v, bias=bias, mask=mask)[0])
    grad = torch.randn_like(q)
    got = sdpa_backward(grad, q, k, v, forward, bias=bias, mask=mask, bias_grad=True)
    for g, want in zip(got, reference_gradients(grad, q, k, v, bias, mask=mask)):
        assert_near(g, want, factor=3)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("kind", ("bias", "mask", "both"))
def test_broadcast_bias_costs_less_than_one_full_score_tensor(kind, backend):
    # Run in a child process: the peak of this one has been set by other tests. One score tensor: 512 MB.
    script = f"""
import resource, torch
from attention_reference import forward_fusion, sdpa_backward
q = torch.randn(8, 4, 2048, 8)
settings = dict(bias=torch.randn(1, 4, 1, 2048), mask=torch.rand(8, 1, 1, 2048) > 0.3)
settings = settings if {kind!r} == 'both' else {{{kind!r}: settings[{kind!r}]}}
fd = forward_fusion(q, q, q, **settings, backend={backend!r})
small = torch.randn(1, 4, 8, 8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
out = fd.execute([q, q, q, *settings.values()])
sdpa_backward(out[0], q, q, q, out, **settings, bias_grad='bias' in settings)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=_child_environment())
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * 1024 < 8 * 4 * 2048 * 2048 * 4


def _child_environment():
    import os
    from pathlib import Path

    here = Path(__file__).resolve().parent
    paths = [str(here), str(here.parents[1] / "python")]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(paths))


# --- layouts ---


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_innermost_stride_other_than_one(backend):
    q, k, v = (t.mT.contiguous().mT for t in make_qkv(2, 4, 8, 16, 16))
    assert_near(sdpa(q, k, v, backend=backend)[0], reference(q, k, v)[0])


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("kv_heads", (1, 6))
def test_slices_of_one_interleaved_projection(backend, kv_heads):
    buffer = torch.randn(64, 2, 6 + 2 * kv_heads, 16)  # [length, batch, heads, head size]
    parts = [t.permute(1, 2, 0, 3) for t in buffer.split([6, kv_heads, kv_heads], dim=2)]
    dense = [t.contiguous() for t in parts]
    out = sdpa(*parts, is_causal=True, backend=backend)[0]
    assert_near(out, sdpa(*dense, is_causal=True, backend=backend)[0])
    assert_near(out, reference(*dense, is_causal=True)[0])


def test_operands_in_one_storage():
    q, _, _ = make_qkv(length=8, keys=8)
    out = sdpa(q, q, q)
    assert_near(out[0], reference(q, q, q)[0])
    gradients = sdpa_backward(q, q, q, q, out)
    for got, want in zip(gradients, reference_gradients(q, q, q, q)):
        assert_near(got, want, factor=3)


def test_projection_attention_and_back_in_one_fusion():
    n, length, h, e = 2, 128, 8, 64
    x, w = torch.randn(n, length, 512), torch.randn(3 * 512, 512) / 20
    with FusionDefinition() as fd:
        tx, tw = fd.from_pytorch(x), fd.from_pytorch(w)
        qkv = fd.ops.linear(tx, tw)
        heads = []
        for i in range(3):
            part = fd.ops.slice(qkv, [0, 0, i * 512], [n, length, (i + 1) * 512])
            heads.append(fd.ops.permute(fd.ops.reshape(part, [n, length, h, e]), [0, 2, 1, 3]))
        attention = fd.ops.sdpa_fwd(*heads)[0]
        back = fd.ops.reshape(fd.ops.permute(attention, [0, 2, 1, 3]), [n, length, 512])
        fd.add_output(fd.ops.tanh(back))
        fd.add_output(attention)
    result, node_output = fd.execute([x, w])
    parts = [t.view(n, length, h, e).transpose(1, 2) for t in (x @ w.T).split(512, dim=-1)]
    expected = eager(*parts)
    assert_near(result, expected.transpose(1, 2).reshape(n, length, 512).tanh())
    assert_near(node_output, expected)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_logsumexp_handed_over_as_a_strided_view(backend):
    q, k, v = make_qkv()
    out, lse, *state = sdpa(q, k, v)
    grad = torch.randn_like(out)
    packed = sdpa_backward(grad, q, k, v, (out, lse, *state), backend=backend)
    view = in_order(lse, (0, 2, 1))
    strided = sdpa_backward(grad, q, k, v, (out, view, *state), backend=backend)
    assert all(torch.equal(a, b) for a, b in zip(packed, strided))


# --- one definition, many shapes; numbers of logsumexp ---


@pytest.mark.parametrize("order", ((0, 1), (1, 0)))
def test_second_shape_through_one_definition(order):
    shapes = [(2, 20, 90, 64), (1, 24, 153, 128)]
    fd = forward_fusion(*[torch.randn(2, 3, 4, 8)] * 3)
    for i in order:
        q, k, v = (torch.randn(shapes[i]) for _ in range(3))
        out = fd.execute([q, k, v])[0]
        assert torch.isfinite(out).all()
        assert_near(out, eager(q, k, v))


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_logsumexp_is_the_natural_log_with_the_maximum_put_back(backend):
    q, k, v = torch.ones(1, 2, 4, 16), torch.ones(1, 2, 8, 16), torch.ones(1, 2, 8, 16)
    lse = sdpa(q, k, v, backend=backend)[1]
    torch.testing.assert_close(lse, torch.full((1, 2, 4), math.log(8) + math.sqrt(16)))


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_logsumexp_of_a_masked_row_is_minus_infinity(backend):
    # The CPU kernel itself writes 0 there; with the node's -inf both backwards give gradient 0.
    q, k, v = make_qkv(1, 1, 4, 8, 8)
    bias = torch.zeros(4, 8)
    bias[2] = -math.inf
    out, lse, *_ = sdpa(q, k, v, bias=bias, backend=backend)
    assert lse[0, 0, 2] == -math.inf and torch.isfinite(lse[0, 0, [0, 1, 3]]).all()
    assert not out[0, 0, 2].any()


def test_backward_takes_the_cpu_ops_own_logsumexp():
    # torch's op called directly: 0 for the masked row, and strides that are not packed.
    q, k, v = make_qkv(1, 2, 4, 8, 8)
    bias = torch.zeros(4, 8)
    bias[2] = -math.inf
    op = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, lse = op(q, k, v, attn_mask=bias[None, None])
    state = sdpa(q, k, v)[2:]
    grad = torch.randn_like(out)
    for backend in CPU_BACKENDS:
        gradients = sdpa_backward(grad, q, k, v, (out, lse, *state), bias=bias, backend=backend)
        for got, want in zip(gradients, reference_gradients(grad, q, k, v, bias)):
            assert_near(got, want, factor=3)


# --- dropout ---


def test_dropout_twice_with_one_seed_then_once_more():
    q, k, v = make_qkv(1, 2, 16, 16, 8)
    torch.manual_seed(3)
    first = sdpa(q, k, v, dropout_p=0.3)[0]
    torch.manual_seed(3)
    second = sdpa(q, k, v, dropout_p=0.3)[0]
    third = sdpa(q, k, v, dropout_p=0.3)[0]
    assert torch.equal(first, second) and not torch.equal(second, third)
    everything_dropped = sdpa(q, k, v, dropout_p=1.0)[0]
    assert torch.equal(everything_dropped, torch.zeros_like(q))


# --- aten's own variants on meta: what the node's results are normalised from ---


def test_meta_shapes_of_the_fused_variants():
    q = torch.empty(2, 37, 4, 40, dtype=torch.bfloat16, device="meta").transpose(1, 2)
    aten = torch.ops.aten
    flash = aten._scaled_dot_product_flash_attention(q, q, q, 0.1, False, False)
    efficient = aten._scaled_dot_product_efficient_attention(q, q, q, None, True, 0.1, False)
    assert flash[1].shape == (2, 4, 37)
    assert efficient[1].shape == (2, 4, 64)
    assert efficient[2].dtype == efficient[3].dtype == torch.int64
    assert flash[6].shape == (2,) and flash[6].dtype == flash[7].dtype == torch.uint64
