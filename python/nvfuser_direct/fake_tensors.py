"""Runs with FakeTensors: the fusion is evaluated on meta tensors, and the results become FakeTensors of the same mode."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes


def _as_meta(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    # int() fixes a symbolic size at its hint and guards on it; one without a hint raises.
    size, stride = [int(n) for n in value.shape], [int(n) for n in value.stride()]
    return torch.empty_strided(size, stride, dtype=value.dtype, device="meta")


def _result_device(inputs: list[Any], device: Any) -> torch.device:
    if device is not None:
        return torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    return next((t.device for t in tensors if t.dim() > 0 or t.device.type != "cpu"), tensors[0].device)


def execute(executor: Any, inputs: list[Any], device: Any) -> list[torch.Tensor] | None:
    """The outputs as FakeTensors, or None when no input is one.

    inputs: the flat list of tensors and numbers. In-place outputs give new FakeTensors.
    """
    fake = next((value for value in inputs if isinstance(value, FakeTensor)), None)
    if fake is None:
        return None
    result_device = _result_device(inputs, device)
    with _disable_current_modes():
        outputs = executor.execute([_as_meta(value) for value in inputs], device="meta")
    mode = fake.fake_mode
    return [mode.fake_tensor_converter.from_meta_and_device(mode, out, result_device) for out in outputs]
