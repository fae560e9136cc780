"""Schedule methods of TensorView and the functions of fd.sched: what they do to the loops, and that results stay the same."""

import nvfuser_direct
import pytest
import torch
from nvfuser_direct import (
    BroadcastOp,
    FusionDefinition,
    IdMappingMode,
    LoadStoreOpType,
    MemoryType,
    Merge,
    ParallelType,
    ReshapeOp,
    Split,
    SqueezeOp,
    idm,
    schedule,
)


def loops(tv) -> list[str]:
    """The sizes of the loops as text."""
    return [str(id.extent()) if not id.extent().is_symbolic() else "?" for id in tv.get_loop_domain()]


def test_split_merge_and_reorder_change_the_loops_only():
    with FusionDefinition() as fd:
        x = fd.define_tensor([4, 6], contiguity=True)
        y = fd.ops.exp(x)
        fd.add_output(y)
        logical = [str(id) for id in y.get_logical_domain()]
        y.split(1, 3)
        assert loops(y) == ["4", "2", "3"]
        y.merge(0, 1)
        assert loops(y) == ["8", "3"]
        y.reorder({0: 1})
        assert loops(y) == ["3", "8"]
        y.outer_split(1, 2)
        assert loops(y) == ["3", "2", "4"]
        y.inner_split(2, 2)
        assert loops(y) == ["3", "2", "2", "2"]
        assert [str(id) for id in y.get_logical_domain()] == logical
    t = torch.randn(4, 6)
    torch.testing.assert_close(fd.execute([t])[0], t.exp())


def test_transforms_are_reached_through_definitions():
    with FusionDefinition() as fd:
        y = fd.ops.exp(fd.define_tensor([4, 6], contiguity=True))
        fd.add_output(y)
        y.split(1, 3)
        split = y.axis(1).definition()
        assert isinstance(split, Split) and str(split.inner().extent()) == "3" and str(split.outer().extent()) == "2"
        assert split.input(0) is y.get_logical_domain()[1]
        y.merge(0, 1)
        merge = y.axis(0).definition()
        assert (
            isinstance(merge, Merge) and merge.inner() is split.outer() and merge.outer() is y.get_logical_domain()[0]
        )


def test_classes_of_shape_operations():
    with FusionDefinition() as fd:
        x = fd.define_tensor([2, 1, 3], contiguity=True)
        squeezed = fd.ops.squeeze(x, [1])
        widened = fd.ops.broadcast(squeezed, [False, True, False])
        flat = fd.ops.reshape(squeezed, [6])
        for output in (widened, flat):
            fd.add_output(output)
    assert isinstance(squeezed.definition(), SqueezeOp)
    assert isinstance(widened.definition(), BroadcastOp)
    assert isinstance(flat.definition(), ReshapeOp)
    assert squeezed.definition().input(0) is x and squeezed.definition().output(0) is squeezed
    assert x.definition() is None and len(squeezed.uses()) == 2


@pytest.mark.parametrize(
    "change,error",
    [
        (lambda tv: tv.split(5, 2), RuntimeError),
        (lambda tv: tv.split(0, 0), RuntimeError),
        (lambda tv: tv.split(0, 2.5), TypeError),
        (lambda tv: tv.split(0, "2"), TypeError),
        (lambda tv: tv.merge(0, 0), RuntimeError),
        (lambda tv: tv.merge(0, 9), RuntimeError),
        (lambda tv: tv.reorder({0: 7}), RuntimeError),
        (lambda tv: tv.reorder({0: 1, 1: 1}), RuntimeError),
        (lambda tv: tv.axis(3), RuntimeError),
        (lambda tv: tv.rfactor([0]), RuntimeError),
        (lambda tv: tv.set_memory_type(MemoryType.shared), RuntimeError),
        (lambda tv: tv.definition().input(9), IndexError),
        (lambda tv: tv.set_device_mesh(None), NotImplementedError),
        (lambda tv: tv.swizzle1d(0, ParallelType.mesh_x), NotImplementedError),
    ],
    ids=range(14),
)
def test_impossible_schedules_are_refused(change, error):
    with FusionDefinition() as fd:
        x = fd.define_tensor([4, 6], contiguity=True)
        y = fd.ops.exp(x)
        fd.add_output(y)
        with pytest.raises(error):
            change(y)
    t = torch.randn(4, 6)
    torch.testing.assert_close(fd.execute([t])[0], t.exp())


def test_caches_keep_the_result():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.exp(x)
        fd.add_output(y)
        first = x.cache_after(LoadStoreOpType.cp_async)
        last = y.cache_before()
        first.set_memory_type(MemoryType.shared)
        assert first.definition().input(0) is x and y.definition().input(0) is last
        assert "_s_" in str(first) and "_l_" in str(last)
    t = torch.randn(3, 5)
    torch.testing.assert_close(fd.execute([t])[0], t.exp())


