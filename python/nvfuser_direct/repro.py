"""Scripts that rebuild and run a fusion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


def _device_lines() -> list[str]:
    lines = ["# CUDA devices:"]
    if torch.cuda.is_available():
        lines += [f"#  {i}: {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return [*lines, f"# torch version: {torch.__version__}", f"# cuda version: {torch.version.cuda}"]


def _storage_length(tensor: torch.Tensor) -> int:
    """How many elements the storage behind these sizes and strides needs."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))


def _tensor_text(tensor: torch.Tensor) -> str:
    size, stride = tuple(tensor.shape), tuple(tensor.stride())
    where = f"dtype={tensor.dtype}, device='{tensor.device}'"
    if tensor.is_contiguous():
        return f"torch.testing.make_tensor({size}, {where})"
    length = _storage_length(tensor)
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        source = f"torch.randn({length}, {where})"
    else:
        upper = 2 if tensor.dtype == torch.bool else 10
        source = f"torch.randint(0, {upper}, ({length},), {where})"
    return f"{source}.as_strided({size}, {stride})"


def _number_text(value: Any) -> str:
    text = repr(value)
    return f'float("{text}")' if text in ("inf", "-inf", "nan") else text


def _input_line(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"    {list(value)!r},"
    return f"    {_tensor_text(value) if isinstance(value, torch.Tensor) else _number_text(value)},"


def repro_script(definition_text: str, inputs: Iterable[Any] | None) -> str:
    """A script that defines the fusion and, given inputs, runs it on tensors of the same sizes, strides and dtypes."""
    lines = [
        *_device_lines(),
        "import torch",
        "from nvfuser_direct import FusionDefinition, DataType",
        definition_text.rstrip("\n"),
        "with FusionDefinition() as fd:",
        "    nvfuser_fusion(fd)",
    ]
    if inputs is not None:
        lines += ["", "inputs = [", *(_input_line(value) for value in inputs), "]", "fd.execute(inputs)"]
    return "\n".join([*lines, ""])
