"""torch.compile of float16 and bfloat16 models on the CPU: between fused ops values stay float."""

from __future__ import annotations

import pytest
import torch
from dynamo_helpers import assert_same, compiled

HALVES = [torch.bfloat16, torch.float16]


def errors(function, *inputs, **options):
    """Largest differences from float64 of: eager, compiled."""
    expected = function(*[i.double() for i in inputs])
    results = [function(*inputs), compiled(function, **options)(*inputs)]
    assert results[1].dtype == results[0].dtype
    return [(r.double() - expected).abs().max().item() for r in results]


def chain(x, y):
    z = x
    for _ in range(5):
        z = torch.sigmoid(z * y + x) * 2 - 1
        z = torch.maximum(z, z * 0.1)
    return z


def with_shapes(x, y):
    z = (x * y).t().contiguous().reshape(-1, 3)
    return torch.cat([z.exp() * 0.1, z - 1]).sum(0) + z.amax(0)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("function", [chain, with_shapes])
def test_one_rounding_is_closer_to_the_exact_result(function, dtype):
    torch.manual_seed(0)
    x, y = torch.randn(33, 21).to(dtype), torch.randn(33, 21).to(dtype)
    eager, ours = errors(function, x, y)
    assert ours <= eager * 1.1


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("function", [chain, with_shapes])
def test_emulated_casts_equal_eager(function, dtype):
    torch.manual_seed(0)
    x, y = torch.randn(33, 21).to(dtype), torch.randn(33, 21).to(dtype)
    eager, ours = errors(function, x, y, options={"emulate_precision_casts": True})
    assert ours == pytest.approx(eager, rel=0.2)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_cast_that_is_asked_for_rounds(dtype):
    def function(x):
        return (x * 1.001).to(dtype).float() - (x * 1.001)

    x = torch.randn(64)
    expected = function(x)
    assert expected.abs().max() > 0
    torch.testing.assert_close(compiled(function)(x), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("dtype", HALVES)
def test_comparisons_see_rounded_values(dtype):
    def function(x):
        y = x * 1.01
        return y == y.clone(), (y + 1e-3).floor(), torch.isinf(y * 60000.0), torch.where(y > 0.505, y, -y)

    x = torch.linspace(-4, 4, 257).to(dtype)
    for a, b in zip(compiled(function)(x), function(x)):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dtype", HALVES)
def test_comparisons_with_zero_see_the_same_signs(dtype):
    x = torch.tensor([-2.0, -1e-3, -0.0, 0.0, 1e-3, 3.0, float("nan"), float("inf")]).to(dtype)

    def function(x):
        y = x * 1.5 + x
        return y > 0, y >= 0, y < 0.0, y <= 0, torch.where(y > 0, y, y * 0.1)

    assert_same(function, x, tolerance=1e-2)


@pytest.mark.parametrize("dtype", HALVES)
def test_mixed_types_keep_their_result_types(dtype):
    def function(x, y, i):
        return x * 2 + i, x + y, (x + 1).sum(), (x * x).mean(-1), x.exp().to(torch.float64), (x.neg() > 0)

    x = torch.randn(5, 7).to(dtype)
    assert_same(function, x, torch.randn(5, 7), torch.arange(7), tolerance=2e-2)


@pytest.mark.parametrize("dtype", HALVES)
def test_results_that_eager_ops_take_have_their_type(dtype):
    def function(x, w):
        y = torch.sort(x * 2 + 1)[0] @ w
        return y.relu() + y, torch.topk(y * 3, 2)[0] * 2

    assert_same(function, torch.randn(6, 5).to(dtype), torch.randn(5, 4).to(dtype), tolerance=3e-2)
