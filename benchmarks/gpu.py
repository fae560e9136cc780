"""Generated CUDA kernels beside eager and torch.compile's Inductor, on one GPU.

    python benchmarks/gpu.py [--rounds 30] [--cases softmax,...] [--dtypes bfloat16,float32] [--no-inductor]
                              [--table out.md] [--chart out.png]

The cases are those of cpu.py at sizes that no cache holds, and some of their own. Each is one Python function; it runs in
eager, compiled by Inductor and compiled by ``backend="nvfuser"``, all in this process with caches that are empty at the
start, in turn; the figure of each is the median of the times between CUDA events around one call. Every result is
compared with that in float64. `floor` is the time that a copy of the bytes that the case must move takes, at the
bandwidth of a copy measured in the same run; `host` the time that a call takes on the host.
"""

from __future__ import annotations

import argparse
import gc
import platform
import statistics
import time
from dataclasses import dataclass

import cpu
import torch
from cpu import Case, Figures

#: name: (case of cpu.py or of this file, N, E)
SIZES: dict[str, tuple[str, int, int]] = {
    "swiglu": ("swiglu", 16384, 4096),
    "bias_gelu": ("bias_gelu", 16384, 4096),
    "softmax": ("softmax", 16384, 4096),
    "rms_norm": ("rms_norm", 16384, 4096),
    "residual_layer_norm": ("residual_layer_norm", 16384, 4096),
    "bias_gradient": ("bias_gradient", 16384, 4096),
    "transpose_add": ("transpose_add", 4096, 4096),
    "rope": ("rope_heads", 4096, 128),
    "layer_norm_backward": ("layer_norm_backward", 16384, 4096),
    "softmax_backward": ("softmax_backward", 16384, 4096),
    "cross_entropy": ("cross_entropy", 4096, 131072),
    "qkv_rope": ("qkv_rope", 4096, 128),
    "pointwise_60": ("pointwise_60", 16384, 4096),
    "rms_norm_3000": ("rms_norm", 16384, 3000),
    "rms_norm_12289": ("rms_norm", 8192, 12289),
    "residual_layer_norm_3000": ("residual_layer_norm", 16384, 3000),
    "residual_layer_norm_12289": ("residual_layer_norm", 8192, 12289),
    "rms_norm_1k": ("rms_norm", 16, 64),
    "rms_norm_1m": ("rms_norm", 1024, 1024),
    "swiglu_1k": ("swiglu", 1, 1024),
    "swiglu_1m": ("swiglu", 1024, 1024),
    "swiglu_1g": ("swiglu", 262144, 4096),
}


