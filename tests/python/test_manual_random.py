"""Random schedules of random fusions: manual_execute gives what ATen gives, or says why it cannot."""

import random

import pytest
import torch
from nvfuser_direct import FusionDefinition, ParallelType

TYPES = [
    ParallelType.grid_x,
    ParallelType.block_x,
    ParallelType.serial,
    ParallelType.vectorize,
    ParallelType.unroll,
]
SHAPES = [(3, 5), (7, 64), (33, 17), (1, 9), (9, 1), (64, 130), (5, 1500)]


def random_graph(fd, x, y, choose):
    """Adds one to six operations; returns the outputs and every tensor that was made."""
    o = fd.ops
    full, made = [x, y], []
    for _ in range(choose.randint(1, 6)):
        kind = choose.choice(["add", "mul", "sin", "norm", "sum", "max", "broadcast"])
        a, b, dim = choose.choice(full), choose.choice(full), choose.choice([0, 1])
        if kind in ("sum", "max"):
            made.append(getattr(o, kind)(a, [dim]))
            continue
        if kind == "norm":
            made.append(o.sum(a, [dim], keepdim=True))
            result = o.add(a, o.mul(made[-1], 0.1))
        elif kind == "broadcast":
            made.append(o.sum(a, [1]))
            result = o.mul(o.broadcast(made[-1], [False, True]), b)
        else:
            result = o.sin(a) if kind == "sin" else getattr(o, kind)(a, b)
        full.append(result)
        made.append(result)
    outputs = [t for t in made if not t.uses()]
    if choose.random() < 0.3:
        outputs.append(choose.choice(made))
    return outputs, made


def random_schedule(fd, made, choose):
    """Up to four transforms of each tensor; those that are refused are left out."""
    for tv in made:
        for _ in range(choose.randint(0, 4)):
            last = len(tv.get_loop_domain()) - 1
            axis = choose.randint(0, last)
            try:
                match choose.choice(["split", "merge", "reorder", "parallelize", "rfactor", "cache"]):
                    case "split":
                        tv.split(axis, choose.choice([1, 2, 3, 16, 100]), inner_split=choose.random() < 0.7)
                    case "merge":
                        tv.merge(max(axis - 1, 0), max(axis - 1, 0) + 1)
                    case "reorder":
                        tv.reorder({0: last, last: 0})
                    case "parallelize":
                        tv.axis(choose.choice([0, axis])).parallelize(choose.choice(TYPES))
                    case "rfactor":
                        tv.rfactor([axis])
                    case "cache":
                        tv.cache_before() if choose.random() < 0.5 else tv.cache_after()
            except RuntimeError:
                continue
    if choose.random() < 0.5:
        fd.sched.inline_most()


def defined(seed, shape, is_scheduled):
    sizes = list(shape) if seed % 3 == 0 else [-1, -1]
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor(sizes, contiguity=True) for _ in range(2))
        outputs, made = random_graph(fd, x, y, random.Random(seed))
        for output in outputs:
            fd.add_output(output)
        if is_scheduled:
            random_schedule(fd, list(dict.fromkeys(made)), random.Random(seed + 1))
    return fd


@pytest.mark.parametrize("seed", range(40))
def test_random_schedule(seed):
    shape = SHAPES[seed % len(SHAPES)]
    inputs = [torch.randn(shape), torch.randn(shape)]
    expected = defined(seed, shape, False).execute(inputs, _disable_options=["generated_kernels"])
    results = defined(seed, shape, True).manual_execute(inputs)
    for result, wanted in zip(results, expected, strict=True):
        scale = max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-5 * scale)
