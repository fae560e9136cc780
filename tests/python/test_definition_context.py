"""The with block of a FusionDefinition: entering, leaving, exceptions, lifetime, empty definitions."""

import gc

import nvfuser_direct
import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition


def test_a_new_definition_is_empty_and_has_the_documented_attributes():
    fd = FusionDefinition()
    assert fd._fusion is None and fd._fusion_guard is None
    assert fd.ops is nvfuser_direct.ops
    assert hasattr(fd, "sched")
    with pytest.raises(TypeError):
        FusionDefinition(3)


def test_free_attributes_may_be_set():
    fd = FusionDefinition()
    fd.note = "mine"
    assert fd.note == "mine"


def test_entering_returns_the_definition_and_leaving_drops_the_guard():
    fd = FusionDefinition()
    with fd as inner:
        assert inner is fd
        assert fd._fusion is not None and fd._fusion_guard is not None
        fd.add_output(fd.ops.full([2], 1.0, DataType.Float))
    assert fd._fusion_guard is None
    assert fd.fusion is not None
    assert torch.equal(fd.execute([], device="cpu")[0], torch.ones(2))


def test_an_exception_in_the_block_is_printed_and_propagates(capsys):
    with pytest.raises(ValueError, match="my own trouble"), FusionDefinition() as fd:
        fd.define_tensor([-1], contiguity=True)
        raise ValueError("my own trouble")
    out = capsys.readouterr().out
    assert "my own trouble" in out and "Traceback" in out


def test_an_op_error_in_the_block_leaves_later_definitions_alone(capsys):
    with pytest.raises(RuntimeError), FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.ops.permute(x, [0, 0])
    capsys.readouterr()
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.neg(x))
    assert torch.equal(fd.execute([torch.ones(3)])[0], -torch.ones(3))


def test_an_error_caught_inside_the_block_does_not_spoil_the_definition():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        with pytest.raises(RuntimeError):
            fd.ops.reshape(x, [-1, -1])
        with pytest.raises(TypeError):
            fd.ops.add(x, "one")
        fd.add_output(fd.ops.add(x, 1.0))
    assert torch.equal(fd.execute([torch.ones(2, 3)])[0], torch.full((2, 3), 2.0))


def test_keyboard_interrupt_and_system_exit_propagate(capsys):
    for kind in (KeyboardInterrupt, SystemExit):
        with pytest.raises(kind), FusionDefinition():
            raise kind
    capsys.readouterr()


def test_executing_before_anything_was_defined():
    fd = FusionDefinition()
    with pytest.raises(NotImplementedError, match="^Fusion does not exist!"):
        fd.execute([])


def test_executing_an_empty_definition():
    with FusionDefinition() as fd:
        pass
    with pytest.raises(NotImplementedError, match="Fusion is empty!"):
        fd.execute([])
    valid, message = fd.validate_definition()
    assert not valid and "Fusion is empty!" in message


def test_executing_a_definition_without_outputs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.ops.neg(x)
    with pytest.raises(NotImplementedError, match="Fusion is empty!"):
        fd.execute([torch.ones(3)])


def test_validate_definition_of_a_good_one():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.full([2], 1.0, DataType.Float))
    valid, _ = fd.validate_definition()
    assert valid is True
    valid, message = FusionDefinition().validate_definition()
    assert valid is False and message.startswith("Fusion does not exist!")


def test_entering_again_starts_a_new_fusion_or_is_refused():
    fd = FusionDefinition()
    with fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.neg(x))
    try:
        with fd:
            y = fd.define_tensor([-1], contiguity=True)
            fd.add_output(fd.ops.mul(y, 3.0))
    except (RuntimeError, AssertionError):
        assert torch.equal(fd.execute([torch.ones(2)])[0], -torch.ones(2))
        return
    assert torch.equal(fd.execute([torch.ones(2)])[0], torch.full((2,), 3.0))


def test_entering_while_inside_does_not_crash(capsys):
    fd = FusionDefinition()
    with fd:
        x = fd.define_tensor([-1], contiguity=True)
        try:
            with fd:
                y = fd.define_tensor([-1], contiguity=True)
                fd.add_output(fd.ops.neg(y))
        except (RuntimeError, AssertionError):
            fd.add_output(fd.ops.neg(x))
    capsys.readouterr()
    try:
        result = fd.execute([torch.ones(2)])
    except (RuntimeError, NotImplementedError):
        return
    assert torch.equal(result[0], -torch.ones(2))


def test_definitions_may_be_nested():
    """The inner block does not disturb the outer one."""
    with FusionDefinition() as outer:
        x = outer.define_tensor([-1], contiguity=True)
        y = outer.ops.add(x, 1.0)
        with FusionDefinition() as inner:
            u = inner.define_tensor([-1], contiguity=True)
            inner.add_output(inner.ops.mul(u, 5.0))
        outer.add_output(outer.ops.mul(y, 2.0))
    ones = torch.ones(3)
    assert torch.equal(inner.execute([ones])[0], ones * 5)
    assert torch.equal(outer.execute([ones])[0], ones * 4)


