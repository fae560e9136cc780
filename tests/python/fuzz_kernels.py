"""Random fusions, run as generated kernels and through ATen.

A fusion of 3 to 40 nodes over pointwise, reduction, shape, index and random operations is drawn step by step; each step
knows the shapes so far, so every fusion is valid. It runs node by node through ATen, and as generated kernels, each of
which is compared with ATen's evaluation of its own nodes on its own inputs (`check_kernels`), so that differences do not
add up over the fusion.

    python tests/python/fuzz_kernels.py [--cases N] [--seconds S] [--jobs J] [--first SEED] [--seed SEED]

runs the cases of the seeds FIRST, FIRST + 1, ... in J processes and says what differs, raises, dies or hangs, with the
smallest part of the fusion that does; --seed runs one in this process. Ends with status 1 when there was something.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

if __name__ in ("__main__", "__mp_main__"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
    os.environ.setdefault("NVFUSER_CACHE_SIZE", "0")  # no kernel is met again
    os.environ.setdefault("NVFUSER_CHECK_PASSES", "1")

import torch
from random_graph import Graph, definition, draw_input
from random_steps import STEPS, unary

OPTIONS = ["generated_kernels", "check_kernels"]


def draw_case(rand):
    """A graph and the indices of its outputs; rand: random.Random or what looks like one."""
    graph = Graph(rand)
    for _ in range(rand.randint(1, 3)):
        draw_input(rand, graph)
    for _ in range(rand.randint(3, 40)):
        last = len(graph.values) - 1
        i = rand.randint(max(0, last - 3) if rand.random() < 0.5 else 0, last)
        if rand.choice(STEPS)(rand, graph, i) is False:
            unary(rand, graph, i)
    made = [i for i, is_input in enumerate(graph.is_input) if not is_input]
    return graph, [made[-1], *(rand.choice(made) for _ in range(rand.randint(0, 3)))]


# --- running ---

DEVICE = os.environ.get("FUZZ_DEVICE", "cpu")


def on_device(tensor):
    """The tensor on the device of the runs, with its strides and what lies between them."""
    if DEVICE == "cpu":
        return tensor
    storage = tensor.untyped_storage()
    there = torch.empty(0, dtype=tensor.dtype, device=DEVICE)
    copy = torch.frombuffer(bytearray(storage.tolist()), dtype=torch.uint8) if storage.nbytes() else torch.empty(0)
    return there.set_(copy.to(DEVICE).untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def rng_state():
    return torch.get_rng_state() if DEVICE == "cpu" else torch.cuda.get_rng_state()


def strides(tensor):
    """Those that address an element."""
    return [s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1] if tensor.numel() else []


def keeps_order(tensor):
    """A contiguous copy has the order of dims that the definition was made for."""
    return 0 not in tensor.stride() and list(tensor.stride()) == sorted(tensor.stride(), reverse=True)


def run_case(graph, outputs, runs=2):
    """Raises where a kernel differs from ATen, or an output's dtype, shape or strides do."""
    torch.manual_seed(5)
    expected = definition(graph, outputs).execute(graph.inputs, device=DEVICE, _disable_options=["generated_kernels"])
    state = rng_state()
    kernels = definition(graph, outputs)
    before = [tensor.clone() for tensor in graph.inputs]
    for _ in range(runs):  # cold and warm
        torch.manual_seed(5)
        results = kernels.execute(graph.inputs, device=DEVICE, _enable_options=OPTIONS)
        assert torch.equal(state, rng_state()), "the random state after the run differs"
        for result, wanted in zip(results, expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), (result.dtype, result.shape)
            # Where sizes are symbolic, a kernel knows more about a reshape than the nodes do.
            assert not graph.is_static or strides(result) == strides(wanted), (
                f"strides {result.stride()} instead of {wanted.stride()}"
            )
    for was, is_now in zip(before, graph.inputs, strict=True):
        assert torch.equal(was, is_now), "an input has changed"
    if graph.rand.random() < 0.2:
        # Other strides of the same sizes are another class of inputs.
        again = [t.contiguous() if keeps_order(t) else t for t in graph.inputs]
        torch.manual_seed(5)
        kernels.execute(again, device=DEVICE, _enable_options=OPTIONS)


def reduced(graph, outputs, error):
    """The smallest part that still fails, as the text of a fusion, with its error."""
    for i, is_input in enumerate(graph.is_input):
        if is_input:
            continue
        try:
            run_case(graph, [i])
        except Exception as smaller:  # noqa: BLE001
            return f"{definition(graph, [i])!r}\n{traceback.format_exception_only(smaller)[-1]}"
    return f"{definition(graph, outputs)!r}\n{traceback.format_exception_only(error)[-1]}"


