"""Kernels of CUDA text: each scheduler, the kernels that sizes and strides choose among, and what a GPU alone has."""

from __future__ import annotations

import threading

import pytest
import torch
from kernel_targets import on_target, target
from nvfuser_direct import DataType, FusionDefinition, kernel_cache

TARGETS = [
    pytest.param("emulated", id="emulated"),
    pytest.param("cuda", id="cuda", marks=pytest.mark.cuda),
]


@pytest.fixture(params=TARGETS)
def device(request):
    with on_target(request.param) as chosen:
        yield chosen.device


def define(build, inputs):
    with FusionDefinition() as fd:
        outputs = build(fd, *(fd.from_pytorch(t) for t in inputs))
        for output in outputs if isinstance(outputs, (list, tuple)) else [outputs]:
            fd.add_output(output)
    return fd


COMPILED: set[int] = set()


def run(fd, inputs):
    """The outputs; without a GPU, NVRTC compiles each new text for two generations of devices."""
    results = fd.execute(inputs, _enable_options=list(target().options))
    if target().name == "emulated" and not kernel_cache.why_no_nvrtc():
        head = "#define NVF_FN "
        for kernel in fd.last_kernel_code().split(head)[1:]:
            if hash(kernel) not in COMPILED:
                COMPILED.add(hash(kernel))
                for device in ("sm_80", "sm_90"):
                    assert len(kernel_cache.compile_cuda(head + kernel, device)) > 1000
    return results


def check(build, reference, inputs, tolerance=2e-6):
    """Runs one kernel (checked against ATen on the way) and compares with eager in double precision."""
    fd = define(build, inputs)
    results = run(fd, inputs)
    wanted = reference(*(t.double() if t.is_floating_point() else t for t in inputs))
    wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    for result, exact in zip(results, wanted, strict=True):
        assert result.shape == exact.shape
        torch.testing.assert_close(result.double(), exact.double(), rtol=tolerance, atol=tolerance)
    return fd


def text_of(fd):
    code = fd.last_kernel_code()
    assert "__global__" in code
    return code[code.index("struct nvf_args") :]


def heuristics(fd, inputs):
    explanation = fd.explain(inputs, _enable_options=list(target().options))
    (kernel,) = (segment for segment in explanation.segments if segment.kind == "kernel")
    return kernel.scheduler, kernel.heuristics


def scaled(fd, x, w):
    return fd.ops.mul(fd.ops.sin(x), fd.ops.broadcast(w, [True, False]))


def softmax(fd, x):
    e = fd.ops.exp(fd.ops.sub(x, fd.ops.max(x, [-1], keepdim=True)))
    return fd.ops.div(e, fd.ops.sum(e, [-1], keepdim=True))


SHAPES = [(1, 1), (3, 1), (1, 7), (2, 31), (5, 64), (33, 129), (7, 1000), (2, 4096), (70, 96)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pointwise_with_a_broadcast(device, shape):
    x, w = torch.randn(shape, device=device), torch.randn(shape[1], device=device)
    check(scaled, lambda x, w: x.sin() * w, [x, w])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax(device, shape):
    check(softmax, lambda x: x.softmax(-1), [torch.randn(shape, device=device)])


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 33), (300, 64), (4096, 5), (2048, 96)], ids=str)
def test_outer_sum(device, shape):
    check(lambda fd, x: fd.ops.sum(x, [0]), lambda x: x.sum(0), [torch.randn(shape, device=device)], 2e-5)


@pytest.mark.parametrize("shape", [(1, 40000), (3, 70001), (1, 2, 70000)], ids=str)
def test_few_long_rows_are_cut_into_parts(device, shape):
    x = torch.randn(shape, device=device)
    fd = check(lambda fd, x: fd.ops.sum(x, [-1]), lambda x: x.sum(-1), [x], 2e-4)
    assert "parts" in heuristics(fd, [x])[1] and "nvf_stage1" in text_of(fd)


def test_a_full_reduction(device):
    x = torch.randn(257, 129, device=device)
    check(lambda fd, x: fd.ops.max(x, [0, 1]), lambda x: x.amax(), [x])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int32])
