"""cumsum, cumprod, cummin, cummax, triu against torch."""

import pytest
import torch
from helpers import ALL_DTYPES, COMPLEX, FLOATS, INTS, NVF, assert_values, dtype_id, layouts, make, refused, run, run1

SCANS = {
    "cumsum": torch.cumsum,
    "cumprod": torch.cumprod,
    "cummin": lambda x, dim: torch.cummin(x, dim).values,
    "cummax": lambda x, dim: torch.cummax(x, dim).values,
}
CASES = [("cumsum", d) for d in FLOATS + INTS + COMPLEX]
CASES += [("cumprod", d) for d in FLOATS + INTS + COMPLEX]
CASES += [(name, d) for name in ("cummin", "cummax") for d in FLOATS + INTS]
LOOSE = {
    torch.float16: (5e-3, 5e-3),
    torch.bfloat16: (3e-2, 3e-2),
    torch.float32: (1e-5, 1e-5),
    torch.complex64: (2e-5, 2e-5),
}


def reference(name, x, dim):
    """Scan in wide precision; the dtype is that of the operand."""
    wide = x.to(torch.complex128) if x.is_complex() else x.double() if x.is_floating_point() else x
    return SCANS[name](wide, dim).to(x.dtype)


@pytest.mark.parametrize("name,dtype", CASES, ids=lambda v: v if isinstance(v, str) else dtype_id(v))
def test_scan(name, dtype, device):
    rtol, atol = LOOSE.get(dtype, (None, None))
    for shape, dim in [
        ((6,), 0),
        ((6,), -1),
        ((3, 5), 0),
        ((3, 5), 1),
        ((2, 3, 4), -2),
        ((1,), 0),
        ((3, 0), 1),
        ((3, 0), 0),
    ]:
        x = make(shape, dtype, device, low=-2, high=2)
        result = run1(lambda fd, t: getattr(fd.ops, name)(t, dim), [x])  # noqa: B023
        assert_values(result, reference(name, x, dim), rtol=rtol, atol=atol, message=f"{shape} {dim}")


@pytest.mark.parametrize("name", SCANS)
def test_layouts_and_keyword(name, device):
    for x in layouts(make((4, 5), torch.float64, device)):
        for dim in (0, 1):
            assert_values(run1(lambda fd, t: getattr(fd.ops, name)(t, dim=dim), [x]), reference(name, x, dim))  # noqa: B023


@pytest.mark.parametrize("name", SCANS)
def test_static_size_one_dim_is_copied(name):
    x = make((3, 1), torch.float32)
    assert_values(run1(lambda fd, t: getattr(fd.ops, name)(t, 1), [x]), x)


@pytest.mark.parametrize("name", SCANS)
def test_bad_dims(name):
    scan = lambda dim: lambda fd, t: getattr(fd.ops, name)(t, dim)  # noqa: E731
    x = make((3, 4), torch.float32)
    refused(scan(2), [x], match="Tried to access out of boundary index 2. total index: 2")
    refused(scan(-3), [x], match="Tried to access out of boundary index -[13]. total index: 2")
    refused(scan(0), [make((), torch.float32)], match="Tried to access out of boundary index")
    refused(scan(1.0), [x], error=TypeError)
    refused(scan("0"), [x], error=TypeError)
    refused(scan(None), [x], error=TypeError)


INITIAL = {
    "cumsum": (10.0, torch.add),
    "cumprod": (2.0, torch.mul),
    "cummin": (-1.0, torch.minimum),
    "cummax": (1.0, torch.maximum),
}


@pytest.mark.parametrize("name", SCANS)
def test_initial_value(name):
    """`init` takes part as if it stood before the first element."""
    x = make((3, 5), torch.float32)
    value, combine = INITIAL[name]

    def build(fd, t):
        return getattr(fd.ops, name)(t, 1, fd.define_scalar(value, dtype=NVF[torch.float32]))

    assert_values(run1(build, [x]), combine(reference(name, x, 1), torch.tensor(value)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["cummin", "cummax"])
def test_nan_stays_once_seen(name):
    x = torch.tensor([3.0, 1.0, float("nan"), 5.0, 0.0])
    assert_values(run1(lambda fd, t: getattr(fd.ops, name)(t, 0), [x]), SCANS[name](x, 0))


def test_int32_does_not_widen():
    x = torch.full((3,), 2**30, dtype=torch.int32)
    result = run1(lambda fd, t: fd.ops.cumsum(t, 0), [x])
    assert result.dtype == torch.int32
    assert result.tolist() == [2**30, -(2**31), -(2**30)]


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=dtype_id)
def test_triu(dtype, device):
    for shape in [(3, 3), (2, 5), (5, 2), (2, 3, 4), (1, 1), (0, 3), (3, 0), (2, 2, 3, 3)]:
        x = make(shape, dtype, device)
        for diagonal in (-3, -1, 0, 1, 4):
            constant, symbolic = run(
                lambda fd, t, d: [fd.ops.triu(t, diagonal), fd.ops.triu(t, d)],  # noqa: B023
                [x, diagonal],
                round_trip=shape == (2, 5),
            )  # noqa: B023
            assert_values(constant, torch.triu(x, diagonal), rtol=0, atol=0)
            assert_values(symbolic, torch.triu(x, diagonal), rtol=0, atol=0)


def test_triu_default_and_layouts():
    for x in layouts(make((4, 5), torch.float32)):
        assert_values(run1(lambda fd, t: fd.ops.triu(t), [x]), torch.triu(x))


def test_triu_errors():
    refused(lambda fd, t: fd.ops.triu(t, 0), [make((3,), torch.float32)])
    refused(lambda fd, t: fd.ops.triu(t, 0), [make((), torch.float32)])
    refused(lambda fd, t: fd.ops.triu(t, 0.5), [make((3, 3), torch.float32)], error=(RuntimeError, TypeError))
    refused(lambda fd, t: fd.ops.triu(t, "0"), [make((3, 3), torch.float32)], error=TypeError)
