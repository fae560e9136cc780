"""Random graphs of 3 to 30 operations, run through FusionDefinition and through eager torch side by side.

A graph is drawn step by step. Each step knows the shapes so far, so every graph is valid. A step is a pair of functions:
one on torch tensors, one on TensorViews. Values are float64 and stay small, so that results can be compared closely.
"""

import math
import os

import torch
from helpers import check_meta, check_text, make
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nvfuser_direct import FusionDefinition

F64 = torch.float64
LIMIT = 400  # elements of a value
UNARY = {
    "sin": torch.sin,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "neg": torch.neg,
    "abs": torch.abs,
    "relu": torch.relu,
}
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum}


class Graph:
    """The values so far, and the steps that made them."""

    def __init__(self):
        self.inputs = []  # torch tensors
        self.steps = []  # (eager function of the values, function of fd and the TensorViews, description)
        self.values = []  # torch results
        self.ones = []  # for each value, the dims that are broadcast by construction

    def add_input(self, tensor):
        index = len(self.inputs)
        self.inputs.append(tensor)
        self.step(
            lambda values, inputs: inputs[index],
            lambda fd, tvs: fd.from_pytorch(tensor),
            f"input {tuple(tensor.shape)}",
        )
        return len(self.values) - 1

    def step(self, eager, emit, text, ones=None):
        self.steps.append((eager, emit, text))
        value = eager(self.values, self.inputs)
        self.values.append(value)
        self.ones.append({d for d, n in enumerate(value.shape) if n == 1} if ones is None else set(ones))

    def replay(self, inputs):
        """Eager results for other inputs of the same shapes."""
        values = []
        for eager, _, _ in self.steps:
            values.append(eager(values, inputs))
        return values

    def float_values(self):
        return [i for i, v in enumerate(self.values) if v.dtype == F64]


def shapes():
    return st.lists(st.sampled_from([0, 1, 2, 3, 4, 5]), min_size=0, max_size=3).filter(lambda s: math.prod(s) <= 60)


def draw_input(draw, graph, shape=None):
    shape = tuple(draw(shapes()) if shape is None else shape)
    tensor = make(shape, F64, low=-1, high=1, seed=len(graph.inputs))
    form = draw(st.sampled_from(["plain", "plain", "reversed", "gaps"]))
    if form == "reversed" and len(shape) > 1:
        order = list(range(len(shape)))[::-1]
        tensor = tensor.permute(order).contiguous().permute(order)
    if form == "gaps" and shape:
        buffer = torch.zeros(*shape, 2, dtype=F64)
        buffer[..., 0] = tensor
        tensor = buffer[..., 0]
    return graph.add_input(tensor)


# --- steps: each takes draw, graph and the index of a float value, and returns False where it does not apply ----------------


def unary(draw, graph, i):
    name = draw(st.sampled_from(sorted(UNARY)))
    graph.step(lambda v, _: UNARY[name](v[i]), lambda fd, t: getattr(fd.ops, name)(t[i]), f"{name} {i}", graph.ones[i])


def with_number(draw, graph, i):
    name, number = draw(st.sampled_from(sorted(BINARY))), draw(st.sampled_from([-1.5, -0.5, 0.25, 1.0, 2.0]))
    constant = torch.tensor(number, dtype=F64)
    if draw(st.booleans()):
        graph.step(
            lambda v, _: BINARY[name](v[i], constant),
            lambda fd, t: getattr(fd.ops, name)(t[i], number),
            f"{name} {i} {number}",
            graph.ones[i],
        )
    else:
        graph.step(
            lambda v, _: BINARY[name](constant, v[i]),
            lambda fd, t: getattr(fd.ops, name)(number, t[i]),
            f"{name} {number} {i}",
            graph.ones[i],
        )


def partners(graph, i):
    """Values that broadcast with value i without relying on a size that is 1 only by chance."""
    found = []
    for j in graph.float_values():
        a, b = graph.values[i].shape, graph.values[j].shape
        fits = True
        for back in range(1, min(len(a), len(b)) + 1):
            one_a, one_b = len(a) - back in graph.ones[i], len(b) - back in graph.ones[j]
            fits &= one_a or one_b or a[-back] == b[-back]
        if fits and math.prod(torch.broadcast_shapes(a, b)) <= LIMIT:
            found.append(j)
    return found


