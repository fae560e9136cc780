"""Schedules made by hand: manual_execute, KernelExecutor and print_kernel run and print what the user scheduled."""

import pytest
import torch
from nvfuser_direct import (
    DataType,
    FusionDefinition,
    FusionExecutorCache,
    KernelExecutor,
    ParallelType,
    PythonProfiler,
)


def normalized(split=0, parallel=False, inline=True, static=False):
    """x / sum(|x|) over rows, with the loops of the result split and shared out as asked."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([13, 70] if static else [-1, -1], contiguity=True)
        total = fd.ops.sum(fd.ops.abs(x), [1], keepdim=True)
        y = fd.ops.div(x, total)
        fd.add_output(y)
        if split:
            y.split(1, split)
            y.axis(2).parallelize(ParallelType.block_x)
        if parallel:
            y.axis(0).parallelize(ParallelType.grid_x)
        if inline:
            fd.sched.inline_most()
    return fd


def expected(x):
    return x / x.abs().sum(1, keepdim=True)


@pytest.mark.parametrize("split", [0, 1, 7, 32, 100])
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("inline", [False, True])
def test_every_schedule_gives_the_same_values(split, parallel, inline):
    fd = normalized(split, parallel, inline)
    for shape in ((13, 70), (1, 5), (200, 33)):
        x = torch.randn(shape)
        (result,) = fd.manual_validate([x])
        torch.testing.assert_close(result, expected(x))


def test_static_sizes_merges_and_reorders():
    with FusionDefinition() as fd:
        x = fd.define_tensor([6, 8, 5], contiguity=True)
        y = fd.ops.exp(fd.ops.add(x, 1.0))
        fd.add_output(y)
        y.merge(0, 1)
        y.split(0, 5)
        y.reorder({0: 2, 2: 0})
        fd.sched.inline_most()
    x = torch.randn(6, 8, 5)
    torch.testing.assert_close(fd.manual_execute([x])[0], (x + 1).exp())


def test_rfactor_and_caches():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.sum(x, [1])
        fd.add_output(y)
        x.cache_after()
        y.split(1, 16)
        y.rfactor([2])
    x = torch.randn(9, 100)
    torch.testing.assert_close(fd.manual_execute([x])[0], x.sum(1))
    fd.manual_validate([x], [x.sum(1)])


@pytest.mark.parametrize("outermost", [False, True])
def test_a_reduction_is_not_shared_out(outermost):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.sum(x, [1])
        fd.add_output(y)
        if outermost:
            y.reorder({0: 1, 1: 0})
        y.axis(0 if outermost else 1).parallelize(ParallelType.grid_x)
    x = torch.randn(40, 3000)
    torch.testing.assert_close(fd.manual_execute([x])[0], x.sum(1), rtol=1e-4, atol=1e-4)


def test_a_scheduled_kernel_shares_its_rows_out():
    fd = normalized(split=32, parallel=True)
    text = fd.fusion.print_kernel()
    assert "nvf_stage0" in text and "32L" in text
    assert "begin; " in text.split("nvf_stage1")[1]
    x = torch.randn(13, 70)
    fd.manual_execute([x])
    assert isinstance(fd.ke, KernelExecutor) and fd.ke.is_compiled()


def test_outputs_that_are_written_into_inputs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.add(x, 1.0), x)
        fd.add_output(fd.ops.mul(x, 2.0))
    x = torch.arange(4.0)
    (doubled,) = fd.manual_execute([x])
    assert torch.equal(doubled, 2 * torch.arange(4.0)) and torch.equal(x, torch.arange(4.0) + 1)


def test_kernel_executor_by_itself():
    fd = normalized()
    x = torch.randn(4, 6)
    executor = KernelExecutor(fusion_id=3)
    assert not executor.is_compiled()
    with pytest.raises(RuntimeError, match="nothing is compiled"):
        executor.run([x])
    executor.compile(fd.fusion, [x])
    assert executor.is_compiled() and not executor.is_programmatic_dependent_launch_enabled()
    torch.testing.assert_close(executor.run([x])[0], expected(x))
    with pytest.raises(RuntimeError, match="compiled a fusion already"):
        executor.compile(fd.fusion, [x])
    without_args = KernelExecutor()
    without_args.compile(fd.fusion)
    torch.testing.assert_close(without_args.run([x])[0], expected(x))


def test_executor_cache_without_automatic_schedules():
    x = torch.randn(4, 6)
    executor = FusionExecutorCache(normalized(split=4).fusion, auto_schedule=False)
    torch.testing.assert_close(executor.execute([x])[0], expected(x))
    text = executor.get_most_recent_scheduled_ir(tensor_transforms=True)
    assert text.startswith("segment 0 (user: ") and "logical to loop: Split" in text
    assert "nvf_stage0" in executor.get_cuda_kernel([x])


def test_profile_says_user():
    fd = normalized(parallel=True)
    with PythonProfiler(auto_scheduled=False) as profiler:
        fd.manual_execute([torch.randn(8, 9)])
    assert profiler.profile.fusion_id >= 0
    (kernel,) = profiler.profile.kernel_profiles
    assert kernel.scheduler == "user" and kernel.time_ms > 0


def test_no_outputs_of_its_own():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(x)
    x = torch.randn(3)
    assert torch.equal(fd.manual_execute([x])[0], x)


# --- errors ---


def test_manual_and_automatic_execution_exclude_each_other():
    x = torch.randn(2, 3)
    fd = normalized()
    fd.manual_execute([x])
    with pytest.raises(AssertionError, match=r"Use manual_execute\(\)"):
        fd.execute([x])
    other = normalized()
    other.execute([x])
    with pytest.raises(AssertionError, match=r"Use execute\(\)"):
        other.manual_execute([x])
    with pytest.raises(AssertionError, match=r"Use validate\(\)"):
        other.manual_validate([x])


def test_what_is_no_generated_kernel_is_refused():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.matmul(x, x))
    with pytest.raises(RuntimeError, match="cannot become one kernel.*library"):
        fd.manual_execute([torch.randn(3, 3)])
    with pytest.raises(RuntimeError, match="cannot become one kernel"):
        fd.fusion.print_kernel()
    assert "ke" not in vars(fd)
    torch.testing.assert_close(fd.execute([torch.ones(2, 2)])[0], torch.full((2, 2), 2.0))


def test_wrong_inputs_and_definitions():
    fd = normalized()
    with pytest.raises(RuntimeError, match="rank"):
        fd.manual_execute([torch.randn(3)])
    with pytest.raises(RuntimeError, match="inputs"):
        fd.manual_execute([])
    with pytest.raises(RuntimeError, match="dtype"):
        fd.manual_execute([torch.zeros(2, 2, dtype=torch.int64)])
    with pytest.raises(NotImplementedError, match="^Fusion does not exist!"):
        FusionDefinition().manual_execute([])
    with FusionDefinition() as empty:
        empty.define_tensor([-1], contiguity=True, dtype=DataType.Float)
    with pytest.raises(NotImplementedError, match="Fusion is empty!"):
        empty.manual_execute([torch.randn(2)])
    with pytest.raises(RuntimeError, match="differ|mismatch|close"):
        fd.manual_validate([torch.randn(2, 2)], [torch.zeros(2, 2)])
