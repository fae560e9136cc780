"""Models in the forms that people export: torch's own layers, rotary embeddings, in-place code, strict tracing, scan."""

import pytest
import torch
import torch.nn.functional as F
from export_helpers import assert_runs_like_torch
from torch import nn
from torch.export import Dim

SIZES = {0: Dim("batch", max=9), 1: Dim("length", max=50)}


class OneInput(nn.Module):
    """A layer with several inputs or results, fed from one tensor."""

    def __init__(self, layer: nn.Module, count: int = 1):
        super().__init__()
        self.layer, self.count = layer, count

    def forward(self, x):
        return self.layer(*[x] * self.count)


class Rotary(nn.Module):
    """RMS norm, rotary positions, a mask made from the length, einsum."""

    def __init__(self):
        super().__init__()
        self.weight, self.project = nn.Parameter(torch.ones(64)), nn.Linear(64, 64)
        frequencies = 1 / (10000 ** (torch.arange(0, 16, 2).float() / 16))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, x):
        batch, length, _ = x.shape
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        q = self.project(x).view(batch, length, 4, 16).transpose(1, 2)
        angles = torch.outer(torch.arange(length, device=x.device).float(), self.frequencies).repeat(1, 2)
        q = q * angles.cos() + torch.cat((-q[..., 8:], q[..., :8]), -1) * angles.sin()
        mask = torch.full((length, length), float("-inf"), device=x.device).triu(1)
        y = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
        return torch.einsum("bhtd,bhtd->bht", y, q).softmax(-1)


class InPlace(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0] = 1
        y[y > 0.5] *= 2
        y.relu_()
        z = torch.zeros(3)
        z[1:] += 1
        z.index_add_(0, torch.tensor([0, 2]), torch.ones(2))
        return y, z, y.view(-1)[:3]


MODELS = {
    "encoder layer": lambda: nn.TransformerEncoderLayer(64, 4, batch_first=True),
    "decoder layer": lambda: OneInput(nn.TransformerDecoderLayer(64, 4, batch_first=True), 2),
    "multi-head attention": lambda: OneInput(nn.MultiheadAttention(64, 4, batch_first=True), 3),
    "gru": lambda: OneInput(nn.GRU(64, 8, batch_first=True)),
    "rotary": Rotary,
    "in place": InPlace,
}


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_model(name, decomposed):
    x = torch.randn(2, 10, 64)
    program = torch.export.export(MODELS[name]().eval(), (x,))
    program = program.run_decompositions() if decomposed else program
    assert_runs_like_torch(program, (x,), (torch.randn(2, 10, 64),), strides=False)


@pytest.mark.parametrize("name", ["encoder layer", "rotary"])
def test_model_of_any_size(name):
    program = torch.export.export(MODELS[name]().eval(), (torch.randn(2, 10, 64),), dynamic_shapes=(SIZES,))
    calls = [(torch.randn(*sizes, 64),) for sizes in [(2, 10), (1, 2), (9, 3), (4, 50)]]
    compiled = assert_runs_like_torch(program, *calls, strides=False)
    assert len(compiled.report.attention) == 1


def test_strict_tracing():
    model = nn.Sequential(nn.Linear(8, 4), nn.Softmax(-1), nn.Dropout())
    program = torch.export.export(model.eval(), (torch.randn(3, 8),), strict=True)
    assert_runs_like_torch(program, (torch.randn(3, 8),))


def test_positional_and_keyword_rest():
    class Rest(nn.Module):
        def forward(self, *xs, factor=2.0, **more):
            return sum(xs) * factor + more["a"] - more["b"]

    x, y = torch.randn(3), torch.randn(3)
    program = torch.export.export(Rest(), (x, y), {"b": x, "a": y})
    assert_runs_like_torch(program, (x, y), kwargs={"a": y, "b": x})


def test_scan_stays_in_eager():
    from torch._higher_order_ops.scan import scan

    class Sums(nn.Module):
        def forward(self, x):
            return scan(lambda carry, row: (carry + row, (carry * row).clone()), torch.zeros(4), x)[1]

    x = torch.randn(5, 4)
    compiled = assert_runs_like_torch(torch.export.export(Sums(), (x,)), (x,))
    assert compiled.report.eager_ops["scan"] == 1


def test_numbers_read_from_tensors():
    class Item(nn.Module):
        def forward(self, x):
            n = x.sum().abs().int().item()
            torch._check(n >= 0)
            torch._check(n < 1000)
            return torch.zeros(n) + x[0]

    program = torch.export.export(Item(), (torch.ones(5),))
    compiled = assert_runs_like_torch(program, (torch.ones(5),), (torch.full((5,), 2.0),))
    with pytest.raises(RuntimeError):
        compiled(torch.full((5,), 1000.0))
