"""define_tensor in its three forms, define_scalar, define_vector, from_pytorch."""

import pytest
import torch
from helpers import ALL_DTYPES, NVF, dtype_id, make
from nvfuser_direct import DataType, FusionDefinition

INT64_MAX = 2**63 - 1


def printed(*args, **kwargs) -> str:
    """The printed definition line of a tensor."""
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.neg(fd.define_tensor(*args, **kwargs)))
    return repr(fd).splitlines()[1].strip()


# --- define_tensor -------------------------------------------------------------------------------------------------------


def test_shape_with_a_list_of_contiguity():
    assert printed([-1, 1], [True, None]) == (
        "tv0 = fd.define_tensor(shape=[-1, 1], contiguity=[True, None], dtype=DataType.Float, is_cpu=False)"
    )
    assert printed(shape=(2, -1), contiguity=(False, True), dtype=DataType.Double) == (
        "tv0 = fd.define_tensor(shape=[2, -1], contiguity=[False, True], dtype=DataType.Double, is_cpu=False)"
    )


def test_shape_with_one_flag_for_all():
    assert "contiguity=[True, None, True]" in printed([-1, 1, 5], contiguity=True)
    assert "contiguity=[False, None, False]" in printed([-1, 1, 5], contiguity=False)
    assert "contiguity=[False, False]" in printed([-1, -1])


def test_sizes_and_strides():
    assert printed([2, 3], [3, 1]) == (
        "tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)"
    )
    assert "shape=[2, 3]" in printed([2, 3], [3, 1], static_sizes=True)
    assert "shape=[-1, 1]" in printed(sizes=[2, 1], strides=[1, 1], dtype=DataType.Half)
    assert "contiguity=[False, True]" in printed([2, 3], [6, 1])
    line = printed([2, 3], [1, 2])
    assert "contiguity=[True, True]" in line and "stride_order=[0, 1]" in line


def test_descending_stride_order_is_as_none():
    assert printed([-1, -1], [True, True], stride_order=[1, 0]) == printed([-1, -1], [True, True])
    assert printed([-1, -1], [True, True], stride_order=[-1, -2]) == printed([-1, -1], [True, True])
    assert "stride_order=[0, 1]" in printed([-1, -1], [True, True], stride_order=[0, 1])
    assert "stride_order=[0, 1]" in printed([-1, -1], [True, True], stride_order=[-2, -1])
    assert "stride_order=[1, 2, 0]" in printed([-1, -1, -1], [True, True, True], DataType.Float, False, [1, 2, 0])


