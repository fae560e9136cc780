"""torch.compile on transformer blocks: a GPT block, and a Llama block with grouped-query heads and RoPE."""

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same
from torch import nn


class GptBlock(nn.Module):
    """Pre-norm block: causal self-attention from one projection, then a gelu MLP."""

    def __init__(self, width: int = 32, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        split = (n, length, self.heads, width // self.heads)
        q, k, v = (t.view(split).transpose(1, 2) for t in self.qkv(self.norm_1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class Gpt(nn.Module):
    """Token and position embeddings, two blocks, a tied head."""

    def __init__(self, width: int = 32, vocabulary: int = 50):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList(GptBlock(width) for _ in range(2))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


def rotate(x, cos, sin):
    """Rotary position embedding of [N,H,L,E] by halves."""
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-b, a], dim=-1) * sin


class LlamaBlock(nn.Module):
    """RMS norm, RoPE, grouped-query attention, SwiGLU."""

    def __init__(self, width: int = 32, heads: int = 4, kv_heads: int = 2):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.norm_1, self.norm_2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, kv_heads * self.size, bias=False)
        self.v = nn.Linear(width, kv_heads * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 48, bias=False), nn.Linear(width, 48, bias=False)
        self.down = nn.Linear(48, width, bias=False)

    def forward(self, x):
        n, length, width = x.shape
        h = self.norm_1(x)
        q = self.q(h).view(n, length, self.heads, self.size).transpose(1, 2)
        k = self.k(h).view(n, length, self.kv_heads, self.size).transpose(1, 2)
        v = self.v(h).view(n, length, self.kv_heads, self.size).transpose(1, 2)
        rate = 10000.0 ** (-torch.arange(0, self.size, 2, device=x.device) / self.size)
        angles = torch.outer(torch.arange(length, device=x.device), rate)
        angles = torch.cat([angles, angles], dim=-1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
        h = self.norm_2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("block", [GptBlock, LlamaBlock])
def test_block(block, train):
    report = assert_same(block(), torch.randn(2, 10, 32), train=train)
    assert len(report.attention) == len(report.graphs)


@pytest.mark.parametrize("block", [GptBlock, LlamaBlock])
def test_block_in_bfloat16(block):
    assert_same(block().bfloat16(), torch.randn(2, 10, 32, dtype=torch.bfloat16), tolerance=6e-2)


@pytest.mark.parametrize("block", [GptBlock, LlamaBlock])
def test_block_in_float64(block):
    assert_same(block().double(), torch.randn(2, 10, 32, dtype=torch.float64), train=True, tolerance=1e-5)


def test_block_without_gradient_is_one_fusion():
    block = GptBlock().requires_grad_(False)
    report = assert_same(block, torch.randn(2, 10, 32))
    (graph,) = report.graphs
    assert graph.kind == "inference"
    assert graph.num_fusions == 1
    assert not graph.eager


@pytest.mark.parametrize("train", [False, True])
def test_gpt(train):
    ids = torch.randint(0, 50, (2, 12))
    report = assert_same(Gpt(), ids, train=train)
    assert len(report.attention) == 2 * len(report.graphs)
    # Only the gradient of the embeddings has no node of ours.
    assert set(report.eager_ops) <= {"aten.embedding_dense_backward.default"}


def test_gpt_with_loss_trains_like_eager():
    def step(model, ids):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(4):
            logits = model(ids)
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    eager, ids = Gpt(), torch.randint(0, 50, (2, 12))
    ours = Gpt()
    ours.load_state_dict(eager.state_dict())
    torch._dynamo.reset()
    torch.testing.assert_close(
        step(torch.compile(ours, backend="nvfuser"), ids), step(eager, ids), rtol=1e-4, atol=1e-4
    )


def test_encoder_layer_with_padding_mask():
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    padding = torch.zeros(2, 7, dtype=torch.bool)
    padding[1, 4:] = True
    report = assert_same(lambda x: layer(x, src_key_padding_mask=padding), torch.randn(2, 7, 32), train=True)
    assert report.num_fusions


def test_checkpointed_block():
    block = GptBlock()

    def step(x):
        return torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)

    report = assert_same(step, torch.randn(2, 10, 32), train=True)
    assert report.attention
