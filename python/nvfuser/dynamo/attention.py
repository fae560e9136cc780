"""Keeps attention whole on its way through AOTAutograd.

``scaled_dot_product_attention`` is a composite op: below autograd it has already become one of five fused ops, or, where
none of them takes the call (another head size for the values, a mask that needs a gradient), a dozen primitive ones. So
before AOTAutograd runs, every call in dynamo's graph is pointed at :func:`whole_attention`, which emits the ops of
this file, ``nvfuser::sdpa`` and its backward, for what our attention node takes; those arrive as one fx node each
and become ``sdpa_fwd`` and ``sdpa_bwd``. All other calls go to torch as they were, dropout among them: the random
numbers of torch's own kernels are then the ones that eager draws, and those of a call that torch opens into primitive
ops are with the option ``fallback_random``.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

TORCH_SDPA = torch._C._nn.scaled_dot_product_attention

ATTENTION_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

_library = torch.library.Library("nvfuser", "DEF")
_library.define(
    "sdpa(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? mask, bool is_causal, float? scale,"
    " str backend) -> (Tensor output, Tensor logsumexp)"
)
_library.define(
    "sdpa_backward(Tensor grad_output, Tensor query, Tensor key, Tensor value, Tensor output, Tensor logsumexp,"
    " Tensor? bias, Tensor? mask, bool is_causal, float? scale, str backend, bool bias_grad)"
    " -> (Tensor grad_query, Tensor grad_key, Tensor grad_value, Tensor grad_bias)"
)


def layout_of(tensor: Tensor) -> list[int]:
    """The dims of `tensor` from outermost to innermost in memory, as an elementwise op on it would keep them."""
    order = torch._prims_common.compute_elementwise_output_logical_to_physical_perm(tensor)
    # Newer torch adds a flag to the order.
    return list(order[0] if isinstance(order, tuple) else order)


def empty_in_order_of(like: Tensor, shape: tuple[Any, ...]) -> Tensor:
    """An uninitialised tensor of `shape` whose dims lie in memory in the order of those of `like`."""
    return torch.empty_permuted(shape, layout_of(like), dtype=like.dtype, device=like.device)


def _expanded_mask(query: Tensor, key: Tensor, bias: Tensor | None, mask: Tensor | None) -> Tensor | None:
    if bias is None or mask is None:
        return mask if bias is None else bias
    return bias.masked_fill(~mask, -math.inf)


def _torch_sdpa(query, key, value, bias, mask, is_causal, scale):
    attn_mask = _expanded_mask(query, key, bias, mask)
    return TORCH_SDPA(
        query, key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=query.shape[1] != key.shape[1]
    )


def sdpa_in_torch(query, key, value, bias, mask, is_causal, scale, backend):
    """``nvfuser::sdpa`` outside of a fusion, through torch: [N,H,L,E], [N,Hk,S,E], [N,Hk,S,Ev] -> output, logsumexp."""
    output = _torch_sdpa(query, key, value, bias, mask, is_causal, scale)
    groups = query.shape[1] // key.shape[1]
    scores = query.float() @ key.float().repeat_interleave(groups, dim=1).transpose(-2, -1)
    scores = scores * (1.0 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if is_causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
    wanted = empty_in_order_of(query, (*query.shape[:3], value.shape[3]))
    return wanted.copy_(output), scores.logsumexp(-1)


def sdpa_backward_in_torch(
    grad_output, query, key, value, output, logsumexp, bias, mask, is_causal, scale, backend, bias_grad
):
    """``nvfuser::sdpa_backward`` outside of a fusion: recomputes the forward with autograd on."""
    operands = [query, key, value] + ([bias] if bias_grad else [])
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_() for t in operands]
        bias = leaves[3] if bias_grad else bias
        recomputed = _torch_sdpa(*leaves[:3], bias, mask, is_causal, scale)
        grads = torch.autograd.grad(recomputed, leaves, grad_output)
    grads = [empty_in_order_of(t, tuple(t.shape)).copy_(g) for t, g in zip(operands, grads)]
    return tuple(grads) if bias_grad else (*grads, query.new_empty(0))


def _sdpa_meta(query, key, value, bias, mask, is_causal, scale, backend):
    output = empty_in_order_of(query, (*query.shape[:3], value.shape[3]))
    return output, query.new_empty(query.shape[:3], dtype=torch.float32)


def _sdpa_backward_meta(
    grad_output, query, key, value, output, logsumexp, bias, mask, is_causal, scale, backend, bias_grad
):
    grads = [empty_in_order_of(t, tuple(t.shape)) for t in (query, key, value)]
    return (*grads, empty_in_order_of(bias, tuple(bias.shape)) if bias_grad else query.new_empty(0))


for _device in ("CPU", "CUDA"):
    _library.impl("sdpa", sdpa_in_torch, _device)
    _library.impl("sdpa_backward", sdpa_backward_in_torch, _device)
_library.impl("sdpa", _sdpa_meta, "Meta")
_library.impl("sdpa_backward", _sdpa_backward_meta, "Meta")


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    query, key, value, bias, mask, *ctx.settings = inputs
    ctx.save_for_backward(query, key, value, *output, bias, mask)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, grad_output: Tensor | None, grad_logsumexp: Tensor | None) -> tuple[Any, ...]:
    if grad_output is None:
        return (None,) * 8
    query, key, value, output, logsumexp, bias, mask = ctx.saved_tensors
    bias_grad = bias is not None and ctx.needs_input_grad[3]
    *grads, grad_bias = torch.ops.nvfuser.sdpa_backward(
        grad_output, query, key, value, output, logsumexp, bias, mask, *ctx.settings, bias_grad
    )
    return (*grads, grad_bias if bias_grad else None, None, None, None, None)


torch.library.register_autograd("nvfuser::sdpa", _backward, setup_context=_setup_context, lib=_library)


def _enabled_backend() -> str | None:
    """What the switches of ``torch.nn.attention.sdpa_kernel`` leave: "auto", "math", or None for anything else."""
    cuda = torch.backends.cuda
    fused = (cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.cudnn_sdp_enabled())
    if not cuda.math_sdp_enabled():
        return None
    return "auto" if all(fused) else None if any(fused) else "math"


def _takes(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: Any, gqa: bool) -> bool:
    """Whether our node computes this call; False leaves every error message to torch."""
    tensors = (query, key, value)
    if not all(isinstance(t, Tensor) and t.ndim == 4 and not t.is_nested for t in tensors):
        return False
    if query.dtype not in ATTENTION_DTYPES or {query.dtype} != {t.dtype for t in tensors}:
        return False
    if query.device.type not in ("cpu", "cuda") or {query.device} != {t.device for t in tensors}:
        return False
    if not isinstance(is_causal, bool):
        return False
    n, h, _, e = query.shape
    if key.shape[0] != n or value.shape[:3] != key.shape[:3] or key.shape[3] != e:
        return False
    if any(isinstance(size, int) and size == 0 for t in tensors for size in t.shape):
        return False
    if h != key.shape[1] and (not gqa or h % key.shape[1] != 0):
        return False
    if attn_mask is None:
        return True
    if is_causal or attn_mask.ndim > 4 or attn_mask.ndim < 2 or attn_mask.device != query.device:
        return False
    if attn_mask.dtype not in (torch.bool, query.dtype):
        return False
    scores = (n, h, query.shape[2], key.shape[2])
    return all(m == 1 or m == s for m, s in zip(attn_mask.shape[::-1], scores[::-1]))


def whole_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``torch.nn.functional.scaled_dot_product_attention`` as one ``nvfuser::sdpa`` node where our node takes the call.

    Runs while AOTAutograd traces. Same arguments, results and errors as torch's function; whatever is not ours
    (dropout, other ranks, a backend picked with ``sdpa_kernel``) is handed to it.
    """
    q, k, v, m = query, key, value, attn_mask
    if isinstance(q, Tensor) and torch.is_autocast_enabled(q.device.type):
        dtype = torch.get_autocast_dtype(q.device.type)
        q, k, v, m = (_autocast(t, dtype) for t in (q, k, v, m))
    backend = _enabled_backend()
    plain_scale = scale is None or isinstance(scale, float)
    if backend is None or dropout_p != 0.0 or not plain_scale or not _takes(q, k, v, m, is_causal, enable_gqa):
        return TORCH_SDPA(
            query, key, value, attn_mask, dropout_p=dropout_p, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )
    bias = mask = None
    if m is not None:
        m = m.reshape((1,) * (4 - m.ndim) + tuple(m.shape))
        bias, mask = (None, m) if m.dtype == torch.bool else (m, None)
    # The op has no autocast rule of its own: its operands have been cast above.
    with torch.amp.autocast(q.device.type, enabled=False):
        return torch.ops.nvfuser.sdpa(q, k, v, bias, mask, is_causal, scale, backend)[0]


def _autocast(tensor: Any, dtype: torch.dtype) -> Any:
    is_cast = isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.dtype != torch.float64
    return tensor.to(dtype) if is_cast else tensor


def keep_attention_whole(gm: torch.fx.GraphModule) -> int:
    """Points every attention call of dynamo's graph (and of its subgraphs) at :func:`whole_attention`.

    Returns the number of calls. A graph that maps functions (``torch.vmap``) or takes gradients (``torch.func.grad``)
    is left as it is: our op has no batching rule, torch's has.
    """
    graphs = [m.graph for m in gm.modules() if isinstance(m, torch.fx.GraphModule)]
    if any(
        "functorch" in getattr(n.target, "__module__", "") or "" for g in graphs for n in g.nodes if callable(n.target)
    ):
        return 0
    calls = [n for g in graphs for n in g.nodes if n.op == "call_function" and n.target in _SPELLINGS]
    for node in calls:
        node.target = whole_attention
    if calls:
        for module in gm.modules():
            if isinstance(module, torch.fx.GraphModule):
                module.recompile()
    return len(calls)


_SPELLINGS = (TORCH_SDPA, F.scaled_dot_product_attention)
