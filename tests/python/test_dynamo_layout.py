"""Strides: of results as in eager, of inputs as they come."""

import pytest
import torch
from dynamo_helpers import assert_same, compiled
from nvfuser.dynamo import compile_report
from nvfuser.dynamo.lowering import dense_strides
from nvfuser.dynamo.runtime import with_strides

INPUTS = {
    "contiguous": lambda: torch.randn(4, 6, 5),
    "transposed": lambda: torch.randn(4, 5, 6).transpose(1, 2),
    "permuted": lambda: torch.randn(6, 5, 4).permute(2, 0, 1),
    "sliced": lambda: torch.randn(8, 12, 10)[::2, 3:9, ::2],
    "expanded": lambda: torch.randn(4, 1, 5).expand(4, 6, 5),
    "all_expanded": lambda: torch.randn(()).expand(4, 6, 5),
    "offset": lambda: torch.randn(130)[10:].view(4, 6, 5),
    "gaps": lambda: torch.randn(4, 6, 8)[:, :, :5],
}

FUNCTIONS = {
    "pointwise": lambda x: (x * 2 + 1).relu(),
    "copy": lambda x: (x.contiguous() + 1, x.clone().exp()),
    "reduction": lambda x: (x.sum(1), x.mean((0, 2), keepdim=True)),
    "matmul": lambda x: x @ x.mT,
    "views": lambda x: ((x + 1).transpose(0, 2), (x * 2).permute(1, 2, 0).unsqueeze(1), (x * 3)[1:3, :, ::2]),
    "cat": lambda x: torch.cat([x, x * 2], dim=1),
    "softmax": lambda x: x.softmax(1),
    "mixed": lambda x: x + x.transpose(0, 2)[:1, :1, :1],
}


@pytest.mark.parametrize("layout", INPUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_strides_are_eagers(name, layout):
    assert_same(FUNCTIONS[name], INPUTS[layout]())


@pytest.mark.parametrize("layout", ["transposed", "sliced", "gaps"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name, layout):
    assert_same(FUNCTIONS[name], INPUTS[layout](), train=True)


def test_channels_last():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert_same(lambda x: (x.relu() * 2, x.to(memory_format=torch.contiguous_format) + 1), x)


def test_strides_that_the_graph_did_not_promise():
    # A region whose input comes from an eager op with other strides than its fake twin says.
    library = torch.library.Library("nvfuser_test_layout", "FRAGMENT")
    library.define("liar(Tensor x) -> Tensor")
    library.impl("liar", lambda x: x.t().contiguous().t(), "CPU")
    library.impl("liar", lambda x: torch.empty_like(x), "Meta")
    function = compiled(lambda x: torch.ops.nvfuser_test_layout.liar(x) * 2 + x)
    x = torch.randn(4, 6)
    for _ in range(3):
        torch.testing.assert_close(function(x), x * 3)
    report = compile_report()
    assert not report.failures
    assert report.graphs[0].fusions[0].num_definitions == 2


def test_gradient_with_strides_of_zero():
    x = torch.randn(2, 4, 16, 32, requires_grad=True)
    weight = torch.randn(32, 8, requires_grad=True)

    def function(x, weight):
        return (x @ weight).tanh()

    expected = torch.autograd.grad(function(x, weight).sum(), (x, weight))
    actual = torch.autograd.grad(compiled(function)(x, weight).sum(), (x, weight))
    torch.testing.assert_close(actual, expected)


def test_noncontiguous_gradient():
    x = torch.randn(6, 4, requires_grad=True)
    gradient = torch.randn(4, 6).t()

    def function(x):
        return x.sin() * 2

    (expected,) = torch.autograd.grad(function(x), x, gradient)
    (actual,) = torch.autograd.grad(compiled(function)(x), x, gradient)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_dense_strides(order):
    sizes = (2, 3, 4)
    assert dense_strides(sizes, order) == torch.empty_permuted(sizes, order).stride()


def test_with_strides_copies_only_where_it_must():
    x = torch.randn(3, 1, 4)
    view = with_strides(x, (4, 1, 1))
    assert view.stride() == (4, 1, 1) and view.data_ptr() == x.data_ptr()
    moved = with_strides(x, (1, 3, 3))
    assert moved.stride() == (1, 3, 3) and moved.data_ptr() != x.data_ptr()
    assert torch.equal(moved, x)
