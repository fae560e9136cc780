"""``python -m nvfuser demo``: a trained sentence encoder through the fusion IR, checked against eager.

Each part is a function of its own that returns figures, so that the tests run the same code.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

import nvfuser
from nvfuser.demo_model import SelfAttention, SentenceEncoder, SentenceTokenizer, load_encoder

# Two sentences a topic, one after the other: a model that works finds the pairs.
SENTENCES = [
    "A cat is sleeping on the warm windowsill.",
    "The kitten naps in the sun by the window.",
    "Bread needs flour, water, salt, yeast and a good deal of patience.",
    "To bake a loaf you knead the dough, let it rise and put it into a hot oven until the crust is brown.",
    "The train to the coast leaves at nine.",
    "Departure for the seaside by rail: 9 am.",
    "She plays the violin in an orchestra.",
    "He has been a cellist with the symphony since he left the conservatory twelve years ago.",
    "Compilers turn programs into machine code.",
    "A program that translates source text into instructions which a processor can execute is called a compiler.",
]

# Vectors have length 1, so their entries' rounding is far below eps = 1.2e-7 each; sums of 384 to 1536 products in six
# layers, taken in another order, add up to some multiples of it.
ENCODE_TOLERANCE = 2e-6
# Relative to the largest entry of a gradient; float32 eager itself is 1e-5 away from float64.
GRADIENT_TOLERANCE = 5e-5
# A gradient below this part of the model's largest one counts as rounding: those of the key biases are 0 in exact
# arithmetic, because softmax does not see a shift of all scores.
NEGLIGIBLE_GRADIENT = 1e-3
# Relative to the block's largest entry: the sums of one attention block.
BLOCK_TOLERANCE = 2e-6
LEARNING_RATE = 0.05


class CheckFailed(Exception):
    """A figure of the demo is outside its bound."""


@dataclass
class Deviation:
    """The largest difference between two computations, and the bound it must keep."""

    name: str
    value: float
    bound: float

    def check(self) -> None:
        """Raises CheckFailed when the value is beyond the bound or not a number."""
        if not self.value <= self.bound:
            raise CheckFailed(f"{self.name}: {self.value:.2e} is beyond {self.bound:.0e}")


def relative_deviation(actual: Tensor, expected: Tensor, floor: float = 0.0) -> float:
    """max |actual - expected| / max(|expected|, floor); 0 where both are all zero."""
    difference = (actual - expected).abs().max().item()
    scale = max(expected.abs().max().item(), floor)
    return difference / scale if scale > 0 else difference


def encode_both(
    model: SentenceEncoder, compiled: Callable[[Tensor, Tensor], Tensor], ids: Tensor, mask: Tensor
) -> tuple[Tensor, Deviation]:
    """Encode with the compiled model and with eager; -> (vectors [N, hidden], their largest difference)."""
    with torch.no_grad():
        vectors, expected = compiled(ids, mask), model(ids, mask)
    return vectors, Deviation("encoding, compiled and eager", (vectors - expected).abs().max().item(), ENCODE_TOLERANCE)


def pair_loss(model: SentenceEncoder, ids: Tensor, mask: Tensor) -> Tensor:
    """How badly each even sentence finds the odd one after it among all odd ones: a scalar to minimise."""
    vectors = model(ids, mask)
    similarity = vectors[0::2] @ vectors[1::2].T
    return F.cross_entropy(similarity * 5, torch.arange(similarity.shape[0], device=ids.device))


@dataclass
class TrainingStep:
    """What one step did: losses of both models, and one Deviation a parameter for gradient and updated weight."""

    loss_compiled: float
    loss_eager: float
    gradients: list[Deviation]
    weights: list[Deviation]

    @property
    def worst_gradient(self) -> Deviation:
        return max(self.gradients, key=lambda deviation: deviation.value)


def train_both(model: SentenceEncoder, ids: Tensor, mask: Tensor) -> TrainingStep:
    """One step of gradient descent on two copies of the model, one compiled and one eager; `model` is left alone."""
    models = [copy.deepcopy(model).train() for _ in range(2)]
    losses = []
    for replica, loss_of in zip(models, (torch.compile(pair_loss, backend="nvfuser"), pair_loss)):
        optimizer = torch.optim.SGD(replica.parameters(), lr=LEARNING_RATE)
        loss = loss_of(replica, ids, mask)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return TrainingStep(*losses, *_compare_parameters(*models))


def _compare_parameters(compiled: SentenceEncoder, eager: SentenceEncoder) -> tuple[list[Deviation], list[Deviation]]:
    """-> (gradients, weights): a Deviation for each parameter of two models that made the same step."""
    pairs = list(zip(compiled.named_parameters(), eager.parameters()))
    for (name, actual), expected in pairs:
        if actual.grad is None or expected.grad is None:
            raise CheckFailed(f"{name} received no gradient")
    floor = NEGLIGIBLE_GRADIENT * max(expected.grad.abs().max().item() for _, expected in pairs)
    gradients, weights = [], []
    for (name, actual), expected in pairs:
        difference = relative_deviation(actual.grad, expected.grad, floor)
        gradients.append(Deviation(f"gradient of {name}", difference, GRADIENT_TOLERANCE))
        difference = relative_deviation(actual.data, expected.data)
        weights.append(Deviation(f"updated {name}", difference, GRADIENT_TOLERANCE))
    return gradients, weights


def attention_block_fusion(attention: SelfAttention, x: Tensor, keep: Tensor) -> tuple[nvfuser.FusionDefinition, list]:
    """The attention block written directly in the IR: -> (definition, its inputs).

    Args:
        attention: the module whose weights become inputs.
        x: [N, L, hidden] hidden states.
        keep: Bool [N, 1, 1, L], true for real tokens.
    """
    projections = (attention.query, attention.key, attention.value, attention.out)
    inputs = [x, keep, *(p for linear in projections for p in (linear.weight.detach(), linear.bias.detach()))]
    batch, length, hidden = x.shape
    heads = attention.heads
    with nvfuser.FusionDefinition() as fd:
        tx, tkeep, *weights = [fd.from_pytorch(tensor, static_sizes=True) for tensor in inputs]
        split = []
        for i in range(3):
            projected = fd.ops.linear(tx, weights[2 * i], weights[2 * i + 1])
            by_head = fd.ops.reshape(projected, [batch, length, heads, hidden // heads])
            split.append(fd.ops.permute(by_head, [0, 2, 1, 3]))
        attended = fd.ops.sdpa_fwd(*split, mask=tkeep, inference=True)
        joined = fd.ops.reshape(fd.ops.permute(attended, [0, 2, 1, 3]), [batch, length, hidden])
        fd.add_output(fd.ops.linear(joined, weights[6], weights[7]))
    return fd, inputs


# ---- the command -----------------------------------------------------------------------------------------------------


class _Steps:
    """Prints one line a step: what is being done as it starts, its time and outcome as it ends."""

    def __init__(self, total: int):
        self._total = total
        self._done = 0

    @contextmanager
    def step(self, title: str) -> Iterator[list[str]]:
        """The block may append words about the outcome to the list it is given."""
        self._done += 1
        print(f"[{self._done}/{self._total}] {title:<58}", end="", flush=True)
        outcome: list[str] = []
        start = time.perf_counter()
        try:
            yield outcome
        except BaseException:
            print(" FAILED", flush=True)
            raise
        seconds = time.perf_counter() - start
        print(f" {seconds:6.2f} s  {'; '.join(outcome)}".rstrip(), flush=True)


def _median_seconds(functions: list[Callable[[], object]], device: str, repeats: int = 7) -> list[float]:
    """The median time of each function; they take turns, so that a change in load meets all."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, record in zip(functions, times):
            start = time.perf_counter()
            function()
            if device == "cuda":
                torch.cuda.synchronize()
            record.append(time.perf_counter() - start)
    return [statistics.median(record) for record in times]