@pytest.mark.parametrize("shape", [(1, 1), (31, 33), (64, 64), (65, 200)], ids=str)
def test_transpose(device, shape, dtype):
    a = torch.randn(shape, device=device).mul(50).to(dtype)
    b = torch.randn(shape[::-1], device=device).mul(50).to(dtype)
    fd = check(lambda fd, a, b: fd.ops.add(fd.ops.permute(a, [1, 0]), b), lambda a, b: a.t() + b, [a, b], 1e-6)
    if min(shape) > 1:
        assert heuristics(fd, [a, b])[0] == "transpose" and "__shared__" in text_of(fd)


def test_rotation_of_halves_is_one_kernel(device):
    x, cos, sin = (torch.randn(s, device=device) for s in ((2, 8, 256, 64), (256, 64), (256, 64)))

    def build(fd, x, cos, sin):
        o = fd.ops
        first, second = o.slice(x, [0, 0, 0, 0], [2, 8, 256, 32]), o.slice(x, [0, 0, 0, 32], [2, 8, 256, 64])
        cos, sin = (o.broadcast(t, [True, True, False, False]) for t in (cos, sin))
        return o.add(o.mul(x, cos), o.mul(o.cat([o.neg(second), first], -1), sin))

    fd = check(build, lambda x, c, s: x * c + torch.cat([-x[..., 32:], x[..., :32]], -1) * s, [x, cos, sin])
    assert text_of(fd).count("nvf_read_const<4>") >= 5


def test_vectors_where_sizes_allow(device):
    wide, odd = torch.randn(64, 512, device=device), torch.randn(64, 511, device=device)
    assert "nvf_read_const<4>" in text_of(check(softmax, lambda x: x.softmax(-1), [wide]))
    assert "nvf_read_const<" not in text_of(check(softmax, lambda x: x.softmax(-1), [odd]))


def test_addresses_and_strides_that_vectors_do_not_fit(device):
    memory = torch.randn(40 * 520 + 1, device=device)
    aligned = memory[: 40 * 512].view(40, 512)
    fd = define(softmax, [aligned])
    for x in (
        aligned,
        memory[1 : 40 * 512 + 1].view(40, 512),
        memory[: 40 * 513].view(40, 513)[:, :512],
        memory[: 40 * 514].view(40, 514)[:, 2:],
        memory[: 40 * 512].view(512, 40).t(),
        torch.randn(1, 512, device=device).expand(40, 512),
        aligned,
    ):
        torch.testing.assert_close(run(define(softmax, [x]), [x])[0], x.softmax(-1))
        if x.is_contiguous():
            torch.testing.assert_close(run(fd, [x])[0], x.softmax(-1))


def test_sizes_choose_among_kernels(device):
    fd = define(softmax, [torch.randn(4, 512, device=device)])
    for shape in ((4, 512), (9, 512), (4, 500), (4, 17), (1, 1), (0, 5), (5, 0), (3, 9000), (4, 512)):
        x = torch.randn(shape, device=device)
        torch.testing.assert_close(run(fd, [x])[0], x.softmax(-1))


def test_outputs_of_different_sizes_in_one_kernel(device):
    """What is known of an index where one of them is computed is not used where the other is."""
    x = torch.randn(5, 8, device=device)
    check(
        lambda fd, x: [fd.ops.exp(x), fd.ops.sin(fd.ops.cat([x, fd.ops.neg(x), x], 0))],
        lambda x: [x.exp(), torch.cat([x, -x, x]).sin()],
        [x],
    )


def test_out_of_range_lookups_raise(device):
    table = torch.randn(10, 6, device=device)
    good, bad = torch.tensor([3, 9], device=device), torch.tensor([3, 10], device=device)
    fd = define(lambda fd, t, i: fd.ops.sin(fd.ops.index_select(t, i, 0)), [table, good])
    options = [name for name in target().options if name != "check_kernels"]
    with pytest.raises(IndexError, match="out of range"):
        fd.execute([table, bad], _enable_options=options)
        if device.startswith("cuda"):
            torch.cuda.synchronize()  # a GPU tells at the next run
            fd.execute([table, good], _enable_options=options)
    (result,) = fd.execute([table, good], _enable_options=options)
    torch.testing.assert_close(result, table[good].sin())