def _rotated(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


@cpu.case
def rope_heads(n: int, e: int, dtype: torch.dtype) -> Case:
    """Rotary embedding of 4 sequences of n tokens with 32 heads of width e."""
    x = torch.randn(4, 32, n, e).to(dtype)
    angles = [torch.randn(n, e).to(dtype) for _ in range(2)]
    return Case(lambda x, cos, sin: x * cos + _rotated(x) * sin, [x, *angles])


@cpu.case
def qkv_rope(n: int, e: int, dtype: torch.dtype) -> Case:
    """One projection cut into queries, keys and values; heads before tokens; rotary embedding of two of them."""

    def function(qkv, cos, sin):
        q, k, v = qkv.view(2, n, 3, 32, e).permute(2, 0, 3, 1, 4).unbind(0)
        return q * cos + _rotated(q) * sin, k * cos + _rotated(k) * sin, v.contiguous()

    qkv = torch.randn(2, n, 3 * 32 * e).to(dtype)
    return Case(function, [qkv, *(torch.randn(n, e).to(dtype) for _ in range(2))])


HEAD_START = 1_000_000  #: cycles of the device, about half a millisecond


@dataclass
class GpuFigures(Figures):
    """Milliseconds on the device; microseconds of the host for one call."""

    host: float = 0.0
    inductor_host: float = 0.0


def copy_bandwidth(elements: int = 1 << 26) -> float:
    """Bytes per second, read and written, of a copy that no cache holds."""
    a, b = torch.empty(elements, dtype=torch.bfloat16), torch.empty(elements, dtype=torch.bfloat16)
    times = device_times({"copy": lambda: b.copy_(a)}, 30)["copy"]
    return 4 * elements / (1e-3 * statistics.median(times))


def device_times(sides: dict, rounds: int) -> dict[str, list[float]]:
    """Milliseconds between events around each call, sides in turn; three rounds warm up."""
    events: dict[str, list] = {side: [] for side in sides}
    for number in range(rounds + 3):
        for side, function in sides.items():
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(HEAD_START)  # the host gets ahead, so that the device does not wait for it
            start.record()
            function()
            end.record()
            if number >= 3:
                events[side].append((start, end))
        torch.cuda.synchronize()
    return {side: [a.elapsed_time(b) for a, b in pairs] for side, pairs in events.items()}


def host_time(function, calls: int = 50) -> float:
    """Microseconds of one call on the host, without waiting for the device."""
    torch.cuda.synchronize()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    torch.cuda.synchronize()
    return 1e6 * statistics.median(times)


def measure(name: str, built: Case, rounds: int, bandwidth: float, with_inductor: bool) -> GpuFigures:
    """Compiles, checks and times one case."""
    torch._dynamo.reset()
    sides = {"eager": lambda: built.function(*built.arguments)}
    seconds = {"inductor": 0.0, "ours": 0.0}
    result = None
    for side, backend in (("inductor", "inductor"), ("ours", "nvfuser")):
        if side == "inductor" and not with_inductor:
            continue
        compiled = torch.compile(built.function, backend=backend, dynamic=False)
        start = time.perf_counter()
        result = compiled(*built.arguments)
        torch.cuda.synchronize()
        seconds[side] = time.perf_counter() - start
        sides[side] = lambda compiled=compiled: compiled(*built.arguments)
    large = sum(t.numel() for t in built.arguments) > 1 << 29
    error = 0.0 if built.random or large else cpu.check(name, result, built)
    del result
    medians = {side: statistics.median(times) for side, times in device_times(sides, rounds).items()}
    return GpuFigures(
        name,
        medians["eager"],
        medians.get("inductor", float("nan")),
        medians["ours"],
        1e3 * built.bytes_moved() / bandwidth,
        seconds["inductor"],
        seconds["ours"],
        error,
        host=host_time(sides["ours"]),
        inductor_host=host_time(sides["inductor"]) if with_inductor else float("nan"),
    )


def table(rows: list[GpuFigures]) -> str:
    """A Markdown table with the geometric means."""
    lines = [
        "| case | eager us | Inductor us | nvfuser us | Inductor / nvfuser | eager / nvfuser | floor / nvfuser "
        "| compile s: Inductor | nvfuser | host us: Inductor | nvfuser |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        lines.append(
            f"| {r.name} | {1e3 * r.eager:.1f} | {1e3 * r.inductor:.1f} | {1e3 * r.ours:.1f} "
            f"| {r.inductor / r.ours:.2f} | {r.eager / r.ours:.2f} | {r.floor / r.ours:.2f} "
            f"| {r.inductor_compile:.2f} | {r.our_compile:.2f} | {r.inductor_host:.0f} | {r.host:.0f} |"
        )
    mean = statistics.geometric_mean(r.inductor / r.ours for r in rows)
    eager = statistics.geometric_mean(r.eager / r.ours for r in rows)
    lines.append(f"| geometric mean | | | | {mean:.2f} | {eager:.2f} | | | | | |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--cases", default=",".join(SIZES))
    parser.add_argument("--dtypes", default="bfloat16")
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--table")
    parser.add_argument("--chart")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("benchmarks/gpu.py needs a GPU; there is none")
        return 0
    torch.set_default_device("cuda")
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, Python {platform.python_version()}")
    bandwidth = copy_bandwidth()
    print(f"copy bandwidth {bandwidth / 1e12:.2f} TB/s")
    rows = []
    for case in options.cases.split(","):
        for dtype in options.dtypes.split(","):
            function, n, e = SIZES[case]
            torch.manual_seed(0)
            with torch.no_grad():
                built = cpu.CASES[function](n, e, getattr(torch, dtype))
                label = f"{case} {dtype} {n}x{e}"
                rows.append(measure(label, built, options.rounds, bandwidth, not options.no_inductor))
            del built
            gc.collect()
            torch.cuda.empty_cache()
            r = rows[-1]
            print(
                f"{r.name}: eager {1e3 * r.eager:.1f} Inductor {1e3 * r.inductor:.1f} nvfuser {1e3 * r.ours:.1f} us,"
                f" ratio {r.inductor / r.ours:.2f}, floor {r.floor / r.ours:.2f}, host {r.host:.0f} us",
                flush=True,
            )
    text = table(rows)
    print(text)
    if options.table:
        with open(options.table, "w") as file:
            file.write(text + "\n")
    if options.chart:
        cpu.chart(rows, options.chart)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