def test_contiguity_is_listed_in_allocation_order():
    """A column-major matrix whose rows have a gap: the outer dim in memory (dim 1) is the one that is not contiguous."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [False, True], stride_order=[0, 1])
        fd.add_output(fd.ops.neg(x))
    buffer = torch.randn(5, 4)
    good = buffer[:, :3].t()
    assert good.stride() == (1, 4)
    assert torch.equal(fd.execute([good])[0], -good)
    with pytest.raises(RuntimeError, match="stride mismatch with contiguity info"):
        fd.execute([torch.randn(3, 5)])


def test_expanded_dims_are_declared_by_none():
    with FusionDefinition() as fd:
        x = fd.define_tensor([3, -1], contiguity=[None, True])
        fd.add_output(fd.ops.mul(x, 2.0))
    x = torch.arange(4.0).expand(3, 4)
    assert torch.equal(fd.execute([x])[0], x * 2)
    with pytest.raises(RuntimeError, match="stride mismatch with contiguity info"):
        fd.execute([torch.randn(3, 4)])


def test_zero_dim_and_cpu_flag():
    assert printed([], []) == "tv0 = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Float, is_cpu=False)"
    assert "is_cpu=True" in printed([], [], is_cpu=True)
    with pytest.raises(RuntimeError, match="CPU non-scalar tensor is not supported!"):
        printed([-1], [True], is_cpu=True)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_every_dtype(dtype):
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.set(fd.define_tensor([-1], contiguity=True, dtype=NVF[dtype])))
    x = make((5,), dtype)
    (result,) = fd.execute([x])
    assert result.dtype == dtype and torch.equal(result, x)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"shape": [-1, -1], "contiguity": [True, True, True]},
        {"shape": [-1, -1], "contiguity": [True]},
        {"shape": [-1, -1], "contiguity": []},
        {"shape": [-2], "contiguity": [True]},
        {"shape": [-1, -5], "contiguity": True},
        {"shape": [-1, -1], "contiguity": [True, True], "stride_order": [0, 0]},
        {"shape": [-1, -1], "contiguity": [True, True], "stride_order": [0, 2]},
        {"shape": [-1, -1], "contiguity": [True, True], "stride_order": [0, -3]},
        {"shape": [-1, -1], "contiguity": [True, True], "stride_order": [0]},
        {"shape": [-1, -1], "contiguity": [True, True], "stride_order": [0, 1, 2]},
        {"sizes": [2, 3], "strides": [3, -1]},
        {"sizes": [2, 3], "strides": [3]},
    ],
    ids=str,
)
def test_refused_shapes(kwargs):
    with pytest.raises(RuntimeError):
        printed(**kwargs)


def test_the_refused_value_and_its_index_are_named():
    with pytest.raises(RuntimeError, match="-7.*1|1.*-7"):
        printed([4, -7], contiguity=True)


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"shape": [2.0], "contiguity": [True]},
        {"shape": [INT64_MAX + 1], "contiguity": [True]},
        {"shape": [-(2**63) - 1], "contiguity": [True]},
        {"shape": "ab", "contiguity": [True]},
        {"shape": [2], "contiguity": ["yes"]},
        {"shape": [2], "contiguity": [True], "dtype": torch.float32},
        {"shape": [2], "contiguity": [True], "dtype": "float"},
        {"shape": [2], "no_such_argument": 1},
        {"shape": None},
    ],
    ids=str,
)
def test_calls_that_fit_no_form(kwargs):
    with pytest.raises(TypeError):
        printed(**kwargs)


def test_input_order_is_definition_order():
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1], contiguity=True)
        s = fd.define_scalar(DataType.Double)
        b = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.sub(fd.ops.mul(a, s), b))
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    assert fd.execute([a, 3.0, b])[0].tolist() == [-7.0, -14.0]


def test_unused_inputs_still_count():
    with FusionDefinition() as fd:
        fd.define_tensor([-1], contiguity=True)
        b = fd.define_tensor([-1], contiguity=True)
        fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.neg(b))
    assert fd.execute([torch.zeros(9), torch.ones(2), 5])[0].tolist() == [-1.0, -1.0]
    with pytest.raises(RuntimeError):
        fd.execute([torch.ones(2)])


# --- define_scalar, define_vector ----------------------------------------------------------------------------------------


def scalar_line(*args, **kwargs):
    """(number of inputs, printed text) of a scalar used in `full`."""
    with FusionDefinition() as fd:
        s = fd.define_scalar(*args, **kwargs)
        assert not s.is_tensor()
        fd.add_output(fd.ops.full([2], s, DataType.ComplexDouble))
    return len(fd.fusion.inputs()), repr(fd)


@pytest.mark.parametrize(
    "dtype", ["Double", "Float", "Int", "Int32", "Bool", "ComplexDouble", "ComplexFloat", "Half", "BFloat16"]
)
def test_symbolic_scalars(dtype):
    for args, kwargs in [
        ((getattr(DataType, dtype),), {}),
        ((), {"dtype": getattr(DataType, dtype)}),
        ((None, getattr(DataType, dtype)), {}),
        ((), {"value": None, "dtype": getattr(DataType, dtype)}),
    ]:
        count, text = scalar_line(*args, **kwargs)
        assert count == 1
        assert f"define_scalar(None, dtype=DataType.{dtype})" in text


def test_a_symbolic_scalar_is_double_by_default():
    count, text = scalar_line()
    assert count == 1 and "dtype=DataType.Double" in text


@pytest.mark.parametrize(
    "value,expected",
    [(3.0, "3.00000"), (1e-5, "1.00000e-05"), (-2, "-2"), (0.5, "0.500000"), (3 + 0.5j, "3.00000+0.500000j")],
    ids=str,
)
def test_constants_are_not_inputs_and_print_inline(value, expected):
    count, text = scalar_line(value)
    assert count == 0 and f"fill_value={expected}" in text


def test_constants_of_other_dtypes_get_a_line():
    count, text = scalar_line(2.5, dtype=DataType.Float)
    assert count == 0 and "fd.define_scalar(2.50000, dtype=DataType.Float)" in text
    count, text = scalar_line(2, dtype=DataType.Int32)
    assert count == 0 and "fd.define_scalar(2, dtype=DataType.Int32)" in text


def test_constants_are_cast_to_the_dtype():
    with FusionDefinition() as fd:
        for value, dtype in [
            (2.75, DataType.Int),
            (3, DataType.Double),
            (2, DataType.Bool),
            (True, DataType.Bool),
            (1.5, DataType.ComplexDouble),
        ]:
            fd.add_output(fd.ops.full([1], fd.define_scalar(value, dtype=dtype), DataType.ComplexDouble))
    assert [t.item() for t in fd.execute([], device="cpu")] == [2, 3, 1, 1, 1.5]


def test_a_bool_without_dtype_is_an_int():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True, dtype=DataType.Bool)
        fd.add_output(fd.ops.add(x, fd.define_scalar(True)))
        fd.add_output(fd.ops.add(x, fd.define_scalar(True, dtype=DataType.Bool)))
    results = fd.execute([torch.tensor([True, False])])
    assert [t.dtype for t in results] == [torch.int64, torch.bool]


def test_infinities_and_nan_as_constants():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        for value in (float("inf"), float("-inf"), float("nan")):
            fd.add_output(fd.ops.add(x, value))
    text = repr(fd)
    assert 'float("inf")' in text and 'float("-inf")' in text and 'float("nan")' in text
    results = fd.execute([torch.zeros(1)])
    assert results[0].item() == float("inf") and results[1].item() == float("-inf") and results[2].isnan().all()


def test_scalar_errors():
    with FusionDefinition() as fd:
        for arguments in [("x",), ([1],), (torch.ones(1),), (1, "int"), (1, 2)]:
            with pytest.raises(TypeError):
                fd.define_scalar(*arguments)
        with pytest.raises((TypeError, RuntimeError)):
            fd.define_scalar(None)
        fd.add_output(fd.ops.full([1], 0.0, DataType.Float))


def test_vectors_are_symbolic_ints():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        vector = fd.define_vector(2)
        assert isinstance(vector, list) and len(vector) == 2
        fd.add_output(fd.ops.reshape(x, vector))
    x = torch.arange(6.0)
    for sizes in ([2, 3], (3, 2), [6, 1]):
        assert fd.execute([x, sizes])[0].shape == tuple(sizes)
    assert fd.execute([x, 1, 6])[0].shape == (1, 6)
    with pytest.raises(RuntimeError):
        fd.execute([x, [2, 3, 1]])
    with pytest.raises(TypeError), FusionDefinition() as bad:
        bad.define_vector([2, 3])


# --- from_pytorch --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tensor,expected",
    [
        (torch.ones(2, 3), "shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)"),
        (torch.ones(2, 1), "shape=[-1, 1], contiguity=[True, None], dtype=DataType.Float, is_cpu=False)"),
        (
            torch.ones(2, 3).t(),
            "shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False, stride_order=[0, 1])",
        ),
        (torch.ones(2, 4)[:, :3], "shape=[-1, -1], contiguity=[False, True], dtype=DataType.Float, is_cpu=False)"),
        (torch.ones(2, 6)[:, ::2], "shape=[-1, -1], contiguity=[True, False], dtype=DataType.Float, is_cpu=False)"),
        (torch.ones(4, dtype=torch.int32), "shape=[-1], contiguity=[True], dtype=DataType.Int32, is_cpu=False)"),
        (torch.tensor(2.0), "shape=[], contiguity=[], dtype=DataType.Float, is_cpu=True)"),
    ],
    ids=lambda v: str(v)[:24],
)
def test_from_pytorch_text(tensor, expected):
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.set(fd.from_pytorch(tensor)))
    assert repr(fd).splitlines()[1].strip() == "tv0 = fd.define_tensor(" + expected
    assert torch.equal(fd.execute([tensor])[0], tensor)


def test_from_pytorch_static_sizes_and_expanded():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.set(fd.from_pytorch(torch.ones(2, 3), static_sizes=True)))
    assert "shape=[2, 3]" in repr(fd)
    expanded = torch.arange(3.0).expand(4, 3)
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.sum(fd.from_pytorch(expanded), [0]))
    assert torch.equal(fd.execute([expanded])[0], expanded.sum(0))


def test_from_pytorch_takes_what_the_definition_can_run():
    x = torch.randn(2, 3, 4, requires_grad=True)
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.exp(fd.from_pytorch(x)))
    (result,) = fd.execute([x])
    assert not result.requires_grad
    torch.testing.assert_close(result, torch.exp(x.detach()))


def test_from_pytorch_errors():
    with FusionDefinition() as fd:
        for bad in (3, None, [1.0], "tensor"):
            with pytest.raises((TypeError, AttributeError, ValueError)):
                fd.from_pytorch(bad)
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            fd.from_pytorch(torch.ones(2, dtype=torch.int16))
        fd.add_output(fd.ops.full([1], 0.0, DataType.Float))
