"""Inputs that broke other compilers, through torch.compile: same numbers, same errors as eager."""

import copy
import subprocess
import sys
import time

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same, compiled
from nvfuser.dynamo import compile_report, reset_compile_report


def test_value_head_size_differs_in_a_module():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.value = torch.nn.Linear(8, 16)

        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, self.value(x), is_causal=True).mean()

    assert_same(Attention(), torch.randn(1, 2, 4, 8), train=True, strides=False)


@pytest.mark.parametrize("shape", [(1, 1, 8, 8), (2, 1, 8, 8)])
def test_gradient_of_a_broadcast_bias(shape):
    def function(x, bias):
        return F.scaled_dot_product_attention(x, x, x, attn_mask=bias)

    assert_same(function, torch.randn(2, 4, 8, 16), torch.randn(shape), train=True, strides=False)


def test_attention_summed_up():
    q, k, v = (torch.randn(2, 4, 16, 32, requires_grad=True) for _ in range(3))

    def function(q, k, v):
        return F.scaled_dot_product_attention(q, k, v).sum()

    expected = torch.autograd.grad(function(q, k, v), (q, k, v))
    actual = torch.autograd.grad(compiled(function)(q, k, v), (q, k, v))
    torch.testing.assert_close(actual, expected)


def test_empty_one_dimensional_tensor_in_cat():
    x = torch.randn(1, 8, 4, 16)
    assert_same(lambda x: torch.cat([torch.tensor([]), x * 2], dim=-2), x)
    assert_same(lambda x: torch.cat([x * 2, torch.empty(1, 8, 0, 16)], dim=-2), x)
    assert_same(lambda x: torch.cat([torch.empty(1, 8, 0, 78), torch.empty(1, 8, 0, 2)], dim=-1) + 1, x)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32])
