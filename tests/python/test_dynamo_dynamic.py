"""torch.compile with sizes that change: one compilation and one definition serve them all."""

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same, compiled
from nvfuser import cache as kernel_cache
from nvfuser.dynamo import compile_report
from test_dynamo_transformers import Gpt, GptBlock, LlamaBlock
from torch._dynamo.testing import CompileCounterWithBackend
from torch._dynamo.utils import counters


def recompilations(report) -> int:
    return max(len([g for g in report.graphs if g.kind == kind]) for kind in ("forward", "backward", "inference"))


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("block", [GptBlock, LlamaBlock])
def test_sequence_length(block, train):
    more = tuple((torch.randn(2, length, 32),) for length in (3, 17, 8, 30))
    report = assert_same(block(), torch.randn(2, 10, 32), train=train, more_inputs=more, dynamic=True)
    assert recompilations(report) == 1
    assert all(fusion.num_definitions == 1 for graph in report.graphs for fusion in graph.fusions)
    assert len(report.attention) == len(report.graphs)


def test_length_turns_dynamic_after_the_second_size():
    model = GptBlock().requires_grad_(False)
    more = tuple((torch.randn(2, length, 32),) for length in (11, 12, 13, 20, 31))
    report = assert_same(model, torch.randn(2, 10, 32), more_inputs=more)
    assert recompilations(report) == 2  # the first, static, and one for all others


def test_token_ids_of_any_shape():
    more = tuple((torch.randint(0, 50, shape),) for shape in ((3, 5), (4, 9), (2, 33)))
    report = assert_same(Gpt(), torch.randint(0, 50, (2, 7)), more_inputs=more, dynamic=True, train=True)
    assert recompilations(report) == 1


def test_counters_agree():
    counters.clear()
    function = compiled(lambda x: (x * 2).relu().sum(-1), dynamic=True)
    for rows in range(2, 12):
        x = torch.randn(rows, rows + 3)
        torch.testing.assert_close(function(x), (x * 2).relu().sum(-1))
    assert counters["stats"]["unique_graphs"] == 1
    assert counters["aot_autograd"]["ok"] == 1
    assert len(compile_report().graphs) == 1


SHAPE_FUNCTIONS = {
    "reshape_by_product": lambda x: (x.reshape(x.shape[0] * x.shape[1], -1) + 1).sum(0),
    "reshape_by_quotient": lambda x: x.reshape(x.shape[0], x.shape[1] // 2, 2, x.shape[2]).amax(2) / 3,
    "flatten_and_back": lambda x: (x.flatten() * 2).view(x.shape) - x,
    "mean_over_length": lambda x: x.mean(1) + x.shape[1],
    "expand": lambda x: x[:, :1].expand(x.shape) * x,
    "cat": lambda x: torch.cat([x, x * 2, x[:, :2]], dim=1).cumsum(1),
    "slice_by_size": lambda x: x[:, : x.shape[1] // 2] * 2,
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=3.0) * 2,
    "integers_over_size": lambda x: -torch.arange(8) / x.shape[1] + x.sum(),
    "arange": lambda x: x + torch.arange(x.shape[1])[:, None],
    "causal_mask": lambda x: (x @ x.mT).masked_fill(~torch.ones(x.shape[1], x.shape[1]).bool().tril(), -1.0),
    "size_as_factor": lambda x: x * (x.shape[1] + 2) - x.shape[0] * 0.5,
    "transpose": lambda x: (x.mT.contiguous() + 1).mT,
    "full": lambda x: torch.full((x.shape[0], x.shape[1], 1), 2.5) * x,
    "softmax": lambda x: x.softmax(1).log(),
    "var": lambda x: torch.var_mean(x, 1, keepdim=True)[0] + x.std(1, keepdim=True),
    "split": lambda x: [part * 2 for part in x.split(4, dim=2)],
    "item_count": lambda x: x.sum() / x.numel(),
}


@pytest.mark.parametrize("name", SHAPE_FUNCTIONS)
def test_arithmetic_on_sizes(name):
    function = SHAPE_FUNCTIONS[name]
    more = tuple((torch.randn(n, length, 8),) for n, length in ((3, 10), (5, 4), (2, 16)))
    report = assert_same(function, torch.randn(2, 6, 8), more_inputs=more, dynamic=True)
    assert len(report.graphs) == 1
    assert report.num_fusions >= 1


@pytest.mark.parametrize("name", ["reshape_by_product", "cat", "expand", "softmax", "pad", "mean_over_length"])
def test_gradients_with_symbolic_sizes(name):
    more = tuple((torch.randn(n, length, 8),) for n, length in ((3, 10), (5, 4)))
    report = assert_same(SHAPE_FUNCTIONS[name], torch.randn(2, 6, 8), more_inputs=more, dynamic=True, train=True)
    assert recompilations(report) == 1


def test_sizes_0_and_1_are_their_own_compilations():
    more = tuple((torch.randn(n, 4),) for n in (1, 0, 7))
    assert_same(lambda x: (x + 1).relu() * x.sum(0), torch.randn(3, 4), more_inputs=more, dynamic=True)


def test_scalar_arguments():
    def function(x, factor, shift):
        return x * factor + shift

    more = ((torch.randn(4), 2.5, 7), (torch.randn(4), -1.0, 9), (torch.randn(4), 0.25, 3))
    assert_same(function, torch.randn(4), 1.5, 5, more_inputs=more, dynamic=True)


def test_data_dependent_size():
    def function(x):
        rows = x[x[:, 0] > 0]
        return (rows * 2).relu().sum(0)

    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    try:
        more = ((torch.rand(7, 3),), (-torch.rand(7, 3),), (torch.randn(9, 3),))
        assert_same(function, torch.randn(6, 3), more_inputs=more, dynamic=True)
    finally:
        torch._dynamo.config.capture_dynamic_output_shape_ops = False


def test_backend_by_counting_frames():
    counter = CompileCounterWithBackend("nvfuser")
    torch._dynamo.reset()
    function = torch.compile(lambda x: x.sin() + 1, backend=counter, dynamic=True)
    for size in (4, 5, 6, 7):
        function(torch.randn(size))
    assert counter.frame_count == 1


def kernels_made() -> tuple[int, int]:
    info = kernel_cache.info()
    return info["compiled"], info["from_disk"]


@pytest.mark.kernels
def test_one_kernel_serves_all_sizes():
    """Reshapes to sizes that the graph does not know settle how they split, not for which sizes."""

    def function(x, w):
        b, s, e = x.shape
        q = (x * w).view(b, s, 8, e // 8).transpose(1, 2)
        first, second = q.chunk(2, -1)
        y = (q * 2 + torch.cat([-second, first], -1)).transpose(1, 2).reshape(b, s, e)
        return y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-5)

    cases = [(torch.randn(b, s, 64), torch.randn(64)) for b, s in ((2, 16), (2, 17), (3, 20), (7, 5))]
    function_c = torch.compile(function, backend="nvfuser", dynamic=True)
    function_c(*cases[0])
    before = kernels_made()
    for case in cases:
        torch.testing.assert_close(function_c(*case), function(*case))
    assert kernels_made() == before
