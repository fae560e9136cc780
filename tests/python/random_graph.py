"""Fusions that are built step by step: values that know their shape, and inputs of all dtypes and layouts."""

from __future__ import annotations

import math

import torch
from helpers import NVF, make
from nvfuser_direct import FusionDefinition

LIMIT = 40000  # elements of a value
HALVES = (torch.bfloat16, torch.float16)
EXACT = (torch.float32, torch.float64)  # where a comparison does not hang on the last bit
FLOATS = (*EXACT, *HALVES)
INTS = (torch.int64, torch.int32)
DTYPES = (*FLOATS, *EXACT, *EXACT, *INTS, torch.bool)
SMALL = [0, 1, 1, 2, 3, 4, 5, 7, 8]
LARGE = [17, 31, 64, 130, 600, 1024, 1031, 2100, 4100, 33000]


class Value:
    """shape, dtype, which dims are broadcast by construction, how large it can get, and whether it is free of rounding."""

    def __init__(self, shape, dtype, ones=None, bound=2.0, exact=False):
        self.shape = tuple(shape)
        self.dtype = dtype
        # A size that happens to be 1 counts where nothing else is said.
        self.ones = {d for d, n in enumerate(shape) if n == 1} if ones is None else set(ones)
        self.bound = bound
        self.exact = exact

    @property
    def numel(self):
        return math.prod(self.shape)

    @property
    def ranks(self):
        return range(len(self.shape))


def largest(dtype):
    """Values grow no larger than this."""
    return 1e3 if dtype in HALVES else 1e6


class Graph:
    """Inputs and steps; a step is a function of the definition and of what the steps so far have made."""

    def __init__(self, rand):
        self.rand = rand
        self.inputs = []
        self.values = []
        self.steps = []
        self.is_input = []
        self.is_static = True

    def add(self, emit, text, value, is_input=False):
        self.steps.append((emit, text))
        self.values.append(value)
        self.is_input.append(is_input)
        return len(self.values) - 1

    def step(self, emit, text, like, shape=None, dtype=None, ones=None, bound=None, exact=None):
        """A step whose value is as `like`, but for what is given."""
        return self.add(
            emit,
            text,
            Value(
                like.shape if shape is None else shape,
                dtype or like.dtype,
                like.ones if ones is None else ones,
                like.bound if bound is None else bound,
                like.exact if exact is None else exact,
            ),
        )

    def input(self, tensor, static, bound):
        self.inputs.append(tensor)
        self.is_static &= static
        return self.add(
            lambda fd, t: fd.from_pytorch(tensor, static_sizes=static),
            f"input {tuple(tensor.shape)} {tensor.stride()} {tensor.dtype}{' static' if static else ''}",
            Value(tensor.shape, tensor.dtype, None, bound, True),
            is_input=True,
        )

    def text(self):
        lines = (
            f"{n}: {s[1]} -> {v.shape} {v.dtype}" for n, (s, v) in enumerate(zip(self.steps, self.values, strict=True))
        )
        return "\n".join(lines)


class Built:
    """The TensorViews of a graph, built when they are asked for."""

    def __init__(self, fd, graph):
        self.fd, self.graph = fd, graph
        self.tvs = {i: self.make(i) for i, is_input in enumerate(graph.is_input) if is_input}

    def make(self, i):
        tv = self.graph.steps[i][0](self.fd, self)
        dtype = self.graph.values[i].dtype
        # Some operations on half types give float.
        return self.fd.ops.cast(tv, NVF[dtype]) if dtype in HALVES and not self.graph.is_input[i] else tv

    def __getitem__(self, i):
        if i not in self.tvs:
            self.tvs[i] = self.make(i)
        return self.tvs[i]


def definition(graph, outputs):
    with FusionDefinition() as fd:
        tvs = Built(fd, graph)
        for i in outputs:
            fd.add_output(tvs[i])
    return fd


# --- inputs ---


def draw_shape(rand):
    shape = [rand.choice(SMALL) for _ in range(rand.randint(0, 4))]
    if shape and rand.randint(0, 2) == 0:
        shape[rand.randint(0, len(shape) - 1)] = rand.choice(LARGE)
    while math.prod(shape) > LIMIT:
        shape.pop(0 if shape[0] < 17 or len(shape) == 1 else len(shape) - 1)
    return shape


def shuffled(rand, count):
    order = list(range(count))
    rand.shuffle(order)
    return order


