"""Programs with fused attention variants: real exports for the CPU one, traced calls on fake tensors for the others."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

aten = torch.ops.aten
SDPA = aten.scaled_dot_product_attention.default
FLASH = aten._scaled_dot_product_flash_attention
EFFICIENT = aten._scaled_dot_product_efficient_attention
CUDNN = aten._scaled_dot_product_cudnn_attention
CPU_FLASH = aten._scaled_dot_product_flash_attention_for_cpu
#: sizes that the symbols of `fake_tensors` stand for: batch, query and key heads, query and key length
HINTS = {"n": 4, "h": 6, "g": 3, "l": 10, "s": 12}
OVERRIDEABLE = aten._scaled_dot_product_fused_attention_overrideable


def _has_meta_function(op: Any) -> bool:
    try:
        op(*(torch.empty(1, 1, 1, 8, device="meta") for _ in range(3)))
    except NotImplementedError:
        return False
    return True


#: the variants that can be traced with this torch
TRACEABLE = ["flash", "efficient", "cudnn", "cpu_flash", *["overrideable"] * _has_meta_function(OVERRIDEABLE)]


# ---- real exports


class Attention(nn.Module):
    """Projections, attention with fixed settings, one more projection: [N, L, 32] and [N, S, 32] -> [N, L, 32]."""

    def __init__(self, heads: int = 4, key_heads: int = 4, **settings: Any):
        super().__init__()
        self.settings = {**settings, "enable_gqa": heads != key_heads}
        self.query = nn.Linear(32, heads * 8)
        self.key, self.value = (nn.Linear(32, key_heads * 8) for _ in range(2))
        self.out = nn.Linear(heads * 8, 32)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (
            project(t).unflatten(-1, (-1, 8)).transpose(1, 2)
            for project, t in ((self.query, x), (self.key, memory), (self.value, memory))
        )
        y = F.scaled_dot_product_attention(q, k, v, mask, **self.settings)
        return self.out(y.transpose(1, 2).flatten(2))


def decomposed(program: Any) -> Any:
    """The program with torch's default table, except that the kernel which the CPU picks for attention stays."""
    table = torch.export.default_decompositions()
    table.pop(CPU_FLASH.default, None)
    return program.run_decompositions(table)


def exported(module: nn.Module, *args: Any, **options: Any) -> Any:
    """A decomposed export of the module in eval mode."""
    return decomposed(torch.export.export(module.eval(), args, **options))


# ---- traced calls of variants that do not run here


def fake_tensors(*shapes: Sequence[Any], dtype: torch.dtype = torch.bfloat16, device: str = "cuda") -> list[Tensor]:
    """Fake tensors of one mode. A size that is a string is symbolic: equal names are equal sizes, others are not.

    A size may also be "2*h", twice the symbolic size "h". Query-like layout: [N, H, L, E] lies as N, L, H, E in memory.
    """
    names = sorted({str(s).split("*")[-1] for shape in shapes for s in shape if isinstance(s, str)})
    mode = FakeTensorMode(shape_env=ShapeEnv() if names else None)
    # Different hints, because equal ones would become one symbol.
    hints = torch.empty([HINTS[name] for name in names], device="meta")
    symbols = dict(zip(names, mode.from_tensor(hints).shape)) if names else {}

    def size(of: Any) -> Any:
        if not isinstance(of, str):
            return of
        factor, _, name = of.rpartition("*")
        return int(factor or 1) * symbols[name]

    with mode:
        made = []
        for shape in shapes:
            sizes = [size(s) for s in shape]
            if len(sizes) == 4:
                n, h, length, dim = sizes
                made.append(torch.empty(n, length, h, dim, dtype=dtype, device=device).transpose(1, 2))
            else:
                made.append(torch.empty(sizes, dtype=dtype, device=device))
    return made


def traced(function: Callable[..., Any], *tensors: Tensor) -> GraphModule:
    """The graph of a function over fake tensors, as make_fx records it."""
    mode = tensors[0].fake_mode
    with mode:
        return make_fx(function, tracing_mode="symbolic" if mode.shape_env else "real")(*tensors)


# ---- looking at graphs


def targets(graph_module: Any) -> list[Any]:
    """What the nodes of a graph and its branches call."""
    root = getattr(graph_module, "graph_module", graph_module)
    return [n.target for m in root.modules() if isinstance(m, GraphModule) for n in m.graph.nodes]


def attention_nodes(graph_module: Any) -> list[Node]:
    """The scaled_dot_product_attention nodes of a graph and its branches."""
    root = getattr(graph_module, "graph_module", graph_module)
    modules = [m for m in root.modules() if isinstance(m, GraphModule)]
    return [n for m in modules for n in m.graph.nodes if n.target is SDPA]


def fused_names(graph_module: Any) -> list[str]:
    """The fused variants that a graph and its branches still call."""
    return [str(t) for t in targets(graph_module) if "aten._scaled_dot_product" in str(t)]


def assert_metadata_is_valid(graph_module: Any) -> None:
    """Every node's value has the shape and dtype that the call gives for the values of its arguments."""
    for node in graph_module.graph.nodes:
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, FakeTensor) or not hasattr(node.target, "_schema"):
            continue
        assert all(
            n.meta["val"].device == value.device for n in node.all_input_nodes if hasattr(n.meta["val"], "device")
        )
        env = value.fake_mode.shape_env
        # Without new guards: they would hold for the program as well.
        with FakeTensorMode(shape_env=env), env.suppress_guards() if env else nullcontext():
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: _on_meta(n.meta["val"]))
            again = node.target(*args, **kwargs)
            assert again.dtype == value.dtype and again.ndim == value.ndim, node
            assert all(bool(a == b) for a, b in zip(again.shape, value.shape)), node


def _on_meta(value: Any) -> Any:
    # Calls on fake CUDA tensors ask for a device here and there; on the meta device they never do.
    if not isinstance(value, Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def call_of(graph_module: GraphModule) -> Node:
    """The one call of a fused variant in a graph."""
    (node,) = (n for n in graph_module.graph.nodes if "aten._scaled_dot_product" in str(n.target))
    return node


def output_of(call: Node) -> Node:
    """The node that takes the attention output of a call."""
    (node,) = (n for n in call.users if n.args[1] == 0)
    return node


def reference(q: Tensor, k: Tensor, v: Tensor, bias: Any = None, causal: bool = False, scale: Any = None) -> Tensor:
    """Attention written out: top left causal, key and value heads repeated."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    scores = q @ k.transpose(2, 3) * (1 / math.sqrt(q.shape[3]) if scale is None else scale)
    if bias is not None:
        scores = scores + bias
    if causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
    return torch.softmax(scores, -1) @ v


def log_lines(caplog: Any) -> list[str]:
    """What the pass has logged at INFO."""
    return [r.getMessage() for r in caplog.records if r.name == "nvfuser.passes" and r.levelno == logging.INFO]
