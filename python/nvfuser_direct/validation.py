"""Comparing the outputs of a fusion with references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from nvfuser_direct import _C_DIRECT as _C


def clone_inputs(inputs: Sequence[Any]) -> list[Any]:
    """Copies of the tensors, with their strides; in-place outputs of a run then leave the copies alone."""
    return [_clone(x.detach()) if isinstance(x, torch.Tensor) else x for x in inputs]


def _clone(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.numel() == 0 or tensor.is_meta:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    # The memory that the tensor spans is copied as a line: expanded dims and gaps stay what they are.
    tensor = tensor.resolve_conj().resolve_neg()
    span = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    line = tensor.as_strided((span,), (1,))
    return line.clone().as_strided(tensor.shape, tensor.stride())


def _compare(index: int, actual: torch.Tensor, expected: torch.Tensor, atol: float, rtol: float) -> None:
    place = f"output {index}"
    if actual.shape != expected.shape:
        raise RuntimeError(f"{place} has shape {tuple(actual.shape)}, the reference {tuple(expected.shape)}")
    if actual.dtype != expected.dtype:
        raise RuntimeError(f"{place} has dtype {actual.dtype}, the reference {expected.dtype}")
    expected = expected.to(actual.device)
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        if not torch.equal(actual, expected):
            different = (actual != expected).sum().item()
            raise RuntimeError(f"{place}: {different} of {actual.numel()} elements differ from the reference")
        return
    wide = torch.complex128 if actual.dtype.is_complex else torch.float64
    if torch.allclose(actual.to(wide), expected.to(wide), rtol=rtol, atol=atol, equal_nan=True):
        return
    largest = (actual.to(wide) - expected.to(wide)).abs().nan_to_num(nan=float("inf")).max().item()
    raise RuntimeError(
        f"{place} differs from the reference by up to {largest:g} (allowed: {atol:g} absolute, {rtol:g} relative)"
    )


def compare_outputs(
    fusion: Any, args: Sequence[Any], outputs: Sequence[torch.Tensor], references: Sequence[torch.Tensor]
) -> None:
    """RuntimeError, naming the output, unless count, shapes and dtypes agree and values lie within the tolerances."""
    if len(outputs) != len(references):
        raise RuntimeError(f"the fusion has {len(outputs)} outputs, but there are {len(references)} references")
    tolerances = _C.get_val_tolerances(fusion, args)
    for index, (position, actual, expected) in enumerate(zip(fusion._visible_outputs(), outputs, references)):
        atol, rtol = tolerances[position]
        _compare(index, actual, expected, atol, rtol)


def validate_with_auto_inferred_outputs(
    fusion: Any, fusion_outputs: Sequence[torch.Tensor], args: Sequence[Any]
) -> None:
    """Compares outputs of a run with an evaluation of the definition node by node. RuntimeError on mismatch.

    args: the inputs as they were before the run (see clone_inputs when the fusion writes to its inputs).
    """
    compare_outputs(fusion, args, fusion_outputs, _C._evaluate(fusion, args))
