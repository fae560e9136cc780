"""Inputs that do not fit the definition: kind, rank, dtype, sizes, strides. The message names input, expected and actual."""

import pytest
import torch
from helpers import NVF, dtype_id
from nvfuser_direct import DataType, FusionDefinition


def tensor_then_scalar(dtype=DataType.Float, scalar=DataType.Double, contiguity=True, shape=(-1, -1)):
    with FusionDefinition() as fd:
        x = fd.define_tensor(list(shape), contiguity=contiguity, dtype=dtype)
        s = fd.define_scalar(scalar)
        fd.add_output(fd.ops.mul(x, s))
    return fd


GOOD = torch.ones(2, 3)


def test_a_scalar_where_a_tensor_is_expected():
    with pytest.raises(RuntimeError, match=r"Expected input 0, .*, to be an at::Tensor but got scalar 2"):
        tensor_then_scalar().execute([2.0, 1.0])


def test_a_tensor_where_a_scalar_is_expected():
    with pytest.raises(RuntimeError, match=r"Expected input 1, .*, to be a scalar but got float tensor of rank 2"):
        tensor_then_scalar().execute([GOOD, GOOD])


def test_a_tensor_of_another_rank():
    with pytest.raises(
        RuntimeError, match=r"Expected input 0, .*, to be bound to a tensor of rank 2, but got a tensor of rank 3"
    ):
        tensor_then_scalar().execute([torch.ones(1, 2, 3), 1.0])
    with pytest.raises(RuntimeError, match="of rank 2, but got a tensor of rank 0"):
        tensor_then_scalar().execute([torch.tensor(1.0), 1.0])


@pytest.mark.parametrize(
    "actual,name",
    [
        (torch.float16, "__half"),
        (torch.float64, "double"),
        (torch.int64, "int64_t"),
        (torch.bfloat16, "__bfloat"),
        (torch.bool, "bool"),
    ],
    ids=str,
)
def test_a_tensor_of_another_dtype(actual, name):
    with pytest.raises(
        RuntimeError,
        match=f"Expected input 0, .*, to be bound to a tensor of dtype float, but got a tensor of dtype {name}",
    ):
        tensor_then_scalar().execute([GOOD.to(actual), 1.0])


@pytest.mark.parametrize("declared", list(NVF), ids=dtype_id)
@pytest.mark.parametrize("actual", list(NVF), ids=dtype_id)
def test_every_pair_of_dtypes(declared, actual):
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.set(fd.define_tensor([-1], contiguity=True, dtype=NVF[declared])))
    x = torch.ones(2, dtype=actual)
    if declared == actual:
        assert torch.equal(fd.execute([x])[0], x)
        return
    with pytest.raises(RuntimeError, match="to be bound to a tensor of dtype"):
        fd.execute([x])


@pytest.mark.parametrize("declared,value", [("Double", 1j), ("Int", 2.5), ("Int", 1j), ("Bool", 1j)], ids=str)
def test_scalars_of_another_kind(declared, value):
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.full([2], fd.define_scalar(getattr(DataType, declared)), DataType.ComplexDouble))
    with pytest.raises(RuntimeError, match=r"Scalar value .* is not compatible with the expected data type"):
        fd.execute([value], device="cpu")


@pytest.mark.parametrize(
    "declared,value",
    [("Double", 1), ("Double", True), ("ComplexDouble", 1.5), ("ComplexDouble", 2), ("Int", True), ("Double", 2.5)],
    ids=str,
)
def test_scalars_that_convert(declared, value):
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.full([2], fd.define_scalar(getattr(DataType, declared)), DataType.ComplexDouble))
    assert fd.execute([value], device="cpu")[0].tolist() == [complex(value)] * 2


def test_nothing_is_wrong_afterwards():
    fd = tensor_then_scalar()
    for bad in ([2.0, 1.0], [GOOD, GOOD], [torch.ones(2), 1.0], [GOOD.half(), 1.0], [GOOD], []):
        with pytest.raises(RuntimeError):
            fd.execute(bad)
        assert torch.equal(fd.execute([GOOD, 2.0])[0], GOOD * 2)


def test_static_sizes_are_checked():
    fd = tensor_then_scalar(shape=(2, 3))
    assert torch.equal(fd.execute([GOOD, 1.0])[0], GOOD)
    for shape in ((3, 3), (2, 4), (3, 2), (2, 0), (2, 1)):
        with pytest.raises(RuntimeError):
            fd.execute([torch.ones(shape), 1.0])


