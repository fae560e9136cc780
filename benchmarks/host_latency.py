"""Host latency: a warm fusion call beside the same work in eager, and the time to define a 100-op fusion.

    python benchmarks/host_latency.py [--device cpu|cuda] [--rounds 200] [--calls 200]

Both sides run in this one process, a batch of calls of one after a batch of the other, so that a change in clock
frequency or load meets both; the figure of each is the median over the batches. On CUDA only the time on the host
counts: the device is synchronised between batches, outside the clock. Figures worth keeping go to RESULTS.md.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time

import torch
from nvfuser import DataType, FusionDefinition
from nvfuser.info import cpu_model

ELEMENTS = 64
DEFINED_OPS = 100


def scale_and_shift(x: torch.Tensor) -> torch.Tensor:
    """The work under the clock, as eager does it."""
    return x * 2 + 1


def scale_and_shift_fusion(device: str) -> FusionDefinition:
    """The same work as a fusion: one input [ELEMENTS] float32, one output."""
    with FusionDefinition() as fd:
        x = fd.from_pytorch(torch.empty(ELEMENTS, device=device))
        fd.add_output(fd.ops.add(fd.ops.mul(x, 2.0), 1.0))
    return fd


def define_long_fusion() -> FusionDefinition:
    """A chain of DEFINED_OPS pointwise ops, defined and not run."""
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float)
        y = x
        for _ in range(DEFINED_OPS // 2):
            y = fd.ops.add(fd.ops.mul(y, x), x)
        fd.add_output(y)
    return fd


def seconds_per_call(function, argument, calls: int, synchronize) -> float:
    """Mean time of `calls` calls in a row."""
    start = time.perf_counter()
    for _ in range(calls):
        function(argument)
    elapsed = time.perf_counter() - start
    synchronize()
    return elapsed / calls


def measure(device: str, rounds: int, calls: int) -> tuple[float, float]:
    """-> (eager, fusion): medians in seconds per call, measured alternately after a warm-up."""
    x = torch.randn(ELEMENTS, device=device)
    inputs = [x]
    fd = scale_and_shift_fusion(device)
    synchronize = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    torch.testing.assert_close(fd.execute(inputs)[0], scale_and_shift(x))
    for function, argument in ((scale_and_shift, x), (fd.execute, inputs)):
        seconds_per_call(function, argument, calls, synchronize)

    eager, fusion = [], []
    for _ in range(rounds):
        eager.append(seconds_per_call(scale_and_shift, x, calls, synchronize))
        fusion.append(seconds_per_call(fd.execute, inputs, calls, synchronize))
    return statistics.median(eager), statistics.median(fusion)


def measure_definition(repeats: int = 200) -> float:
    """Median time in seconds to define the long fusion."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        define_long_fusion()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=200, help="batches of each side")
    parser.add_argument("--calls", type=int, default=200, help="calls a batch")
    arguments = parser.parse_args()

    hardware = cpu_model()
    if arguments.device == "cuda":
        hardware = f"{torch.cuda.get_device_name()}, host {hardware}"
    eager, fusion = measure(arguments.device, arguments.rounds, arguments.calls)
    definition = measure_definition()
    print(f"{hardware}; torch {torch.__version__}; Python {platform.python_version()}")
    print(f"x * 2 + 1 on {ELEMENTS} float32, {arguments.device}, warm, median per call:")
    print(f"  eager       {eager * 1e6:8.2f} us")
    print(f"  fd.execute  {fusion * 1e6:8.2f} us   {fusion / eager:.2f} x eager")
    print(f"defining a fusion of {DEFINED_OPS} ops, median: {definition * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
