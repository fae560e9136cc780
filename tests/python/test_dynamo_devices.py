"""torch.compile on each device: blocks in half precision, every attention kernel of torch, dropout, mixed devices."""

import copy

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same, compiled
from nvfuser.dynamo import compile_report
from test_dynamo_transformers import Gpt, GptBlock, LlamaBlock
from torch.nn.attention import SDPBackend, sdpa_kernel

sdpa = F.scaled_dot_product_attention


def heads(device, n=2, h=4, length=64, e=64, dtype=torch.bfloat16):
    return tuple(torch.randn(n, h, length, e, device=device, dtype=dtype) for _ in range(3))


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("block", [GptBlock, LlamaBlock])
def test_blocks(block, train, device):
    model = block(width=256).to(device)
    report = assert_same(model, torch.randn(2, 16, 256, device=device), train=train, tolerance=1e-3)
    assert len(report.attention) == len(report.graphs)
    assert all(entry.backend for entry in report.attention)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_blocks_in_half_precision(dtype, device):
    model = LlamaBlock(width=256).to(device, dtype)
    assert_same(model, torch.randn(2, 16, 256, device=device, dtype=dtype), tolerance=6e-2)


def test_gpt_with_changing_lengths(device):
    more = tuple((torch.randint(0, 50, (2, length), device=device),) for length in (5, 21, 16))
    ids = torch.randint(0, 50, (2, 12), device=device)
    report = assert_same(Gpt().to(device), ids, more_inputs=more, train=True, dynamic=True, tolerance=1e-3)
    assert [g.kind for g in report.graphs] == ["forward", "backward"]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("backend", ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"])
def test_kernels_of_torch(backend, causal, device):
    if device == "cpu" and backend in ("EFFICIENT_ATTENTION", "CUDNN_ATTENTION"):
        pytest.skip("a CUDA kernel")

    def function(q, k, v):
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return sdpa(q, k, v, is_causal=causal)

    report = assert_same(function, *heads(device), train=True, strides=False)
    # Forward and backward each hold one node of ours, or (math under torch's own choice) none at all.
    assert len(report.attention) in (0, len(report.graphs))


@pytest.mark.parametrize("option", ["auto", "math"])
def test_kernel_by_option(option, device):
    report = assert_same(
        lambda q, k, v: sdpa(q, k, v, is_causal=True),
        *heads(device),
        train=True,
        strides=False,
        options={"sdpa_backend": option},
    )
    assert len(report.attention) == 2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_dropout_draws_what_eager_draws(dtype, device):
    def function(q, k, v):
        return sdpa(q, k, v, dropout_p=0.25) * 2

    options = {"fallback_random": True}  # attention that torch opens has a dropout layer inside
    assert_same(function, *heads(device, dtype=dtype), train=True, strides=False, tolerance=3e-2, options=options)


def test_dropout_layers(device):
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Dropout(0.3), torch.nn.GELU(), torch.nn.Dropout(0.1))
    options = {"fallback_random": True}
    assert_same(model.to(device), torch.randn(32, 64, device=device), train=True, tolerance=1e-3, options=options)


def test_numbers_that_live_on_the_cpu(device):
    scale = torch.tensor(2.5)
    assert_same(lambda x, scale: (x * scale + 1).relu(), torch.randn(4, 5, device=device), scale)


def test_graph_without_a_tensor_input(device):
    function = compiled(lambda: torch.full((3, 4), 2.0, device=device).sin() + torch.arange(4, device=device))
    expected = torch.full((3, 4), 2.0, device=device).sin() + torch.arange(4, device=device)
    for _ in range(2):
        torch.testing.assert_close(function(), expected)
    assert compile_report().num_fusions == 1
    assert not compile_report().failures


def test_two_devices_in_one_graph(device):
    def function(x):
        moved = (x + 1).to("cpu") * 2
        return moved, (x * 3).relu()

    assert_same(function, torch.randn(4, 5, device=device), train=True)


def test_autocast(device):
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).to(device)

    def step(x):
        with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
            return model(x)

    assert_same(step, torch.randn(8, 64, device=device), train=True, tolerance=3e-2)


def test_channels_last_convolutions(device):
    net = torch.nn.Sequential(torch.nn.Conv2d(8, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()).to(device)
    net = net.to(memory_format=torch.channels_last)
    x = torch.randn(2, 8, 9, 9, device=device).to(memory_format=torch.channels_last)
    assert_same(net, x, train=True, tolerance=2e-3)


def test_training_steps_follow_eager(device):
    torch.manual_seed(1)
    eager = GptBlock(width=64).to(device)
    ours = copy.deepcopy(eager)
    x = torch.randn(4, 16, 64, device=device)
    losses = []
    for model, call in ((eager, eager), (ours, compiled(ours))):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for _ in range(4):
            loss = call(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.cuda
def test_captured_in_a_cuda_graph():
    model = GptBlock(width=64).cuda().requires_grad_(False)
    function, x = compiled(model), torch.randn(2, 16, 64, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            function(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function(x)
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.testing.assert_close(result, model(x), atol=1e-3, rtol=1e-3)
