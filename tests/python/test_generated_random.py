"""Random fusions through generated kernels and through ATen.

A fusion of 3 to 40 nodes over pointwise, reduction, shape and index operations is drawn step by step; each step knows the
shapes so far, so every fusion is valid. It runs twice: node by node through ATen, and with generated kernels, each of which
is compared with ATen's evaluation of its own nodes on its own inputs (`check_kernels`), so that differences do not add up
over the fusion. NVFUSER_RANDOM_KERNELS=N draws N fusions, with another seed each time.
"""

import math
import os

import torch
from helpers import NVF, make
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nvfuser_direct import FusionDefinition

CASES = int(os.environ.get("NVFUSER_RANDOM_KERNELS", "0"))
LIMIT = 40000  # elements of a value
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
EXACT = (torch.float32, torch.float64)  # where a comparison does not hang on the last bit
INTS = (torch.int64, torch.int32)
DTYPES = (*FLOATS, *EXACT, *EXACT, *INTS, torch.bool)
SMALL = [0, 1, 1, 2, 3, 4, 5, 7, 8]
LARGE = [17, 31, 64, 130, 600, 1024, 1031, 2100, 4100, 33000]


class Value:
    def __init__(self, shape, dtype, ones=None):
        self.shape = tuple(shape)
        self.dtype = dtype
        # Dims that are broadcast by construction, not by a size that happens to be 1.
        self.ones = {d for d, n in enumerate(shape) if n == 1} if ones is None else set(ones)

    @property
    def numel(self):
        return math.prod(self.shape)


class Graph:
    def __init__(self):
        self.inputs = []
        self.values = []
        self.steps = []  # (function of fd and the TensorViews so far, description)

    def step(self, emit, text, shape, dtype, ones=None):
        self.steps.append((emit, text))
        self.values.append(Value(shape, dtype, ones))
        return len(self.values) - 1

    def input(self, tensor, static):
        self.inputs.append(tensor)
        return self.step(
            lambda fd, t: fd.from_pytorch(tensor, static_sizes=static),
            f"input {tuple(tensor.shape)} {tensor.stride()} {tensor.dtype}{' static' if static else ''}",
            tensor.shape,
            tensor.dtype,
        )

    def like(self, *dtypes):
        return [i for i, v in enumerate(self.values) if v.dtype in dtypes]

    def text(self):
        lines = (
            f"{n}: {s[1]} -> {v.shape} {v.dtype}" for n, (s, v) in enumerate(zip(self.steps, self.values, strict=True))
        )
        return "\n".join(lines)


def definition(graph, outputs):
    with FusionDefinition() as fd:
        tvs = []
        for (emit, text), value in zip(graph.steps, graph.values, strict=True):
            tv = emit(fd, tvs)
            # Some operations on half types give float.
            is_half = value.dtype in (torch.bfloat16, torch.float16) and not text.startswith("input")
            tvs.append(fd.ops.cast(tv, NVF[value.dtype]) if is_half else tv)
        for i in outputs:
            fd.add_output(tvs[i])
    return fd


@st.composite
def shapes(draw):
    shape = draw(st.lists(st.sampled_from(SMALL), max_size=4))
    if shape and draw(st.integers(0, 2)) == 0:
        shape[draw(st.integers(0, len(shape) - 1))] = draw(st.sampled_from(LARGE))
    while math.prod(shape) > LIMIT:
        shape.pop(0 if shape[0] < 17 or len(shape) == 1 else len(shape) - 1)
    return shape