def result_ones(graph, i, j):
    """Broadcast dims of a pointwise result of two values."""
    a, b = graph.values[i].dim(), graph.values[j].dim()
    rank = max(a, b)
    known = lambda k, size: {d + rank - size for d in graph.ones[k]} | set(range(rank - size))  # noqa: E731
    return known(i, a) & known(j, b)


def binary(draw, graph, i):
    name, j = draw(st.sampled_from(sorted(BINARY))), draw(st.sampled_from(partners(graph, i)))
    graph.step(
        lambda v, _: BINARY[name](v[i], v[j]),
        lambda fd, t: getattr(fd.ops, name)(t[i], t[j]),
        f"{name} {i} {j}",
        result_ones(graph, i, j),
    )


def select_by_sign(draw, graph, i):
    j = draw(st.sampled_from(partners(graph, i)))
    graph.step(
        lambda v, _: torch.where(v[i] > 0.1234, v[i], v[j]),
        lambda fd, t: fd.ops.where(fd.ops.gt(t[i], 0.1234), t[i], t[j]),
        f"where {i} {j}",
        result_ones(graph, i, j),
    )


def reduce(draw, graph, i):
    rank = graph.values[i].dim()
    if rank == 0:
        return False
    name = draw(st.sampled_from(["mean", "max", "min", "sum"]))
    dims = sorted(draw(st.sets(st.integers(0, rank - 1), min_size=1)))
    count = math.prod(graph.values[i].shape[d] for d in dims)
    if count == 0:
        name = "sum"
    keep = draw(st.booleans())
    eager = {
        "mean": lambda x: x.sum(dims, keepdim=keep) / count,
        "sum": lambda x: x.sum(dims, keepdim=keep),
        "max": lambda x: x.amax(dims, keepdim=keep),
        "min": lambda x: x.amin(dims, keepdim=keep),
    }[name]

    def emit(fd, t):
        if name == "mean":
            return fd.ops.div(fd.ops.sum(t[i], dims, keep), float(count))
        return getattr(fd.ops, name)(t[i], dims, keep)

    left = [d for d in range(rank) if d not in dims]
    ones = graph.ones[i] | set(dims) if keep else {left.index(d) for d in graph.ones[i] if d in left}
    graph.step(lambda v, _: eager(v[i]), emit, f"{name} {i} {dims} {keep}", ones)
    return None


def permute(draw, graph, i):
    order = list(draw(st.permutations(range(graph.values[i].dim()))))
    graph.step(
        lambda v, _: v[i].permute(order),
        lambda fd, t: fd.ops.permute(t[i], order),
        f"permute {i} {order}",
        {order.index(d) for d in graph.ones[i]},
    )


