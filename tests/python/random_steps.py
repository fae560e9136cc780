"""The steps of random fusions.

Each takes the random source, the graph and the index of a value, and returns False where it does not apply. Steps keep
values small, and away from what one rounding decides.
"""

from __future__ import annotations

import math

import torch
from helpers import NVF, make
from random_graph import EXACT, FLOATS, HALVES, INTS, LIMIT, UNARY, largest, lay_out, shuffled, some

BINARY = ["add", "sub", "mul", "maximum", "minimum"]
SAME = ("neg", "abs", "relu", "maximum", "minimum")  # choose or negate, and round nothing


def unary(rand, graph, i):
    v = graph.values[i]
    if v.dtype in FLOATS:
        half = v.dtype in HALVES
        names = [name for name, row in UNARY.items() if v.bound <= row[2 if half else 1]]
        name = rand.choice(names or ["tanh"])
        apply, _, _, bound = UNARY[name]
        graph.step(
            lambda fd, t: apply(fd, t[i]),
            f"{name} {i}",
            v,
            bound=v.bound if bound is None else bound(v.bound),
            exact=v.exact and name in SAME,
        )
        return None
    name = rand.choice(["neg", "abs", "bitwise_not"]) if v.dtype in INTS else "logical_not"
    graph.step(lambda fd, t: getattr(fd.ops, name)(t[i]), f"{name} {i}", v, bound=v.bound + 1)
    return None


def grown(name, a, b):
    return a * b if name == "mul" else max(a, b) if name in SAME else a + b


def with_number(rand, graph, i):
    v = graph.values[i]
    if v.dtype == torch.bool:
        return False
    name = rand.choice(BINARY)
    number = rand.choice([-1.5, 0.25, 2.0] if v.dtype in FLOATS else [-3, 2, 7])
    left = rand.random() < 0.5
    bound = grown(name, v.bound, abs(number))
    if bound > largest(v.dtype):
        return False
    graph.step(
        lambda fd, t: getattr(fd.ops, name)(*((number, t[i]) if left else (t[i], number))),
        f"{name} {(number, i) if left else (i, number)}",
        v,
        bound=bound,
        exact=v.exact and (name in SAME or v.dtype in INTS),
    )
    return None


def cast(rand, graph, i):
    v = graph.values[i]
    if v.dtype in FLOATS:
        # To integers only from values that no rounding can have moved to another one.
        targets = [*FLOATS, *(INTS if v.exact else ())]
    else:
        targets = [*FLOATS, *INTS, torch.bool]
    targets = [dtype for dtype in targets if v.bound <= largest(dtype)]
    if not targets:
        return False
    dtype = rand.choice(targets)
    widens = v.dtype not in FLOATS or (dtype in FLOATS and torch.promote_types(v.dtype, dtype) == dtype)
    graph.step(
        lambda fd, t: fd.ops.cast(t[i], NVF[dtype]), f"cast {i} {dtype}", v, dtype=dtype, exact=v.exact and widens
    )
    return None


def partners(graph, i):
    """Values of the same dtype that broadcast with value i without relying on a size that is 1 only by chance."""
    found = []
    a = graph.values[i]
    for j, b in enumerate(graph.values):
        fits = a.dtype == b.dtype
        for back in range(1, min(len(a.shape), len(b.shape)) + 1):
            one_a, one_b = len(a.shape) - back in a.ones, len(b.shape) - back in b.ones
            fits &= one_a or one_b or a.shape[-back] == b.shape[-back]
        if fits and math.prod(torch.broadcast_shapes(a.shape, b.shape)) <= LIMIT:
            found.append(j)
    return found


def together(graph, *indices):
    """Shape and broadcast dims of a pointwise result of values."""
    values = [graph.values[i] for i in indices]
    rank = max(len(v.shape) for v in values)
    known = [{d + rank - len(v.shape) for d in v.ones} | set(range(rank - len(v.shape))) for v in values]
    return {"shape": torch.broadcast_shapes(*(v.shape for v in values)), "ones": set.intersection(*known)}


