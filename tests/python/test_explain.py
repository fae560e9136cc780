"""fd.explain(inputs): what it says is what runs, and asking changes nothing."""

import json

import pytest
import torch
from explain_helpers import (
    BATCH,
    KERNELS,
    LENGTH,
    MODEL,
    defined,
    plain_block,
    plain_inputs,
    projected_block,
    projected_inputs,
)
from nvfuser_direct import DataType, FusionDefinition


def softmax(fd, x):
    e = fd.ops.exp(fd.ops.sub(x, fd.ops.max(x, [-1], keepdim=True)))
    return fd.ops.div(e, fd.ops.sum(e, [-1], keepdim=True))


def kinds(explanation):
    return [segment.kind for segment in explanation.segments]


# --- an attention block ---


def test_attention_block_around_given_projections():
    inputs = plain_inputs()
    fd = defined(plain_block, inputs)
    explanation = fd.explain(inputs, _enable_options=KERNELS)
    calls = [segment for segment in explanation.segments if segment.kind == "library call"]
    assert [call.ops for call in calls] == [["sdpa_fwd"]]
    assert explanation.library_calls == 1
    assert explanation.kernels <= 4
    kernels = [segment for segment in explanation.segments if segment.kind == "kernel"]
    assert len(kernels) == explanation.kernels
    # The norms are reductions, the gate and the residual one pointwise kernel at the end.
    assert any("reduction" in kernel.scheduler for kernel in kernels)
    assert kernels[-1].scheduler == "pointwise" and kernels[-1].number > calls[0].number
    assert {"sigmoid", "mul", "add"} <= set(kernels[-1].ops)
    assert [t.role for t in kernels[-1].outputs] == ["output 0"]
    fd.validate(inputs)


def test_attention_block_with_projections():
    inputs = projected_inputs()
    fd = defined(projected_block, inputs)
    explanation = fd.explain(inputs, _enable_options=KERNELS)
    calls = [segment.ops for segment in explanation.segments if segment.kind == "library call"]
    assert sorted(name for ops in calls for name in ops) == ["linear", "linear", "linear", "sdpa_fwd"]
    kernels = [segment for segment in explanation.segments if segment.kind == "kernel"]
    assert "reduction" in kernels[0].scheduler
    rotations = [kernel for kernel in kernels if "cat" in kernel.ops]
    assert rotations and all(any("library call" in why for why in kernel.apart) for kernel in rotations)
    text = str(explanation)
    assert "sdpa_fwd" in text and "inner reduction" in text and "apart" in text
    fd.validate(inputs)


# --- what it says of a kernel ---


def test_kernel_names_its_schedule_and_what_refused():
    x = torch.randn(37, 129)
    explanation = defined(softmax, [x], static_sizes=False).explain([x], _enable_options=KERNELS)
    (segment,) = explanation.segments
    assert (segment.kind, segment.kernels, segment.library_calls) == ("kernel", 1, 0)
    assert "reduction" in segment.scheduler and "37" in segment.heuristics and "129" in segment.heuristics
    assert segment.refused["pointwise"] == "the segment has reductions"
    assert segment.reason == "" and segment.apart == []
    assert [t.sizes for t in segment.inputs] == [(37, 129)] and segment.inputs[0].role == "input 0"
    assert [t.dtype for t in segment.outputs] == ["float"] and segment.outputs[0].role == "output 0"
    assert segment.bytes_read == segment.bytes_written == 37 * 129 * 4
    assert segment.stages[-1][0] == 37
    assert segment.loops[segment.outputs[0].name][0] == "parallel 37"
    assert segment.seconds is None and explanation.seconds is None


@pytest.mark.parametrize("shape", [(3, 5), (1, 7), (0, 4), (64, 1)], ids=str)
def test_sizes_are_those_of_the_inputs(shape):
    fd = defined(softmax, [torch.randn(3, 5)], static_sizes=False)
    fd.explain([torch.randn(3, 5)], _enable_options=KERNELS)
    explanation = fd.explain([torch.randn(shape)], _enable_options=KERNELS)
    assert explanation.segments[0].inputs[0].sizes == shape
    assert explanation.segments[-1].outputs[0].sizes == shape


def test_different_reductions_stay_apart():
    def build(fd, x):
        rows = fd.ops.sum(x, [1], keepdim=True)
        return fd.ops.sum(fd.ops.mul(x, rows), [0])

    x = torch.randn(40, 30)
    explanation = defined(build, [x]).explain([x], _enable_options=KERNELS)
    if explanation.kernels > 1:
        assert any("reduce" in why or "reductions" in why for why in explanation.segments[1].apart)
    assert all(segment.kind == "kernel" for segment in explanation.segments)


def test_reads_of_a_slice_and_of_a_table_are_what_they_ask_for():
    def build(fd, table, rows, x):
        part = fd.ops.slice(x, [0, 0], [8, 16])
        return fd.ops.add(fd.ops.index_select(table, rows, 0), part)

    table, rows, x = torch.randn(1000, 16), torch.randint(0, 1000, (8,)), torch.randn(100, 16)
    explanation = defined(build, [table, rows, x]).explain([table, rows, x], _enable_options=KERNELS)
    assert kinds(explanation) == ["kernel"]
    assert explanation.bytes_read == 8 * 16 * 4 + 8 * 8 + 8 * 16 * 4