def test_executing_inside_the_block_of_another_definition():
    with FusionDefinition() as first:
        x = first.define_tensor([-1], contiguity=True)
        first.add_output(first.ops.neg(x))
    with FusionDefinition() as second:
        y = second.define_tensor([-1], contiguity=True)
        assert torch.equal(first.execute([torch.ones(2)])[0], -torch.ones(2))
        second.add_output(second.ops.add(y, 2.0))
    assert torch.equal(second.execute([torch.ones(2)])[0], torch.full((2,), 3.0))


def test_defining_outside_a_block_is_refused():
    fd = FusionDefinition()
    for action in (
        lambda: fd.define_tensor([-1], contiguity=True),
        lambda: fd.define_scalar(1.0),
        lambda: fd.ops.full([2], 1.0, DataType.Float),
        lambda: fd.from_pytorch(torch.ones(2)),
    ):
        with pytest.raises((RuntimeError, AttributeError, AssertionError)):
            action()


def test_ops_after_the_block_are_refused():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.neg(x))
    with pytest.raises(RuntimeError):
        fd.ops.add(x, 1.0)
    assert torch.equal(fd.execute([torch.ones(2)])[0], -torch.ones(2))


def test_a_tensor_of_another_fusion_is_refused():
    with FusionDefinition() as first:
        x = first.define_tensor([-1], contiguity=True)
        first.add_output(first.ops.neg(x))
    with FusionDefinition() as second:
        y = second.define_tensor([-1], contiguity=True)
        for use in (
            lambda: second.ops.add(x, y),
            lambda: second.ops.neg(x),
            lambda: second.ops.sum(x, [0]),
            lambda: second.ops.where(second.ops.gt(y, 0.0), x, y),
            lambda: second.ops.cat([y, x], 0),
            lambda: second.add_output(x),
            lambda: second.add_output(y, x),
            lambda: second.ops.reshape(y, [second.ops.size(x, 0)]),
        ):
            with pytest.raises((RuntimeError, ValueError)):
                use()
        second.add_output(second.ops.neg(y))
    assert torch.equal(second.execute([torch.ones(2)])[0], -torch.ones(2))
    assert torch.equal(first.execute([torch.ones(2)])[0], -torch.ones(2))


def test_a_scalar_of_another_fusion_is_refused():
    with FusionDefinition() as first:
        s = first.define_scalar(DataType.Double)
        first.add_output(first.ops.full([2], s, DataType.Double))
    with FusionDefinition() as second:
        y = second.define_tensor([-1], contiguity=True)
        with pytest.raises((RuntimeError, ValueError)):
            second.ops.mul(y, s)
        second.add_output(second.ops.neg(y))


def test_a_tensor_whose_fusion_is_gone():
    """Reading it stays harmless or raises; using it raises; nothing crashes."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, 4], contiguity=True)
        y = fd.ops.neg(x)
        s = fd.define_scalar(DataType.Double)
        fd.add_output(y)
    del fd
    gc.collect()
    for read in (
        lambda: x.ndim,
        lambda: str(y),
        lambda: x.shape(),
        lambda: y.size(0),
        lambda: s.definition(),
        lambda: y.dtype(),
        lambda: y.axis(0),
        lambda: y.uses(),
    ):
        try:
            read()
        except (RuntimeError, ReferenceError):
            pass
    with FusionDefinition() as other:
        z = other.define_tensor([-1, 4], contiguity=True)
        with pytest.raises((RuntimeError, ReferenceError)):
            other.ops.add(x, z)
        with pytest.raises((RuntimeError, ReferenceError)):
            other.ops.mul(z, s)
        other.add_output(z)


def test_definition_objects_can_be_dropped_in_any_order():
    for _ in range(3):
        with FusionDefinition() as fd:
            x = fd.define_tensor([-1], contiguity=True)
            y = fd.ops.exp(x)
            fd.add_output(y)
        text = str(y)
        fusion = fd.fusion
        results = fd.execute([torch.zeros(3)])
        del fd, x
        gc.collect()
        assert torch.equal(results[0], torch.ones(3)) and text
        del fusion, y
        gc.collect()


def test_tensors_of_the_definition_stay_valid_after_the_first_run():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        y = fd.ops.neg(x)
        fd.add_output(y)
    before = str(y)
    fd.execute([torch.ones(3)])
    assert str(y) == before and y.ndim == 1
    assert not hasattr(fd, "_fusion") or fd._fusion is None or fd.fec is not None
    assert fd.fusion is not None
    assert "fd.ops.neg" in repr(fd)


def test_repr_of_a_definition_without_a_fusion_is_an_error_or_text():
    try:
        text = repr(FusionDefinition())
    except (RuntimeError, AttributeError, TypeError, NotImplementedError):
        return
    assert isinstance(text, str)
