"""Definitions used and built by several threads at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from helpers import define, make
from nvfuser_direct import DataType, FusionDefinition


def in_threads(function, count=8):
    """Results of `function(index)` run in as many threads, started together."""
    barrier = threading.Barrier(count)

    def body(index):
        barrier.wait()
        return function(index)

    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(body, i) for i in range(count)]]


def test_one_definition_with_many_shapes_at_once():
    fd = define(lambda fd, x, y: fd.ops.sum(fd.ops.exp(fd.ops.add(x, y)), [1]), [torch.ones(2, 3), torch.ones(2, 3)])

    def work(index):
        for step in range(40):
            rows = 2 + (index * 7 + step) % 11
            a, b = make((rows, 5), torch.float32, seed=index), make((rows, 5), torch.float32, seed=step)
            torch.testing.assert_close(fd.execute([a, b])[0], torch.exp(a + b).sum(1))
        return True

    assert all(in_threads(work))


def test_the_first_run_may_happen_in_several_threads():
    for _ in range(10):
        fd = define(lambda fd, x: fd.ops.neg(x), [torch.ones(2)])
        x = torch.ones(2)
        for result in in_threads(lambda i: fd.execute([x])[0]):  # noqa: B023
            assert torch.equal(result, -x)


def test_definitions_built_at_the_same_time():
    """The active fusion belongs to the thread."""

    def work(index):
        results = []
        for step in range(20):
            with FusionDefinition() as fd:
                x = fd.define_tensor([-1], contiguity=True)
                for _ in range(step % 5 + 1):
                    x = fd.ops.add(x, float(index))
                fd.add_output(x)
            results.append(fd.execute([torch.zeros(3)])[0][0].item() == index * (step % 5 + 1))
        return all(results)

    assert all(in_threads(work))


def test_errors_in_one_thread_do_not_reach_another(capsys):
    def work(index):
        for _ in range(20):
            try:
                with FusionDefinition() as fd:
                    x = fd.define_tensor([-1], contiguity=True)
                    if index % 2:
                        fd.ops.permute(x, [3])
                    fd.add_output(fd.ops.mul(x, 2.0))
                if index % 2 or fd.execute([torch.ones(2)])[0].tolist() != [2.0, 2.0]:
                    return False
            except RuntimeError:
                if index % 2 == 0:
                    return False
        return True

    assert all(in_threads(work))
    capsys.readouterr()


def test_the_interpreter_runs_on_while_a_fusion_executes():
    """Execution releases the interpreter lock."""
    a = torch.randn(700, 700)

    def build(fd, x):
        for _ in range(6):
            x = fd.ops.matmul(x, x)
        return x

    fd = define(build, [a])
    fd.execute([a])
    ticks, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            ticks[0] += 1
            stop.wait(0.0005)

    counter = threading.Thread(target=count)
    counter.start()
    before = ticks[0]
    for _ in range(3):
        fd.execute([a * 1e-3])
    during = ticks[0] - before
    stop.set()
    counter.join()
    assert during > 3


def test_in_place_outputs_of_different_tensors_at_once():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True, dtype=DataType.Double)
        fd.add_output(fd.ops.add(x, 1.0), x)

    def work(index):
        t = torch.full((5,), float(index), dtype=torch.float64)
        for _ in range(50):
            fd.execute([t])
        return t.tolist() == [index + 50.0] * 5

    assert all(in_threads(work))