def test_integer_division(dtype):
    def function(a, b):
        truncated = torch.div(a, b, rounding_mode="trunc")
        return a // b, a % b, torch.fmod(a, b), truncated, a / b

    assert_same(function, torch.tensor([7, -7, 7, -7, -6], dtype=dtype), torch.tensor([3, 3, -3, -3, 3], dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_integer_division_by_zero_raises(dtype):
    a, b = torch.arange(1, 6, dtype=dtype), torch.tensor([1, 2, 0, 3, 4], dtype=dtype)
    for divide in (lambda a, b: a // b + 1, lambda a, b: a % b + 1, torch.fmod, lambda a, b: a // 0):
        function = compiled(divide)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            function(a, b)


def test_truncating_float_division_near_integers():
    a = torch.tensor([14.999999, 26.999999, 148.0, 1073.0, 2112.0])
    b = torch.tensor([3.0, 3.0, 37.0, 37.0, 33.0])
    function = compiled(lambda a, b: torch.div(a, b, rounding_mode="trunc"))
    assert function(a, b).tolist() == [4, 8, 4, 29, 64]


def test_smallest_int_by_minus_one():
    for dtype in (torch.int32, torch.int64):
        assert_same(lambda x: (x // -1, x % -1), torch.tensor([torch.iinfo(dtype).min], dtype=dtype))


def test_sum_and_prod_with_dtype_bool():
    assert_same(lambda x: x.half().sum(dtype=torch.bool), torch.randn(3, 4))
    assert_same(lambda x: x.prod(dtype=torch.bool), torch.randn(3, 4))


def test_where_with_two_numbers():
    mask = torch.tensor([True, False])

    def function(mask):
        return (
            torch.where(mask, 5.0, 3.0),
            torch.where(mask, -0.0, 0.0),
            torch.where(mask, 1, 2.5),
            torch.where(mask, 1, 2),
        )

    assert_same(function, mask)


def test_cast_down_and_up_again_rounds():
    x = torch.arange(20) / 7
    report = assert_same(lambda x: x.half().float() * 1, x)
    assert report.num_fusions == 1
    assert (compiled(lambda x: x.half().float() * 1)(x) - x).abs().max() > 1e-4


def test_sign_of_zero():
    def function(a, b):
        results = torch.minimum(a, b), a.relu(), torch.ceil(a - 0.5) + 0.0, 1 / torch.frac(a), a * 1, -b
        return [torch.signbit(r) for r in results]

    assert_same(function, torch.tensor([-0.0, 0.0]), torch.tensor([0.0, -0.0]))


def test_indices_that_eager_refuses():
    x = torch.randn(5, 3)
    functions = [
        lambda x: x.index_select(0, torch.tensor([-1])) + 1,
        lambda x: F.embedding(torch.tensor([2, -2, 4]), x) * 2,
        lambda x: (x + 1).index_add(0, torch.tensor([0, -1]), x[:2]),
        lambda x: x.gather(0, torch.full((1, 3), 9)) + 1,
    ]
    for function in functions:
        with pytest.raises((IndexError, RuntimeError)) as eager:
            function(x)
        with pytest.raises((IndexError, RuntimeError)) as ours:
            compiled(function)(x)
        assert issubclass(ours.type, eager.type) or issubclass(eager.type, ours.type)


def test_out_of_range_index_does_not_end_the_process():
    script = (
        "import sys; sys.path[:0] = %r\n"
        "import torch, nvfuser\n"
        "f = torch.compile(lambda x: (x - 0.5)[[[1]]], backend='nvfuser')\n"
        "try:\n    f(torch.randn(1, 8, 66, 66))\nexcept IndexError as e:\n    print('caught')\n"
    ) % [p for p in sys.path if p]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "caught" in done.stdout


def test_slices_past_the_end():
    assert_same(lambda x: [x[6:8, 6:8] + 1, x[3:1] + 1, x[-100:2] + 1, x[-2:100] + 1], torch.randn(5, 5))


def test_reductions_of_nothing():
    def function(x):
        return x.sum(), x.prod(), x.mean(), torch.var_mean(x, correction=1), x.sum(0, keepdim=True)

    assert_same(function, torch.empty(0))
    with pytest.raises(Exception, match="(?i)dim|reduc|numel"):
        compiled(lambda x: x.amax(0))(torch.empty(0, 3))


def test_rows_of_infinity():
    x = torch.full((2, 40), -float("inf"))
    assert_same(lambda x: (x.amax(1), (-x).amin(1), x.softmax(1)), x)


def test_complex_is_left_to_eager():
    x = torch.ones(2, 2, dtype=torch.complex64)
    assert_same(lambda x: (x + x[:, :1], x + x.conj(), torch.view_as_real(x) + 1), x)


def test_one_element_pad():
    assert_same(lambda x: F.pad(x, (10, 10)) + 0, torch.ones(1, 1, 1))
    assert_same(lambda x: F.pad(x.bool().sum(-1, dtype=torch.int32), (1, 0)), torch.ones(1, 16384))


def test_slice_chain_of_a_symbolic_quotient():
    def function(x):
        blocks = x.reshape(x.shape[0], x.shape[1] // 16, 16)
        scaled = blocks / blocks.amax(-1, keepdim=True)
        return scaled.reshape(x.shape).t() @ x

    more = ((torch.randn(32, 48),), (torch.randn(10, 16 * 3),))
    assert_same(function, torch.rand(64, 144), more_inputs=more, dynamic=True, tolerance=1e-3)


def test_repeated_doubling_of_uses():
    def function(a):
        for _ in range(16):
            a = torch.cos(a) + torch.sin(a)
        return a

    start = time.perf_counter()
    assert_same(function, torch.randn(13).half())
    assert time.perf_counter() - start < 30


def test_sum_and_product_kept_in_a_chain():
    def function(p, q):
        for _ in range(8):
            p, q = p + q, p * q
        return p, q

    assert_same(function, torch.rand(7) * 0.5, torch.rand(7) * 0.5, train=True)


def test_left_padding_with_a_sliding_window():
    torch.manual_seed(0)
    layer = torch.nn.Linear(8, 24)

    def block(x, mask):
        q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in layer(x).chunk(3, -1))
        return x + F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)

    position = torch.arange(5)
    window = (position[:, None] >= position) & (position[:, None] - position < 4)
    real = torch.tensor([[True] * 5, [False] * 3 + [True] * 2])
    mask = window[None, None] & real[:, None, None, :]
    x = torch.randn(2, 5, 8)
    result = compiled(lambda x: block(block(x, mask), mask))(x)
    assert not result.isnan().any()
    alone = block(block(x[1:, 3:], window[None, None, 3:, 3:]), window[None, None, 3:, 3:])
    torch.testing.assert_close(result[1:, 3:], alone, atol=1e-5, rtol=1e-5)


def test_deepcopied_module_compiles_again():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    torch._dynamo.reset()
    reset_compile_report()
    x = torch.randn(2, 3)
    for module in (model, copy.deepcopy(model)):
        torch.testing.assert_close(torch.compile(module, backend="nvfuser")(x), model(x))
    assert not compile_report().failures