def draw_input(draw, graph):
    shape, dtype = tuple(draw(shapes())), draw(st.sampled_from(DTYPES))
    low, high = (-2, 2) if dtype in FLOATS else (-5, 9)
    tensor = make(shape, dtype, low=low, high=high, seed=len(graph.inputs)) if dtype != torch.bool else None
    if tensor is None:
        tensor = make(shape, torch.int64, low=0, high=1, seed=len(graph.inputs)).to(torch.bool)
    form = draw(st.sampled_from(["plain", "plain", "plain", "permuted", "gaps", "window", "expanded"]))
    if form == "permuted" and len(shape) > 1:
        order = draw(st.permutations(range(len(shape))))
        tensor = tensor.permute(order).contiguous().permute([order.index(d) for d in range(len(shape))])
    if form == "gaps" and shape:
        buffer = torch.zeros(*shape, 2, dtype=dtype)
        buffer[..., 0] = tensor
        tensor = buffer[..., 0]
    if form == "window" and shape:
        buffer = torch.zeros(*shape[:-1], shape[-1] + 3, dtype=dtype)
        buffer[..., 2 : 2 + shape[-1]] = tensor
        tensor = buffer[..., 2 : 2 + shape[-1]]
    if form == "expanded" and shape:
        dim = draw(st.integers(0, len(shape) - 1))
        tensor = tensor.narrow(dim, 0, min(1, shape[dim])).expand(shape)
    graph.input(tensor, draw(st.booleans()))


# --- steps: each takes draw, graph and the index of a value, and returns False where it does not apply ---

UNARY = ["sin", "cos", "tanh", "sigmoid", "silu", "neg", "abs", "relu", "erf", "atan"]
BINARY = ["add", "sub", "mul", "maximum", "minimum"]


def unary(draw, graph, i):
    v = graph.values[i]
    if v.dtype in FLOATS:
        name = draw(st.sampled_from(UNARY))
    else:
        name = draw(st.sampled_from(["neg", "abs", "bitwise_not"])) if v.dtype in INTS else "logical_not"
    graph.step(lambda fd, t: getattr(fd.ops, name)(t[i]), f"{name} {i}", v.shape, v.dtype, v.ones)


def with_number(draw, graph, i):
    v = graph.values[i]
    if v.dtype == torch.bool:
        return False
    name = draw(st.sampled_from(BINARY))
    number = draw(st.sampled_from([-1.5, 0.25, 2.0] if v.dtype in FLOATS else [-3, 2, 7]))
    left = draw(st.booleans())
    emit = lambda fd, t: getattr(fd.ops, name)(*((number, t[i]) if left else (t[i], number)))  # noqa: E731
    graph.step(emit, f"{name} {(number, i) if left else (i, number)} left={left}", v.shape, v.dtype, v.ones)
    return None


def cast(draw, graph, i):
    v = graph.values[i]
    if v.dtype in FLOATS:
        # To integers only from values that are not near one by chance.
        targets = [*FLOATS, *(INTS if v.dtype == torch.float64 else ())]
    else:
        targets = [*FLOATS, *INTS, torch.bool]
    dtype = draw(st.sampled_from(targets))
    graph.step(lambda fd, t: fd.ops.cast(t[i], NVF[dtype]), f"cast {i} {dtype}", v.shape, dtype, v.ones)


def partners(graph, i):
    """Values of the same dtype that broadcast with value i without relying on a size that is 1 only by chance."""
    found = []
    a = graph.values[i]
    for j in graph.like(a.dtype):
        b = graph.values[j]
        fits = True
        for back in range(1, min(len(a.shape), len(b.shape)) + 1):
            one_a, one_b = len(a.shape) - back in a.ones, len(b.shape) - back in b.ones
            fits &= one_a or one_b or a.shape[-back] == b.shape[-back]
        if fits and math.prod(torch.broadcast_shapes(a.shape, b.shape)) <= LIMIT:
            found.append(j)
    return found


def together(graph, i, j):
    """Shape and broadcast dims of a pointwise result of two values."""
    a, b = graph.values[i], graph.values[j]
    rank = max(len(a.shape), len(b.shape))
    known = lambda v: {d + rank - len(v.shape) for d in v.ones} | set(range(rank - len(v.shape)))  # noqa: E731
    return torch.broadcast_shapes(a.shape, b.shape), known(a) & known(b)


def binary(draw, graph, i):
    dtype = graph.values[i].dtype
    names = BINARY if dtype != torch.bool else ["logical_and", "logical_or", "bitwise_xor"]
    name, j = draw(st.sampled_from(names)), draw(st.sampled_from(partners(graph, i)))
    shape, ones = together(graph, i, j)
    graph.step(lambda fd, t: getattr(fd.ops, name)(t[i], t[j]), f"{name} {i} {j}", shape, dtype, ones)