def test_a_broadcast_dim_must_have_size_one():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.neg(fd.define_tensor([-1, 1], contiguity=[True, None])))
    assert fd.execute([torch.ones(3, 1)])[0].shape == (3, 1)
    with pytest.raises(RuntimeError):
        fd.execute([torch.ones(3, 2)])


def test_sizes_that_must_agree():
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor([-1, -1], contiguity=True) for _ in range(2))
        fd.add_output(fd.ops.add(x, y))
    with pytest.raises(RuntimeError):
        fd.execute([torch.ones(2, 3), torch.ones(2, 4)])
    with pytest.raises(RuntimeError):
        fd.execute([torch.ones(2, 3), torch.ones(3, 3)])


# --- strides -------------------------------------------------------------------------------------------------------------

MISMATCH = "stride mismatch with contiguity info"


def takes(contiguity, shape=(-1, -1), order=None):
    with FusionDefinition() as fd:
        x = fd.define_tensor(list(shape), contiguity=contiguity, stride_order=order or [])
        fd.add_output(fd.ops.sin(x))
    return fd


def wide(rows=4, columns=6):
    return torch.arange(float(rows * columns)).reshape(rows, columns)


ACCEPTED = [
    (True, None, wide()),
    (True, None, wide()[:1, :3]),
    (True, None, wide()[:, :1][:1]),
    (True, None, torch.empty(3, 0)),
    (True, None, torch.empty(0, 3).t()),
    (True, None, torch.ones(1, 1).expand(1, 1)),
    (True, None, torch.ones(4, 1).as_strided((4, 1), (1, 77))),
    ([False, True], None, wide()[:, :3]),
    ([False, False], None, wide()[::2, ::2]),
    ([False, False], None, wide().t()),
    ([True, False], None, wide()[:, ::2]),
    (True, [0, 1], wide().t()),
    ([False, True], [0, 1], wide()[:, :3].t()),
]


@pytest.mark.parametrize("case", range(len(ACCEPTED)))
def test_strides_that_fit(case):
    contiguity, order, tensor = ACCEPTED[case]
    fd = takes(contiguity, order=order)
    fd.execute([wide() if order is None and contiguity is True else tensor])
    torch.testing.assert_close(fd.execute([tensor])[0], torch.sin(tensor))


REFUSED = [
    (True, None, wide()[:, :3]),
    (True, None, wide()[:, ::2]),
    (True, None, wide().t()),
    (True, None, torch.tensor(2.0).expand(3, 3)),
    (True, None, torch.ones(1, 3).expand(3, 3)),
    (True, None, torch.ones(3, 1).expand(3, 3)),
    ([False, True], None, wide()[:, ::2]),
    ([False, True], None, wide().t()),
    (True, [0, 1], wide()),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_strides_that_do_not_fit(case):
    """Also when a good call has filled the caches, with the same sizes."""
    contiguity, order, tensor = REFUSED[case]
    fd = takes(contiguity, order=order)
    with pytest.raises(RuntimeError, match=MISMATCH):
        fd.execute([tensor])
    good = torch.empty(tensor.shape).copy_(tensor)
    good = good.t().contiguous().t() if order else good
    torch.testing.assert_close(fd.execute([good])[0], torch.sin(tensor))
    with pytest.raises(RuntimeError, match=MISMATCH):
        fd.execute([tensor])
    torch.testing.assert_close(fd.execute([good])[0], torch.sin(tensor))


def test_expanded_dims_need_stride_zero():
    fd = takes([None, True], shape=(3, -1))
    x = torch.arange(4.0).expand(3, 4)
    torch.testing.assert_close(fd.execute([x])[0], torch.sin(x))
    with pytest.raises(RuntimeError, match=MISMATCH):
        fd.execute([x.contiguous()])


@pytest.mark.parametrize("sizes", [(2, 3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1), (1, 1, 4), (0, 3, 4)], ids=str)
def test_size_one_dims_do_not_matter_for_contiguity(sizes):
    fd = takes(True, shape=(-1, -1, -1))
    x = torch.randn(sizes)
    loose = x.as_strided(sizes, [s if n != 1 else 991 for s, n in zip(x.stride(), sizes, strict=True)])
    torch.testing.assert_close(fd.execute([loose])[0], torch.sin(x))
