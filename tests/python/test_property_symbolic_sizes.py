"""Random graphs on symbolic sizes: one definition, executed at many sizes, against eager torch each time.

Dims are named ("n", "m", "k" and what becomes of them). A graph is valid for every choice of the sizes, so it is defined
once and then run at several, sizes 1 and 0 among them.
"""

import math
import os

import torch
from helpers import check_meta, check_text, make
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nvfuser_direct import DataType, FusionDefinition

NAMES = ("n", "m", "k")
ONE = "1"


class Graph:
    """Steps with the names of the dims of each value; nothing is computed while it is drawn."""

    def __init__(self):
        self.inputs = []  # shapes of names
        self.steps = []  # (function of torch values and inputs, function of fd and TensorViews, text)
        self.shapes = []

    def step(self, eager, emit, text, shape):
        self.steps.append((eager, emit, text))
        self.shapes.append(tuple(shape))

    def add_input(self, shape, layout):
        index = len(self.inputs)
        self.inputs.append((shape, layout))
        contiguity = [None if name == ONE else True for name in (reversed(shape) if layout == "reversed" else shape)]
        order = list(range(len(shape))) if layout == "reversed" else []

        def emit(fd, tvs):
            sizes = [1 if name == ONE else -1 for name in shape]
            return fd.define_tensor(sizes, contiguity, DataType.Double, stride_order=order)

        self.step(lambda values, inputs: inputs[index], emit, f"input {shape} {layout}", shape)

    def tensors(self, sizes, seed):
        """Inputs for a choice of sizes."""
        result = []
        for index, (shape, layout) in enumerate(self.inputs):
            dims = [sizes.get(name, 1) for name in shape]
            tensor = make(dims, torch.float64, low=-1, high=1, seed=seed * 11 + index)
            if layout == "reversed":
                tensor = tensor.permute(list(range(len(dims)))[::-1]).contiguous().permute(list(range(len(dims)))[::-1])
            result.append(tensor)
        return result

    def run(self, inputs):
        values = []
        for eager, _, _ in self.steps:
            values.append(eager(values, inputs))
        return values


def joined(a, b):
    """Names of the broadcast of two shapes, or None."""
    rank = max(len(a), len(b))
    a, b = (ONE,) * (rank - len(a)) + a, (ONE,) * (rank - len(b)) + b
    if any(x != y and ONE not in (x, y) for x, y in zip(a, b, strict=True)):
        return None
    return tuple(y if x == ONE else x for x, y in zip(a, b, strict=True))


def unary(draw, graph, i):
    name = draw(st.sampled_from(["sin", "tanh", "neg", "abs", "sigmoid"]))
    graph.step(
        lambda v, _: getattr(torch, name)(v[i]),
        lambda fd, t: getattr(fd.ops, name)(t[i]),
        f"{name} {i}",
        graph.shapes[i],
    )


def binary(draw, graph, i):
    fits = [j for j in range(len(graph.shapes)) if joined(graph.shapes[i], graph.shapes[j]) is not None]
    j, name = draw(st.sampled_from(fits)), draw(st.sampled_from(["add", "mul", "sub", "maximum"]))
    shape = joined(graph.shapes[i], graph.shapes[j])
    if len(shape) > 4:
        return unary(draw, graph, i)
    graph.step(
        lambda v, _: getattr(torch, name)(v[i], v[j]),
        lambda fd, t: getattr(fd.ops, name)(t[i], t[j]),
        f"{name} {i} {j}",
        shape,
    )
    return None


def total(draw, graph, i):
    shape = graph.shapes[i]
    if not shape:
        return unary(draw, graph, i)
    dim, keep = draw(st.integers(0, len(shape) - 1)), draw(st.booleans())
    left = tuple(n for d, n in enumerate(shape) if d != dim)
    graph.step(
        lambda v, _: torch.tanh(v[i].sum(dim, keepdim=keep)),
        lambda fd, t: fd.ops.tanh(fd.ops.sum(t[i], [dim], keep)),
        f"sum {i} {dim} {keep}",
        shape[:dim] + (ONE,) + shape[dim + 1 :] if keep else left,
    )
    return None


