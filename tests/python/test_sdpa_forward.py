"""sdpa_fwd: operands, dtypes, head groups, head sizes, leading dims, results and layouts."""

import math

import pytest
import torch
from attention_reference import DTYPES, assert_near, forward_fusion, in_order, make_qkv, reference, sdpa
from nvfuser_direct import DataType, FusionDefinition

NL_HE = (0, 2, 1, 3)  # [N, L, H, E] in memory


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("static", (False, True), ids=("symbolic", "static"))
def test_output_and_logsumexp_of_every_dtype(dtype, static):
    q, k, v = make_qkv(dtype=dtype)
    out, lse, _, _ = sdpa(q, k, v, static=static)
    expected, expected_lse = reference(q, k, v)
    assert out.dtype == dtype and lse.dtype == torch.float32
    assert out.shape == (2, 4, 7, 16) and lse.shape == (2, 4, 7) and lse.is_contiguous()
    assert_near(out, expected)
    assert_near(lse, expected_lse, torch.float32)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=str)
def test_agrees_with_torch(dtype):
    q, k, v = make_qkv(dtype=dtype, length=33, keys=65, e=32)
    out = sdpa(q, k, v)[0]
    assert_near(out, torch.nn.functional.scaled_dot_product_attention(q, k, v), factor=2)