def some(rand, items):
    """A sorted list of at least one of the items."""
    items = sorted(items)
    return sorted(rand.sample(items, rand.randint(1, len(items))))


def lay_out(rand, tensor):
    """The same values with other strides, now and then."""
    shape, dtype = tensor.shape, tensor.dtype
    form = rand.choice(["plain", "plain", "plain", "permuted", "gaps", "window", "expanded"])
    if form == "permuted" and len(shape) > 1:
        order = shuffled(rand, len(shape))
        return tensor.permute(order).contiguous().permute([order.index(d) for d in range(len(shape))])
    if form == "gaps" and len(shape):
        buffer = torch.zeros(*shape, 2, dtype=dtype)
        buffer[..., 0] = tensor
        return buffer[..., 0]
    if form == "window" and len(shape):
        buffer = torch.zeros(*shape[:-1], shape[-1] + 3, dtype=dtype)
        buffer[..., 2 : 2 + shape[-1]] = tensor
        return buffer[..., 2 : 2 + shape[-1]]
    if form == "expanded" and len(shape):
        dim = rand.randint(0, len(shape) - 1)
        return tensor.narrow(dim, 0, min(1, shape[dim])).expand(shape)
    return tensor


def draw_input(rand, graph):
    shape, dtype = draw_shape(rand), rand.choice(DTYPES)
    low, high = (-2, 2) if dtype in FLOATS else (-5, 9)
    if dtype == torch.bool:
        tensor = make(shape, torch.int64, low=0, high=1, seed=len(graph.inputs)).to(torch.bool)
    else:
        tensor = make(shape, dtype, low=low, high=high, seed=len(graph.inputs))
    graph.input(lay_out(rand, tensor), rand.random() < 0.5, 1.0 if dtype == torch.bool else float(max(-low, high)))


# --- functions of one value that are steep nowhere ---


def ops(name, *more):
    """A chain: ops("exp", "neg", "abs") is exp(neg(abs(x)))."""

    def apply(fd, x):
        for step in reversed((name, *more)):
            x = getattr(fd.ops, step)(x)
        return x

    return apply


def one_more(name):
    return lambda fd, x: getattr(fd.ops, name)(fd.ops.add(fd.ops.abs(x), 1.0))


# name -> (function, largest operand for float, for half, bound of the result given that of the operand; None: the same)
UNARY = {
    "sin": (ops("sin"), 100, 4, lambda b: 1),
    "cos": (ops("cos"), 100, 4, lambda b: 1),
    "tanh": (ops("tanh"), 1e6, 1e3, lambda b: 1),
    "sigmoid": (ops("sigmoid"), 1e6, 1e3, lambda b: 1),
    "silu": (ops("silu"), 1e6, 1e3, None),
    "neg": (ops("neg"), 1e6, 1e3, None),
    "abs": (ops("abs"), 1e6, 1e3, None),
    "relu": (ops("relu"), 1e6, 1e3, None),
    "erf": (ops("erf"), 1e6, 1e3, lambda b: 1),
    "erfc": (ops("erfc"), 1e6, 1e3, lambda b: 2),
    "atan": (ops("atan"), 1e6, 1e3, lambda b: 2),
    "asinh": (ops("asinh"), 1e6, 1e3, lambda b: 16),
    "exp of -abs": (ops("exp", "neg", "abs"), 100, 8, lambda b: 1),
    "exp2 of -abs": (ops("exp2", "neg", "abs"), 100, 8, lambda b: 1),
    "expm1 of -abs": (ops("expm1", "neg", "abs"), 100, 8, lambda b: 1),
    "log1p of abs": (ops("log1p", "abs"), 1e6, 1e3, lambda b: 16),
    "log of 1 + abs": (one_more("log"), 1e6, 1e3, lambda b: 16),
    "log2 of 1 + abs": (one_more("log2"), 1e6, 1e3, lambda b: 21),
    "sqrt of 1 + abs": (one_more("sqrt"), 1e6, 1e3, lambda b: 1e3),
    "rsqrt of 1 + abs": (one_more("rsqrt"), 1e6, 1e3, lambda b: 1),
    "1 / (1 + abs)": (one_more("reciprocal"), 1e6, 1e3, lambda b: 1),
    "clamp": (lambda fd, x: fd.ops.clamp(x, -1.5, 0.75), 1e6, 1e3, lambda b: 1.5),
    "threshold": (lambda fd, x: fd.ops.threshold(x, -3.0, -3.0), 1e6, 1e3, lambda b: b + 3),
}
