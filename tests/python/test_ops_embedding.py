"""embedding_fwd against torch.nn.functional.embedding."""

import itertools

import pytest
import torch
from helpers import FLOATS, INTS, assert_values, define_inputs, dtype_id, layouts, make, refused, run1
from nvfuser_direct import DataType, FusionDefinition

ROWS, WIDTH = 11, 6


def indices(shape, dtype=torch.int64, device="cpu"):
    return torch.randint(0, ROWS, shape, generator=torch.Generator().manual_seed(2)).to(dtype).to(device)


@pytest.mark.parametrize("index_dtype", INTS, ids=dtype_id)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 3), (2, 1, 4)], ids=str)
def test_shapes(shape, index_dtype, device):
    index = indices(shape, index_dtype, device)
    for weight in layouts(make((ROWS, WIDTH), torch.float32, device)):
        result = run1(lambda fd, i, w: fd.ops.embedding_fwd(i, w), [index, weight])
        assert_values(result, torch.nn.functional.embedding(index, weight), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_dtypes(dtype, device):
    index, weight = indices((2, 3), device=device), make((ROWS, WIDTH), dtype, device)
    result = run1(lambda fd, i, w: fd.ops.embedding_fwd(i, w), [index, weight])
    assert_values(result, weight[index], rtol=0, atol=0)


OPTIONS = list(itertools.product([None, 2, -2], [None, 1e-5, 1.5], [None, 1.0], [None, True], [None, True]))


@pytest.mark.parametrize("padding_idx,max_norm,norm_type,scale_grad,sparse", OPTIONS, ids=str)
def test_options(padding_idx, max_norm, norm_type, scale_grad, sparse):
    """Options are scalars (constants here) or None; max_norm rescales the rows that are looked up."""
    index, weight = indices((2, 5)), make((ROWS, WIDTH), torch.float32)
    names = ("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
    values = (padding_idx, max_norm, norm_type, scale_grad, sparse)
    dtypes = (DataType.Int, DataType.Double, DataType.Double, DataType.Bool, DataType.Bool)
    given = {n: (v, d) for n, v, d in zip(names, values, dtypes, strict=True) if v is not None}

    with FusionDefinition() as fd:
        i, w = define_inputs(fd, [index, weight])
        kwargs = {name: fd.define_scalar(value, dtype=dtype) for name, (value, dtype) in given.items()}
        fd.add_output(fd.ops.embedding_fwd(i, w, **kwargs))
    (result,) = fd.execute([index, weight.clone()])
    expected = torch.nn.functional.embedding(
        index,
        weight.clone(),
        padding_idx=padding_idx,
        max_norm=max_norm,
        norm_type=2.0 if norm_type is None else norm_type,
        scale_grad_by_freq=bool(scale_grad),
        sparse=bool(sparse),
    )
    assert_values(result, expected)


def test_options_as_scalar_inputs_and_positionally():
    index, weight = indices((2, 5)), make((ROWS, WIDTH), torch.float32)

    def build(fd, i, w, padding, norm, kind):
        return fd.ops.embedding_fwd(i, w, padding, norm, kind, None, None)

    with FusionDefinition() as fd:
        symbols = define_inputs(fd, [index, weight, 3, 1.0, 2.0])
        fd.add_output(build(fd, *symbols))
    (result,) = fd.execute([index, weight.clone(), 3, 1.0, 2.0])
    assert_values(result, torch.nn.functional.embedding(index, weight.clone(), padding_idx=3, max_norm=1.0))


def test_max_norm_does_not_change_the_weight_input():
    """torch renormalises the weight in place; an op of a fusion has no side effect on its inputs."""
    index, weight = indices((4,)), make((ROWS, WIDTH), torch.float32)
    before = weight.clone()
    with FusionDefinition() as fd:
        i, w = define_inputs(fd, [index, weight])
        fd.add_output(fd.ops.embedding_fwd(i, w, max_norm=fd.define_scalar(0.5)))
    fd.execute([index, weight])
    assert torch.equal(weight, before)


def test_weight_computed_in_the_fusion_and_pointwise_after():
    index, weight = indices((3, 4)), make((ROWS, WIDTH), torch.float32)
    result = run1(
        lambda fd, i, w: fd.ops.sum(fd.ops.relu(fd.ops.embedding_fwd(i, fd.ops.mul(w, 2.0))), [-1]), [index, weight]
    )
    assert_values(result, torch.relu(weight.double() * 2)[index].sum(-1).float())


def test_errors():
    index, weight = indices((3,)), make((ROWS, WIDTH), torch.float32)
    embed = lambda fd, i, w: fd.ops.embedding_fwd(i, w)  # noqa: E731
    refused(embed, [index, make((ROWS,), torch.float32)])
    refused(embed, [index, make((2, ROWS, WIDTH), torch.float32)])
    refused(embed, [index.float(), weight])
    for bad in ([2, -2, 4], [ROWS], [0, 1000]):
        refused(embed, [torch.tensor(bad), weight], error=(IndexError, RuntimeError))
    refused(lambda fd, i: fd.ops.embedding_fwd(i), [index], error=TypeError)
    refused(lambda fd, i, w: fd.ops.embedding_fwd(i, 2.0), [index, weight], error=TypeError)
