"""torch.compile: random ops inside fusions repeat after a seed, differ between calls, and keep one mask for backward."""

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import compiled
from nvfuser import compile_report
from torch import nn


def seeded(function, *inputs, seed=3):
    torch.manual_seed(seed)
    return function(*inputs)


def fused_ops():
    return [op for graph in compile_report().graphs for fusion in graph.fusions for op in fusion.ops]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_dropout_and_its_gradient(dtype):
    x = torch.randn(300, 70).to(dtype).requires_grad_()
    function = compiled(lambda x: F.dropout(x * 2, 0.25) + 1)
    y = seeded(function, x)
    (gradient,) = torch.autograd.grad(y, x, torch.ones_like(y))
    assert "aten.native_dropout.default" in fused_ops()
    kept = gradient != 0
    assert abs(kept.double().mean().item() - 0.75) < 0.02
    wanted = torch.where(kept, (x * 2).double() / 0.75, 0.0) + 1
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(y.double(), wanted, rtol=4 * eps, atol=4 * eps)
    torch.testing.assert_close(gradient[kept], torch.full_like(gradient[kept], 2 / 0.75), rtol=2 * eps, atol=0)


def test_seeds():
    x = torch.randn(40, 50)

    def function(x):
        return F.dropout(x, 0.5), torch.rand_like(x) + x, torch.randn_like(x) * x, torch.bernoulli(x, 0.3) + x

    function = compiled(function)
    first = seeded(function, x)
    second = function(x)
    other = seeded(function, x, seed=4)
    for a, b, c, d in zip(first, second, other, seeded(function, x), strict=True):
        assert torch.equal(a, d) and not torch.equal(a, b) and not torch.equal(a, c)
    state = torch.get_rng_state()
    third = function(x)
    torch.set_rng_state(state)
    for a, b in zip(third, function(x), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_ends_of_the_range(p):
    x = torch.tensor([1.0, -2.0, float("inf"), float("nan"), 0.0])
    function = compiled(lambda x: F.dropout(x, p) * 1.0)
    torch.testing.assert_close(function(x), F.dropout(x, p), equal_nan=True)


def test_moments():
    x = torch.zeros(200, 200)
    uniform, normal, bits = compiled(lambda x: (torch.rand_like(x) + x, torch.randn_like(x) + x, x.bernoulli(0.3) + x))(
        x
    )
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean().item() - 0.5) < 0.01
    assert abs(normal.mean().item()) < 0.02 and abs(normal.std().item() - 1) < 0.02
    assert set(bits.unique().tolist()) == {0.0, 1.0} and abs(bits.mean().item() - 0.3) < 0.01


def test_sizes_may_change():
    function = compiled(lambda x: F.dropout(x, 0.5) + torch.rand(x.shape[0], 1), dynamic=True)
    for n in (7, 3, 120):
        x = torch.ones(n, 9)
        y = seeded(function, x)
        assert y.shape == (n, 9)
        assert torch.equal(y, seeded(function, x))


def test_a_training_step_of_layers_with_dropout():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, 16), nn.Dropout(0.1))
    x = torch.randn(32, 16)
    function = compiled(model)

    def step():
        model.zero_grad()
        loss = seeded(function, x).square().mean()
        loss.backward()
        return [loss.detach(), *(p.grad.clone() for p in model.parameters())]

    for a, b in zip(step(), step(), strict=True):
        assert torch.equal(a, b)
    function.eval()
    torch.testing.assert_close(function(x), model(x))


def test_checkpointed_dropout_draws_the_same_again():
    from torch.utils.checkpoint import checkpoint

    x = torch.randn(60, 60, requires_grad=True)
    function = compiled(lambda x: checkpoint(lambda x: F.dropout(x.sin(), 0.5), x, use_reentrant=False))
    y = function(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient == 0, y == 0)


def test_generators_and_the_option_leave_them_to_eager():
    x = torch.zeros(8, 8)
    for options in ({"fallback_random": True}, {"disabled_ops": ["aten.rand_like"]}):
        function = compiled(lambda x: torch.rand_like(x) + x, options=options)
        assert torch.equal(seeded(function, x), seeded(lambda x: torch.rand_like(x) + x, x))
