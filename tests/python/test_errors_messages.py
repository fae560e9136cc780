"""Errors name the operator and what did not fit, and come as Python exceptions of the documented class."""

import re

import pytest
import torch
from helpers import NVF
from nvfuser_direct import DataType, FusionDefinition


def message_of(build, *shapes_and_dtypes):
    """Text of the RuntimeError that `build(fd, *tensors)` raises at definition."""
    with pytest.raises(RuntimeError) as caught, FusionDefinition() as fd:
        tensors = [
            fd.define_tensor(list(shape), contiguity=True, dtype=NVF[dtype]) for shape, dtype in shapes_and_dtypes
        ]
        build(fd, *tensors)
    return str(caught.value)


F, D, INT, C = torch.float32, torch.float64, torch.int64, torch.complex64
M, V = ((-1, -1), F), ((-1,), F)

NAMED = {
    "permute": (lambda fd, x: fd.ops.permute(x, [0, 0]), [M]),
    "reshape": (lambda fd, x: fd.ops.reshape(x, [-1, -1]), [M]),
    "squeeze": (lambda fd, x: fd.ops.squeeze(x, [5]), [M]),
    "broadcast": (lambda fd, x: fd.ops.broadcast(x, [True]), [M]),
    "broadcast_in_dim": (lambda fd, x: fd.ops.broadcast_in_dim(x, [2, 2, 3], [0]), [M]),
    "expand": (lambda fd, x: fd.ops.expand(x, [4]), [M]),
    "slice": (lambda fd, x: fd.ops.slice(x, [0], [1]), [M]),
    "pad": (lambda fd, x: fd.ops.pad(x, [1, 1, 1]), [M]),
    "cat": (lambda fd, x, y: fd.ops.cat([x, y], 0), [M, V]),
    "stride_order": (lambda fd, x: fd.ops.stride_order(x, [0, 0]), [M]),
    "sum": (lambda fd, x: fd.ops.sum(x, [7]), [M]),
    "max": (lambda fd, x: fd.ops.max(x, [0]), [((-1,), C)]),
    "matmul": (lambda fd, x, y: fd.ops.matmul(x, y), [M, ((-1, -1), D)]),
    "linear": (lambda fd, x, y: fd.ops.linear(x, y), [M, ((-1, -1), D)]),
    "bitwise_and": (lambda fd, x: fd.ops.bitwise_and(x, x), [M]),
    "nextafter": (lambda fd, x: fd.ops.nextafter(x, x), [((-1,), INT)]),
    "gcd": (lambda fd, x: fd.ops.gcd(x, x), [M]),
    "imag": (lambda fd, x: fd.ops.imag(x), [M]),
    "var_mean": (lambda fd, x: fd.ops.var_mean(x, [0]), [((-1,), torch.float16)]),
    "triu": (lambda fd, x: fd.ops.triu(x), [V]),
    "scatter": (lambda fd, x, y: fd.ops.scatter(x, y, 1.0, 5), [M, ((-1, -1), INT)]),
    "take_along_axis": (lambda fd, x, y: fd.ops.take_along_axis(x, y, 0), [M, ((-1,), INT)]),
    "embedding_fwd": (lambda fd, x, y: fd.ops.embedding_fwd(x, y), [((-1,), INT), V]),
    "iota": (lambda fd: fd.ops.iota(5, 0, 0), []),
    "grouped_mm": (lambda fd, x, y: fd.ops.grouped_mm(x, x, y), [M, ((-1,), INT)]),
    "add": (lambda fd, x, y: fd.ops.add(x, y), [((3, 4), F), ((3, 5), F)]),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_operator_is_named(name):
    build, tensors = NAMED[name]
    text = message_of(build, *tensors)
    assert name in text, text


@pytest.mark.parametrize("name", NAMED)
def test_no_source_places_or_raw_types_leak(name):
    """User errors carry no C++ file, line or mangled name."""
    build, tensors = NAMED[name]
    text = message_of(build, *tensors)
    assert not re.search(r"\.(cpp|h):\d+|INTERNAL|std::|_ZN", text), text
    assert len(text) < 600


def test_shapes_appear_where_sizes_are_static():
    text = message_of(lambda fd, x, y: fd.ops.add(x, y), ((3, 4), F), ((3, 5), F))
    assert "4" in text and "5" in text


def test_dtypes_appear_where_dtypes_clash():
    text = message_of(lambda fd, x, y: fd.ops.matmul(x, y), M, ((-1, -1), D)).lower()
    assert "float" in text and "double" in text


def test_calls_that_fit_no_overload_name_the_operator():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        for call in (
            lambda: fd.ops.add(x),
            lambda: fd.ops.sum("x"),
            lambda: fd.ops.permute(x, [0.5]),
            lambda: fd.ops.exp(x, x),
        ):
            with pytest.raises(TypeError) as caught:
                call()
            assert re.search(r"add|sum|permute|exp", str(caught.value))
        fd.add_output(x)


def test_errors_at_run_time_name_what_failed():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.reshape(x, [3, 5]))
    with pytest.raises(RuntimeError) as caught:
        fd.execute([torch.ones(2, 4)])
    assert "reshape" in str(caught.value).lower() or "15" in str(caught.value) or "8" in str(caught.value)
    with FusionDefinition() as fd:
        a, b = (fd.define_tensor([-1, -1], contiguity=True) for _ in range(2))
        fd.add_output(fd.ops.matmul(a, b))
    with pytest.raises(RuntimeError, match="matmul|mat1|K|3.*4|size"):
        fd.execute([torch.ones(2, 3), torch.ones(4, 5)])


def test_number_of_inputs_is_in_the_message():
    with FusionDefinition() as fd:
        a, b = (fd.define_tensor([-1], contiguity=True) for _ in range(2))
        fd.add_output(fd.ops.add(a, b))
    with pytest.raises(RuntimeError, match=r"2.*1|1.*2"):
        fd.execute([torch.ones(2)])


@pytest.mark.parametrize("value", [2**70, -(2**70)], ids=str)
def test_integers_beyond_64_bits(value):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True, dtype=DataType.Int)
        with pytest.raises((TypeError, OverflowError, RuntimeError)):
            fd.ops.add(x, value)
        with pytest.raises((TypeError, OverflowError, RuntimeError)):
            fd.define_scalar(value)
        fd.add_output(x)
