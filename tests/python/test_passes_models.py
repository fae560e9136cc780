"""Whole blocks through the pass: rewritten programs give the numbers of the module that was exported."""

import pytest
import torch
import torch.nn.functional as F
from nvfuser.passes import replace_fused_sdpa
from passes_helpers import attention_nodes, exported, fused_names
from torch import Tensor, nn
from torch.export import Dim


def split(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


class EncoderDecoderBlock(nn.Module):
    """Causal self attention, then attention over a memory whose padding is masked, then an MLP; f64 in the test."""

    def __init__(self, dim=48, heads=4):
        super().__init__()
        self.heads = heads
        self.own, self.from_memory = nn.Linear(dim, 3 * dim), nn.Linear(dim, 2 * dim)
        self.query, self.out, self.cross_out = (nn.Linear(dim, dim) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(dim, 96), nn.GELU(), nn.Linear(96, dim))

    def forward(self, x, memory, is_there):
        q, k, v = (split(t, self.heads) for t in self.own(self.norms[0](x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        q = split(self.query(self.norms[1](x)), self.heads)
        k, v = (split(t, self.heads) for t in self.from_memory(memory).chunk(2, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_there[:, None, None])
        x = x + self.cross_out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[2](x))


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class DecoderLayer(nn.Module):
    """Grouped-query attention with rotary positions and biases on q, k, v; gated MLP."""

    def __init__(self, dim=64, heads=8, key_heads=2):
        super().__init__()
        head_dim = dim // heads
        self.heads, self.key_heads = heads, key_heads
        self.q, self.k, self.v = (nn.Linear(dim, n * head_dim) for n in (heads, key_heads, key_heads))
        self.o = nn.Linear(dim, dim, bias=False)
        self.gate, self.up = (nn.Linear(dim, 176, bias=False) for _ in range(2))
        self.down = nn.Linear(176, dim, bias=False)
        self.before, self.after = RMSNorm(dim), RMSNorm(dim)
        self.register_buffer("frequencies", 1e6 ** -(torch.arange(0, head_dim, 2) / head_dim))

    def forward(self, x):
        angles = torch.arange(x.shape[1])[:, None] * self.frequencies
        cos, sin = (f(torch.cat((angles, angles), -1)) for f in (torch.cos, torch.sin))
        y = self.before(x)
        q, k = (rotated(split(p(y), n), cos, sin) for p, n in ((self.q, self.heads), (self.k, self.key_heads)))
        v = split(self.v(y), self.key_heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def test_encoder_decoder_block_with_a_padding_mask():
    module = EncoderDecoderBlock().double()
    x, memory = torch.randn(3, 7, 48, dtype=torch.float64), torch.randn(3, 11, 48, dtype=torch.float64)
    is_there = torch.arange(11) < torch.tensor([[11], [4], [1]])
    program = exported(module, x, memory, is_there)
    result = replace_fused_sdpa(program, strict=True)
    causal, masked = attention_nodes(result.program)
    assert causal.args[3:] == (None, 0.0, True) and masked.args[3] is not None
    assert torch.equal(result.program.module()(x, memory, is_there), program.module()(x, memory, is_there))
    torch.testing.assert_close(
        result.program.module()(x, memory, is_there), module(x, memory, is_there), rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("expand_gqa", [False, True])
def test_decoder_layer_with_grouped_heads(expand_gqa):
    module = DecoderLayer()
    x = torch.randn(2, 9, 64)
    sizes = {0: Dim("batch", max=8), 1: Dim("length", min=2, max=64)}
    program = exported(module, x, dynamic_shapes=(sizes,))
    if not fused_names(program):
        pytest.skip("this torch opens grouped-query attention on the CPU")
    result = replace_fused_sdpa(program, strict=True, expand_gqa=expand_gqa)
    (node,) = attention_nodes(result.program)
    assert node.kwargs == ({} if expand_gqa else {"enable_gqa": True})
    for size in ((2, 9), (3, 17), (1, 2)):
        x = torch.randn(*size, 64)
        torch.testing.assert_close(result.program.module()(x), module(x), rtol=0, atol=1e-5)


def test_transformer_layers_of_torch():
    module = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0), 3, enable_nested_tensor=False
    ).double()
    x, padding = torch.randn(2, 7, 32, dtype=torch.float64), torch.arange(7) >= torch.tensor([[7], [3]])
    program = exported(module.train(False), x, src_key_padding_mask_of(padding))
    if not fused_names(program):
        pytest.skip("this torch runs the layers as one op")
    result = replace_fused_sdpa(program, strict=True)
    assert len(attention_nodes(result.program)) == 3
    mask = src_key_padding_mask_of(padding)
    torch.testing.assert_close(result.program.module()(x, mask), module(x, mask), rtol=0, atol=1e-12)


def src_key_padding_mask_of(padding: Tensor) -> Tensor:
    """[N, S] of True for padding as the additive [N * H, S, S] mask that the layers take."""
    bias = torch.zeros(padding.shape, dtype=torch.float64).masked_fill(padding, -torch.inf)
    return bias[:, None, None].expand(-1, 4, padding.shape[1], -1).flatten(0, 1)
