"""Generated CPU kernels beside eager and torch.compile's Inductor.

    python benchmarks/cpu.py [--threads 2] [--rounds 15] [--cases softmax,...] [--dtypes float32,bfloat16]
                             [--table out.md] [--chart out.png]

Each case is one Python function. It runs in eager, compiled by Inductor and compiled by ``backend="nvfuser"``, all in
this process with caches that are empty at the start, one call of each in turn; the figure of each is the median. Every
result is compared with that in float64, and may be off by twice as much as eager's. `floor` is the time that a copy of the bytes that the case must move takes, at the
bandwidth of a large copy measured in the same run. Compile times are those of the first call, with empty caches.
The chart needs matplotlib.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_CACHES = tempfile.TemporaryDirectory(prefix="nvfuser-benchmark-")
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(_CACHES.name, "inductor"))
os.environ.setdefault("NVFUSER_CACHE_DIR", os.path.join(_CACHES.name, "nvfuser"))

import nvfuser  # noqa: E402, F401  (registers the backend)
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from nvfuser.info import cpu_model  # noqa: E402

CASES: dict[str, Callable[..., Case]] = {}


@dataclass
class Case:
    """A function, its arguments, and how many bytes it has to move at least."""

    function: Callable[..., object]
    arguments: list[torch.Tensor]
    outputs: int = 1  #: tensors of the first argument's size that are written
    moved: int | None = None
    random: bool = False

    def bytes_moved(self) -> int:
        if self.moved is not None:
            return self.moved
        read = sum(t.numel() * t.element_size() for t in self.arguments)
        return read + self.outputs * self.arguments[0].numel() * self.arguments[0].element_size()


def case(build: Callable[..., Case]) -> Callable[..., Case]:
    CASES[build.__name__] = build
    return build


def _randn(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(*shape).to(dtype)


@case
def swiglu(n: int, e: int, dtype: torch.dtype) -> Case:
    return Case(lambda a, b: F.silu(a) * b, [_randn(n, e, dtype=dtype), _randn(n, e, dtype=dtype)])


@case
def bias_gelu(n: int, e: int, dtype: torch.dtype) -> Case:
    arguments = [_randn(n, e, dtype=dtype), _randn(e, dtype=dtype)]
    return Case(lambda x, b: F.gelu(x + b, approximate="tanh"), arguments)


@case
def softmax(n: int, e: int, dtype: torch.dtype) -> Case:
    return Case(lambda x: torch.softmax(x, -1), [_randn(n, e, dtype=dtype)])


@case
def rms_norm(n: int, e: int, dtype: torch.dtype) -> Case:
    def function(x, w):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

    return Case(function, [_randn(n, e, dtype=dtype), _randn(e, dtype=dtype)])


@case
def residual_layer_norm(n: int, e: int, dtype: torch.dtype) -> Case:
    def function(x, r, w, b):
        s = x + r
        return F.layer_norm(s, (s.shape[-1],), w, b)

    return Case(function, [_randn(n, e, dtype=dtype) for _ in range(2)] + [_randn(e, dtype=dtype) for _ in range(2)])


@case
def layer_norm_backward(n: int, e: int, dtype: torch.dtype) -> Case:
    def function(g, x, mean, rstd, w):
        xhat = (x.float() - mean) * rstd
        gw = g.float() * w.float()
        dx = rstd * (gw - gw.mean(-1, keepdim=True) - xhat * (gw * xhat).mean(-1, keepdim=True))
        return dx.to(x.dtype), (g.float() * xhat).sum(0).to(w.dtype), g.float().sum(0).to(w.dtype)

    x = _randn(n, e, dtype=dtype)
    mean = x.float().mean(-1, keepdim=True)
    rstd = torch.rsqrt(x.float().var(-1, unbiased=False, keepdim=True) + 1e-5)
    return Case(function, [_randn(n, e, dtype=dtype), x, mean, rstd, _randn(e, dtype=dtype)])


@case
def softmax_backward(n: int, e: int, dtype: torch.dtype) -> Case:
    def function(g, y):
        product = g.float() * y.float()
        return (product - y.float() * product.sum(-1, keepdim=True)).to(y.dtype)

    return Case(function, [_randn(n, e, dtype=dtype), torch.softmax(_randn(n, e, dtype=dtype), -1)])


@case
def bias_gradient(n: int, e: int, dtype: torch.dtype) -> Case:
    return Case(lambda g: g.sum(0), [_randn(n, e, dtype=dtype)], outputs=0)


@case
def transpose_add(n: int, e: int, dtype: torch.dtype) -> Case:
    return Case(lambda a, b: a.t() + b, [_randn(n, e, dtype=dtype), _randn(e, n, dtype=dtype)])


@case
def rope(n: int, e: int, dtype: torch.dtype) -> Case:
    def function(x, cos, sin):
        half = x.shape[-1] // 2
        rotated = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * cos + rotated * sin

    length, width = (512, 64) if n % 2 == 0 else (509, 62)
    x = _randn(1, 8, length, width, dtype=dtype)
    return Case(function, [x, _randn(length, width, dtype=dtype), _randn(length, width, dtype=dtype)])


@case
def dropout_residual(n: int, e: int, dtype: torch.dtype) -> Case:
    arguments = [_randn(n, e, dtype=dtype) for _ in range(2)]
    return Case(lambda x, r: F.dropout(x, 0.1) + r, arguments, random=True)


@case
def cross_entropy(n: int, e: int, dtype: torch.dtype) -> Case:
    x = _randn(n, e, dtype=dtype)
    target = torch.randint(0, e, (n,))
    return Case(lambda x, t: F.cross_entropy(x.float(), t), [x, target], outputs=0)


@case
def embedding_position(n: int, e: int, dtype: torch.dtype) -> Case:
    tokens = torch.randint(0, 30000, (n,))
    table, position = _randn(30000, e, dtype=dtype), _randn(n, e, dtype=dtype)
    size = position.numel() * position.element_size()
    return Case(lambda i, w, p: F.embedding(i, w) + p, [tokens, table, position], moved=3 * size + 8 * n)


@case
def pointwise_60(n: int, e: int, dtype: torch.dtype) -> Case:
    def function(x, y):
        z = x
        for _ in range(10):
            z = z * y + x
            z = torch.sigmoid(z) * 2 - 1
            z = torch.where(z > 0, z, z * 0.1)
        return z

    return Case(function, [_randn(n, e, dtype=dtype) for _ in range(2)])


@dataclass
class Figures:
    """Medians in milliseconds, compile times in seconds."""

    name: str
    eager: float
    inductor: float
    ours: float
    floor: float
    inductor_compile: float
    our_compile: float
    error: float
    spread: str = field(default="")


def copy_bandwidth(elements: int = 1 << 24) -> float:
    """Bytes per second, read and written, of a copy of a tensor that no cache holds."""
    a, b = torch.randn(elements), torch.empty(elements)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        b.copy_(a)
        times.append(time.perf_counter() - start)
    return 8 * elements / statistics.median(times)


def _flat(result: object) -> list[torch.Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def largest_error(result: object, exact: object) -> float:
    """Largest difference over the largest value, over all outputs."""
    worst = 0.0
    for a, b in zip(_flat(result), _flat(exact), strict=True):
        scale = b.double().abs().max().clamp_min(1e-30)
        worst = max(worst, ((a.double() - b.double()).abs().max() / scale).item())
    return worst


def check(name: str, result: object, built: Case) -> float:
    """The error against float64; raises AssertionError when it is much larger than eager's own."""
    exact = built.function(*[a.double() if a.is_floating_point() else a for a in built.arguments])
    error, eager = largest_error(result, exact), largest_error(built.function(*built.arguments), exact)
    rounding = torch.finfo(_flat(result)[0].dtype).eps
    if not error <= 2 * eager + 8 * rounding:
        raise AssertionError(f"{name}: differs by {error:.2e} from float64, eager by {eager:.2e}")
    return error


