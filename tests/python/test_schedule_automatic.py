"""fd.sched.can_schedule, find_compatible_schedulers, compute_heuristics and schedule: CPU schedulers by name."""

import pytest
import torch
from nvfuser_direct import (
    FusionDefinition,
    HeuristicParams,
    PointwiseParams,
    ReductionParams,
    SchedulerType,
    schedule,
)

S = SchedulerType
ALL = [S.no_op, S.pointwise, S.matmul, S.reduction, S.inner_persistent, S.inner_outer_persistent, S.outer_persistent]
ALL += [S.transpose, S.expr_eval, S.resize, S.none]


def pointwise(fd, x):
    return fd.ops.exp(fd.ops.add(x, 1.0))


def row_sums(fd, x):
    return fd.ops.exp(fd.ops.sum(fd.ops.abs(x), [1]))


def column_sums(fd, x):
    return fd.ops.sum(x, [0])


def softmax(fd, x, dim=1):
    e = fd.ops.exp(fd.ops.sub(x, fd.ops.max(x, [dim], keepdim=True)))
    return fd.ops.div(e, fd.ops.sum(e, [dim], keepdim=True))


def column_softmax(fd, x):
    return softmax(fd, x, 0)


def transposed(fd, x):
    return fd.ops.neg(fd.ops.permute(x, [1, 0]))


def product(fd, x):
    return fd.ops.matmul(x, fd.ops.permute(x, [1, 0]))


def view(fd, x):
    return fd.ops.permute(x, [1, 0])


def two_reductions(fd, x):
    return fd.ops.sum(fd.ops.mul(x, fd.ops.sum(x, [1], keepdim=True)), [0])


CASES = {
    pointwise: [S.pointwise],
    row_sums: [S.reduction],
    column_sums: [S.reduction],
    softmax: [S.inner_persistent],
    column_softmax: [S.outer_persistent],
    transposed: [S.transpose, S.pointwise],
    view: [S.no_op, S.transpose, S.pointwise],
    two_reductions: [],
}


def definition(build, x):
    with FusionDefinition() as fd:
        fd.add_output(build(fd, fd.from_pytorch(x)))
    return fd


@pytest.mark.parametrize("build", CASES)
def test_compatible_schedulers(build):
    x = torch.randn(40, 70)
    fd = definition(build, x)
    assert schedule.find_compatible_schedulers(fd.fusion, [x]) == CASES[build]
    for kind in ALL:
        taken, reason = schedule.can_schedule(fd.fusion, kind, [x])
        assert taken == (kind in CASES[build])
        name = str(kind).split(".")[1]
        assert (reason == "") == taken and (taken or reason.startswith(f"Scheduler _{name}_ ***rejected*** because : "))


@pytest.mark.parametrize("build", [build for build, kinds in CASES.items() if kinds])
@pytest.mark.parametrize("shape", [(40, 70), (1, 5), (3, 40000), (2000, 3)], ids=str)
def test_what_is_scheduled_runs(build, shape):
    x = torch.randn(shape)
    for kind in CASES[build]:
        with FusionDefinition() as fd:
            fd.add_output(build(fd, fd.from_pytorch(x)))
            if not schedule.can_schedule(fd.fusion, kind, [x])[0]:
                continue  # a dimension of one is none to transpose or reduce
            params = fd.sched.schedule(fd.fusion, kind, [x])
        assert isinstance(params, HeuristicParams) and params.scheduler_type == kind
        fd.manual_validate([x], definition(build, x).execute([x]))


def test_heuristics_change_nothing_and_can_be_applied():
    x = torch.randn(40, 70)
    with FusionDefinition() as fd:
        y = pointwise(fd, fd.from_pytorch(x))
        fd.add_output(y)
        before = str(y)
        params = fd.sched.compute_heuristics(fd.fusion, S.pointwise, [x])
        assert str(y) == before
        assert isinstance(params, PointwiseParams) and params.scheduler == "pointwise" and params.heuristics
        assert params == fd.sched.compute_heuristics(fd.fusion, S.pointwise, [x])
        params.vectorization_factor = 2
        assert fd.sched.schedule(fd.fusion, S.pointwise, params) is None
        assert "blockIdx.x" in str(y)
    torch.testing.assert_close(fd.manual_execute([x], params)[0], (x + 1).exp())


def test_parameters_say_what_was_chosen():
    x = torch.randn(40, 70)
    params = schedule.compute_heuristics(definition(softmax, x).fusion, S.inner_persistent, [x])
    assert isinstance(params, ReductionParams) and params.persistent_kernel and params.fastest_dim
    assert params.scheduler == "inner reduction" and "40" in params.heuristics and params.input_sizes == [[40, 70]]
    params = schedule.compute_heuristics(definition(column_sums, x).fusion, S.reduction, [x])
    assert not params.persistent_kernel and not params.fastest_dim and params.scheduler_type == S.reduction
    assert "chosen_type" not in repr(params)
    # Made by hand: the sizes are guessed.
    fd = definition(row_sums, x)
    fd.sched.schedule(fd.fusion, S.reduction, ReductionParams())
    fd.manual_validate([x], [x.abs().sum(1).exp()])
    with pytest.raises(NotImplementedError, match="rfactor cannot be evaluated"):
        fd.manual_validate([x])


def test_library_nodes():
    x = torch.randn(4, 4)
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.matmul(fd.from_pytorch(x), fd.from_pytorch(x)))
    assert schedule.find_compatible_schedulers(fd.fusion, [x, x]) == [S.expr_eval]
    mixed = definition(lambda fd, t: fd.ops.exp(fd.ops.matmul(t, t)), x)
    assert schedule.find_compatible_schedulers(mixed.fusion, [x]) == []
    assert "library" in schedule.can_schedule(mixed.fusion, S.pointwise, [x])[1]


def test_explain_shows_a_schedule_made_by_hand():
    x = torch.randn(40, 70)
    fd = definition(pointwise, x)
    fd.sched.schedule(fd.fusion, S.pointwise, [x])
    fd.manual_execute([x])
    (segment,) = fd.explain([x], profile=True, runs=2).segments
    assert (segment.kind, segment.scheduler) == ("kernel", "user") and segment.seconds > 0


def test_errors():
    x = torch.randn(40, 70)
    fd = definition(pointwise, x)
    with pytest.raises(RuntimeError, match=r"_reduction_ \*\*\*rejected\*\*\* because : the segment has no reductions"):
        schedule.schedule(fd.fusion, S.reduction, [x])
    sums = definition(row_sums, x).fusion
    expected = "Scheduler _pointwise_ ***rejected*** because : cannot find reference tensor"
    assert schedule.can_schedule(sums, S.pointwise, [x]) == (False, expected)
    with pytest.raises(RuntimeError, match="rejected"):
        schedule.compute_heuristics(fd.fusion, S.matmul, [x])
    for call in (schedule.can_schedule, schedule.compute_heuristics, schedule.schedule):
        with pytest.raises(RuntimeError, match="rank"):
            call(fd.fusion, S.pointwise, [torch.randn(3)])
        with pytest.raises(RuntimeError, match="inputs"):
            call(fd.fusion, S.pointwise, [])
        with pytest.raises(TypeError):
            call(fd.fusion, "pointwise", [x])
    with pytest.raises(NotImplementedError, match="CUDA"):
        schedule.warp_specialize(None)