def binary(rand, graph, i):
    v = graph.values[i]
    names = BINARY if v.dtype != torch.bool else ["logical_and", "logical_or", "bitwise_xor"]
    if v.dtype in INTS:
        names = [*names, "bitwise_and", "bitwise_or", "bitwise_xor"]
    name, j = rand.choice(names), rand.choice(partners(graph, i))
    w = graph.values[j]
    bound = 2 * max(v.bound, w.bound) + 1 if "bitwise" in name else grown(name, v.bound, w.bound)
    if v.dtype == torch.bool:
        bound = 1.0
    if bound > largest(v.dtype):
        return False
    graph.step(
        lambda fd, t: getattr(fd.ops, name)(t[i], t[j]),
        f"{name} {i} {j}",
        v,
        **together(graph, i, j),
        bound=bound,
        exact=v.exact and w.exact and (name in SAME or v.dtype not in FLOATS),
    )
    return None


def divide(rand, graph, i):
    """x / (1 + |y|); for integers remainder and division by a number that is never 0."""
    v = graph.values[i]
    if v.dtype == torch.bool:
        return False
    if v.dtype in INTS:
        name, number = rand.choice(["remainder", "mod", "div"]), rand.choice([-3, 2, 5])
        graph.step(lambda fd, t: getattr(fd.ops, name)(t[i], number), f"{name} {i} {number}", v, bound=max(v.bound, 5))
        return None
    j = rand.choice(partners(graph, i))
    graph.step(
        lambda fd, t: fd.ops.div(t[i], fd.ops.add(fd.ops.abs(t[j]), 1.0)),
        f"{i} / (1 + |{j}|)",
        v,
        **together(graph, i, j),
        exact=False,
    )
    return None


def mix(rand, graph, i):
    """x + weight * (y - x)."""
    v = graph.values[i]
    j = rand.choice(partners(graph, i))
    bound = 2 * max(v.bound, graph.values[j].bound)
    if v.dtype not in EXACT or bound > largest(v.dtype):
        return False
    graph.step(
        lambda fd, t: fd.ops.lerp(t[i], t[j], 0.375),
        f"lerp {i} {j}",
        v,
        **together(graph, i, j),
        bound=bound,
        exact=False,
    )
    return None


def compare_values(rand, graph, i):
    v = graph.values[i]
    name = rand.choice(["lt", "gt", "le", "ge", "eq", "ne"])
    if v.dtype in INTS:
        j = rand.choice(partners(graph, i))
        graph.step(
            lambda fd, t: getattr(fd.ops, name)(t[i], t[j]),
            f"{name} {i} {j}",
            v,
            **together(graph, i, j),
            dtype=torch.bool,
            bound=1,
        )
        return None
    if v.dtype not in EXACT or not (v.exact or v.dtype == torch.float64):
        return False
    graph.step(
        lambda fd, t: getattr(fd.ops, name)(t[i], 0.12345678),
        f"{name} {i} 0.12345678",
        v,
        dtype=torch.bool,
        bound=1,
    )
    return None


def select_by_mask(rand, graph, i):
    v = graph.values[i]
    masks = [
        j
        for j, m in enumerate(graph.values)
        if m.dtype == torch.bool and m.shape == v.shape and (m.ones == v.ones or rand.random() < 0.3)
    ]
    if not masks:
        return False
    j, other = rand.choice(masks), rand.choice(partners(graph, i))
    if graph.values[j].ones != v.ones:
        return False
    w = graph.values[other]
    graph.step(
        lambda fd, t: fd.ops.where(t[j], t[i], t[other]),
        f"where {j} {i} {other}",
        v,
        **together(graph, i, other),
        bound=max(v.bound, w.bound),
        exact=v.exact and w.exact,
    )
    return None


def left_after(v, dims, keep):
    """Shape and broadcast dims after a reduction."""
    left = [d for d in v.ranks if d not in dims]
    if keep:
        return {"shape": [1 if d in dims else n for d, n in enumerate(v.shape)], "ones": v.ones | set(dims)}
    return {"shape": [v.shape[d] for d in left], "ones": {left.index(d) for d in v.ones if d in left}}