def normalise(draw, graph, i):
    """Centred along a dim, the mean written with the run-time size."""
    shape = graph.shapes[i]
    if not shape:
        return unary(draw, graph, i)
    dim = draw(st.integers(0, len(shape) - 1))

    def emit(fd, t):
        mean = fd.ops.div(fd.ops.sum(t[i], [dim], True), fd.ops.size(t[i], dim))
        return fd.ops.sub(t[i], mean)

    graph.step(lambda v, _: v[i] - v[i].sum(dim, keepdim=True) / v[i].shape[dim], emit, f"centre {i} {dim}", shape)
    return None


def permute(draw, graph, i):
    order = list(draw(st.permutations(range(len(graph.shapes[i])))))
    graph.step(
        lambda v, _: v[i].permute(order),
        lambda fd, t: fd.ops.permute(t[i], order),
        f"permute {i} {order}",
        [graph.shapes[i][d] for d in order],
    )


def flatten(draw, graph, i):
    """Two neighbouring dims become one."""
    shape = graph.shapes[i]
    if len(shape) < 2 or ONE in shape:
        return unary(draw, graph, i)
    at = draw(st.integers(0, len(shape) - 2))

    def emit(fd, t):
        sizes = [fd.ops.size(t[i], d) for d in range(len(shape))]
        return fd.ops.reshape(t[i], [*sizes[:at], fd.ops.mul(sizes[at], sizes[at + 1]), *sizes[at + 2 :]])

    graph.step(
        lambda v, _: v[i].flatten(at, at + 1),
        emit,
        f"flatten {i} {at}",
        shape[:at] + (f"({shape[at]}*{shape[at + 1]})",) + shape[at + 2 :],
    )
    return None


def split_again(draw, graph, i):
    """A dim in front of the shape of another value: reshape to (size, 1, ...)."""
    shape = graph.shapes[i]
    if not shape or len(shape) > 3 or ONE in shape:
        return unary(draw, graph, i)

    def emit(fd, t):
        sizes = [fd.ops.size(t[i], d) for d in range(len(shape))]
        return fd.ops.reshape(t[i], [sizes[0], 1, *sizes[1:]])

    graph.step(lambda v, _: v[i].unsqueeze(1), emit, f"reshape {i}", (shape[0], ONE, *shape[1:]))
    return None


def stretch(draw, graph, i):
    """broadcast_in_dim to the run-time shape of a value with one more dim."""
    shape = graph.shapes[i]
    fits = [j for j, other in enumerate(graph.shapes) if len(other) == len(shape) + 1 <= 4 and other[1:] == shape]
    if not fits:
        return unary(draw, graph, i)
    j = draw(st.sampled_from(fits))
    graph.step(
        lambda v, _: v[i].expand(v[j].shape),
        lambda fd, t: fd.ops.broadcast_in_dim(t[i], fd.ops.shape(t[j]), list(range(1, len(shape) + 1))),
        f"stretch {i} as {j}",
        graph.shapes[j],
    )
    return None


def shorten(draw, graph, i):
    """All but the first element of a dim, by a symbolic end."""
    shape = graph.shapes[i]
    dims = [d for d, n in enumerate(shape) if n in NAMES]
    if not dims:
        return unary(draw, graph, i)
    dim = draw(st.sampled_from(dims))
    window = tuple(slice(1, None) if d == dim else slice(None) for d in range(len(shape)))

    def emit(fd, t):
        sizes = [fd.ops.size(t[i], d) for d in range(len(shape))]
        return fd.ops.slice(t[i], [int(d == dim) for d in range(len(shape))], sizes)

    graph.step(
        lambda v, _: v[i][window], emit, f"rest {i} {dim}", shape[:dim] + (f"({shape[dim]}-1)",) + shape[dim + 1 :]
    )
    return None


