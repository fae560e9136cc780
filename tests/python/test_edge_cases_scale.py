"""Graphs whose cost must grow with their size and not faster; definitions that must not be built or kept twice."""

import time

import pytest
import torch
from helpers import assert_values, define, make
from nvfuser_direct import FusionDefinition, LRUCache


def seconds(function):
    """(result, wall time) of a call."""
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def linear_relu_layers(count, batch=128, width=16):
    x = make((batch, width), torch.float32)
    weights = [make((width, width), torch.float32, low=-0.5, high=0.5, seed=i) for i in range(count)]
    biases = [make((width,), torch.float32, low=-0.1, high=0.1, seed=100 + i) for i in range(count)]

    def build(fd, t, *parameters):
        for w, b in zip(parameters[:count], parameters[count:], strict=True):
            t = fd.ops.relu(fd.ops.linear(t, w, b))
        return t

    inputs = [x, *weights, *biases]
    (result,) = define(build, inputs).execute(inputs)
    for w, b in zip(weights, biases, strict=True):
        x = torch.relu(torch.nn.functional.linear(x, w, b))
    assert_values(result, x, rtol=1e-4, atol=1e-5)


def test_thirty_layers_of_linear_and_relu():
    _, ten = seconds(lambda: linear_relu_layers(10))
    _, thirty = seconds(lambda: linear_relu_layers(30))
    assert thirty < 10
    assert thirty < 0.5 + 10 * ten


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_repeated_doubling_of_uses(dtype):
    """Each step reads the last one twice; 32 steps are 2^32 paths."""
    x = make((13,), dtype)

    def build(fd, a):
        for _ in range(32):
            a = fd.ops.add(fd.ops.cos(a), fd.ops.sin(a))
        return a

    def work():
        fd = define(build, [x])
        text = repr(fd)
        assert text.count("fd.ops.cos") == 32
        return fd.execute([x])[0]

    result, elapsed = seconds(work)
    assert elapsed < 5
    reference = x.float()
    for _ in range(32):
        reference = torch.cos(reference) + torch.sin(reference)
    assert_values(result, reference, rtol=1e-4, atol=1e-4)


def test_a_chain_that_keeps_both_sum_and_product():
    p, q = make((4,), torch.float64, low=0.1, high=0.4), make((4,), torch.float64, low=0.1, high=0.4, seed=1)
    times = {}
    for count in (7, 14, 28):

        def build(fd, a, b, count=count):
            outputs = []
            for _ in range(count):
                a, b = fd.ops.add(a, b), fd.ops.mul(a, b)
                outputs += [a, b]
            return outputs

        def work(build=build):
            return define(build, [p, q]).execute([p, q])

        results, times[count] = seconds(work)
        a, b = p, q
        for i in range(count):
            a, b = a + b, a * b
            assert_values(results[2 * i], a)
            assert_values(results[2 * i + 1], b)
    assert times[28] < 0.5 + 10 * times[7]


def test_a_long_chain_does_not_overflow_the_stack():
    x = make((5,), torch.float32, low=-0.1, high=0.1)

    def build(fd, t):
        for _ in range(5000):
            t = fd.ops.mul(fd.ops.add(t, 0.25), 0.5)
        return t

    def work():
        fd = define(build, [x])
        assert len(repr(fd).splitlines()) == 10003
        return fd.execute([x])[0]

    result, elapsed = seconds(work)
    assert_values(result, torch.full((5,), 0.25))
    assert elapsed < 20


def test_many_inputs_and_outputs():
    inputs = [make((3,), torch.float32, seed=i) for i in range(300)]
    fd = define(lambda fd, *ts: [fd.ops.mul(t, float(i)) for i, t in enumerate(ts)], inputs)
    results = fd.execute(inputs)
    for i, (result, x) in enumerate(zip(results, inputs, strict=True)):
        assert torch.equal(result, x * float(i))


def test_one_tensor_used_many_times():
    x = make((8,), torch.float64)

    def build(fd, t):
        total = t
        for i in range(400):
            total = fd.ops.add(total, fd.ops.mul(t, float(i)))
        return total

    (result,) = define(build, [x]).execute([x])
    assert_values(result, x * (1 + sum(range(400))), rtol=1e-9)


def test_equal_layers_share_one_cache_entry():
    cache = LRUCache(max_fusions=64)
    x = make((4, 8), torch.float32)
    for _ in range(16):
        with FusionDefinition() as fd:
            t = fd.from_pytorch(x)
            mean = fd.ops.div(fd.ops.sum(t, [1], True), fd.ops.size(t, 1))
            fd.add_output(fd.ops.add(t, fd.ops.sub(t, mean)))
        fd.fec = cache.cache_compile(fd.fusion)
        del fd._fusion
        assert_values(fd.execute([x])[0], 2 * x - x.mean(1, keepdim=True))
    assert cache.num_fusions() == 1


def test_memory_of_intermediates_is_given_back():
    """A chain of 40 steps over 8 MB must not hold 320 MB at once."""
    import resource

    x = torch.ones(2 * 1024 * 1024)

    def build(fd, t):
        for _ in range(40):
            t = fd.ops.mul(t, 1.0)
        return t

    fd = define(build, [x])
    fd.execute([torch.ones(4)])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fd.execute([x])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120 * 1024


def test_new_sizes_are_cheap_after_the_first():
    """Host time of the second and later sizes of one definition."""

    def build(fd, t):
        e = fd.ops.exp(fd.ops.sub(t, fd.ops.max(t, [1], True)))
        return fd.ops.div(e, fd.ops.sum(e, [1], True))

    fd = define(build, [make((4, 4), torch.float32)])
    fd.execute([make((4, 4), torch.float32)])
    inputs = [make((2 + i % 10, 5 + i), torch.float32) for i in range(100)]
    results, elapsed = seconds(lambda: [fd.execute([x])[0] for x in inputs])
    for x, result in zip(inputs, results, strict=True):
        assert_values(result, torch.softmax(x.double(), 1).float())
    assert elapsed < 1.0