def measure(name: str, built: Case, rounds: int, bandwidth: float) -> Figures:
    """Compiles, checks and times one case."""
    torch._dynamo.reset()
    sides = {"eager": built.function}
    compile_seconds = {}
    for side, backend in (("inductor", "inductor"), ("ours", "nvfuser")):
        compiled = torch.compile(built.function, backend=backend, dynamic=False)
        start = time.perf_counter()
        result = compiled(*built.arguments)
        compile_seconds[side] = time.perf_counter() - start
        sides[side] = compiled
    error = 0.0 if built.random else check(name, result, built)
    times: dict[str, list[float]] = {side: [] for side in sides}
    for round_number in range(rounds + 3):
        for side, function in sides.items():
            start = time.perf_counter()
            function(*built.arguments)
            if round_number >= 3:
                times[side].append(time.perf_counter() - start)
    medians = {side: 1e3 * statistics.median(values) for side, values in times.items()}
    floor = 1e3 * built.bytes_moved() / bandwidth
    return Figures(
        name,
        medians["eager"],
        medians["inductor"],
        medians["ours"],
        floor,
        compile_seconds["inductor"],
        compile_seconds["ours"],
        error,
    )


def table(rows: list[Figures]) -> str:
    """A Markdown table with the geometric means."""
    lines = [
        "| case | eager ms | Inductor ms | nvfuser ms | Inductor / nvfuser | eager / nvfuser | floor / nvfuser "
        "| compile s: Inductor | nvfuser | error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        lines.append(
            f"| {r.name} | {r.eager:.3f} | {r.inductor:.3f} | {r.ours:.3f} | {r.inductor / r.ours:.2f} "
            f"| {r.eager / r.ours:.2f} | {r.floor / r.ours:.2f} | {r.inductor_compile:.2f} | {r.our_compile:.2f} "
            f"| {r.error:.1e} |"
        )
    mean = statistics.geometric_mean(r.inductor / r.ours for r in rows)
    eager = statistics.geometric_mean(r.eager / r.ours for r in rows)
    lines.append(f"| geometric mean | | | | {mean:.2f} | {eager:.2f} | | | | |")
    return "\n".join(lines)


