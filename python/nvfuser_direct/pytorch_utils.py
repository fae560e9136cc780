"""Conversions between torch's and our types, and helpers for tests on devices with little memory."""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable
from typing import Any

import torch

from nvfuser_direct._C_DIRECT import DataType

_FROM_TORCH = {
    torch.complex128: DataType.ComplexDouble,
    torch.complex64: DataType.ComplexFloat,
    torch.float64: DataType.Double,
    torch.float32: DataType.Float,
    torch.float16: DataType.Half,
    torch.bfloat16: DataType.BFloat16,
    torch.int64: DataType.Int,
    torch.int32: DataType.Int32,
    torch.bool: DataType.Bool,
    complex: DataType.ComplexDouble,
    float: DataType.Double,
    int: DataType.Int,
    bool: DataType.Bool,
}
# Types that not every torch has.
for _name, _dtype in (
    ("float8_e4m3fn", DataType.Float8_e4m3fn),
    ("float8_e5m2", DataType.Float8_e5m2),
    ("float8_e8m0fnu", DataType.Float8_e8m0fnu),
    ("float4_e2m1fn_x2", DataType.Float4_e2m1fn_x2),
):
    if hasattr(torch, _name):
        _FROM_TORCH[getattr(torch, _name)] = _dtype


def torch_dtype_to_nvfuser_dtype(dtype: torch.dtype | type) -> DataType:
    """The DataType of a torch dtype or of the Python types bool, int, float and complex. TypeError for others."""
    try:
        return _FROM_TORCH[dtype]
    except (KeyError, TypeError):
        raise TypeError(f"no DataType corresponds to {dtype!r}") from None


def python_scalar_to_nvfuser_dtype(a: bool | int | float | complex) -> DataType:
    """The DataType of a Python number. TypeError for other objects."""
    for kind in (bool, int, float, complex):
        if isinstance(a, kind):
            return _FROM_TORCH[kind]
    raise TypeError(f"expected a bool, int, float or complex, got {type(a).__name__}")


def retry_on_oom_or_skip_test(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a test: when CUDA memory runs out, frees what it can, tries once more, then skips the test."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except torch.OutOfMemoryError:
            gc.collect()
            torch.cuda.empty_cache()
        try:
            return func(*args, **kwargs)
        except torch.OutOfMemoryError as error:
            import pytest

            pytest.skip(f"out of CUDA memory: {error}")

    return wrapper


# CUdevice_attribute numbers that torch's properties lack.
_DRIVER_ATTRIBUTES = {
    "gpu_clock_rate_khz": 13,
    "gpu_mem_clock_khz": 36,
    "gpu_bus_width_bits": 37,
    "gpu_l2_bytes": 38,
}


def get_device_properties() -> dict[str, Any]:
    """Name, compute capability, clocks, memory and peak bandwidth of CUDA device 0; {} where there is none."""
    if not torch.cuda.is_available():
        return {}
    properties = torch.cuda.get_device_properties(0)
    result: dict[str, Any] = {
        "cuda_major": properties.major,
        "cuda_minor": properties.minor,
        "gpu_name": properties.name,
        "gpu_compute_capability_major": properties.major,
        "gpu_compute_capability_minor": properties.minor,
        "gpu_sm_count": properties.multi_processor_count,
        "gpu_gmem_bytes": properties.total_memory,
    }
    driver = ctypes.CDLL("libcuda.so.1")
    for name, attribute in _DRIVER_ATTRIBUTES.items():
        value = ctypes.c_int()
        if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0:
            result[name] = value.value
    if "gpu_mem_clock_khz" in result and "gpu_bus_width_bits" in result:
        # Two transfers a clock.
        result["gpu_peak_bandwidth_gbps"] = 2 * result["gpu_mem_clock_khz"] * result["gpu_bus_width_bits"] / 8 / 1e6
    return result


@functools.lru_cache(maxsize=1)
def _device_properties() -> dict[str, Any]:
    return get_device_properties()


def __getattr__(name: str) -> Any:
    # Asked for lazily: importing this module must not create a CUDA context.
    if name == "DEVICE_PROPERTIES":
        return _device_properties()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