def reshape(draw, graph, i):
    """Flatten, split the flat form by a divisor, or insert a size-one dim."""
    count = graph.values[i].numel()
    if count == 0:
        return False
    divisor = draw(st.sampled_from([d for d in range(1, count + 1) if count % d == 0]))
    target = draw(st.sampled_from([[count], [divisor, count // divisor], [divisor, 1, count // divisor]]))
    graph.step(lambda v, _: v[i].reshape(target), lambda fd, t: fd.ops.reshape(t[i], target), f"reshape {i} {target}")
    return None


def new_dim(draw, graph, i):
    rank = graph.values[i].dim()
    if rank >= 4:
        return False
    at, size = draw(st.integers(0, rank)), draw(st.integers(1, 3))
    if graph.values[i].numel() * size > LIMIT:
        return False
    flags = [d == at for d in range(rank + 1)]
    shape = [size if d == at else -1 for d in range(rank + 1)]
    kept = {d if d < at else d + 1 for d in graph.ones[i]}
    graph.step(
        lambda v, _: v[i].unsqueeze(at).expand(shape),
        lambda fd, t: fd.ops.expand(fd.ops.broadcast(t[i], flags), shape),
        f"new dim {i} {at} {size}",
        kept | ({at} if size == 1 else set()),
    )
    return None


def squeeze(draw, graph, i):
    if not graph.ones[i]:
        return False
    dims = sorted(draw(st.sets(st.sampled_from(sorted(graph.ones[i])), min_size=1)))
    left = [d for d in range(graph.values[i].dim()) if d not in dims]
    ones = {left.index(d) for d in graph.ones[i] if d in left}
    graph.step(lambda v, _: v[i].squeeze(dims), lambda fd, t: fd.ops.squeeze(t[i], dims), f"squeeze {i} {dims}", ones)
    return None


def cut(draw, graph, i):
    """A slice whose size is never 1 where it changes a dim."""
    shape = graph.values[i].shape
    if not shape:
        return False
    starts, ends = [0] * len(shape), list(shape)
    for d, n in enumerate(shape):
        if n >= 3 and draw(st.booleans()):
            starts[d] = draw(st.integers(0, n - 2))
            ends[d] = draw(st.integers(starts[d] + 2, n + 2))
    window = tuple(slice(a, b) for a, b in zip(starts, ends, strict=True))
    graph.step(
        lambda v, _: v[i][window],
        lambda fd, t: fd.ops.slice(t[i], starts, ends),
        f"slice {i} {starts} {ends}",
        graph.ones[i],
    )
    return None


def pad(draw, graph, i):
    shape = graph.values[i].shape
    if not shape or graph.values[i].numel() > LIMIT // 3:
        return False
    widths, value = draw(st.lists(st.integers(0, 2), min_size=2, max_size=2)), draw(st.sampled_from([None, 0.5]))
    if shape[-1] + sum(widths) == 1 and sum(widths):
        return False
    emit = lambda fd, t: fd.ops.pad(t[i], widths) if value is None else fd.ops.pad(t[i], widths, value)  # noqa: E731
    ones = graph.ones[i] - ({len(shape) - 1} if sum(widths) else set())
    graph.step(
        lambda v, _: torch.nn.functional.pad(v[i], widths, value=value or 0.0), emit, f"pad {i} {widths} {value}", ones
    )
    return None


def join(draw, graph, i):
    shape = graph.values[i].shape
    if not shape or graph.values[i].numel() > LIMIT // 2:
        return False
    dim = draw(st.integers(0, len(shape) - 1))
    fits = [
        j
        for j in graph.float_values()
        if graph.values[j].dim() == len(shape)
        and all(
            a == b and (d in graph.ones[i]) == (d in graph.ones[j])
            for d, (a, b) in enumerate(zip(shape, graph.values[j].shape, strict=True))
            if d != dim
        )
        and graph.values[j].numel() <= LIMIT // 2
        and shape[dim] + graph.values[j].shape[dim] != 1
    ]
    if not fits:
        return False
    j = draw(st.sampled_from(fits))
    graph.step(
        lambda v, _: torch.cat([v[i], v[j]], dim),
        lambda fd, t: fd.ops.cat([t[i], t[j]], dim),
        f"cat {i} {j} {dim}",
        graph.ones[i] - {dim},
    )
    return None


def pick_rows(draw, graph, i):
    shape = graph.values[i].shape
    rows = [d for d, n in enumerate(shape) if n > 1]
    if not rows:
        return False
    dim, count = draw(st.sampled_from(rows)), draw(st.integers(2, 5))
    if graph.values[i].numel() // shape[dim] * count > LIMIT:
        return False
    index = make((count,), torch.int64, low=0, high=shape[dim] - 1, seed=len(graph.inputs))
    k = graph.add_input(index)
    graph.step(
        lambda v, _: v[i].index_select(dim, v[k]),
        lambda fd, t: fd.ops.index_select(t[i], t[k], dim),
        f"index_select {i} {dim}",
        graph.ones[i],
    )
    return None


def gather(draw, graph, i):
    shape = graph.values[i].shape
    if not shape or 0 in shape or 1 in shape:
        return False
    dim = draw(st.integers(0, len(shape) - 1))
    k = graph.add_input(make(shape, torch.int64, low=0, high=shape[dim] - 1, seed=len(graph.inputs)))
    name = draw(st.sampled_from(["gather", "take_along_axis"]))
    graph.step(
        lambda v, _: v[i].gather(dim, v[k]), lambda fd, t: getattr(fd.ops, name)(t[i], t[k], dim), f"{name} {i} {dim}"
    )
    return None


def scan(draw, graph, i):
    rank = graph.values[i].dim()
    if rank == 0:
        return False
    dim, name = draw(st.integers(0, rank - 1)), draw(st.sampled_from(["cumsum", "cummax"]))
    eager = torch.cumsum if name == "cumsum" else lambda x, d: torch.cummax(x, d).values
    if name == "cummax" and graph.values[i].numel() == 0:
        return False
    graph.step(
        lambda v, _: torch.tanh(eager(v[i], dim)),
        lambda fd, t: fd.ops.tanh(getattr(fd.ops, name)(t[i], dim)),
        f"{name} {i} {dim}",
        graph.ones[i],
    )
    return None


def product(draw, graph, i):
    """x @ x^T of a matrix, squashed."""
    if graph.values[i].dim() != 2 or graph.values[i].shape[0] > 12:
        return False
    graph.step(
        lambda v, _: torch.tanh(v[i] @ v[i].t()),
        lambda fd, t: fd.ops.tanh(fd.ops.matmul(t[i], fd.ops.permute(t[i], [1, 0]))),
        f"matmul {i}",
        {0, 1} if 0 in graph.ones[i] else set(),
    )
    return None


def triangle(draw, graph, i):
    if graph.values[i].dim() < 2:
        return False
    diagonal = draw(st.integers(-2, 2))
    graph.step(
        lambda v, _: torch.triu(v[i], diagonal),
        lambda fd, t: fd.ops.triu(t[i], diagonal),
        f"triu {i} {diagonal}",
        graph.ones[i],
    )
    return None


STEPS = [
    unary,
    with_number,
    binary,
    binary,
    select_by_sign,
    reduce,
    permute,
    reshape,
    new_dim,
    squeeze,
    cut,
    pad,
    join,
    pick_rows,
    gather,
    scan,
    product,
    triangle,
]


@st.composite
def graphs(draw):
    graph = Graph()
    for _ in range(draw(st.integers(1, 3))):
        draw_input(draw, graph)
    for _ in range(draw(st.integers(3, 30))):
        candidates = graph.float_values()
        recent = candidates[-4:] if draw(st.booleans()) else candidates
        step, i = draw(st.sampled_from(STEPS)), draw(st.sampled_from(recent))
        if step(draw, graph, i) is False:
            unary(draw, graph, i)
    made = graph.float_values()
    outputs = [made[-1], *draw(st.lists(st.sampled_from(made), max_size=3))]
    return graph, outputs


def compare(results, expected, text):
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype and result.shape == wanted.shape, text
        torch.testing.assert_close(
            result, wanted, rtol=1e-9, atol=1e-9, equal_nan=True, check_stride=False, msg=lambda m: f"{m}\n{text}"
        )


@settings(
    max_examples=150,
    deadline=None,
    derandomize="CI" in os.environ or "HYPOTHESIS_RANDOM" not in os.environ,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
        HealthCheck.large_base_example,
    ],
    database=None,
)
@given(graphs())
def test_random_graphs_agree_with_eager(case):
    graph, outputs = case
    note(
        "\n".join(
            f"{n}: {text} -> {tuple(v.shape)}"
            for n, ((_, _, text), v) in enumerate(zip(graph.steps, graph.values, strict=True))
        )
    )
    note(f"outputs {outputs}")
    with FusionDefinition() as fd:
        tvs = []
        for _, emit, _ in graph.steps:
            tvs.append(emit(fd, tvs))
        for index in outputs:
            fd.add_output(tvs[index])
    text = repr(fd)

    results = fd.execute(graph.inputs)
    compare(results, [graph.values[i] for i in outputs], text)
    check_text(text, graph.inputs, results)

    # Other values in the same shapes and layouts, through the warm definition.
    second = [
        t if t.dtype != F64 else torch.sin(t * 3) if t.is_contiguous() else t.clone(memory_format=torch.preserve_format)
        for t in graph.inputs
    ]
    second = [b if b.stride() == a.stride() else a for a, b in zip(graph.inputs, second, strict=True)]
    values = graph.replay(second)
    compare(fd.execute(second), [values[i] for i in outputs], text)

    check_meta(fd, graph.inputs, results)
