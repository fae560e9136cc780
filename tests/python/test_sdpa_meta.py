"""The attention nodes on meta and fake tensors: shapes, strides, dtypes and devices are those of a real run."""

import pytest
import torch
from attention_reference import forward_fusion, in_order, make_qkv, sdpa, sdpa_backward
from nvfuser_direct import attention
from torch._subclasses.fake_tensor import FakeTensorMode

ORDERS = ((0, 1, 2, 3), (0, 2, 1, 3), (1, 0, 2, 3))


def facts(tensors):
    return [(t.dtype, tuple(t.shape), t.stride()) for t in tensors]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", ({}, {"hk": 2}, {"ev": 8}, {"lead": (3,)}, {"keys": 0}, {"n": 0}), ids=str)
def test_meta_forward_equals_the_real_one(order, sizes):
    q, k, v = make_qkv(dtype=torch.bfloat16, **sizes)
    q = in_order(q, order) if q.dim() == 4 else q
    real = sdpa(q, k, v)
    meta = sdpa(*(t.to("meta") for t in (q, k, v)))
    assert all(t.is_meta for t in meta)
    assert facts(meta) == facts(real)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", ((1, 4, 7, 9), (2, 1, 1, 9), (9,)), ids=str)
def test_meta_backward_equals_the_real_one(order, shape):
    q, k, v = (in_order(t, order) for t in make_qkv())
    bias = torch.randn(shape)
    forward = sdpa(q, k, v, bias=bias)
    operands = [torch.ones_like(forward[0]), q, k, v, forward]
    real = sdpa_backward(*operands, bias=bias, bias_grad=True)
    meta_operands = [t.to("meta") if torch.is_tensor(t) else [x.to("meta") for x in t] for t in operands]
    meta = sdpa_backward(*meta_operands, bias=bias.to("meta"), bias_grad=True)
    assert all(t.is_meta for t in meta)
    assert facts(meta) == facts(real)


def test_meta_runs_no_backend():
    attention.reset_sdpa_run_counts()
    sdpa(*(t.to("meta") for t in make_qkv()), dropout_p=0.5)
    assert attention.sdpa_run_log() == []


@pytest.mark.parametrize("device", ("cpu", "cuda"), ids=("fake_cpu", "fake_cuda"))  # no device is needed
def test_fake_tensors_keep_their_device(device):
    q, k, v = make_qkv(hk=2, dtype=torch.bfloat16)
    fd = forward_fusion(q, k, v, dropout_p=0.1)
    real = fd.execute([q, k, v])
    with FakeTensorMode():
        fake = fd.execute([torch.empty(t.shape, dtype=t.dtype, device=device) for t in (q, k, v)])
    assert facts(fake) == facts(real)
    assert all(t.device.type == device for t in fake[:2])


@pytest.mark.parametrize("dropout_p", (0.0, 0.1))
def test_meta_results_of_torchs_flash_op_have_the_same_facts(dropout_p):
    q, k, v = (torch.empty(2, 100, 8, 64, dtype=torch.bfloat16, device="meta").transpose(1, 2) for _ in range(3))
    theirs = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, False, False)
    ours = sdpa(q, k, v, dropout_p=dropout_p, causal_alignment="bottom_right")
    assert facts(ours) == facts([theirs[0], theirs[1], theirs[6], theirs[7]])