def compare_values(draw, graph, i):
    v = graph.values[i]
    if v.dtype not in (*EXACT, *INTS):
        return False
    name = draw(st.sampled_from(["lt", "gt", "le", "ge", "eq", "ne"]))
    if v.dtype in INTS:
        j = draw(st.sampled_from(partners(graph, i)))
        shape, ones = together(graph, i, j)
        graph.step(lambda fd, t: getattr(fd.ops, name)(t[i], t[j]), f"{name} {i} {j}", shape, torch.bool, ones)
    else:
        graph.step(
            lambda fd, t: getattr(fd.ops, name)(t[i], 0.12345678),
            f"{name} {i} 0.12345678",
            v.shape,
            torch.bool,
            v.ones,
        )
    return None


def select_by_mask(draw, graph, i):
    v = graph.values[i]
    masks = []
    for j in graph.like(torch.bool):
        m = graph.values[j]
        if m.shape == v.shape and m.ones == v.ones:
            masks.append(j)
    if not masks:
        return False
    j = draw(st.sampled_from(masks))
    other = draw(st.sampled_from(partners(graph, i)))
    shape, ones = together(graph, i, other)
    graph.step(lambda fd, t: fd.ops.where(t[j], t[i], t[other]), f"where {j} {i} {other}", shape, v.dtype, ones)
    return None


def reduce(draw, graph, i):
    v = graph.values[i]
    rank = len(v.shape)
    if rank == 0 or v.dtype == torch.bool:
        return False
    name = draw(st.sampled_from(["sum", "mean", "max", "min"]))
    dims = sorted(draw(st.sets(st.integers(0, rank - 1), min_size=1)))
    count = math.prod(v.shape[d] for d in dims)
    if count == 0:
        name = "sum"
    if name == "mean" and v.dtype not in FLOATS:
        name = "sum"
    keep = draw(st.booleans())

    def emit(fd, t):
        if name == "mean":
            return fd.ops.div(fd.ops.sum(t[i], dims, keep), float(count))
        return getattr(fd.ops, name)(t[i], dims, keep)

    left = [d for d in range(rank) if d not in dims]
    ones = v.ones | set(dims) if keep else {left.index(d) for d in v.ones if d in left}
    shape = [1 if d in dims else n for d, n in enumerate(v.shape)] if keep else [v.shape[d] for d in left]
    dtype = torch.int64 if name == "sum" and v.dtype in INTS else v.dtype
    graph.step(emit, f"{name} {i} {dims} {keep}", shape, dtype, ones)
    return None


def normalize(draw, graph, i):
    """x / (1 + mean of |x|) along some dims."""
    v = graph.values[i]
    rank = len(v.shape)
    if rank == 0 or v.dtype not in FLOATS or 0 in v.shape:
        return False
    dims = sorted(draw(st.sets(st.integers(0, rank - 1), min_size=1)))
    count = math.prod(v.shape[d] for d in dims)

    def emit(fd, t):
        mean = fd.ops.div(fd.ops.sum(fd.ops.abs(t[i]), dims, True), float(count))
        return fd.ops.div(t[i], fd.ops.add(mean, 1.0))

    graph.step(emit, f"normalize {i} {dims}", v.shape, v.dtype, v.ones)
    return None


def softmax(draw, graph, i):
    v = graph.values[i]
    rank = len(v.shape)
    if rank == 0 or v.dtype not in EXACT or 0 in v.shape:
        return False
    dim = draw(st.integers(0, rank - 1))

    def emit(fd, t):
        e = fd.ops.exp(fd.ops.sub(t[i], fd.ops.max(t[i], [dim], True)))
        return fd.ops.div(e, fd.ops.sum(e, [dim], True))

    graph.step(emit, f"softmax {i} {dim}", v.shape, v.dtype, v.ones)
    return None