def run_seed(seed):
    """None, or what is wrong with the case of a seed."""
    graph, outputs = draw_case(random.Random(seed))
    graph.inputs = [on_device(tensor) for tensor in graph.inputs]
    torch.set_num_threads(1 if seed % 4 else 3)
    try:
        run_case(graph, outputs)
    except Exception as error:  # noqa: BLE001
        inputs = [f"{tuple(t.shape)} {t.stride()} {t.dtype}" for t in graph.inputs]
        return f"inputs {inputs}\n{reduced(graph, outputs, error)}"
    return None


# --- the command ---

CASES_PER_PROCESS = 300  # a loaded kernel stays mapped for the life of a process
HANGS_AFTER = 180  # seconds


def work(first, step, count, current, failures):
    for k in range(count):
        current.value = first + k * step
        found = run_seed(current.value)
        if found:
            failures.put((current.value, found))
    failures.close()
    failures.join_thread()


class Worker:
    """One process over the seeds first, first + step, ...; begun again after a death or CASES_PER_PROCESS cases."""

    def __init__(self, context, first, step):
        self.context, self.next, self.step = context, first, step
        self.failures = context.Queue()
        self.process = None

    def start(self, left):
        self.first, self.count = self.next, min(left, CASES_PER_PROCESS)
        self.current = self.context.Value("q", self.first)
        self.seen, self.since = self.first, time.monotonic()
        arguments = (self.first, self.step, self.count, self.current, self.failures)
        self.process = self.context.Process(target=work, args=arguments)
        self.process.start()

    def done(self):
        """How many cases of the present process are finished."""
        return (self.current.value - self.first) // self.step

    def poll(self):
        """None while it runs; else (finished cases, what ended it or None)."""
        if self.current.value != self.seen:
            self.seen, self.since = self.current.value, time.monotonic()
        reason = None
        if self.process.exitcode is None:
            if time.monotonic() - self.since < HANGS_AFTER:
                return None
            self.process.kill()
            self.process.join()
            reason = f"hangs for {HANGS_AFTER} s"
        elif self.process.exitcode == 0:
            self.next = self.first + self.count * self.step
            return self.count, None
        else:
            code = self.process.exitcode
            reason = f"ends the process: {signal.Signals(-code).name if code < 0 else code}"
        finished = self.done() + 1
        self.next = self.first + finished * self.step
        return finished, (self.current.value, reason)


def fuzz(cases, seconds, jobs, first):
    """Runs cases until one limit is reached; the number of failures."""
    context = multiprocessing.get_context("spawn")
    workers = [Worker(context, first + k, jobs) for k in range(jobs)]
    begin = last_word = time.monotonic()
    finished = failed = 0
    planned = 0

    def report(seed, text):
        print(f"==== seed {seed}: python tests/python/fuzz_kernels.py --seed {seed}\n{text}", flush=True)

    def stop():
        return seconds and time.monotonic() - begin > seconds

    while True:
        for worker in workers:
            for _ in range(worker.failures.qsize()):
                report(*worker.failures.get())
                failed += 1
            if worker.process is None:
                left = CASES_PER_PROCESS if cases is None else cases - planned
                if left > 0 and not stop():
                    share = left if cases is None else max(1, min(left, -(-cases // jobs)))
                    planned += min(share, CASES_PER_PROCESS)
                    worker.start(share)
                continue
            ended = worker.poll()
            if ended is None and stop():
                worker.process.terminate()
                worker.process.join()
                finished += worker.done()
                worker.process = None
            elif ended is not None:
                finished += ended[0]
                planned -= worker.count - ended[0]
                worker.process = None
                if ended[1]:
                    report(*ended[1])
                    failed += 1
        running = [worker for worker in workers if worker.process is not None]
        if time.monotonic() - last_word > 60:
            last_word = time.monotonic()
            now = finished + sum(worker.done() for worker in running)
            print(f"{now} cases, {failed} failures, {last_word - begin:.0f} s", flush=True)
        if not running and (stop() or (cases is not None and planned >= cases)):
            break
        time.sleep(0.05)
    for worker in workers:
        while not worker.failures.empty():
            report(*worker.failures.get())
            failed += 1
    print(
        f"{finished} cases of the seeds from {first} on, {failed} failures, {time.monotonic() - begin:.0f} s",
        flush=True,
    )
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, help="how many; default 1000, or no limit with --seconds")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--first", type=int, help="the first seed; drawn where it is not given")
    parser.add_argument("--seed", type=int, help="run this case only, and print it")
    options = parser.parse_args()
    if options.seed is not None:
        graph, outputs = draw_case(random.Random(options.seed))
        print(f"{graph.text()}\noutputs {outputs}")
        found = run_seed(options.seed)
        print(found or "no difference")
        return 1 if found else 0
    first = random.SystemRandom().randrange(10**9) if options.first is None else options.first
    cases = options.cases or (None if options.seconds else 1000)
    return 1 if fuzz(cases, options.seconds, max(1, options.jobs), first) else 0


if __name__ == "__main__":
    sys.exit(main())