def _print_similarity(vectors: Tensor) -> None:
    similarity = (vectors @ vectors.T).cpu()
    print("\nsimilarity of the sentences (1.00 = same meaning)")
    for i, sentence in enumerate(SENTENCES):
        row = " ".join(f"{value:5.2f}" for value in similarity[i].tolist())
        print(f"  {i} {row}  {sentence[:52]}{'...' if len(sentence) > 52 else ''}")
    print()


def _print_report(report: nvfuser.dynamo.CompileReport) -> None:
    """One line a graph, then one line for each attention node with the backend that ran it."""
    for graph in report.graphs:
        fused, eager = sum(graph.fused_ops.values()), sum(graph.eager_ops.values())
        fusions = "1 fusion holds" if graph.num_fusions == 1 else f"{graph.num_fusions} fusions hold"
        print(f"{graph.kind} graph: {fusions} {fused} ops, {eager} {'op' if eager == 1 else 'ops'} in eager")
        for (op, reason), count in sorted(graph.eager.items()):
            print(f"  in eager: {count} x {op} ({reason})")
        for layer, entry in enumerate(graph.attention):
            # The backward graph walks the layers from the last to the first.
            number = len(graph.attention) - 1 - layer if graph.kind == "backward" else layer
            print(f"  layer {number}: attention as {entry.op}, backend {entry.backend}")
    print()


