"""PythonProfiler and NVFUSER_PROF: what they say of a run, and that nothing is kept without them."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import nvfuser_direct
import pytest
import torch
from explain_helpers import KERNELS, defined
from nvfuser_direct import FusionDefinition, PythonProfiler, get_fusion_profile, reset_profiler

REPO = Path(__file__).resolve().parents[2]

FUSION_FIELDS = (
    "verbose fusion_id segments cuda_evt_time_ms host_time_ms compile_time_ms kernel_time_ms effective_bandwidth_gbs "
    "percentage_peak_bandwith input_bytes output_bytes kernel_profiles"
).split()
KERNEL_FIELDS = (
    "name segment_id device stream correlation_id compile_time_ms time_ms effective_bandwidth_gbs "
    "percentage_peak_bandwidth grid_str block_str cluster_str shared_mem_str registers input_bytes output_bytes "
    "scheduler"
).split()


def linear_and_add(fd, x, y, w):
    return fd.ops.add(fd.ops.linear(x, w), y)


def profiled(fd, inputs):
    with PythonProfiler() as profiler:
        fd.execute(inputs, _enable_options=KERNELS)
    return profiler.profile


def test_a_library_call_and_a_kernel():
    inputs = [torch.randn(2, 4, 16), torch.randn(2, 4, 16), torch.randn(16, 16)]
    fd = defined(linear_and_add, inputs)
    profile = profiled(fd, inputs)
    assert profile.segments == 2
    call, kernel = profile.kernel_profiles
    assert (call.name, call.scheduler, call.grid_str) == ("linear", "expr_eval", "")
    assert kernel.name == "kernel_1 (pointwise)" and kernel.scheduler == "pointwise"
    assert (call.segment_id, kernel.segment_id) == (0, 1) and (call.correlation_id, kernel.correlation_id) == (0, 1)
    size = 2 * 4 * 16 * 4
    assert kernel.input_bytes == 2 * size and kernel.output_bytes == size
    assert call.input_bytes == size + 16 * 16 * 4
    assert profile.input_bytes == 2 * size + 16 * 16 * 4 and profile.output_bytes == size
    assert kernel.grid_str == "[1]" and kernel.block_str == "[1]"


def test_every_field_is_there_and_times_add_up():
    x = torch.randn(64, 128)
    profile = profiled(defined(lambda fd, t: fd.ops.sum(fd.ops.exp(t), [1]), [x]), [x])
    for name in FUSION_FIELDS:
        assert getattr(profile, name) is not None, name
    (kernel,) = profile.kernel_profiles
    for name in KERNEL_FIELDS:
        assert getattr(kernel, name) is not None, name
    assert kernel.device == -1 and kernel.stream == 0 and kernel.registers == 0
    assert 0 < kernel.time_ms == pytest.approx(profile.kernel_time_ms)
    assert profile.kernel_time_ms <= profile.cuda_evt_time_ms * 1.000001 <= profile.host_time_ms
    moved = kernel.input_bytes + kernel.output_bytes
    assert kernel.effective_bandwidth_gbs == pytest.approx(moved / kernel.time_ms / 1e6)
    assert 0 < kernel.percentage_peak_bandwidth == pytest.approx(profile.percentage_peak_bandwith)
    assert "segment 0" in str(profile) and "kernel_0" in repr(kernel)


def test_compile_time_counts_once():
    x = torch.randn(5, 7)
    fd = defined(lambda fd, t: fd.ops.exp(t), [x])
    first, second = profiled(fd, [x]), profiled(fd, [x])
    assert 0 < first.kernel_profiles[0].compile_time_ms <= first.compile_time_ms < first.host_time_ms
    assert second.compile_time_ms == second.kernel_profiles[0].compile_time_ms == 0


def test_results_are_those_of_a_plain_run():
    x = torch.randn(33, 65)
    fd = defined(lambda fd, t: fd.ops.sum(fd.ops.exp(t), [1]), [x])
    plain = fd.execute([x], _enable_options=KERNELS)[0]
    with PythonProfiler():
        assert torch.equal(fd.execute([x], _enable_options=KERNELS)[0], plain)


def test_the_last_run_counts_and_an_open_block_can_be_asked():
    small, large = torch.randn(3), torch.randn(3, 4, 5)
    fd = defined(lambda fd, t: fd.ops.exp(t), [small])
    other = defined(lambda fd, t: fd.ops.exp(t), [large])
    with PythonProfiler() as profiler:
        fd.execute([small])
        assert profiler.profile.input_bytes == 12
        other.execute([large])
        assert profiler.profile.input_bytes == 240
    fd.execute([small])
    assert profiler.profile.input_bytes == 240


def test_runs_of_other_threads_are_profiled():
    x = torch.randn(6)
    fd = defined(lambda fd, t: fd.ops.exp(t), [x])
    with PythonProfiler() as profiler:
        thread = threading.Thread(target=fd.execute, args=([x],))
        thread.start()
        thread.join()
    assert profiler.profile.input_bytes == 24


def test_many_threads_at_once():
    x = torch.randn(64, 64)
    fd = defined(lambda fd, t: fd.ops.sum(t, [0]), [x])
    with PythonProfiler() as profiler:
        threads = [threading.Thread(target=lambda: [fd.execute([x]) for _ in range(50)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert profiler.profile.segments == 1


def test_blocks_nest():
    x = torch.randn(6)
    fd = defined(lambda fd, t: fd.ops.exp(t), [x])
    with PythonProfiler() as outer:
        with PythonProfiler() as inner:
            fd.execute([x])
        assert inner.profile.segments == 1
        fd.execute([x])
    assert outer.profile.segments == 1


def test_nothing_is_kept_outside():
    x = torch.randn(6)
    fd = defined(lambda fd, t: fd.ops.exp(t), [x])
    reset_profiler()
    fd.execute([x])
    with pytest.raises(RuntimeError, match="no fusion has been profiled"):
        get_fusion_profile()
    with PythonProfiler():
        fd.execute([x])
    assert get_fusion_profile().segments == 1
    reset_profiler()
    with pytest.raises(RuntimeError):
        get_fusion_profile()


def test_errors():
    with PythonProfiler() as profiler:
        pass
    with pytest.raises(RuntimeError, match="no fusion has run"):
        _ = profiler.profile
    with pytest.raises(RuntimeError, match="no fusion has run"):
        _ = PythonProfiler().profile
    with pytest.raises(RuntimeError, match="active already"), profiler, profiler:
        pass
    # A block that ends with an exception stops profiling all the same.
    with pytest.raises(KeyError), PythonProfiler():
        raise KeyError
    x = torch.randn(6)
    reset_profiler()
    defined(lambda fd, t: fd.ops.exp(t), [x]).execute([x])
    with pytest.raises(RuntimeError):
        get_fusion_profile()


def test_a_run_that_fails_leaves_the_profiler_usable():
    fd = defined(lambda fd, t, i: fd.ops.index_select(t, i, 0), [torch.randn(4, 4), torch.tensor([1])])
    with PythonProfiler() as profiler:
        with pytest.raises(IndexError):
            fd.execute([torch.randn(4, 4), torch.tensor([7])], _enable_options=KERNELS)
        fd.execute([torch.randn(4, 4), torch.tensor([3])], _enable_options=KERNELS)
    assert profiler.profile.segments == 1


def test_views_are_segments_without_a_kernel():
    x = torch.randn(3, 4)
    profile = profiled(defined(lambda fd, t: fd.ops.permute(t, [1, 0]), [x]), [x])
    assert profile.segments == 1 and profile.kernel_profiles == []
    assert profile.kernel_time_ms == 0 and profile.effective_bandwidth_gbs == 0


def test_fusion_profile_timer():
    from nvfuser_direct.benchmark_utils import FusionProfileTimer

    x = torch.randn(100, 100)
    fd = defined(lambda fd, t: fd.ops.exp(t), [x])
    timer = FusionProfileTimer()
    timer.set_fd(fd)
    start = timer()
    fd.execute([x])
    end = timer()
    assert 0 == start < end == timer()
    timer.cleanup()
    timer.cleanup()
    fd.execute([x])
    assert timer() == 0


PROGRAM = """
import torch
from nvfuser_direct import FusionDefinition, get_fusion_profile
with FusionDefinition() as fd:
    fd.add_output(fd.ops.exp(fd.define_tensor([-1], contiguity=True)))
fd.execute([torch.ones(4)])
print("host", get_fusion_profile().host_time_ms > 0)
"""


@pytest.mark.parametrize("option", ["enable", "enable.nocupti", "print", "print.nocupti", "print.verbose"])
def test_environment(option):
    environment = {**os.environ, "PYTHONPATH": str(REPO / "python"), "OMP_NUM_THREADS": "1", "NVFUSER_PROF": option}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("host True\n")
    assert done.stdout.startswith("fusion 0: 1 segments") == option.startswith("print")
    assert ("workspace" in done.stdout) == (option == "print.verbose")


def test_names_are_public():
    for name in ("PythonProfiler", "FusionProfile", "KernelProfile", "get_fusion_profile", "reset_profiler"):
        assert name in nvfuser_direct.__all__
    assert FusionDefinition is nvfuser_direct.FusionDefinition