def test_expanded_dims_count_once():
    x = torch.randn(1, 64).expand(32, 64)
    fd = defined(lambda fd, t: fd.ops.exp(t), [x])
    explanation = fd.explain([x], _enable_options=KERNELS)
    assert explanation.bytes_read == explanation.bytes_written == 64 * 4
    assert explanation.segments[0].outputs[0].sizes == (32, 64)


def test_views_cost_nothing():
    x = torch.randn(4, 6)
    explanation = defined(lambda fd, t: fd.ops.permute(t, [1, 0]), [x]).explain([x])
    assert kinds(explanation) == ["view"]
    assert explanation.bytes_read == explanation.bytes_written == 0
    assert explanation.segments[0].scheduler == "no_op"


def test_library_call_says_why_it_is_no_kernel():
    a = torch.randn(4, 4)
    explanation = defined(lambda fd, x: fd.ops.matmul(x, x), [a]).explain([a], _enable_options=KERNELS)
    (segment,) = explanation.segments
    assert (segment.kind, segment.scheduler, segment.ops) == ("library call", "expr_eval", ["matmul"])
    assert segment.reason and segment.loops == {} and segment.stages == []


# --- asking changes nothing ---


def in_place():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True, dtype=DataType.Float)
        fd.add_output(fd.ops.add(x, 1.0), x)
        fd.add_output(fd.ops.mul(x, 2.0))
    return fd


@pytest.mark.parametrize("profile", [False, True])
def test_inputs_that_a_run_writes_stay(profile):
    x = torch.arange(5.0)
    explanation = in_place().explain([x], profile=profile, runs=2)
    assert torch.equal(x, torch.arange(5.0))
    assert explanation.segments


def test_random_state_stays():
    fd = defined(lambda fd, t: fd.ops.mul(t, fd.ops.rand_like(t)), [torch.randn(8)])
    before = torch.get_rng_state()
    fd.explain([torch.ones(8)], profile=True, runs=2)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_run_afterwards_uses_what_was_compiled():
    x = torch.randn(9, 11)
    fd = defined(softmax, [x])
    assert not hasattr(fd, "fec")
    fd.explain([x], _enable_options=KERNELS)
    assert fd.fec.num_runtimes() == 1
    (result,) = fd.execute([x], _enable_options=KERNELS)
    assert fd.fec.num_runtimes() == 1 and "nvf_stage0" in fd.last_kernel_code()
    torch.testing.assert_close(result, torch.softmax(x, -1))


# --- profiles ---


def test_profile_times_each_segment():
    inputs = projected_inputs()
    explanation = defined(projected_block, inputs).explain(inputs, profile=True, runs=5, _enable_options=KERNELS)
    assert all(segment.seconds > 0 for segment in explanation.segments)
    assert explanation.seconds >= 0.5 * sum(segment.seconds for segment in explanation.segments)
    assert explanation.copy_bandwidth > 1e8
    assert [segment.backends for segment in explanation.segments if "sdpa_fwd" in segment.ops] == [["cpu_flash"]]
    assert "   ran on cpu_flash\n" in str(explanation)
    for segment in explanation.segments:
        if segment.kind == "kernel":
            moved = segment.bytes_read + segment.bytes_written
            assert segment.bandwidth_share == pytest.approx(moved / segment.seconds / explanation.copy_bandwidth)
        elif segment.kind == "view":
            assert segment.bandwidth_share is None
    assert "% of the copy bandwidth" in str(explanation)


def test_to_dict_is_json():
    x = torch.randn(5, 7)
    fd = defined(softmax, [x])
    values = json.loads(json.dumps(fd.explain([x], profile=True, runs=1, _enable_options=KERNELS).to_dict()))
    assert values["device"] == "cpu" and values["kernels"] == 1
    assert values["segments"][0]["inputs"][0]["sizes"] == [5, 7]
    assert values["segments"][0]["seconds"] > 0
    assert set(values["segments"][0]) >= {"kind", "scheduler", "heuristics", "refused", "apart", "bytes_read"}


def test_text_names_kind_scheduler_shapes_and_costs():
    x = torch.randn(LENGTH, MODEL)
    text = str(defined(softmax, [x]).explain([x], _enable_options=KERNELS))
    assert text.startswith("1 segment on cpu: 1 generated kernel, 0 library calls; reads ")
    for part in ("0  kernel: inner reduction", f"T0 float [{LENGTH}, {MODEL}] (input 0)", "not    pointwise", "loops"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 120


# --- errors ---


def test_errors():
    with pytest.raises(NotImplementedError, match="does not exist"):
        FusionDefinition().explain([])
    x = torch.randn(3, 4)
    fd = defined(softmax, [x])
    with pytest.raises(RuntimeError, match="inputs"):
        fd.explain([])
    with pytest.raises(RuntimeError, match="rank"):
        fd.explain([torch.randn(3)])
    with pytest.raises(TypeError):
        fd.explain(3)
    for runs in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="runs"):
            fd.explain([x], profile=True, runs=runs)
    with pytest.raises(RuntimeError, match="Unrecognized enable_option"):
        fd.explain([x], _enable_options=["nonsense"])
    assert fd.explain([x]).segments


def test_heads_behind_a_norm_are_computed_row_by_row():
    """A row's normalization, its heads and their rotation are one task, not one for each element."""
    inputs = plain_inputs()
    kernel = defined(plain_block, inputs).explain(inputs, _enable_options=KERNELS).segments[0]
    tasks = {loops[0] for loops in kernel.loops.values()}
    assert kernel.kind == "kernel" and tasks == {f"parallel {BATCH * LENGTH}"}, kernel.loops