def permute(draw, graph, i):
    v = graph.values[i]
    order = list(draw(st.permutations(range(len(v.shape)))))
    graph.step(
        lambda fd, t: fd.ops.permute(t[i], order),
        f"permute {i} {order}",
        [v.shape[d] for d in order],
        v.dtype,
        {order.index(d) for d in v.ones},
    )


def reshape(draw, graph, i):
    v = graph.values[i]
    count = v.numel
    if count == 0:
        return False
    divisors = [d for d in range(1, min(count, 300) + 1) if count % d == 0]
    a = draw(st.sampled_from(divisors))
    b = draw(st.sampled_from([d for d in divisors if count // a % d == 0]))
    target = draw(
        st.sampled_from([[count], [a, count // a], [count // a, a], [a, 1, count // a], [a, b, count // a // b]])
    )
    graph.step(lambda fd, t: fd.ops.reshape(t[i], target), f"reshape {i} {target}", target, v.dtype)
    return None


def merge_or_split(draw, graph, i):
    """A reshape of neighbouring dims only."""
    v = graph.values[i]
    if not v.shape or v.numel == 0:
        return False
    at = draw(st.integers(0, len(v.shape) - 1))
    if at + 1 < len(v.shape) and draw(st.booleans()):
        target = [*v.shape[:at], v.shape[at] * v.shape[at + 1], *v.shape[at + 2 :]]
    else:
        n = v.shape[at]
        a = draw(st.sampled_from([d for d in range(1, min(n, 64) + 1) if n % d == 0]))
        target = [*v.shape[:at], n // a, a, *v.shape[at + 1 :]]
    if len(target) > 6:
        return False
    graph.step(lambda fd, t: fd.ops.reshape(t[i], target), f"reshape {i} {target}", target, v.dtype)
    return None


def new_dim(draw, graph, i):
    v = graph.values[i]
    rank = len(v.shape)
    at, size = draw(st.integers(0, rank)), draw(st.sampled_from([0, 1, 1, 2, 3, 17]))
    if rank >= 5 or v.numel * size > LIMIT:
        return False
    flags = [d == at for d in range(rank + 1)]
    target = [*v.shape[:at], size, *v.shape[at:]]
    kept = {d if d < at else d + 1 for d in v.ones}

    def emit(fd, t):
        wide = fd.ops.broadcast(t[i], flags)
        return wide if size == 1 else fd.ops.expand(wide, [size if d == at else -1 for d in range(rank + 1)])

    graph.step(emit, f"new dim {i} {at} {size}", target, v.dtype, kept | ({at} if size == 1 else set()))
    return None


def squeeze(draw, graph, i):
    v = graph.values[i]
    if not v.ones:
        return False
    dims = sorted(draw(st.sets(st.sampled_from(sorted(v.ones)), min_size=1)))
    left = [d for d in range(len(v.shape)) if d not in dims]
    graph.step(
        lambda fd, t: fd.ops.squeeze(t[i], dims),
        f"squeeze {i} {dims}",
        [v.shape[d] for d in left],
        v.dtype,
        {left.index(d) for d in v.ones if d in left},
    )
    return None


def cut(draw, graph, i):
    """A slice; one element is a broadcast from then on."""
    v = graph.values[i]
    if not v.shape:
        return False
    starts, ends, steps = [0] * len(v.shape), list(v.shape), [1] * len(v.shape)
    ones = set(v.ones)
    for d, n in enumerate(v.shape):
        if n >= 2 and draw(st.booleans()):
            starts[d] = draw(st.integers(0, n - 1))
            ends[d] = draw(st.integers(starts[d] + 1, n))
            if ends[d] - starts[d] == 1:
                ones.add(d)
    shape = [b - a for a, b in zip(starts, ends, strict=True)]
    graph.step(
        lambda fd, t: fd.ops.slice(t[i], starts, ends, steps), f"slice {i} {starts} {ends}", shape, v.dtype, ones
    )
    return None


def pad(draw, graph, i):
    v = graph.values[i]
    if not v.shape or v.numel > LIMIT // 9 or v.dtype == torch.bool:
        return False
    count = draw(st.integers(1, min(2, len(v.shape))))
    widths = draw(st.lists(st.integers(-1, 3), min_size=2 * count, max_size=2 * count))
    shape, ones = list(v.shape), set(v.ones)
    for k in range(count):
        d = len(shape) - 1 - k
        shape[d] += widths[2 * k] + widths[2 * k + 1]
        if (shape[d] < 2 or v.shape[d] < 3) and (widths[2 * k] or widths[2 * k + 1]):
            return False
        if widths[2 * k] or widths[2 * k + 1]:
            ones.discard(d)
    value = draw(st.sampled_from([None, 0.5 if v.dtype in FLOATS else 3]))
    emit = lambda fd, t: fd.ops.pad(t[i], widths) if value is None else fd.ops.pad(t[i], widths, value)  # noqa: E731
    graph.step(emit, f"pad {i} {widths} {value}", shape, v.dtype, ones)
    return None


def join(draw, graph, i):
    v = graph.values[i]
    if not v.shape or v.numel > LIMIT // 3:
        return False
    dim = draw(st.integers(0, len(v.shape) - 1))
    fits = []
    for j in graph.like(v.dtype):
        w = graph.values[j]
        fits += [j] * (
            len(w.shape) == len(v.shape)
            and all(
                a == b and (d in v.ones) == (d in w.ones)
                for d, (a, b) in enumerate(zip(v.shape, w.shape, strict=True))
                if d != dim
            )
            and w.numel <= LIMIT // 3
        )
    parts = [i, *draw(st.lists(st.sampled_from(fits), min_size=1, max_size=2))]
    size = sum(graph.values[j].shape[dim] for j in parts)
    if size == 1:
        return False
    shape = [size if d == dim else n for d, n in enumerate(v.shape)]
    graph.step(
        lambda fd, t: fd.ops.cat([t[j] for j in parts], dim), f"cat {parts} {dim}", shape, v.dtype, v.ones - {dim}
    )
    return None


def index_input(draw, graph, shape, below):
    dtype = draw(st.sampled_from(INTS))
    return graph.input(make(shape, dtype, low=0, high=below - 1, seed=len(graph.inputs)), draw(st.booleans()))


def pick_rows(draw, graph, i):
    v = graph.values[i]
    rows = [d for d, n in enumerate(v.shape) if n > 1]
    if not rows:
        return False
    dim, count = draw(st.sampled_from(rows)), draw(st.sampled_from([2, 3, 5, 40]))
    if v.numel // v.shape[dim] * count > LIMIT:
        return False
    k = index_input(draw, graph, (count,), v.shape[dim])
    shape = [count if d == dim else n for d, n in enumerate(v.shape)]
    graph.step(
        lambda fd, t: fd.ops.index_select(t[i], t[k], dim), f"index_select {i} {k} {dim}", shape, v.dtype, v.ones
    )
    return None


def pick_one(draw, graph, i):
    v = graph.values[i]
    dims = [d for d, n in enumerate(v.shape) if n > 0]
    if not dims:
        return False
    dim = draw(st.sampled_from(dims))
    at = draw(st.integers(0, v.shape[dim] - 1))
    left = [d for d in range(len(v.shape)) if d != dim]
    graph.step(
        lambda fd, t: fd.ops.select(t[i], fd.define_scalar(at), dim),
        f"select {i} {at} {dim}",
        [v.shape[d] for d in left],
        v.dtype,
        {left.index(d) for d in v.ones if d in left},
    )
    return None


def gather(draw, graph, i):
    v = graph.values[i]
    if not v.shape or 0 in v.shape or 1 in v.shape:
        return False
    dim = draw(st.integers(0, len(v.shape) - 1))
    k = index_input(draw, graph, v.shape, v.shape[dim])
    name = draw(st.sampled_from(["gather", "take_along_axis"]))
    graph.step(lambda fd, t: getattr(fd.ops, name)(t[i], t[k], dim), f"{name} {i} {k} {dim}", v.shape, v.dtype)
    return None


def embed(draw, graph, i):
    v = graph.values[i]
    if len(v.shape) != 2 or v.dtype not in FLOATS or v.shape[0] < 2 or 1 in v.shape:
        return False
    shape = (draw(st.sampled_from([2, 3, 7])), draw(st.sampled_from([2, 5])))
    if math.prod(shape) * v.shape[1] > LIMIT:
        return False
    k = graph.input(make(shape, torch.int64, low=0, high=v.shape[0] - 1, seed=len(graph.inputs)), False)
    graph.step(lambda fd, t: fd.ops.embedding_fwd(t[k], t[i]), f"embedding {k} {i}", (*shape, v.shape[1]), v.dtype)
    return None


def scan(draw, graph, i):
    v = graph.values[i]
    if not v.shape or v.dtype not in EXACT:
        return False
    dim = draw(st.integers(0, len(v.shape) - 1))
    emit = lambda fd, t: fd.ops.tanh(fd.ops.cumsum(t[i], dim))  # noqa: E731
    graph.step(emit, f"tanh of cumsum {i} {dim}", v.shape, v.dtype, v.ones)
    return None


def triangle(draw, graph, i):
    v = graph.values[i]
    if len(v.shape) < 2 or v.dtype == torch.bool:
        return False
    diagonal = draw(st.integers(-2, 2))
    graph.step(lambda fd, t: fd.ops.triu(t[i], diagonal), f"triu {i} {diagonal}", v.shape, v.dtype, v.ones)
    return None


def factory(draw, graph, i):
    """iota or full in the shape of value i, added to it."""
    v = graph.values[i]
    if v.dtype not in FLOATS or not v.shape or 1 in v.shape:
        return False
    n = v.shape[-1]

    def emit(fd, t):
        row = fd.ops.cast(fd.ops.iota(n, -1, 2, DataTypes.Int), NVF[v.dtype])
        return fd.ops.add(t[i], fd.ops.sin(row))

    def emit_full(fd, t):
        return fd.ops.sub(t[i], fd.ops.full(list(v.shape), 0.5, NVF[v.dtype]))

    if draw(st.booleans()):
        graph.step(emit, f"plus sin iota {i}", v.shape, v.dtype, v.ones)
    else:
        graph.step(emit_full, f"minus full {i}", v.shape, v.dtype, v.ones)
    return None


class DataTypes:
    Int = NVF[torch.int64]


STEPS = [
    unary,
    unary,
    with_number,
    cast,
    binary,
    binary,
    binary,
    compare_values,
    select_by_mask,
    reduce,
    reduce,
    normalize,
    softmax,
    permute,
    reshape,
    merge_or_split,
    new_dim,
    squeeze,
    cut,
    pad,
    join,
    pick_rows,
    pick_one,
    gather,
    embed,
    scan,
    triangle,
    factory,
]


@st.composite
def graphs(draw):
    graph = Graph()
    for _ in range(draw(st.integers(1, 3))):
        draw_input(draw, graph)
    inputs = len(graph.values)
    for _ in range(draw(st.integers(3, 40))):
        last = len(graph.values) - 1
        i = draw(st.integers(max(0, last - 3), last) if draw(st.booleans()) else st.integers(0, last))
        if draw(st.sampled_from(STEPS))(draw, graph, i) is False:
            unary(draw, graph, i)
    made = [i for i in range(inputs, len(graph.values)) if not graph.steps[i][1].startswith("input")]
    outputs = [made[-1], *draw(st.lists(st.sampled_from(made), max_size=3))]
    return graph, outputs


def strides(tensor):
    """Those that address an element."""
    return [s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1] if tensor.numel() else []


@settings(
    max_examples=CASES or 60,
    deadline=None,
    derandomize=not CASES,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(graphs())
def test_generated_kernels_agree_with_aten(case):
    graph, outputs = case
    note(graph.text())
    note(f"outputs {outputs}")
    expected = definition(graph, outputs).execute(graph.inputs)
    kernels = definition(graph, outputs)
    for _ in range(2):  # cold and warm
        results = kernels.execute(graph.inputs, _enable_options=["generated_kernels", "check_kernels"])
        for result, wanted in zip(results, expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            assert strides(result) == strides(wanted)
