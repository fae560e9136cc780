"""Outputs: order, repetition, inputs as outputs, in-place outputs, layouts."""

import pytest
import torch
from helpers import define, make
from nvfuser_direct import DataType, FusionDefinition


def test_outputs_come_in_the_order_they_were_added():
    x = torch.tensor([4.0])
    fd = define(lambda fd, t: [fd.ops.neg(t), fd.ops.sqrt(t), fd.ops.mul(t, t)], [x])
    assert [r.item() for r in fd.execute([x])] == [-4.0, 2.0, 16.0]


def test_the_same_tensor_twice_and_an_input_as_output():
    x = torch.tensor([4.0, 5.0])

    def build(fd, t):
        y = fd.ops.neg(t)
        return [y, t, y, t]

    results = define(build, [x]).execute([x])
    assert len(results) == 4
    for result, expected in zip(results, [-x, x, -x, x], strict=True):
        assert torch.equal(result, expected)


def test_intermediate_and_final_results_as_outputs():
    x = make((3, 4), torch.float32)

    def build(fd, t):
        a = fd.ops.exp(t)
        b = fd.ops.sum(a, [1], True)
        return [fd.ops.div(a, b), b, a]

    softmax, total, exponential = define(build, [x]).execute([x])
    torch.testing.assert_close(softmax, torch.softmax(x, 1))
    torch.testing.assert_close(total, torch.exp(x).sum(1, keepdim=True))
    torch.testing.assert_close(exponential, torch.exp(x))


def test_only_tensors_can_be_outputs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        s = fd.define_scalar(DataType.Double)
        for bad in (s, fd.define_scalar(1.0), fd.ops.size(x, 0)):
            with pytest.raises((RuntimeError, TypeError)):
                fd.add_output(bad)
        for bad in (None, 1.0, "x", torch.ones(1), [x]):
            with pytest.raises((RuntimeError, TypeError)):
                fd.add_output(bad)
        with pytest.raises(TypeError):
            fd.add_output()
        fd.add_output(fd.ops.neg(x))


# --- in-place outputs ----------------------------------------------------------------------------------------------------


def test_an_alias_is_written_to_the_input_and_hidden():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.add(x, 1.0), x)
        fd.add_output(fd.ops.mul(x, 10.0))
    t = torch.tensor([1.0, 2.0])
    pointer = t.data_ptr()
    for step in range(3):
        before = t.clone()
        results = fd.execute([t])
        assert len(results) == 1
        assert torch.equal(results[0], before * 10), step
        assert torch.equal(t, before + 1) and t.data_ptr() == pointer


def test_an_alias_by_keyword_only_output():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.neg(x), alias_input=x)
    t = torch.tensor([1.0, 2.0])
    assert fd.execute([t]) == []
    assert t.tolist() == [-1.0, -2.0]


@pytest.mark.parametrize("order", ["before", "after", "both"])
def test_an_alias_that_is_also_returned(order):
    """A plain output added before keeps its place; one added later gives a new place. Both share the input's storage."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        y, z = fd.ops.relu(x), fd.ops.neg(x)
        if order in ("before", "both"):
            fd.add_output(y)
        fd.add_output(z)
        fd.add_output(y, x)
        if order in ("after", "both"):
            fd.add_output(y)
    t = torch.tensor([1.0, -2.0])
    results = fd.execute([t])
    expected = {"before": "yz", "after": "zy", "both": "yzy"}[order]
    assert len(results) == len(expected)
    for result, kind in zip(results, expected, strict=True):
        if kind == "y":
            assert result.tolist() == [1.0, 0.0] and result.data_ptr() == t.data_ptr()
        else:
            assert result.tolist() == [-1.0, 2.0] and result.data_ptr() != t.data_ptr()
    assert t.tolist() == [1.0, 0.0]


def test_an_updated_input_returned_together_with_its_update():
    """The result plainly twice, in place once, and the input itself: three outputs, all in the input's storage."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.where(fd.ops.gt(x, 0.0), x, 0.0)
        fd.add_output(y)
        fd.add_output(y, x)
        fd.add_output(y)
        fd.add_output(x)
    t = make((2, 3), torch.float32)
    expected = torch.relu(t)
    results = fd.execute([t])
    assert len(results) == 3
    assert all(r.data_ptr() == t.data_ptr() for r in results)
    assert torch.equal(t, expected)


def test_swapping_two_inputs_in_place():
    """Both writes see the values from before the call."""
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor([-1], contiguity=True) for _ in range(2))
        fd.add_output(y, x)
        fd.add_output(x, y)
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    fd.execute([a, b])
    assert a.tolist() == [3.0, 4.0] and b.tolist() == [1.0, 2.0]


def test_an_update_does_not_reach_other_outputs_that_read_the_input():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.permute(x, [1, 0]))
        fd.add_output(fd.ops.reshape(x, [-1]))
        fd.add_output(fd.ops.mul(x, 0.0), x)
    t = make((2, 3), torch.float32)
    before = t.clone()
    turned, flat = fd.execute([t])
    assert torch.equal(turned, before.t()) and torch.equal(flat, before.flatten())
    assert torch.equal(t, torch.zeros(2, 3))