def test_threads_share_a_definition(device):
    inputs = [torch.randn(64, 128 + 8 * k, device=device) for k in range(6)]
    fd = define(softmax, inputs[:1])
    failures = []

    def work(x):
        try:
            for _ in range(3):
                torch.testing.assert_close(run(fd, [x])[0], x.softmax(-1))
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_kernels_of_a_hand_made_schedule(device):
    from nvfuser_direct import ParallelType

    x = torch.randn(50, 100, device=device)
    with FusionDefinition() as fd:
        tv = fd.ops.mul(fd.from_pytorch(x), 2.0)
        fd.add_output(tv)
    tv.merge(0, 1)
    tv.split(0, 64)
    tv.axis(0).parallelize(ParallelType.grid_x)
    tv.axis(1).parallelize(ParallelType.block_x)
    options = [name for name in target().options if name == "emulate_cuda"]
    if options:
        pytest.skip("manual_execute takes no options")
    torch.testing.assert_close(fd.manual_execute([x])[0], x * 2)


def test_a_text_that_does_not_compile_says_why():
    if kernel_cache.why_no_nvrtc():
        pytest.skip(kernel_cache.why_no_nvrtc())
    with pytest.raises(RuntimeError, match=r"(?s)undefined.*sm_90"):
        kernel_cache.compile_cuda("__global__ void f() { undefined(); }", "sm_90")
    with pytest.raises(RuntimeError, match="sm_1"):
        kernel_cache.compile_cuda("__global__ void f() {}", "sm_1")


# --- a GPU alone ---


@pytest.mark.cuda
def test_the_current_stream_is_used():
    with on_target("cuda"):
        x = torch.randn(1 << 22, device="cuda")
        fd = define(lambda fd, x: fd.ops.mul(x, 2.0), [x])
        options = ["generated_kernels"]
        fd.execute([x], _enable_options=options)
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            y = x + 1
            (z,) = fd.execute([y], _enable_options=options)
        assert not stream.query(), "the run has waited"
        stream.synchronize()
        torch.testing.assert_close(z, (x + 1) * 2)


@pytest.mark.cuda
def test_a_captured_graph_replays():
    x = torch.randn(64, 4096, device="cuda")
    fd = define(softmax, [x])
    options = ["generated_kernels"]
    for _ in range(2):
        fd.execute([x], _enable_options=options)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (y,) = fd.execute([x], _enable_options=options)
    for seed in range(3):
        torch.manual_seed(seed)
        x.copy_(torch.randn_like(x))
        graph.replay()
        torch.testing.assert_close(y, x.softmax(-1))


@pytest.mark.cuda
def test_parts_give_the_same_bits_every_time():
    x = torch.randn(3, 1 << 20, device="cuda")
    fd = define(lambda fd, x: fd.ops.sum(x, [1]), [x])
    (first,) = fd.execute([x], _enable_options=["generated_kernels"])
    for _ in range(1000):
        assert torch.equal(fd.execute([x], _enable_options=["generated_kernels"])[0], first)


@pytest.mark.cuda
def test_more_than_2_to_the_31_elements():
    x = torch.zeros((1 << 31) + 8, dtype=torch.bfloat16, device="cuda")
    x[-5:] = 3
    fd = define(lambda fd, x: fd.ops.cast(fd.ops.mul(x, 2.0), DataType.BFloat16), [x])
    (y,) = fd.execute([x], _enable_options=["generated_kernels"])
    assert y[-6:].tolist() == [0, 6, 6, 6, 6, 6] and y[0].item() == 0
    assert fd.explain([x], _enable_options=["generated_kernels"]).kernels == 1


@pytest.mark.cuda
def test_no_memory_left_is_an_error_that_passes():
    x = torch.randn(1 << 20, device="cuda")

    def outer(fd, x):
        row, column = (fd.ops.broadcast(x, which) for which in ([True, False], [False, True]))
        return fd.ops.mul(row, column)

    fd = define(outer, [x])
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            fd.execute([x], _enable_options=["generated_kernels"])
    small = define(lambda fd, x: fd.ops.sin(x), [x])
    torch.testing.assert_close(small.execute([x], _enable_options=["generated_kernels"])[0], x.sin())