def reduce(rand, graph, i):
    v = graph.values[i]
    if not v.shape or v.dtype == torch.bool:
        return False
    name = rand.choice(["sum", "mean", "max", "min", "sum"])
    dims = some(rand, v.ranks)
    count = math.prod(v.shape[d] for d in dims)
    if count == 0 or (name == "mean" and v.dtype not in FLOATS):
        name = "sum"
    bound = v.bound * max(count, 1) if name == "sum" else v.bound
    if bound > largest(v.dtype):
        return False
    keep = rand.random() < 0.5

    def emit(fd, t):
        if name == "mean":
            return fd.ops.div(fd.ops.sum(t[i], dims, keep), float(count))
        return getattr(fd.ops, name)(t[i], dims, keep)

    graph.step(
        emit,
        f"{name} {i} {dims} {keep}",
        v,
        **left_after(v, dims, keep),
        dtype=torch.int64 if name == "sum" and v.dtype in INTS else v.dtype,
        bound=bound,
        exact=v.exact and (name in ("max", "min") or v.dtype in INTS),
    )
    return None


def spread(rand, graph, i):
    """Variance, or one of what var_mean and welford give."""
    v = graph.values[i]
    if not v.shape or v.dtype not in FLOATS or v.bound > 100:
        return False
    dims = some(rand, v.ranks)
    count = math.prod(v.shape[d] for d in dims)
    if count < 2:
        return False
    name = rand.choice(["var", "var_mean", "welford"]) if v.dtype in EXACT else "var"
    keep = name != "welford" and rand.random() < 0.5
    which, correction = rand.randint(0, 1), rand.randint(0, 1)

    def emit(fd, t):
        if name == "welford":
            mean, squares, _ = fd.ops.welford(t[i], dims)
            return fd.ops.div(squares, float(count)) if which else mean
        if name == "var":
            return fd.ops.var(t[i], dims, correction, keep)
        return fd.ops.var_mean(t[i], dims, correction, keep)[which]

    graph.step(
        emit,
        f"{name} {i} {dims} {keep} {which} {correction}",
        v,
        **left_after(v, dims, keep),
        bound=max(v.bound, 2 * v.bound * v.bound),
        exact=False,
    )
    return None


def normalize(rand, graph, i):
    """x / (1 + mean of |x|) along some dims, or (x - mean) / sqrt(var + 1)."""
    v = graph.values[i]
    if not v.shape or v.dtype not in FLOATS or 0 in v.shape:
        return False
    dims = some(rand, v.ranks)
    count = math.prod(v.shape[d] for d in dims)
    layer = v.dtype in EXACT and v.bound <= 100 and rand.random() < 0.5

    def emit(fd, t):
        if layer:
            var, mean = fd.ops.var_mean(t[i], dims, 0, True)
            return fd.ops.mul(fd.ops.sub(t[i], mean), fd.ops.rsqrt(fd.ops.add(var, 1.0)))
        mean = fd.ops.div(fd.ops.sum(fd.ops.abs(t[i]), dims, True), float(count))
        return fd.ops.div(t[i], fd.ops.add(mean, 1.0))

    if v.bound * count > 6e4 and v.dtype == torch.float16:
        return False
    graph.step(emit, f"normalize {i} {dims} {layer}", v, bound=2 * v.bound, exact=False)
    return None


def softmax(rand, graph, i):
    v = graph.values[i]
    if not v.shape or v.dtype not in EXACT or 0 in v.shape or v.bound > 100:
        return False
    dim = rand.randint(0, len(v.shape) - 1)

    def emit(fd, t):
        e = fd.ops.exp(fd.ops.sub(t[i], fd.ops.max(t[i], [dim], True)))
        return fd.ops.div(e, fd.ops.sum(e, [dim], True))

    graph.step(emit, f"softmax {i} {dim}", v, bound=1, exact=False)
    return None


def permute(rand, graph, i):
    v = graph.values[i]
    order = shuffled(rand, len(v.shape))
    graph.step(
        lambda fd, t: fd.ops.permute(t[i], order),
        f"permute {i} {order}",
        v,
        shape=[v.shape[d] for d in order],
        ones={order.index(d) for d in v.ones},
    )


def ones_of(shape):
    return {d for d, n in enumerate(shape) if n == 1}