def test_an_alias_into_a_strided_input_leaves_the_gaps_alone():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=[False, True])
        y = fd.ops.relu(x)
        fd.add_output(y, x)
        fd.add_output(y)
    buffer = torch.tensor([[-1.0, 2.0, 77.0], [3.0, -4.0, 88.0]])
    view = buffer[:, :2]
    (result,) = fd.execute([view])
    assert buffer.tolist() == [[0.0, 2.0, 77.0], [3.0, 0.0, 88.0]]
    assert result.data_ptr() == buffer.data_ptr() and result.tolist() == [[0.0, 2.0], [3.0, 0.0]]


def test_a_reduction_into_a_running_statistic():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        running = fd.define_tensor([-1], contiguity=True)
        update = fd.ops.add(fd.ops.mul(running, 0.5), fd.ops.mul(fd.ops.sum(x, [0]), 0.5))
        fd.add_output(update, running)
        fd.add_output(fd.ops.neg(x))
    x, state = make((4, 3), torch.float32), torch.ones(3)
    results = fd.execute([x, state])
    assert len(results) == 1
    torch.testing.assert_close(state, 0.5 + 0.5 * x.sum(0))


def test_alias_errors():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        y = fd.ops.neg(x)
        z = fd.ops.exp(y)
        with pytest.raises(RuntimeError):
            fd.add_output(z, y)
        with pytest.raises((RuntimeError, TypeError)):
            fd.add_output(z, 3)
        fd.add_output(z)


def test_an_alias_of_another_dtype_or_size_is_refused():
    with pytest.raises(RuntimeError), FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.gt(x, 0.0), x)
        fd.execute([torch.ones(2)])
    with pytest.raises(RuntimeError), FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.sum(x, [0]), x)
        fd.execute([torch.ones(2, 2)])


# --- layouts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1), (2, 1, 0), (1, 2, 0)], ids=str)
def test_pointwise_results_take_the_layout_of_the_only_input(order):
    base = make((2, 3, 4), torch.float32)
    x = base.permute(order).contiguous().permute([order.index(d) for d in range(3)])
    (result,) = define(lambda fd, t: fd.ops.sin(t), [x]).execute([x])
    assert result.stride() == x.stride()
    torch.testing.assert_close(result, torch.sin(base))


def test_the_larger_input_gives_the_layout():
    x, row = make((3, 4), torch.float32).t(), make((3,), torch.float32)
    fd = define(lambda fd, t, r: fd.ops.add(t, r), [x, row])
    (result,) = fd.execute([x, row])
    assert result.stride() == (1, 4)
    torch.testing.assert_close(result, x + row)


def test_results_of_strided_inputs_are_dense():
    x = make((3, 8), torch.float32)[:, ::2]
    (result,) = define(lambda fd, t: fd.ops.exp(t), [x]).execute([x])
    assert result.stride() == (4, 1)


def test_results_of_expanded_inputs_are_dense():
    x = make((3, 1), torch.float32).expand(3, 4)
    (result,) = define(lambda fd, t: fd.ops.exp(t), [x]).execute([x])
    torch.testing.assert_close(result, torch.exp(x))
    assert result.shape == (3, 4)


def test_an_explicit_order_wins():
    x = make((2, 3, 4), torch.float32)
    fd = define(lambda fd, t: fd.ops.stride_order(fd.ops.exp(t), [0, 2, 1]), [x])
    (result,) = fd.execute([x])
    assert result.stride() == (1, 8, 2)
    with FusionDefinition() as fd:
        t = fd.from_pytorch(x)
        with pytest.raises(TypeError):
            fd.add_output(fd.ops.exp(t), stride_order=[0, 2, 1])
        fd.add_output(t)


def test_a_broadcast_then_ordered_output():
    """Size-one dims keep well-defined strides."""
    x = make((2, 3), torch.float32)
    fd = define(lambda fd, t: fd.ops.stride_order(fd.ops.broadcast(t, [False, True, False]), [0, 2, 1]), [x])
    (result,) = fd.execute([x])
    assert torch.equal(result, x[:, None])
    assert result.stride(0) == 1 and result.stride(2) == 2


def test_a_chain_that_changes_nothing_returns_the_input_storage():
    """Reshapes and permutes that end where they began may be views."""
    x = make((2, 3, 4), torch.float32)
    with FusionDefinition() as fd:
        t = fd.define_tensor([2, 3, 4], contiguity=True)
        fd.add_output(fd.ops.reshape(fd.ops.reshape(t, [6, 4]), [2, 3, 4]))
    (result,) = fd.execute([x])
    assert torch.equal(result, x)
    assert result.data_ptr() == x.data_ptr()


def test_computed_outputs_never_share_storage_with_each_other():
    x = make((4,), torch.float32)
    first, second = define(lambda fd, t: [fd.ops.neg(t), fd.ops.set(fd.ops.neg(t))], [x]).execute([x])
    first.zero_()
    assert torch.equal(second, -x)


def test_alias_round_trip_through_text():
    from helpers import from_text

    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        y = fd.ops.add(x, 1.0)
        fd.add_output(y, x)
        fd.add_output(y)
        fd.add_output(fd.ops.neg(x))
    text = repr(fd)
    t, u = torch.tensor([1.0]), torch.tensor([1.0])
    one, two = fd.execute([t]), from_text(text).execute([u])
    assert [r.item() for r in one] == [r.item() for r in two] == [2.0, -1.0]
    assert t.item() == u.item() == 2.0