@pytest.mark.parametrize("backend", ("math", "cpu_flash", "auto"))
@pytest.mark.parametrize("hk", (1, 2, 3, 6))
def test_grouped_heads_equal_repeated_heads(hk, backend):
    q, k, v = make_qkv(h=6, hk=hk)
    out, lse, *_ = sdpa(q, k, v, backend=backend)
    repeated = [t.repeat_interleave(6 // hk, dim=1) for t in (k, v)]
    expected, expected_lse = reference(q, *repeated)
    assert_near(out, expected)
    assert_near(lse, expected_lse)


@pytest.mark.parametrize("e,ev", ((1, 1), (3, 3), (7, 7), (40, 40), (80, 80), (136, 136), (16, 8), (8, 16), (257, 257)))
def test_head_sizes(e, ev):
    q, k, v = make_qkv(e=e, ev=ev)
    out, lse, *_ = sdpa(q, k, v)
    expected, expected_lse = reference(q, k, v)
    assert out.shape == (2, 4, 7, ev)
    assert_near(out, expected)
    assert_near(lse, expected_lse)


@pytest.mark.parametrize("lead", ((3,), (3, 2), (1,), (1, 5)))
@pytest.mark.parametrize("backend", ("math", "cpu_flash"))
def test_more_leading_dims(lead, backend):
    q, k, v = make_qkv(lead=lead)
    out, lse, *_ = sdpa(q, k, v, backend=backend)
    expected, expected_lse = reference(q, k, v)
    assert out.shape == (*lead, 2, 4, 7, 16) and lse.shape == (*lead, 2, 4, 7)
    assert_near(out, expected)
    assert_near(lse, expected_lse)


def test_leading_dims_that_cannot_be_flattened_without_a_copy():
    q, k, v = (t.transpose(0, 1) for t in make_qkv(lead=(3,), n=2))
    assert_near(sdpa(q, k, v)[0], reference(q, k, v)[0])


@pytest.mark.parametrize("scale", (None, 1.0, 0.3, 0.0, -0.5, 2))
@pytest.mark.parametrize("is_causal", (False, True))
def test_scale(scale, is_causal):
    q, k, v = make_qkv(length=9)
    out, lse, *_ = sdpa(q, k, v, scale=scale, is_causal=is_causal)
    expected, expected_lse = reference(q, k, v, scale=scale, is_causal=is_causal)
    assert_near(out, expected)
    assert_near(lse, expected_lse)


def test_scalars_as_fusion_inputs():
    q, k, v = make_qkv(length=9)
    with FusionDefinition() as fd:
        tensors = [fd.from_pytorch(t) for t in (q, k, v)]
        p, scale = fd.define_scalar(DataType.Double), fd.define_scalar(DataType.Double)
        causal = fd.define_scalar(DataType.Bool)
        out, lse, _, _ = fd.ops.sdpa_fwd(*tensors, dropout_p=p, is_causal=causal, scale=scale)
        fd.add_output(out)
        fd.add_output(lse)
    for is_causal, s in ((False, 0.1), (True, 0.7), (False, 0.7)):
        out, lse = fd.execute([q, k, v, 0.0, s, is_causal])
        expected, expected_lse = reference(q, k, v, is_causal=is_causal, scale=s)
        assert_near(out, expected)
        assert_near(lse, expected_lse)


def test_the_default_scale_is_that_of_the_given_head_size():
    q, k, v = make_qkv(e=12)
    assert torch.equal(sdpa(q, k, v)[0], sdpa(q, k, v, scale=1 / math.sqrt(12))[0])


def test_inference_form_has_one_result():
    q, k, v = make_qkv()
    results = sdpa(q, k, v, inference=True)
    assert len(results) == 1
    assert torch.equal(results[0], sdpa(q, k, v)[0])


def test_one_definition_for_many_sizes():
    fd = forward_fusion(*make_qkv())
    for n, h, length, keys, e in ((1, 1, 1, 1, 1), (3, 2, 5, 31, 8), (2, 8, 64, 16, 24)):
        q, k, v = make_qkv(n, h, length, keys, e)
        out, lse, *_ = fd.execute([q, k, v])
        expected, expected_lse = reference(q, k, v)
        assert_near(out, expected)
        assert_near(lse, expected_lse)


@pytest.mark.parametrize("backend", ("math", "cpu_flash"))
@pytest.mark.parametrize("order", (NL_HE, (0, 1, 2, 3), (1, 0, 2, 3), (2, 0, 1, 3)))
def test_output_has_the_querys_stride_order(order, backend):
    q, k, v = make_qkv()
    q = in_order(q, order)
    out = sdpa(q, k, v, backend=backend)[0]
    assert out.stride() == q.stride()
    assert_near(out, reference(q, k, v)[0])


def test_output_stride_order_with_another_value_head_size():
    q, k, v = make_qkv(ev=24)
    q = in_order(q, NL_HE)
    out = sdpa(q, k, v)[0]
    assert out.stride() == torch.empty_permuted(out.shape, NL_HE).stride()


def test_projection_transposed_in_one_fusion():
    # Linear, split into heads, attention and back: the declared layout of the node must be the real one.
    n, length, h, e = 2, 12, 4, 8
    x, w = torch.randn(n, length, h * e), torch.randn(h * e, h * e) / 8
    with FusionDefinition() as fd:
        tx, tw = fd.from_pytorch(x), fd.from_pytorch(w)
        heads = fd.ops.permute(fd.ops.reshape(fd.ops.linear(tx, tw), [n, length, h, e]), [0, 2, 1, 3])
        out = fd.ops.sdpa_fwd(heads, heads, heads, inference=True)
        back = fd.ops.reshape(fd.ops.permute(out, [0, 2, 1, 3]), [n, length, h * e])
        fd.add_output(out)
        fd.add_output(fd.ops.mul(back, back))
    result, squared = fd.execute([x, w])
    heads = (x @ w.T).view(n, length, h, e).transpose(1, 2)
    expected, _ = reference(heads, heads, heads)
    assert_near(result, expected)
    assert_near(squared, expected.transpose(1, 2).reshape(n, length, h * e).square(), factor=4)


@pytest.mark.parametrize("backend", ("math", "cpu_flash"))
def test_strided_and_expanded_operands(backend):
    q, k, v = make_qkv(n=2, h=4, length=8, keys=16, e=16)
    swapped = [t.mT.contiguous().mT for t in (q, k, v)]
    assert_near(sdpa(*swapped, backend=backend)[0], reference(q, k, v)[0])
    shared = [t[:1, :1].expand(2, 4, -1, -1) for t in (k, v)]
    assert_near(sdpa(q, *shared, backend=backend)[0], reference(q, *shared)[0])
    wide = torch.randn(2, 8, 4, 48)
    parts = [p.transpose(1, 2) for p in wide.split(16, dim=-1)]
    assert_near(sdpa(*parts, backend=backend)[0], reference(*parts)[0])


@pytest.mark.parametrize("zero", ("n", "h", "length"))
def test_empty_query(zero):
    q, k, v = make_qkv(**{zero: 0})
    out, lse, *_ = sdpa(q, k, v)
    assert out.shape == q.shape and lse.shape == q.shape[:-1]


def test_no_keys_give_zeros():
    q, k, v = make_qkv(keys=0)
    out, lse, *_ = sdpa(q, k, v)
    assert torch.equal(out, torch.zeros_like(q))
    assert torch.equal(lse, torch.full((2, 4, 7), -math.inf))


def test_long_scores_are_made_in_pieces():
    # 2 * 4 * 1500 * 2048 scores exceed what the math backend holds at once.
    q, k, v = make_qkv(h=4, hk=2, length=1500, keys=2048, e=8, n=2)
    bias = torch.randn(1, 4, 1, 2048)
    settings = {"is_causal": True, "causal_alignment": "bottom_right"}
    out, lse, *_ = sdpa(q, k, v, bias=bias, backend="math", **settings)
    expected, expected_lse = reference(q, k, v, bias=bias, **settings)
    assert_near(out, expected)
    assert_near(lse, expected_lse)


def test_inputs_stay_as_they_were_and_need_no_gradient():
    q, k, v = (t.requires_grad_() for t in make_qkv())
    copies = [t.detach().clone() for t in (q, k, v)]
    out = sdpa(q, k, v)[0]
    assert not out.requires_grad
    assert all(torch.equal(t, c) for t, c in zip((q, k, v), copies))


def test_autocast_does_not_change_the_node():
    q, k, v = make_qkv()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = sdpa(q, k, v, backend="math")[0]
    assert out.dtype == torch.float32
    assert torch.equal(out, sdpa(q, k, v, backend="math")[0])


def test_printed_definition_runs_to_the_same_result():
    q, k, v = make_qkv(length=9, hk=2)
    bias = torch.randn(9, 9)[None, None].expand(2, 4, 9, 9).contiguous()
    settings = {"is_causal": True, "scale": 0.25, "backend": "math", "causal_alignment": "bottom_right"}
    fd = forward_fusion(q, k, v, bias, **settings)
    namespace = {"FusionDefinition": FusionDefinition, "DataType": DataType, "torch": torch}
    exec(repr(fd), namespace)
    function = next(f for name, f in namespace.items() if name.startswith("nvfuser_fusion"))
    with FusionDefinition() as again:
        function(again)
    for a, b in zip(fd.execute([q, k, v, bias])[:2], again.execute([q, k, v, bias])[:2]):
        assert torch.equal(a, b)