def reshape(rand, graph, i):
    v = graph.values[i]
    count = v.numel
    if count == 0:
        return False
    divisors = [d for d in range(1, min(count, 300) + 1) if count % d == 0]
    a = rand.choice(divisors)
    b = rand.choice([d for d in divisors if count // a % d == 0])
    target = rand.choice([[count], [a, count // a], [count // a, a], [a, 1, count // a], [a, b, count // a // b]])
    graph.step(
        lambda fd, t: fd.ops.reshape(t[i], target), f"reshape {i} {target}", v, shape=target, ones=ones_of(target)
    )
    return None


def merge_or_split(rand, graph, i):
    """A reshape of neighbouring dims only."""
    v = graph.values[i]
    if not v.shape or v.numel == 0:
        return False
    at = rand.randint(0, len(v.shape) - 1)
    if at + 1 < len(v.shape) and rand.random() < 0.5:
        target = [*v.shape[:at], v.shape[at] * v.shape[at + 1], *v.shape[at + 2 :]]
    else:
        n = v.shape[at]
        a = rand.choice([d for d in range(1, min(n, 64) + 1) if n % d == 0])
        target = [*v.shape[:at], n // a, a, *v.shape[at + 1 :]]
    if len(target) > 6:
        return False
    graph.step(
        lambda fd, t: fd.ops.reshape(t[i], target), f"reshape {i} {target}", v, shape=target, ones=ones_of(target)
    )
    return None


def new_dim(rand, graph, i):
    v = graph.values[i]
    rank = len(v.shape)
    at, size = rand.randint(0, rank), rand.choice([0, 1, 1, 2, 3, 17])
    if rank >= 5 or v.numel * size > LIMIT:
        return False
    flags = [d == at for d in range(rank + 1)]
    kept = {d if d < at else d + 1 for d in v.ones}

    def emit(fd, t):
        wide = fd.ops.broadcast(t[i], flags)
        return wide if size == 1 else fd.ops.expand(wide, [size if d == at else -1 for d in range(rank + 1)])

    graph.step(
        emit,
        f"new dim {i} {at} {size}",
        v,
        shape=[*v.shape[:at], size, *v.shape[at:]],
        ones=kept | ({at} if size == 1 else set()),
    )
    return None


def stretch(rand, graph, i):
    """Expands a dim that is a broadcast."""
    v = graph.values[i]
    size = rand.choice([0, 2, 3, 5, 130])
    if not v.ones or v.numel * size > LIMIT:
        return False
    at = rand.choice(sorted(v.ones))
    graph.step(
        lambda fd, t: fd.ops.expand(t[i], [size if d == at else -1 for d in v.ranks]),
        f"expand {i} {at} {size}",
        v,
        shape=[size if d == at else n for d, n in enumerate(v.shape)],
        ones=v.ones - {at},
    )
    return None


def squeeze(rand, graph, i):
    v = graph.values[i]
    if not v.ones:
        return False
    dims = some(rand, v.ones)
    graph.step(lambda fd, t: fd.ops.squeeze(t[i], dims), f"squeeze {i} {dims}", v, **left_after(v, dims, False))
    return None


def cut(rand, graph, i):
    """A slice; one element is a broadcast from then on."""
    v = graph.values[i]
    if not v.shape:
        return False
    starts, ends, steps = [0] * len(v.shape), list(v.shape), [1] * len(v.shape)
    ones = set(v.ones)
    for d, n in enumerate(v.shape):
        if n >= 2 and rand.random() < 0.5:
            starts[d] = rand.randint(0, n - 1)
            ends[d] = rand.randint(starts[d] + 1, n)
            if ends[d] - starts[d] == 1:
                ones.add(d)
    shape = [b - a for a, b in zip(starts, ends, strict=True)]
    graph.step(
        lambda fd, t: fd.ops.slice(t[i], starts, ends, steps),
        f"slice {i} {starts} {ends}",
        v,
        shape=shape,
        ones=ones,
    )
    return None


def pad(rand, graph, i):
    v = graph.values[i]
    if not v.shape or v.numel > LIMIT // 9 or v.dtype == torch.bool:
        return False
    count = rand.randint(1, min(2, len(v.shape)))
    widths = [rand.randint(-1, 3) for _ in range(2 * count)]
    shape, ones = list(v.shape), set(v.ones)
    for k in range(count):
        d = len(shape) - 1 - k
        shape[d] += widths[2 * k] + widths[2 * k + 1]
        if (shape[d] < 2 or v.shape[d] < 3) and (widths[2 * k] or widths[2 * k + 1]):
            return False
        if widths[2 * k] or widths[2 * k + 1]:
            ones.discard(d)
    value = rand.choice([None, 0.5 if v.dtype in FLOATS else 3])
    graph.step(
        lambda fd, t: fd.ops.pad(t[i], widths) if value is None else fd.ops.pad(t[i], widths, value),
        f"pad {i} {widths} {value}",
        v,
        shape=shape,
        ones=ones,
        bound=max(v.bound, 3),
    )
    return None


def join(rand, graph, i):
    v = graph.values[i]
    if not v.shape or v.numel > LIMIT // 3:
        return False
    dim = rand.randint(0, len(v.shape) - 1)
    fits = []
    for j, w in enumerate(graph.values):
        fits += [j] * (
            w.dtype == v.dtype
            and len(w.shape) == len(v.shape)
            and all(
                a == b and (d in v.ones) == (d in w.ones)
                for d, (a, b) in enumerate(zip(v.shape, w.shape, strict=True))
                if d != dim
            )
            and w.numel <= LIMIT // 3
        )
    parts = [i, *(rand.choice(fits) for _ in range(rand.randint(1, 2)))]
    size = sum(graph.values[j].shape[dim] for j in parts)
    if size == 1:
        return False
    graph.step(
        lambda fd, t: fd.ops.cat([t[j] for j in parts], dim),
        f"cat {parts} {dim}",
        v,
        shape=[size if d == dim else n for d, n in enumerate(v.shape)],
        # Where sizes are symbolic, joined parts do not broadcast along a dim that a slice has made 1.
        ones=v.ones - {dim} if graph.is_static else set(),
        bound=max(graph.values[j].bound for j in parts),
        exact=all(graph.values[j].exact for j in parts),
    )
    return None


def index_input(rand, graph, shape, below):
    tensor = make(shape, rand.choice(INTS), low=0, high=below - 1, seed=len(graph.inputs))
    return graph.input(lay_out(rand, tensor), rand.random() < 0.5, float(below))


def pick_rows(rand, graph, i):
    v = graph.values[i]
    rows = [d for d, n in enumerate(v.shape) if n > 1]
    if not rows:
        return False
    dim, count = rand.choice(rows), rand.choice([2, 3, 5, 40])
    if v.numel // v.shape[dim] * count > LIMIT:
        return False
    k = index_input(rand, graph, (count,), v.shape[dim])
    graph.step(
        lambda fd, t: fd.ops.index_select(t[i], t[k], dim),
        f"index_select {i} {k} {dim}",
        v,
        shape=[count if d == dim else n for d, n in enumerate(v.shape)],
    )
    return None


def pick_one(rand, graph, i):
    v = graph.values[i]
    dims = [d for d, n in enumerate(v.shape) if n > 0]
    if not dims:
        return False
    dim = rand.choice(dims)
    at = rand.randint(0, v.shape[dim] - 1)
    graph.step(
        lambda fd, t: fd.ops.select(t[i], fd.define_scalar(at), dim),
        f"select {i} {at} {dim}",
        v,
        **left_after(v, [dim], False),
    )
    return None


def gather(rand, graph, i):
    v = graph.values[i]
    if not v.shape or 0 in v.shape or 1 in v.shape:
        return False
    dim = rand.randint(0, len(v.shape) - 1)
    k = index_input(rand, graph, v.shape, v.shape[dim])
    name = rand.choice(["gather", "take_along_axis"])
    graph.step(lambda fd, t: getattr(fd.ops, name)(t[i], t[k], dim), f"{name} {i} {k} {dim}", v)
    return None


def embed(rand, graph, i):
    v = graph.values[i]
    if len(v.shape) != 2 or v.dtype not in FLOATS or v.shape[0] < 2 or 1 in v.shape:
        return False
    shape = (rand.choice([2, 3, 7]), rand.choice([2, 5]))
    if math.prod(shape) * v.shape[1] > LIMIT:
        return False
    k = graph.input(make(shape, torch.int64, low=0, high=v.shape[0] - 1, seed=len(graph.inputs)), False, 1)
    graph.step(
        lambda fd, t: fd.ops.embedding_fwd(t[k], t[i]), f"embedding {k} {i}", v, shape=(*shape, v.shape[1]), ones=set()
    )
    return None


def scan(rand, graph, i):
    v = graph.values[i]
    if not v.shape or v.dtype not in EXACT or v.bound > 100:
        return False
    dim = rand.randint(0, len(v.shape) - 1)
    graph.step(
        lambda fd, t: fd.ops.tanh(fd.ops.cumsum(t[i], dim)), f"tanh of cumsum {i} {dim}", v, bound=1, exact=False
    )
    return None


def product(rand, graph, i):
    """A matrix product with itself, which no kernel takes, between kernels."""
    v = graph.values[i]
    if len(v.shape) != 2 or v.dtype not in EXACT or v.ones or math.prod(v.shape) > 2000 or max(v.shape) > 64:
        return False
    bound = v.bound**2 * max(v.shape)
    if bound > largest(v.dtype):
        return False
    graph.step(
        lambda fd, t: fd.ops.matmul(t[i], fd.ops.permute(t[i], [1, 0])),
        f"matmul {i}",
        v,
        shape=(v.shape[0], v.shape[0]),
        bound=bound,
        exact=False,
    )
    return None


def triangle(rand, graph, i):
    v = graph.values[i]
    if len(v.shape) < 2 or v.dtype == torch.bool or v.ones & {len(v.shape) - 1, len(v.shape) - 2}:
        return False
    diagonal = rand.randint(-2, 2)
    graph.step(lambda fd, t: fd.ops.triu(t[i], diagonal), f"triu {i} {diagonal}", v)
    return None


def factory(rand, graph, i):
    """iota or full in the shape of value i, added to it or chosen by a comparison with iota."""
    v = graph.values[i]
    if v.dtype not in FLOATS or not v.shape or 1 in v.shape:
        return False
    n = v.shape[-1]
    number = NVF[torch.int64]

    def emit_iota(fd, t):
        row = fd.ops.cast(fd.ops.iota(n, -1, 2, number), NVF[v.dtype])
        return fd.ops.add(t[i], fd.ops.sin(row))

    def emit_full(fd, t):
        return fd.ops.sub(t[i], fd.ops.full(list(v.shape), 0.5, NVF[v.dtype]))

    def emit_where(fd, t):
        return fd.ops.where(fd.ops.lt(fd.ops.iota(n, 0, 1, number), n // 2), t[i], 0.5)

    row = rand.randint(0, 2) if n < 64 or v.dtype == torch.float64 else 1
    emit = (emit_iota, emit_full, emit_where)[row]
    text = ("plus sin iota", "minus full", "where iota <")[row]
    graph.step(emit, f"{text} {i}", v, bound=v.bound + 1, exact=v.exact and row == 2)
    return None


def noise(rand, graph, i):
    """A value drawn in the kernel: added, or as a mask."""
    v = graph.values[i]
    if v.dtype not in EXACT or not v.shape:
        return False
    mask = rand.random() < 0.5
    name = "rand_like" if mask or rand.random() < 0.5 else "randn_like"

    def emit(fd, t):
        drawn = getattr(fd.ops, name)(t[i])
        if mask:
            return fd.ops.mul(t[i], fd.ops.cast(fd.ops.gt(drawn, 0.25), NVF[v.dtype]))
        return fd.ops.add(t[i], drawn)

    graph.step(emit, f"{name} {'mask' if mask else 'added'} {i}", v, bound=v.bound + 6, exact=v.exact and mask)
    return None


STEPS = [
    *[unary, binary] * 4,
    *[with_number, cast, reduce] * 2,
    divide,
    mix,
    compare_values,
    compare_values,
    select_by_mask,
    spread,
    normalize,
    softmax,
    permute,
    reshape,
    merge_or_split,
    new_dim,
    stretch,
    squeeze,
    cut,
    pad,
    join,
    pick_rows,
    pick_one,
    gather,
    embed,
    scan,
    product,
    triangle,
    factory,
    noise,
]
