"""validate, validate_with_auto_inferred_outputs, get_val_tolerances."""

import nvfuser_direct
import pytest
import torch
from helpers import define, make
from nvfuser_direct import DataType, FusionDefinition


def row_sums():
    return define(lambda fd, t: [fd.ops.exp(t), fd.ops.sum(t, [1])], [make((3, 4), torch.float32)])


def test_against_the_evaluation_of_the_definition_itself():
    x = make((3, 4), torch.float32)
    results = row_sums().validate([x])
    torch.testing.assert_close(results[0], torch.exp(x))
    torch.testing.assert_close(results[1], x.sum(1))


def test_against_given_references():
    x = make((3, 4), torch.float32)
    results = row_sums().validate([x], [torch.exp(x), x.sum(1)])
    assert len(results) == 2
    results = row_sums().validate([x], reference_outputs=[torch.exp(x), x.sum(1)], device="cpu")
    assert len(results) == 2


def test_keywords_reach_execute():
    x = make((3, 4), torch.float32)
    row_sums().validate([x], _enable_options=["id_model_extra_validation"])
    with pytest.raises(RuntimeError, match="Unrecognized enable_option"):
        row_sums().validate([x], _enable_options=["no_such"])


@pytest.mark.parametrize("kind", ["value", "count", "shape", "nan"])
def test_wrong_references_are_noticed(kind):
    x = make((3, 4), torch.float32)
    good = [torch.exp(x), x.sum(1)]
    bad = {
        "value": [good[0] * 1.01, good[1]],
        "count": good[:1],
        "shape": [good[0], good[1][:, None]],
        "nan": [good[0], torch.full((3,), float("nan"))],
    }[kind]
    with pytest.raises((RuntimeError, AssertionError)):
        row_sums().validate([x], bad)


def test_integers_and_bools_must_be_equal():
    x = make((5,), torch.int64)
    fd = define(lambda fd, t: [fd.ops.add(t, 1), fd.ops.gt(t, 0)], [x])
    fd.validate([x], [x + 1, x > 0])
    for bad in ([x + 2, x > 0], [x + 1, x <= 0]):
        with pytest.raises((RuntimeError, AssertionError)):
            fd.validate([x], bad)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64], ids=str
)
def test_rounding_of_every_float_dtype_is_allowed_for(dtype):
    x = make((64, 64), dtype)
    fd = define(lambda fd, t: fd.ops.mul(t, 1.5), [x])
    wide = x.to(torch.complex128 if dtype.is_complex else torch.float64) * 1.5
    result_dtype = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    fd.validate([x], [wide.to(result_dtype)])


def test_hidden_outputs_are_skipped():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.add(x, 1.0), x)
        fd.add_output(fd.ops.mul(x, 2.0))
    t = torch.tensor([1.0, 2.0])
    results = fd.validate([t.clone()], [t * 2])
    assert len(results) == 1


def test_tolerances_grow_with_the_reduction():
    x = make((2, 1024), torch.float32)
    fd = define(lambda fd, t: [fd.ops.mul(t, 2.0), fd.ops.sum(t, [1])], [x])
    pointwise, total = nvfuser_direct.get_val_tolerances(fd.fusion, [x])
    assert len(pointwise) == 2 and 0 < pointwise[0] < 1e-4 and 0 < pointwise[1] < 1e-4
    assert total[0] >= pointwise[0]


def test_validation_function_of_the_module():
    x = make((3, 4), torch.float32)
    fd = row_sums()
    nvfuser_direct.validate_with_auto_inferred_outputs(fd.fusion, [torch.exp(x), x.sum(1)], [x])
    with pytest.raises(RuntimeError):
        nvfuser_direct.validate_with_auto_inferred_outputs(fd.fusion, [torch.exp(x) + 1, x.sum(1)], [x])


def test_validate_refuses_what_execute_refuses():
    with FusionDefinition() as fd:
        pass
    with pytest.raises(NotImplementedError):
        fd.validate([])
    with pytest.raises(RuntimeError):
        row_sums().validate([torch.ones(3)])
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.full([2], 1.0, DataType.Float))
    assert len(fd.validate([], device="cpu")) == 1


@pytest.mark.parametrize(
    "x",
    [
        torch.arange(3.0).expand(4, 3),
        torch.tensor(2.0).expand(2, 2),
        torch.arange(12.0).reshape(3, 4)[:, ::2],
        torch.empty(0, 3),
    ],
    ids=["expanded", "all expanded", "gaps", "empty"],
)
def test_inputs_of_any_layout(x):
    fd = define(lambda fd, t: fd.ops.mul(t, 2.0), [x])
    (result,) = fd.validate([x])
    assert torch.equal(result, x * 2)
    fd.validate([x], [x * 2])
