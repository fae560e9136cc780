"""Rows for attention: ``scaled_dot_product_attention`` itself, which exported programs hold, torch's fused variants,
their backwards, and the ops of ``attention.py``.

All become ``sdpa_fwd`` and ``sdpa_bwd``. The results that ATen promises besides the output differ by variant (the
logsumexp of the efficient kernel is padded to 32 rows, that of cuDNN has a last dim of 1), so each row gives its
results the form of the graph, and a call whose other results cannot be had from our node stays in eager.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .attention import ATTENTION_DTYPES  # also defines torch.ops.nvfuser.sdpa
from .op_table import argument, is_one, is_static, meta_of, overloads, translates

RNG_DTYPES = frozenset({torch.uint64})

#: index of the result -> what we can make of it, per variant; results that are absent stay unreproduced.
FLASH_RESULTS = {0: "output", 1: "logsumexp", 6: "seed", 7: "offset"}
CUDNN_RESULTS = {0: "output", 1: "logsumexp", 6: "zero", 7: "zero"}
EFFICIENT_RESULTS = {0: "output", 1: "logsumexp", 2: "zero", 3: "zero"}
CPU_RESULTS = {0: "output", 1: "logsumexp"}


def used_results(node: Node) -> set[int]:
    """Which results of a call with several results are read, by index (-1: the tuple itself is)."""
    return {u.args[1] if u.target is operator.getitem else -1 for u in node.users}


def _check_results(results: dict[int, str]) -> Any:
    def check(node: Node) -> str | None:
        unknown = used_results(node) - set(results)
        if unknown:
            return f"result {min(unknown)} of the attention op is used"
        return _check_problem(node)

    return check


def _check_problem(node: Node) -> str | None:
    query, key = meta_of(argument(node, "query")), meta_of(argument(node, "key"))
    if query.ndim != 4 or key.ndim != 4:
        return f"attention of rank {query.ndim}"
    if any(isinstance(size, int) and size == 0 for size in (*query.shape, *key.shape)):
        return "empty operand"
    # torch draws the dropout mask from its generator in a way that only its own kernel repeats.
    is_flash = "_scaled_dot_product_flash_attention" in str(node.target) and query.device.type == "cuda"
    if argument(node, "dropout_p", 0.0) != 0.0 and not is_flash:
        return "dropout"
    return "debug mask" if argument(node, "return_debug_mask", False) else None


def _forward(ctx, results, query, key, value, *, bias=None, mask=None, dropout_p=0.0, is_causal, scale, **settings):
    """Builds the node and returns a tuple with one entry for each result of the fx node (None: not made)."""
    wanted = used_results(ctx.node)
    common = {"bias": bias, "mask": mask, "dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, **settings}
    count = len(ctx.node.meta["val"])
    if wanted <= {0}:
        output = ctx.ops.sdpa_fwd(query, key, value, inference=True, **common)
        return (output, *[None] * (count - 1))
    made = dict(zip(("output", "logsumexp", "seed", "offset"), ctx.ops.sdpa_fwd(query, key, value, **common)))
    answers: list[Any] = [None] * count
    for index, name in results.items():
        if index not in wanted:
            continue
        meta = ctx.node.meta["val"][index]
        if name == "zero":
            answers[index] = ctx.ops.full([], 0, ctx.dtype(meta.dtype))
        elif name == "logsumexp":
            answers[index] = _in_form_of(ctx, made[name], meta, meta_of(ctx.node.args[0]))
        else:
            answers[index] = made[name]
    return tuple(answers)


def _in_form_of(ctx: Any, logsumexp: Any, meta: torch.Tensor, query: torch.Tensor) -> Any:
    """Our [N,H,L] logsumexp in the shape that the variant promises."""
    if meta.ndim == 4:
        return ctx.ops.broadcast(logsumexp, [False, False, False, True])
    rows, length = meta.shape[2], query.shape[2]
    if isinstance(rows, int) and isinstance(length, int) and rows > length:
        return ctx.ops.pad(logsumexp, [0, rows - length])
    return logsumexp


def _check_efficient(node: Node) -> str | None:
    if reason := _check_results(EFFICIENT_RESULTS)(node):
        return reason
    length = meta_of(node.args[0]).shape[2]
    if 1 in used_results(node) and not isinstance(length, int):
        return "padded logsumexp of a symbolic length"
    return None


@translates(
    *overloads("_scaled_dot_product_flash_attention", "default"),
    check=_check_results(FLASH_RESULTS),
    extra_dtypes=RNG_DTYPES,
    is_attention=True,
)
def _flash(ctx, q, k, v, dropout_p=0.0, is_causal=False, return_debug_mask=False, scale=None):
    options = {"causal_alignment": "bottom_right", "backend": "flash"}
    return _forward(ctx, FLASH_RESULTS, q, k, v, dropout_p=dropout_p, is_causal=is_causal, scale=scale, **options)


@translates(*overloads("_scaled_dot_product_efficient_attention", "default"), check=_check_efficient, is_attention=True)
def _efficient(ctx, q, k, v, bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, scale=None):
    return _forward(ctx, EFFICIENT_RESULTS, q, k, v, bias=bias, is_causal=is_causal, scale=scale, backend="efficient")


@translates(
    *overloads("_scaled_dot_product_cudnn_attention", "default"), check=_check_results(CUDNN_RESULTS), is_attention=True
)
def _cudnn(ctx, q, k, v, bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, scale=None):
    return _forward(ctx, CUDNN_RESULTS, q, k, v, bias=bias, is_causal=is_causal, scale=scale, backend="cudnn")


@translates(
    *overloads("_scaled_dot_product_flash_attention_for_cpu", "default"),
    check=_check_results(CPU_RESULTS),
    is_attention=True,
)
def _cpu_flash(ctx, q, k, v, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None):
    bias = _full_rank_bias(ctx, attn_mask, "attn_mask")
    return _forward(ctx, CPU_RESULTS, q, k, v, bias=bias, is_causal=is_causal, scale=scale, backend="cpu_flash")


def _full_rank_bias(ctx: Any, bias: Any, name: str) -> Any:
    """A mask of lower rank with leading dims of size 1 put before."""
    if bias is None:
        return None
    missing = 4 - meta_of(argument(ctx.node, name)).ndim
    return ctx.ops.broadcast(bias, [True] * missing + [False] * (4 - missing)) if missing else bias


@translates(torch.ops.nvfuser.sdpa.default, is_attention=True)
def _whole(ctx, q, k, v, bias, mask, is_causal, scale, backend):
    backend = ctx.options.sdpa_backend if backend == "auto" else backend
    return _forward(ctx, CPU_RESULTS, q, k, v, bias=bias, mask=mask, is_causal=is_causal, scale=scale, backend=backend)


def _same_size(a: Any, b: Any) -> bool:
    """True when two sizes are equal whatever the inputs are (asking never adds a guard)."""
    return statically_known_true(a == b)


def _check_composite(node: Node) -> str | None:
    """Why a call of scaled_dot_product_attention, as exported programs hold it, is none for our node."""
    query, key, value, mask = (meta_of(argument(node, name)) for name in ("query", "key", "value", "attn_mask"))
    operands = (query, key, value)
    if any(t.ndim != 4 for t in operands):
        return f"attention of rank {max(t.ndim for t in operands)}"
    if any(is_static(size) and int(size) == 0 for t in operands for size in t.shape):
        return "empty operand"
    if argument(node, "dropout_p") != 0.0:
        return "dropout"
    if query.dtype not in ATTENTION_DTYPES or any(t.dtype != query.dtype for t in operands):
        return f"attention on {', '.join(str(t.dtype).removeprefix('torch.') for t in operands)}"
    scale, is_causal = argument(node, "scale"), argument(node, "is_causal")
    if not isinstance(is_causal, bool) or not (scale is None or isinstance(scale, (int, float))):
        return "scale or is_causal is computed by the graph"
    same_batch = _same_size(query.shape[0], key.shape[0]) and _same_size(key.shape[0], value.shape[0])
    same_keys = all(_same_size(key.shape[d], value.shape[d]) for d in (1, 2)) and _same_size(
        query.shape[3], key.shape[3]
    )
    if not (same_batch and same_keys):
        return "operands that broadcast, or may"
    if not _same_size(query.shape[1], key.shape[1]):
        is_grouped = argument(node, "enable_gqa", False) and _same_size(query.shape[1] % key.shape[1], 0)
        if not is_grouped:
            return "head counts that differ, or may"
    return None if mask is None else _check_mask(mask, is_causal, query, key)


def _check_mask(mask: torch.Tensor, is_causal: bool, query: torch.Tensor, key: torch.Tensor) -> str | None:
    if is_causal:
        return "a mask beside is_causal"
    if not 2 <= mask.ndim <= 4:
        return f"mask of rank {mask.ndim}"
    if mask.dtype not in (torch.bool, query.dtype):
        return f"mask of dtype {str(mask.dtype).removeprefix('torch.')}"
    scores = (*query.shape[:3], key.shape[2])
    fits = all(is_one(m) or _same_size(m, s) for m, s in zip(mask.shape[::-1], scores[::-1]))
    return None if fits else "a mask whose sizes are not known to fit"


@translates(*overloads("scaled_dot_product_attention", "default"), check=_check_composite, is_attention=True)
def _composite(ctx, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    full = _full_rank_bias(ctx, attn_mask, "attn_mask")
    is_bool = attn_mask is not None and meta_of(argument(ctx.node, "attn_mask")).dtype == torch.bool
    masks = {"mask": full} if is_bool else {"bias": full}
    scale = None if scale is None else float(scale)
    backend = ctx.options.sdpa_backend
    return ctx.ops.sdpa_fwd(q, k, v, inference=True, is_causal=is_causal, scale=scale, backend=backend, **masks)


def _backward(ctx, grad, q, k, v, out, lse, *, is_causal, scale, dropout_p=0.0, seed=None, offset=None, **settings):
    if seed is None:
        seed, offset = ctx.unused_rng_state()
    return tuple(ctx.ops.sdpa_bwd(grad, q, k, v, out, lse, dropout_p, is_causal, seed, offset, scale, **settings))


@translates(
    *overloads("_scaled_dot_product_flash_attention_backward", "default"),
    check=_check_problem,
    extra_dtypes=RNG_DTYPES,
    is_attention=True,
)
def _flash_backward(
    ctx, grad, q, k, v, out, lse, cum_q, cum_k, max_q, max_k, dropout_p, is_causal, seed, offset, scale=None
):
    options = {"causal_alignment": "bottom_right", "backend": "flash", "seed": seed, "offset": offset}
    return _backward(ctx, grad, q, k, v, out, lse, dropout_p=dropout_p, is_causal=is_causal, scale=scale, **options)


def _check_efficient_backward(node: Node) -> str | None:
    length = meta_of(argument(node, "query")).shape[2]
    if not isinstance(length, int):
        return "padded logsumexp of a symbolic length"
    return _check_problem(node)


@translates(
    *overloads("_scaled_dot_product_efficient_attention_backward", "default"),
    check=_check_efficient_backward,
    is_attention=True,
)
def _efficient_backward(
    ctx, grad, q, k, v, bias, out, lse, seed, offset, dropout_p, grad_input_mask, is_causal=False, scale=None
):
    shape = meta_of(argument(ctx.node, "logsumexp")).shape
    length = meta_of(argument(ctx.node, "query")).shape[2]
    ends = [ctx.size(lse, 0, shape[0]), ctx.size(lse, 1, shape[1]), length]
    lse = ctx.ops.slice(lse, [0, 0, 0], ends)
    bias_grad = bias is not None and bool(grad_input_mask[3])
    grads = _backward(
        *(ctx, grad, q, k, v, out, lse),
        **{"is_causal": is_causal, "scale": scale, "bias": bias, "bias_grad": bias_grad, "backend": "efficient"},
    )
    return grads if bias_grad else (*grads, None)


@translates(
    *overloads("_scaled_dot_product_cudnn_attention_backward", "default"), check=_check_problem, is_attention=True
)
def _cudnn_backward(
    ctx, grad, q, k, v, out, lse, seed, offset, bias, cum_q, cum_k, max_q, max_k, dropout_p, is_causal, scale=None
):
    lse = ctx.ops.squeeze(lse, [3]) if meta_of(argument(ctx.node, "logsumexp")).ndim == 4 else lse
    options = {"is_causal": is_causal, "scale": scale, "bias": bias, "backend": "cudnn"}
    return _backward(ctx, grad, q, k, v, out, lse, **options)


@translates(
    *overloads("_scaled_dot_product_flash_attention_for_cpu_backward", "default"),
    check=_check_problem,
    is_attention=True,
)
def _cpu_flash_backward(ctx, grad, q, k, v, out, lse, dropout_p, is_causal, attn_mask=None, scale=None):
    bias = _full_rank_bias(ctx, attn_mask, "attn_mask")
    options = {"is_causal": is_causal, "scale": scale, "bias": bias, "backend": "cpu_flash"}
    return _backward(ctx, grad, q, k, v, out, lse, **options)


@translates(torch.ops.nvfuser.sdpa_backward.default, is_attention=True)
def _whole_backward(ctx, grad, q, k, v, out, lse, bias, mask, is_causal, scale, backend, bias_grad):
    options = {"bias": bias, "mask": mask, "bias_grad": bias_grad, "is_causal": is_causal, "scale": scale}
    options["backend"] = ctx.options.sdpa_backend if backend == "auto" else backend
    grads = _backward(ctx, grad, q, k, v, out, lse, **options)
    return grads if bias_grad else (*grads, None)
