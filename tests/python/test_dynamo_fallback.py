"""What a fusion cannot hold runs in eager between the fusions, and never is an error."""

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same, compiled
from nvfuser.dynamo import compile_report

UNSUPPORTED = {
    "sort": lambda x: (x + 1).sort(-1).values * 2,
    "argsort": lambda x: (x + 1).argsort(-1) + 1,
    "topk": lambda x: (x * 2).topk(2, -1).values + 1,
    "argmax": lambda x: (x * 2).argmax(-1) + 1,
    "max_with_index": lambda x: [t + 1 for t in (x * 2).max(-1)],
    "flip": lambda x: (x + 1).flip(0) * 2,
    "roll": lambda x: (x + 1).roll(1, 0) * 2,
    "index_put": lambda x: (x * 1).index_put((torch.tensor([0, 2]),), torch.ones(2, 6)) + 1,
    "scatter": lambda x: (x + 1).scatter(0, torch.zeros(1, 6, dtype=torch.long), 5.0) * 2,
    "index": lambda x: (x + 1)[torch.tensor([0, -1, 2])] * 2,
    "nonzero_where": lambda x: torch.where(x > 0, x, -x).cumsum(0).logcumsumexp(0) + 1,
    "fft": lambda x: torch.fft.rfft(x + 1).abs() * 2,
    "linalg": lambda x: torch.linalg.pinv(x + 1) @ x,
    "interpolate": lambda x: F.interpolate((x + 1)[None, None], scale_factor=2.0) * 2,
    "strided_slice": lambda x: (x + 1)[::2, 1::2] * 2,
    "unfold": lambda x: (x + 1).unfold(1, 3, 2) * 2,
    "as_strided": lambda x: (x + 1).as_strided((2, 3), (1, 2), 1) * 2,
    "floor_divide": lambda x: (x + 1) // 0.3,
    "digamma": lambda x: torch.digamma(x.abs() + 1) * 2,
    "bincount": lambda x: torch.bincount((x > 0).long().flatten(), minlength=2) + 1,
    "complex": lambda x: (torch.complex(x, x + 1) * 2j).abs() + 1,
    "median": lambda x: (x + 1).median() * 2,
    "unique_size": lambda x: (x + 1).histc(4) * 2,
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_ops(name):
    assert_same(UNSUPPORTED[name], torch.randn(4, 6))


@pytest.mark.parametrize("name", ["sort", "flip", "index", "scatter", "interpolate", "unfold"])
def test_gradients_through_unsupported_ops(name):
    assert_same(UNSUPPORTED[name], torch.randn(4, 6), train=True)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.complex64])
def test_dtypes_that_stay_in_eager(dtype):
    def function(x):
        return (x + x) * 3, (x * 2).abs().float() + 1

    x = torch.randint(0, 100, (5, 7)).to(dtype)
    report = assert_same(function, x)
    assert any("dtype" in reason for graph in report.graphs for _, reason in graph.eager)


def test_small_ints_wrap_as_in_eager():
    assert_same(lambda x: (x + x).to(torch.int16), torch.tensor([128, 200, 3], dtype=torch.uint8))
    assert_same(lambda x: -x < 4, torch.tensor([6], dtype=torch.uint8))

    def function(x):
        y = -torch.abs(x)
        return torch.cat((y, y)).sum()

    assert_same(function, torch.tensor([200, 200], dtype=torch.uint8))


def test_sparse():
    dense = torch.eye(4)
    function = compiled(lambda a, x: torch.sparse.mm(a, x + 1) * 2)
    x = torch.randn(4, 3)
    torch.testing.assert_close(function(dense.to_sparse(), x), (x + 1) * 2)


def test_order_of_random_ops_is_kept():
    def function(x):
        a = F.dropout(x + 1, 0.5)
        b = torch.rand_like(x) * a
        return a, b, torch.randn(3), F.dropout(b * 2, 0.2)

    assert_same(function, torch.randn(6, 6), train=True, options={"fallback_random": True})


def test_dropout_mask_is_eagers_and_backward_uses_it():
    options = {"fallback_random": True}
    assert_same(lambda x: F.dropout(x * 2, 0.3).relu(), torch.randn(50, 50), train=True, options=options)


def test_all_eager_graph():
    report = assert_same(lambda x: x.sort().values.flip(0), torch.randn(9))
    assert report.num_fusions == 0
    assert report.eager_ops


def test_view_only_graph_is_left_to_eager():
    report = assert_same(lambda x: x.t().unsqueeze(0), torch.randn(3, 4))
    assert report.num_fusions == 0


def test_fusions_on_both_sides_of_an_eager_op():
    def function(x):
        y = (x + 1).relu()
        return (y.flip(0) * 2 + y).tanh()

    report = assert_same(function, torch.randn(4, 6))
    (graph,) = report.graphs
    assert graph.num_fusions == 2
    assert graph.eager_ops == {"aten.flip.default": 1}


def test_graph_break():
    def function(x):
        y = x * 2 + 1
        torch._dynamo.graph_break()
        return y.relu().sum()

    report = assert_same(function, torch.randn(4, 6), train=True)
    assert len(report.graphs) >= 2


def test_data_dependent_branch():
    def function(x):
        return (x * 2).tanh() if x.sum() > 0 else x.exp() - 1

    for x in (torch.ones(4), -torch.ones(4)):
        assert_same(function, x)


def test_control_flow_operator():
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,)) * 2

    assert_same(function, torch.ones(4), more_inputs=((-torch.ones(4),),))


def test_flex_attention():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")

    def function(q):
        return flex.flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + (i - j)) * 2

    assert_same(function, torch.randn(1, 2, 16, 8), strides=False)


def test_custom_op_of_the_user():
    library = torch.library.Library("nvfuser_test_fallback", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    assert_same(lambda x: torch.ops.nvfuser_test_fallback.twice(x + 1).relu(), torch.randn(5))
    assert compile_report().eager_ops["nvfuser_test_fallback.twice.default"] == 1


def test_tensor_subclass_input():
    class Plain(torch.Tensor):
        pass

    x = torch.randn(4).as_subclass(Plain)
    result = compiled(lambda x: (x + 1).relu())(x)
    torch.testing.assert_close(result.as_subclass(torch.Tensor), (x.as_subclass(torch.Tensor) + 1).relu())


def test_fake_tensor_input():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(4, 5)
        y = torch.compile(lambda x: (x + 1).sum(0), backend="nvfuser")(x)
    assert y.shape == (5,)