def chart(rows: list[Figures], path: str) -> None:
    """Bars: the ratio to Inductor; the share of the copy bandwidth that each side reaches."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    places = range(len(rows))
    figure, (ratio, share) = plt.subplots(2, 1, figsize=(max(9, 0.42 * len(rows)), 8), sharex=True)
    ratio.bar(places, [r.inductor / r.ours for r in rows], 0.7)
    ratio.set_ylabel("time of Inductor / time of nvfuser")
    for offset, (label, side) in enumerate((("eager", "eager"), ("Inductor", "inductor"), ("nvfuser", "ours"))):
        heights = [r.floor / getattr(r, side) for r in rows]
        share.bar([i + 0.28 * (offset - 1) for i in places], heights, 0.26, label=label)
    share.set_ylabel("share of the copy bandwidth")
    share.legend()
    for axes in (ratio, share):
        axes.axhline(1.0, color="black", linewidth=0.8)
    share.set_xticks(places, [r.name for r in rows], rotation=70, ha="right", fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--dtypes", default="float32,bfloat16")
    parser.add_argument("--sizes", default="2048x1024,1999x1021")
    parser.add_argument("--table")
    parser.add_argument("--chart")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{cpu_model()}, {options.threads} threads, torch {torch.__version__}, Python {platform.python_version()}")
    bandwidth = copy_bandwidth()
    print(f"copy bandwidth {bandwidth / 1e9:.1f} GB/s")
    rows = []
    for name in options.cases.split(","):
        for dtype in options.dtypes.split(","):
            for size in options.sizes.split(","):
                n, e = (int(s) for s in size.split("x"))
                torch.manual_seed(0)
                built = CASES[name](n, e, getattr(torch, dtype))
                with torch.no_grad():
                    rows.append(measure(f"{name} {dtype} {size}", built, options.rounds, bandwidth))
                r = rows[-1]
                print(
                    f"{r.name}: eager {r.eager:.3f} Inductor {r.inductor:.3f} nvfuser {r.ours:.3f} ms,"
                    f" ratio {r.inductor / r.ours:.2f}, compile {r.inductor_compile:.2f} / {r.our_compile:.2f} s",
                    flush=True,
                )
    text = table(rows)
    print(text)
    if options.table:
        with open(options.table, "w") as file:
            file.write(text + "\n")
    if options.chart:
        chart(rows, options.chart)


if __name__ == "__main__":
    main()
