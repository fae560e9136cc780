"""scaled_dot_product_attention under torch.compile: one attention node each, equal to eager in value and gradient."""

import math

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same, compiled
from nvfuser.dynamo import compile_report
from torch.nn.attention import SDPBackend, sdpa_kernel

sdpa = F.scaled_dot_product_attention


def qkv(n=2, h=4, hk=4, length=7, keys=9, e=16, ev=16, dtype=torch.float32):
    return (
        torch.randn(n, h, length, e, dtype=dtype),
        torch.randn(n, hk, keys, e, dtype=dtype),
        torch.randn(n, hk, keys, ev, dtype=dtype),
    )


def bool_mask(*shape):
    mask = torch.rand(shape) > 0.3
    mask[..., 0] = True
    return mask


def assert_one_node_each(report):
    assert all(len(graph.attention) == 1 for graph in report.graphs), str(report)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_plain(train, causal, scale):
    def function(q, k, v):
        return sdpa(q, k, v, is_causal=causal, scale=scale)

    assert_one_node_each(assert_same(function, *qkv(), train=train, strides=False))


@pytest.mark.parametrize("length, keys", [(1, 8), (5, 2), (2, 5), (6, 6)])
def test_causal_is_top_left(length, keys):
    def function(q, k, v):
        return sdpa(q, k, v, is_causal=True)

    assert_same(function, *qkv(length=length, keys=keys), train=True, strides=False)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("shape", [(7, 9), (1, 9), (2, 1, 7, 9), (2, 4, 7, 9), (1, 4, 1, 9), (1, 1, 7, 1)])
def test_masks(shape, train):
    def function(q, k, v, mask):
        return sdpa(q, k, v, attn_mask=mask)

    assert_one_node_each(assert_same(function, *qkv(), bool_mask(*shape), train=train, strides=False))
    # A bias that needs a gradient gets one of its own shape.
    assert_one_node_each(assert_same(function, *qkv(), torch.randn(shape), train=train, strides=False))


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("heads, kv_heads", [(6, 2), (4, 1), (4, 4)])
def test_grouped_query(heads, kv_heads, train):
    def function(q, k, v):
        return sdpa(q, k, v, is_causal=True, enable_gqa=True)

    assert_one_node_each(assert_same(function, *qkv(h=heads, hk=kv_heads), train=train, strides=False))


@pytest.mark.parametrize("ev", [8, 32])
def test_value_head_size(ev):
    def function(q, k, v):
        return sdpa(q, k, v, is_causal=True)

    assert_one_node_each(assert_same(function, *qkv(ev=ev), train=True, strides=False))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtypes(dtype):
    def function(q, k, v):
        return sdpa(q, k, v)

    tolerance = 1e-5 if dtype == torch.float64 else None
    assert_same(function, *qkv(dtype=dtype), train=True, strides=False, tolerance=tolerance)


def test_transposed_views_and_what_follows():
    def function(x):
        q, k, v = (t.view(2, 7, 4, 8).transpose(1, 2) for t in x.split(32, dim=-1))
        return F.gelu(sdpa(q, k, v).transpose(1, 2).reshape(2, 7, 32))

    report = assert_same(function, torch.randn(2, 7, 96), train=True)
    assert report.graphs[0].num_fusions == 1


def test_rows_without_a_key_are_zero():
    mask = torch.ones(6, 10, dtype=torch.bool).tril()
    mask[5] = False

    def function(q, k, v):
        return sdpa(q, k, v, attn_mask=mask)

    assert_same(function, *qkv(length=6, keys=10), train=True, strides=False)


def test_additive_row_of_minus_infinity():
    bias = torch.zeros(4, 4)
    bias[2] = -math.inf
    report = assert_same(
        lambda q, k, v: sdpa(q, k, v, attn_mask=bias), *qkv(length=4, keys=4), train=True, strides=False
    )
    assert report.attention


@pytest.mark.parametrize("dim", [3, 5])
def test_other_ranks(dim):
    shape = {3: (4, 6, 8), 5: (2, 3, 4, 6, 8)}[dim]
    q, k, v = (torch.randn(shape) for _ in range(3))
    assert_same(lambda q, k, v: sdpa(q, k, v, is_causal=True), q, k, v, train=True, strides=False)


def test_dropout_is_eagers_own():
    def function(q, k, v):
        return sdpa(q, k, v, dropout_p=0.3)

    assert_same(function, *qkv(), train=True, strides=False, options={"fallback_random": True})
    assert_same(lambda q, k, v: sdpa(q, k, v, dropout_p=1.0), *qkv(), strides=False)


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_chosen_backend(backend):
    def function(q, k, v):
        with sdpa_kernel(backend):
            return sdpa(q, k, v, is_causal=True)

    assert_same(function, *qkv(), train=True, strides=False)


def test_vmap():
    mask = torch.ones(5, 5, dtype=torch.bool).tril()

    def function(q):
        return torch.vmap(lambda one: sdpa(one, one, one, attn_mask=mask))(q)

    assert_same(function, torch.randn(3, 2, 4, 5, 8), strides=False)


def test_gradient_of_a_function_of_attention():
    def function(q):
        return torch.func.grad(lambda x: sdpa(x, x, x).square().sum())(q)

    assert_same(function, torch.randn(1, 2, 5, 8), strides=False)


def test_autocast_casts_the_operands():
    def function(q, k, v):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return sdpa(q, k, v)

    report = assert_same(function, *qkv(), strides=False)
    assert report.attention


def test_handwritten_attention_keeps_its_scale():
    def function(q, k, v):
        return torch.matmul(torch.matmul(q, k.mT).div(3.0).softmax(-1), v)

    q, k, v = (torch.randn(4, 2, 16, 32) for _ in range(3))
    assert_same(function, q, k, v, train=True)


def test_two_shapes_in_both_orders():
    shapes = ((8, 90, 20, 64), (1, 153, 24, 128))
    cases = [tuple(torch.randn(shape) for _ in range(3)) for shape in shapes]
    for first, second in (cases, cases[::-1]):
        assert_same(lambda q, k, v: sdpa(q, k, v), *first, more_inputs=(second,), strides=False)


def test_bad_calls_raise_what_eager_raises():
    with pytest.raises(Exception, match="(?i)size|broadcast|expand|shape"):
        compiled(lambda q, k, v: sdpa(q, k, v))(*qkv(h=6, hk=4))
    with pytest.raises(Exception, match="(?i)dtype"):
        compiled(lambda q, k, v: sdpa(q, k.double(), v))(*qkv())


def test_mask_and_causal_together():
    bias = torch.randn(7, 9)

    def function(q, k, v):
        return sdpa(q, k, v, attn_mask=bias, is_causal=True)

    # torch's kernel for the CPU takes both; neither may be dropped.
    assert_same(function, *qkv(), train=True, strides=False)


def test_torch_may_open_the_call():
    def function(q, k, v):
        return sdpa(q, k, v, is_causal=True)

    options = {"whole_attention": False}
    report = assert_same(function, *qkv(), train=True, strides=False, options=options)
    assert {entry.op for entry in report.attention} <= {
        "aten._scaled_dot_product_flash_attention_for_cpu.default",
        "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
    }
    assert_one_node_each(report)


def test_report_names_the_backend_that_ran():
    function = compiled(lambda q, k, v: sdpa(q, k, v))
    function(*qkv())
    (entry,) = compile_report().attention
    assert entry.op == "nvfuser.sdpa.default"
    assert entry.backend in ("cpu_flash", "math", "flash", "efficient", "cudnn", "generated")
