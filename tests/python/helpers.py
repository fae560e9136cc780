"""Shared helpers of the op, definition, error and edge-case tests.

Every helper works on plain torch tensors and Python scalars: `run` builds a fusion from a Python function, executes it,
and (unless told otherwise) executes the printed form of the same fusion again and compares the two.
"""

from __future__ import annotations

import torch
from nvfuser_direct import DataType, FusionDefinition

HALVES = (torch.float16, torch.bfloat16)
FULLS = (torch.float32, torch.float64)
FLOATS = HALVES + FULLS
INTS = (torch.int32, torch.int64)
BOOL = (torch.bool,)
COMPLEX = (torch.complex64, torch.complex128)
ALL_DTYPES = FLOATS + INTS + BOOL + COMPLEX

NVF = {
    torch.float16: DataType.Half,
    torch.bfloat16: DataType.BFloat16,
    torch.float32: DataType.Float,
    torch.float64: DataType.Double,
    torch.int32: DataType.Int32,
    torch.int64: DataType.Int,
    torch.bool: DataType.Bool,
    torch.complex64: DataType.ComplexFloat,
    torch.complex128: DataType.ComplexDouble,
}

# (rtol, atol) against a reference computed in double precision and rounded once.
TOLERANCE = {
    torch.float16: (1.5e-3, 1e-4),
    torch.bfloat16: (1.2e-2, 1e-3),
    torch.float32: (4e-6, 2e-6),
    torch.float64: (1e-11, 1e-11),
    torch.complex64: (1e-5, 5e-6),
    torch.complex128: (1e-11, 1e-11),
}


def dtype_id(dtype: torch.dtype) -> str:
    """Short test id of a torch dtype."""
    return str(dtype).removeprefix("torch.")


def scalar_dtype(value) -> DataType:
    """DataType of a symbolic scalar that is to receive the Python number `value`."""
    if isinstance(value, bool):
        return DataType.Bool
    if isinstance(value, int):
        return DataType.Int
    if isinstance(value, float):
        return DataType.Double
    assert isinstance(value, complex), value
    return DataType.ComplexDouble


def define_inputs(fd: FusionDefinition, inputs, static_sizes: bool = False) -> list:
    """Define one fusion input for each tensor or Python number in `inputs`."""
    symbols = []
    for item in inputs:
        if isinstance(item, torch.Tensor):
            symbols.append(fd.from_pytorch(item, static_sizes=static_sizes))
        else:
            symbols.append(fd.define_scalar(scalar_dtype(item)))
    return symbols


def define(build, inputs, static_sizes: bool = False) -> FusionDefinition:
    """Definition whose outputs are what `build(fd, *symbols)` returns (one TensorView or a list of them)."""
    with FusionDefinition() as fd:
        outputs = build(fd, *define_inputs(fd, inputs, static_sizes))
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        for output in outputs:
            fd.add_output(output)
    return fd


def run(build, inputs, *, static_sizes: bool = False, round_trip: bool = True, device=None) -> list:
    """Build, execute, and check that inputs are untouched and that the printed fusion gives the same results."""
    fd = define(build, inputs, static_sizes)
    before = [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]
    text = repr(fd)
    results = fd.execute(inputs, device=device)
    for old, new in zip(before, inputs, strict=True):
        if isinstance(old, torch.Tensor):
            torch.testing.assert_close(new, old, rtol=0, atol=0, equal_nan=True)
    if round_trip:
        check_text(text, inputs, results, device=device)
        check_meta(fd, inputs, results)
    return results


def run1(build, inputs, **kwargs) -> torch.Tensor:
    """`run` for a fusion with one output."""
    (result,) = run(build, inputs, **kwargs)
    return result