def scheduled_softmax():
    """exp(x + b) and its row sums, with the loops of exp merged, split and parallel."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([8, 16], contiguity=True)
        b = fd.define_tensor([16], contiguity=True)
        added = fd.ops.add(x, fd.ops.broadcast(b, [True, False]))
        powers = fd.ops.exp(added)
        fd.add_output(powers)
        copy = x.cache_after()
        powers.merge(0, 1)
        powers.split(0, 32)
        powers.axis(0).parallelize(ParallelType.grid_x)
        powers.axis(1).parallelize(ParallelType.block_x)
    return fd, copy, added, powers


def test_transform_like_gives_all_tensors_the_reference_loops():
    fd, copy, added, powers = scheduled_softmax()
    schedule.transform_like(powers)
    assert loops(powers) == ["4", "32"]
    assert loops(copy) == ["4", "32"] and loops(added) == ["4", "32"]
    x, b = torch.randn(8, 16), torch.randn(16)
    torch.testing.assert_close(fd.execute([x, b])[0], (x + b).exp())


def test_transform_like_of_selected_tensors():
    _, copy, added, powers = scheduled_softmax()
    schedule.transform_like(powers, [added])
    assert loops(added) == ["4", "32"] and loops(copy) == ["8", "16"]


def test_bounded_transform_backward_stops_at_the_given_tensors():
    _, copy, added, powers = scheduled_softmax()
    schedule.bounded_transform_backward(powers, -1, [added], True)
    assert loops(added) == ["8", "16"]
    schedule.bounded_transform_backward(powers, -1, [copy], True)
    assert loops(added) == ["4", "32"] and loops(copy) == ["8", "16"]
    assert [id.parallel_type() for id in added.get_loop_domain()] == [ParallelType.grid_x, ParallelType.block_x]


def test_parallelize_like_copies_parallel_types():
    _, copy, added, powers = scheduled_softmax()
    schedule.transform_like(powers)
    schedule.parallelize_like(powers, selected_tensors=[added], selected_parallel_types={ParallelType.grid_x})
    assert [id.parallel_type() for id in added.get_loop_domain()] == [ParallelType.grid_x, ParallelType.serial]
    schedule.parallelize_like(powers)
    assert [id.parallel_type() for id in copy.get_loop_domain()] == [ParallelType.grid_x, ParallelType.block_x]


def test_loops_before_a_reshape_follow_those_after_it():
    with FusionDefinition() as fd:
        x = fd.define_tensor([2, 3, 4], contiguity=True)
        y = fd.ops.exp(x)
        z = fd.ops.reshape(y, [6, 4])
        fd.add_output(z)
        z.split(0, 2)
        schedule.transform_like(z)
        assert loops(y) == ["3", "2", "4"]
    t = torch.randn(2, 3, 4)
    torch.testing.assert_close(fd.execute([t])[0], t.exp().reshape(6, 4))


def test_a_reduction_and_an_iteration_are_not_merged():
    with FusionDefinition() as fd:
        y = fd.ops.exp(fd.define_tensor([4, 6], contiguity=True))
        total = fd.ops.sum(y, [1])
        fd.add_output(y)
        fd.add_output(total)
        y.merge(0, 1)
        schedule.transform_like(y)
        assert loops(total) == ["4", "6"]


def test_inlining():
    fd, copy, added, powers = scheduled_softmax()
    schedule.transform_like(powers)
    with pytest.raises(RuntimeError, match="no Fusion is being defined"):
        schedule.inline_most()
    schedule.inline_at(powers, 1)
    assert "ca_pos( 1 )" in str(copy) and "ca_pos( 1 )" in str(added) and "ca_pos" not in str(powers)
    with pytest.raises(RuntimeError):
        schedule.inline_at(powers, 5)
    with nvfuser_direct.FusionGuard(fd.fusion):
        schedule.inline_most()
    assert "ca_pos( 2 )" in str(added)


def test_same_dimensions_are_mapped():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.exp(fd.ops.permute(x, [1, 0]))
        fd.add_output(y)
    graph = idm.IdModel(fd.fusion).maybe_build_graph(IdMappingMode.exact)
    sets = graph.disjoint_val_sets()
    assert sets.strict_are_mapped(x.axis(0), y.axis(1)) and not sets.strict_are_mapped(x.axis(0), y.axis(0))
    graph.map_vals(x.axis(0), y.axis(0))
    assert graph.disjoint_val_sets().strict_are_mapped(x.axis(0), y.axis(0))