def lengthen(draw, graph, i):
    """A value of 0.5 after the last element of the last dim."""
    shape = graph.shapes[i]
    if not shape or shape[-1] not in NAMES:
        return unary(draw, graph, i)
    graph.step(
        lambda v, _: torch.nn.functional.pad(v[i], [0, 1], value=0.5),
        lambda fd, t: fd.ops.pad(t[i], [0, 1], 0.5),
        f"pad {i}",
        (*shape[:-1], f"({shape[-1]}+1)"),
    )
    return None


def join(draw, graph, i):
    shape = graph.shapes[i]
    fits = [
        j for j, other in enumerate(graph.shapes) if shape and len(other) == len(shape) and other[:-1] == shape[:-1]
    ]
    if not fits:
        return unary(draw, graph, i)
    j = draw(st.sampled_from(fits))
    graph.step(
        lambda v, _: torch.cat([v[i], v[j]], -1),
        lambda fd, t: fd.ops.cat([t[i], t[j]], -1),
        f"cat {i} {j}",
        (*shape[:-1], f"({shape[-1]},{graph.shapes[j][-1]})"),
    )
    return None


def scan(draw, graph, i):
    shape = graph.shapes[i]
    if not shape:
        return unary(draw, graph, i)
    dim = draw(st.integers(0, len(shape) - 1))
    graph.step(
        lambda v, _: torch.tanh(v[i].cumsum(dim)),
        lambda fd, t: fd.ops.tanh(fd.ops.cumsum(t[i], dim)),
        f"cumsum {i} {dim}",
        shape,
    )
    return None


def product(draw, graph, i):
    shape = graph.shapes[i]
    if len(shape) != 2:
        return unary(draw, graph, i)
    graph.step(
        lambda v, _: torch.tanh(v[i] @ v[i].t()),
        lambda fd, t: fd.ops.tanh(fd.ops.matmul(t[i], fd.ops.permute(t[i], [1, 0]))),
        f"matmul {i}",
        (shape[0], shape[0]),
    )
    return None


STEPS = [
    unary,
    binary,
    binary,
    total,
    normalise,
    permute,
    flatten,
    split_again,
    stretch,
    shorten,
    lengthen,
    join,
    scan,
    product,
]


@st.composite
def graphs(draw):
    graph = Graph()
    for _ in range(draw(st.integers(1, 3))):
        shape = tuple(draw(st.lists(st.sampled_from([*NAMES, *NAMES, ONE]), max_size=3)))
        graph.add_input(shape, draw(st.sampled_from(["plain", "reversed"])) if len(shape) > 1 else "plain")
    for _ in range(draw(st.integers(3, 15))):
        step = draw(st.sampled_from(STEPS))
        step(draw, graph, draw(st.integers(0, len(graph.shapes) - 1)))
    last = len(graph.shapes) - 1
    outputs = [last, *draw(st.lists(st.integers(0, last), max_size=2))]
    size = st.sampled_from([0, 1, 1, 2, 3, 5])
    choices = draw(st.lists(st.fixed_dictionaries({name: size for name in NAMES}), min_size=3, max_size=5))
    return graph, outputs, choices


@settings(
    max_examples=100,
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
def test_one_definition_at_many_sizes(case):
    graph, outputs, choices = case
    note(
        "\n".join(
            f"{n}: {text} -> {shape}"
            for n, ((_, _, text), shape) in enumerate(zip(graph.steps, graph.shapes, strict=True))
        )
    )
    note(f"outputs {outputs}, sizes {choices}")
    with FusionDefinition() as fd:
        tvs = []
        for _, emit, _ in graph.steps:
            tvs.append(emit(fd, tvs))
        for index in outputs:
            fd.add_output(tvs[index])
    text = repr(fd)
    for number, sizes in enumerate(choices):
        inputs = graph.tensors(sizes, number)
        values = graph.run(inputs)
        if max(math.prod(v.shape) for v in values) > 20000:
            continue
        results = fd.execute(inputs)
        for result, index in zip(results, outputs, strict=True):
            assert result.shape == values[index].shape, (sizes, text)
            torch.testing.assert_close(result, values[index], rtol=1e-9, atol=1e-9, equal_nan=True, check_stride=False)
        check_text(text, inputs, results)
        check_meta(fd, inputs, results)