def as_meta(tensor: torch.Tensor) -> torch.Tensor:
    """Meta tensor with the sizes, strides and dtype of another one."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def check_meta(fd: FusionDefinition, inputs, results) -> None:
    """Meta inputs must give the shapes, dtypes and strides of `results`."""
    if not any(isinstance(item, torch.Tensor) for item in inputs):
        return
    predicted = fd.execute([as_meta(item) if isinstance(item, torch.Tensor) else item for item in inputs])
    for fake, real in zip(predicted, results, strict=True):
        assert fake.device.type == "meta"
        assert (fake.dtype, fake.shape) == (real.dtype, real.shape), repr(fd)
        assert fake.stride() == real.stride(), f"meta strides {fake.stride()}, real {real.stride()}\n{fd!r}"


def from_text(text: str) -> FusionDefinition:
    """Definition rebuilt from the printed form of another one."""
    namespace = {"FusionDefinition": FusionDefinition, "DataType": DataType, "torch": torch}
    exec(compile(text, "<fusion repr>", "exec"), namespace)  # noqa: S102
    with FusionDefinition() as fd:
        namespace["nvfuser_fusion"](fd)
    return fd


def check_text(text: str, inputs, results, device=None) -> None:
    """The fusion printed as `text` must give `results` again, with the same strides."""
    assert text.startswith("def nvfuser_fusion(fd : FusionDefinition) -> None :\n"), text
    assert text.endswith("\n"), text
    try:
        copy = from_text(text)
        again = copy.execute(inputs, device=device)
    except Exception as error:
        raise AssertionError(f"printed fusion does not run: {error}\n{text}") from error
    assert len(again) == len(results), text
    for new, old in zip(again, results, strict=True):
        assert new.dtype == old.dtype, text
        assert new.shape == old.shape, text
        assert new.stride() == old.stride(), f"{new.shape} {new.stride()} {old.stride()} {text}"
        assert_values(new, old, message=text)


def assert_values(actual: torch.Tensor, expected: torch.Tensor, rtol=None, atol=None, message: str = "") -> None:
    """Same dtype, shape and device kind; values equal (ints, bools) or within the tolerance of the dtype."""
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}\n{message}"
    assert actual.shape == expected.shape, f"shape {tuple(actual.shape)}, expected {tuple(expected.shape)}\n{message}"
    default_rtol, default_atol = TOLERANCE.get(actual.dtype, (0.0, 0.0))
    torch.testing.assert_close(
        actual.cpu(),
        expected.cpu(),
        rtol=default_rtol if rtol is None else rtol,
        atol=default_atol if atol is None else atol,
        equal_nan=True,
        msg=(lambda text: f"{text}\n{message}") if message else None,
    )


def make(shape, dtype: torch.dtype, device: str = "cpu", low=-4.0, high=4.0, seed: int = 0, nonzero: bool = False):
    """Random tensor in [low, high], the same for the same arguments; integers when the dtype is one."""
    gen = torch.Generator().manual_seed(1000 + seed)
    shape = tuple(shape)
    if dtype == torch.bool:
        values = torch.randint(int(nonzero), 2, shape, generator=gen).bool()
    elif dtype in INTS:
        values = torch.randint(int(-(-low // 1)), int(high // 1) + 1, shape, generator=gen)
        if nonzero:
            values = torch.where(values == 0, torch.ones_like(values), values)
    elif dtype.is_complex:
        real = torch.rand(shape, generator=gen, dtype=torch.float64) * (high - low) + low
        imag = torch.rand(shape, generator=gen, dtype=torch.float64) * (high - low) + low
        values = torch.complex(real, imag)
    else:
        values = torch.rand(shape, generator=gen, dtype=torch.float64) * (high - low) + low
        if nonzero:
            values = torch.where(values.abs() < 0.25, torch.full_like(values, 0.5), values)
    return values.to(dtype).to(device)


def strided(tensor: torch.Tensor) -> torch.Tensor:
    """Same values with every stride doubled (no dimension contiguous)."""
    buffer = torch.zeros(*tensor.shape, 2, dtype=tensor.dtype, device=tensor.device)
    buffer[..., 0] = tensor
    return buffer[..., 0]


def reversed_layout(tensor: torch.Tensor) -> torch.Tensor:
    """Same values in column-major order."""
    order = tuple(range(tensor.dim() - 1, -1, -1))
    return tensor.permute(order).contiguous().permute(order)


def layouts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensor as it is, column-major, and with gaps between elements."""
    forms = [tensor]
    if tensor.dim() > 1 and tensor.numel() > 1:
        forms.append(reversed_layout(tensor))
    if tensor.dim() > 0 and tensor.numel() > 0:
        forms.append(strided(tensor))
    return forms


def refused(build, inputs, error=RuntimeError, match=None, **kwargs) -> None:
    """Defining or executing the fusion must raise `error`."""
    import pytest

    with pytest.raises(error, match=match):
        run(build, inputs, round_trip=False, **kwargs)
