"""torch.compile on multi-layer perceptrons: everything lands in one fusion per graph."""

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same
from torch import nn

ACTIVATIONS = {
    "relu": nn.ReLU(),
    "gelu": nn.GELU(),
    "gelu_tanh": nn.GELU(approximate="tanh"),
    "silu": nn.SiLU(),
    "sigmoid": nn.Sigmoid(),
    "tanh": nn.Tanh(),
    "elu": nn.ELU(),
    "leaky_relu": nn.LeakyReLU(0.1),
    "softplus": nn.Softplus(),
    "hardswish": nn.Hardswish(),
    "mish": nn.Mish(),
}


class Mlp(nn.Module):
    """Linear, norm, activation, linear, softmax."""

    def __init__(self, activation: nn.Module, norm: nn.Module):
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.norm = norm
        self.activation = activation
        self.second = nn.Linear(32, 8)

    def forward(self, x):
        return F.softmax(self.second(self.activation(self.norm(self.first(x)))), dim=-1)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name, train):
    report = assert_same(Mlp(ACTIVATIONS[name], nn.LayerNorm(32)), torch.randn(5, 16), train=train)
    assert report.num_fusions == len(report.graphs)
    assert not report.eager_ops


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize(
    "norm",
    [nn.LayerNorm(32), nn.LayerNorm(32, elementwise_affine=False), nn.RMSNorm(32), nn.GroupNorm(4, 32)],
    ids=["layer", "layer_plain", "rms", "group"],
)
def test_norms(norm, train):
    report = assert_same(Mlp(nn.ReLU(), norm), torch.randn(5, 16), train=train)
    assert not report.eager_ops


def test_batch_norm_updates_its_running_statistics():
    def step(module, x):
        for _ in range(3):
            y = module(x)
        return y

    torch.manual_seed(0)
    eager, x = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)), torch.randn(9, 4)
    ours = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6))
    ours.load_state_dict(eager.state_dict())
    torch._dynamo.reset()
    torch.testing.assert_close(step(torch.compile(ours, backend="nvfuser"), x), step(eager, x))
    for name, value in eager.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtypes(dtype):
    model = Mlp(nn.GELU(), nn.LayerNorm(32)).to(dtype)
    assert_same(model, torch.randn(5, 16, dtype=dtype), train=True)


def test_leading_dims():
    assert_same(Mlp(nn.GELU(), nn.LayerNorm(32)), torch.randn(2, 3, 5, 16), train=True)


@pytest.mark.parametrize(
    "loss",
    [
        lambda out, target: F.mse_loss(out, target),
        lambda out, target: F.cross_entropy(out, target.argmax(-1)),
        lambda out, target: F.binary_cross_entropy_with_logits(out, target.sigmoid()),
        lambda out, target: F.smooth_l1_loss(out, target, reduction="sum"),
        lambda out, target: F.kl_div(out.log_softmax(-1), target.softmax(-1), reduction="batchmean"),
    ],
    ids=["mse", "cross_entropy", "bce", "smooth_l1", "kl"],
)
def test_losses(loss):
    assert_same(loss, torch.randn(6, 8), torch.randn(6, 8), train=True)


def test_autocast():
    model = Mlp(nn.GELU(), nn.LayerNorm(32))

    def step(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x)

    # The gradient is float32, but most of its steps are bfloat16.
    assert_same(step, torch.randn(5, 16), train=True, tolerance=1e-3)


def test_thirty_layers_compile_in_linear_time():
    layers = [m for _ in range(30) for m in (nn.Linear(16, 16), nn.ReLU())]
    report = assert_same(nn.Sequential(*layers), torch.randn(128, 16), train=True)
    assert report.num_fusions == 2