def check_report(report: nvfuser.dynamo.CompileReport, layers: int) -> None:
    """Raises CheckFailed unless every graph ran in fusions with an attention node and a known backend for each layer."""
    if not report.graphs:
        raise CheckFailed("nothing was compiled")
    if report.failures:
        raise CheckFailed(f"a fusion ran in eager: {report.failures[0]}")
    for graph in report.graphs:
        if len(graph.attention) != layers:
            raise CheckFailed(f"{graph.kind} graph: {len(graph.attention)} attention nodes for {layers} layers")
        if any(entry.backend is None for entry in graph.attention):
            raise CheckFailed(f"{graph.kind} graph: an attention node does not say which backend ran it")


def _demo(device: str) -> None:
    steps = _Steps(6)
    print(f"nvfuser {nvfuser.version()}, torch {torch.__version__}, {device}\n")

    with steps.step("loading the tokenizer and the weights of all-MiniLM-L6-v2") as outcome:
        tokenizer, model = SentenceTokenizer(), load_encoder().to(device)
        count = sum(parameter.numel() for parameter in model.parameters())
        outcome.append(f"{len(model.layers)} layers, {count / 1e6:.1f} M parameters")
    ids, mask = (tensor.to(device) for tensor in tokenizer(SENTENCES))
    layers = len(model.layers)
    nvfuser.compile_report(reset=True)
    compiled = torch.compile(model, backend="nvfuser")

    with steps.step(f"compiling, encoding {len(SENTENCES)} sentences of {mask.sum(1).min()} to {ids.shape[1]} tokens"):
        vectors, encoding = encode_both(model, compiled, ids, mask)
    with steps.step("encoding again, warm") as outcome, torch.no_grad():
        warm, eager = _median_seconds([lambda: compiled(ids, mask), lambda: model(ids, mask)], device)
        outcome.append(f"median {warm * 1e3:.1f} ms, eager {eager * 1e3:.1f} ms")
    _print_similarity(vectors)
    report = nvfuser.compile_report(reset=True)
    _print_report(report)
    check_report(report, layers)
    print(f"largest difference from eager: {encoding.value:.1e} (allowed {encoding.bound:.0e})\n")
    encoding.check()

    with steps.step("one training step, compiled and eager") as outcome:
        training = train_both(model, ids, mask)
        outcome.append(f"loss {training.loss_compiled:.6f} and {training.loss_eager:.6f}")
    report = nvfuser.compile_report(reset=True)
    _print_report(report)
    check_report(report, layers)
    worst = training.worst_gradient
    print(f"{len(training.gradients)} gradients compared; the largest difference is {worst.value:.1e} of the")
    print(f"gradient's largest entry, in the {worst.name} (allowed {worst.bound:.0e})\n")
    for deviation in (*training.gradients, *training.weights):
        deviation.check()

    attention, keep = model.layers[0].attention, mask[:, None, None, :]
    with torch.no_grad():
        x = model.embeddings(ids)
        with steps.step("the attention block of layer 0 as a FusionDefinition"):
            fd, inputs = attention_block_fusion(attention, x, keep)
        with steps.step("running it") as outcome:
            (actual,) = fd.execute(inputs)
            difference = relative_deviation(actual, attention(x, keep))
            block = Deviation("attention block", difference, BLOCK_TOLERANCE)
            outcome.append(f"largest difference from eager {block.value:.1e}")
    print(f"\nits IR:\n{fd.fusion.print_math()}")
    block.check()


def run(device: str | None = None) -> int:
    """Run the demo and print what it does.

    Args:
        device: "cpu" or "cuda"; None takes CUDA where there is a device.
    Returns:
        0 when every check held, 1 when one failed (the last line says which).
    Raises:
        ImportError: the weights or their readers are not installed.
    """
    torch._dynamo.reset()  # no compiled graph of an earlier run in this process
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    start = time.perf_counter()
    try:
        _demo(device)
    except CheckFailed as error:
        print(f"FAILED: {error}")
        return 1
    print(f"all checks passed in {time.perf_counter() - start:.1f} s")
    return 0
