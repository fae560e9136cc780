"""An attention block that the tests of explain() and draw() look at: RMS norm, RoPE, attention, gate, residual."""

from __future__ import annotations

import torch
from nvfuser_direct import FusionDefinition

KERNELS = ["generated_kernels"]
BATCH, LENGTH, HEADS, SIZE = 2, 24, 4, 16
MODEL = HEADS * SIZE


def rms_norm(fd, x, weight):
    """Over the last of three dims."""
    o = fd.ops
    mean = o.mul(o.sum(o.mul(x, x), [-1], keepdim=True), 1.0 / MODEL)
    return o.mul(o.mul(x, o.rsqrt(o.add(mean, 1e-6))), o.broadcast(weight, [True, True, False]))


def heads_of(fd, x, number, parts=1):
    """Part `number` of [batch, length, parts * MODEL] as [batch, head, length, size]."""
    o = fd.ops
    if parts > 1:
        x = o.slice(x, [0, 0, number * MODEL], [BATCH, LENGTH, (number + 1) * MODEL])
    return o.permute(o.reshape(x, [BATCH, LENGTH, HEADS, SIZE]), [0, 2, 1, 3])


def rope(fd, x, cos, sin):
    """Rotates the halves of each head."""
    o = fd.ops
    half = SIZE // 2
    first = o.slice(x, [0, 0, 0, 0], [BATCH, HEADS, LENGTH, half])
    second = o.slice(x, [0, 0, 0, half], [BATCH, HEADS, LENGTH, SIZE])
    rotated = o.cat([o.neg(second), first], -1)
    cos, sin = (o.broadcast(t, [True, True, False, False]) for t in (cos, sin))
    return o.add(o.mul(x, cos), o.mul(rotated, sin))


def attended(fd, q, k, v):
    """Causal attention as [batch, length, MODEL]."""
    out = fd.ops.sdpa_fwd(q, k, v, is_causal=True, inference=True)
    return fd.ops.reshape(fd.ops.permute(out, [0, 2, 1, 3]), [BATCH, LENGTH, MODEL])


def plain_block(fd, x, q, k, v, gate, weight, cos, sin):
    """The block around given projections: both norms, RoPE, attention, gate and residual."""
    q, k = (rope(fd, heads_of(fd, rms_norm(fd, t, weight), 0), cos, sin) for t in (q, k))
    y = attended(fd, q, k, heads_of(fd, v, 0))
    return fd.ops.add(x, fd.ops.mul(y, fd.ops.sigmoid(gate)))


def plain_inputs():
    """Inputs of plain_block."""
    rows = [torch.randn(BATCH, LENGTH, MODEL) for _ in range(5)]
    return [*rows, torch.randn(MODEL), torch.randn(LENGTH, SIZE), torch.randn(LENGTH, SIZE)]


def projected_block(fd, x, weight, w_qkv, w_gate, w_out, cos, sin):
    """The whole block, with its four projections as matrix products."""
    o = fd.ops
    h = rms_norm(fd, x, weight)
    qkv = o.linear(h, w_qkv)
    q, k = (rope(fd, heads_of(fd, qkv, i, 3), cos, sin) for i in (0, 1))
    y = attended(fd, q, k, heads_of(fd, qkv, 2, 3))
    gated = o.mul(y, o.sigmoid(o.linear(h, w_gate)))
    return o.add(x, o.linear(gated, w_out))


def projected_inputs():
    """Inputs of projected_block."""
    weights = [torch.randn(n * MODEL, MODEL) / MODEL**0.5 for n in (3, 1, 1)]
    x = torch.randn(BATCH, LENGTH, MODEL)
    return [x, torch.randn(MODEL), *weights, torch.randn(LENGTH, SIZE), torch.randn(LENGTH, SIZE)]


def defined(build, inputs, static_sizes=True):
    """The definition of `build` on tensors like `inputs`."""
    with FusionDefinition() as fd:
        fd.add_output(build(fd, *(fd.from_pytorch(t, static_sizes=static_sizes) for t in inputs)))
    return fd
