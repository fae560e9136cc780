"""Writes to inputs, views and aliases under torch.compile behave as in eager."""

import pytest
import torch
from dynamo_helpers import assert_equal, assert_same, compiled
from nvfuser.dynamo import compile_report


def both_ways(function, *inputs):
    """Results and inputs afterwards, eager and compiled, from equal copies of the inputs."""
    outcomes = []
    for call in (function, compiled(function)):
        copies = [i.clone() for i in inputs]
        outcomes.append((call(*copies), copies))
    (expected, expected_inputs), (actual, actual_inputs) = outcomes
    assert_equal(actual, expected)
    assert_equal(actual_inputs, expected_inputs, "input")
    assert not compile_report().failures
    return actual, actual_inputs


def test_two_copies_into_one_input():
    def function(x):
        t1 = x.sin()
        x.copy_(t1)
        t2 = t1.cos()
        x.copy_(t2)
        return t1, t2

    (t1, t2), (x,) = both_ways(function, torch.tensor([0.3, 0.7]))
    assert t1.data_ptr() != x.data_ptr() and t2.data_ptr() != x.data_ptr()


def test_copy_of_an_input_before_it_changes():
    def function(d, s):
        d[0:, :] = s[0:, :]
        s.add_(1)
        return d * 2

    both_ways(function, torch.zeros(3, 4), torch.randn(3, 4))


def test_view_of_other_dtype_written_between():
    def function(x):
        y = x.view(torch.int32) * 2
        y.sub_(-4)
        x[:, 2:5] = 2
        return y.view(torch.int64)

    both_ways(function, torch.randint(0, 100, (3, 6)))


def test_resize_of_an_alias():
    def function(x):
        b = x + 1
        b.view(-1).resize_(12)
        return b + 1

    both_ways(function, torch.randn(1))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.add_(1),
        lambda x: x.mul_(2).relu_().sum(),
        lambda x: (x[:, 1:3].add_(5), x + 1),
        lambda x: x.t().mul_(3),
        lambda x: x.view(-1)[2:5].fill_(7),
        lambda x: (x.clamp_(min=0), x.exp_())[1] * 2,
        lambda x: x.masked_fill_(x > 0, -1.0),
    ],
    ids=["add", "chain", "slice", "transpose", "view", "twice", "masked_fill"],
)
def test_in_place_ops_on_an_input(function):
    both_ways(function, torch.randn(4, 6))


def test_in_place_on_intermediates():
    def function(x):
        y = x * 2
        y += 1
        z = y[0]
        z *= 3
        return y, z

    both_ways(function, torch.randn(4, 6))


ALIASES = {
    "transpose": lambda x: (x + 1, x.t()),
    "slice": lambda x: (x * 2, x[1:3, 2:]),
    "select": lambda x: (x.exp(), x[2]),
    "reshape": lambda x: (x.relu(), x.view(3, 8)),
    "expand": lambda x: (x.relu(), x[:1].expand(4, 6)),
    "itself": lambda x: (x + 1, x),
    "chain": lambda x: (x.neg(), x.t()[2:4].unsqueeze(0)),
    "only": lambda x: x[1:, ::2],
}


@pytest.mark.parametrize("name", ALIASES)
def test_outputs_that_are_views_of_an_input_share_its_memory(name):
    x = torch.randn(4, 6)
    result = compiled(ALIASES[name])(x)
    expected = ALIASES[name](x)
    view = result[-1] if isinstance(result, tuple) else result
    expected = expected[-1] if isinstance(expected, tuple) else expected
    assert_equal(view, expected)
    assert view.storage_offset() == expected.storage_offset()
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.clone(),
        lambda x: (x.clone(), x + 1),
        lambda x: (x.to(torch.float32, copy=True), x * 2),
        lambda x: (x + 0, x * 1),
        lambda x: (torch.cat([x]), x.abs()),
        lambda x: (x.t().contiguous(), x.sin()),
        lambda x: (x.reshape(6, 4).clone(), x.sin()),
        lambda x: (x.reshape(-1).clone() + 0, x.sum()),
    ],
)
def test_fresh_results_do_not_share_memory_with_the_input(function):
    x = torch.randn(4, 6)
    results = compiled(function)(x)
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        assert result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


def test_equal_results_are_separate_tensors():
    a, b = compiled(lambda x: (x.sin(), x.sin()))(torch.randn(5))
    expected = b.clone()
    a.fill_(0)
    assert_equal(b, expected)


def test_two_views_of_one_result_alias_each_other():
    def function(x):
        y = x.sin()
        return y, y.t(), y[1]

    y, t, row = compiled(function)(torch.randn(3, 4))
    y.zero_()
    assert not t.any() and not row.any()


def test_same_input_twice():
    x = torch.randn(4, 4)
    assert_same(lambda a, b: (a + b, a @ b), x, x, train=False)


def test_overlapping_inputs():
    base = torch.randn(10)

    def function(a, b):
        a.mul_(2)
        return a + b

    expected_base = base.clone()
    expected = function(expected_base[:6], expected_base[4:])
    actual = compiled(function)(base[:6], base[4:])
    assert_equal(actual, expected)
    assert_equal(base, expected_base)


def test_gradient_through_a_mutated_buffer():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4))
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return (x * self.weight).tanh() / self.calls

    assert_same(Counting(), torch.randn(3, 4), train=True, more_inputs=((torch.randn(3, 4),),))
