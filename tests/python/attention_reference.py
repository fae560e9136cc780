"""Attention by its formula in float64, and the attention nodes run through a FusionDefinition."""

from __future__ import annotations

import math
from typing import Any

import torch
from nvfuser_direct import DataType, FusionDefinition
from torch import Tensor

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
# Rounding of one result and the room that an implementation in the input's own type gets.
TOLERANCE = {torch.float16: 3e-3, torch.bfloat16: 2.5e-2, torch.float32: 3e-5, torch.float64: 1e-9}


def causal_keep(length: int, keys: int, alignment: str, device: Any = "cpu") -> Tensor:
    """[L, S], True where the causal rule keeps a key."""
    shift = keys - length if alignment == "bottom_right" else 0
    return torch.ones(length, keys, dtype=torch.bool, device=device).tril(shift)


def scores_of(q, k, bias=None, mask=None, is_causal=False, scale=None, causal_alignment="top_left") -> Tensor:
    """[N.., H, L, S] in the type of `q`: scaled products, bias, -inf where a key is hidden."""
    k = k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3) if q.shape[-3] != k.shape[-3] else k
    s = (q @ k.mT) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if bias is not None:
        s = s + bias
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    if is_causal:
        s = s.masked_fill(~causal_keep(q.shape[-2], k.shape[-2], causal_alignment, q.device), -math.inf)
    return s


def reference(
    q, k, v, bias=None, mask=None, is_causal=False, scale=None, causal_alignment="top_left", multipliers=None
):
    """(output, logsumexp) in float64; rows without a key give 0 and -inf. Differentiable, with gradient 0 there."""
    q, k, v = q.double(), k.double(), v.double()
    s = scores_of(q, k, None if bias is None else bias.double(), mask, is_causal, scale, causal_alignment)
    empty = (s == -math.inf).all(-1, keepdim=True)
    p = s.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    lse = s.detach().logsumexp(-1) if s.shape[-1] else torch.full_like(s.sum(-1), -math.inf)
    if multipliers is not None:
        p = p * multipliers.double()
    v = v.repeat_interleave(q.shape[-3] // v.shape[-3], dim=-3) if q.shape[-3] != v.shape[-3] else v
    return p @ v, lse


def reference_gradients(grad, q, k, v, bias=None, **settings) -> tuple[Tensor, ...]:
    """Gradients of q, k, v (and of bias where given) in float64."""
    leaves = [t.detach().double().requires_grad_() for t in (q, k, v) + (() if bias is None else (bias,))]
    out, _ = reference(*leaves[:3], bias=leaves[3] if bias is not None else None, **settings)
    return torch.autograd.grad(out, leaves, grad.double())


def make_qkv(n=2, h=4, length=7, keys=9, e=16, ev=None, hk=None, dtype=torch.float32, device="cpu", lead=(), seed=1):
    """query [*lead, N, H, L, E], key [.., Hk, S, E], value [.., Hk, S, Ev] of normal numbers."""
    generator = torch.Generator().manual_seed(seed)
    hk, ev = hk or h, ev or e
    shapes = [(*lead, n, h, length, e), (*lead, n, hk, keys, e), (*lead, n, hk, keys, ev)]
    return tuple(torch.randn(s, generator=generator, dtype=torch.float64).to(device, dtype) for s in shapes)


def assert_near(actual: Tensor, expected: Tensor, dtype: torch.dtype | None = None, factor: float = 1.0) -> None:
    """Same shape; finite values within the tolerance of the dtype, relative to the size of the numbers."""
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    atol = TOLERANCE[dtype or actual.dtype] * factor * max(1.0, _size_of(expected))
    torch.testing.assert_close(actual.double(), expected.double(), rtol=0, atol=atol, equal_nan=True)


def _size_of(tensor: Tensor) -> float:
    finite = tensor[torch.isfinite(tensor)]
    return float(finite.abs().max()) if finite.numel() else 1.0


def _define(fd: FusionDefinition, tensor: Tensor | None, static: bool):
    return None if tensor is None else fd.from_pytorch(tensor, static_sizes=static)


def forward_fusion(q, k, v, bias=None, mask=None, *, static=False, op="sdpa_fwd", **settings) -> FusionDefinition:
    """A fusion of one forward node over these tensors; its outputs are the node's."""
    with FusionDefinition() as fd:
        tensors = [_define(fd, t, static) for t in (q, k, v, bias, mask)]
        results = getattr(fd.ops, op)(*tensors[:3], bias=tensors[3], mask=tensors[4], **settings)
        for result in results if isinstance(results, tuple) else (results,):
            fd.add_output(result)
    return fd


def sdpa(q, k, v, bias=None, mask=None, **settings) -> list[Tensor]:
    """[output, logsumexp, philox_seed, philox_offset] of a fusion; [output] with inference=True."""
    fd = forward_fusion(q, k, v, bias, mask, **settings)
    return fd.execute([t for t in (q, k, v, bias, mask) if t is not None])


def sdpa_backward(
    grad,
    q,
    k,
    v,
    forward,
    bias=None,
    mask=None,
    *,
    dropout_p=None,
    is_causal=None,
    scale=None,
    static=False,
    **settings,
) -> list[Tensor]:
    """Gradients of a fusion of one backward node; `forward` is what `sdpa` returned."""
    out, lse, seed, offset = forward
    with FusionDefinition() as fd:
        g, tq, tk, tv, o, m = (_define(fd, t, static) for t in (grad, q, k, v, out, lse))
        rng = [define_state(fd, t) for t in (seed, offset)]
        extra = {name: _define(fd, t, static) for name, t in (("bias", bias), ("mask", mask)) if t is not None}
        results = fd.ops.sdpa_bwd(g, tq, tk, tv, o, m, dropout_p, is_causal, *rng, scale, **extra, **settings)
        for result in results:
            fd.add_output(result)
    given = [grad, q, k, v, out, lse, seed, offset, *(t for t in (bias, mask) if t is not None)]
    return fd.execute(given)


def define_state(fd: FusionDefinition, tensor: Tensor):
    """philox_seed or philox_offset as a fusion input of the form that it has."""
    dtype = DataType.UInt64 if tensor.dtype == torch.uint64 else DataType.Int
    return fd.define_tensor(shape=list(tensor.shape), contiguity=True, dtype=dtype, is_cpu=dtype == DataType.Int)


def in_order(tensor: Tensor, order: tuple[int, ...]) -> Tensor:
    """A copy of `tensor` whose dims lie in memory in `order`, outermost first."""
    result = torch.empty_permuted(tensor.shape, order, dtype=tensor.dtype, device=tensor.device)
    return result.copy_(tensor)
