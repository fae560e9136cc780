"""Runs an exported program through torch's own module and through nvfuser, and compares all that a caller can see."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.utils._pytree as pytree
from dynamo_helpers import assert_equal
from nvfuser.export import compile as compile_program
from torch import Tensor, nn


def export(module: nn.Module, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, **options: Any) -> Any:
    """``torch.export.export`` of the module in eval mode."""
    return torch.export.export(module.eval(), args, kwargs or {}, **options)


def assert_like(actual: Any, expected: Any, strides: bool = True, tolerance: float | None = None) -> None:
    """Two results have the same structure and the same leaves."""
    actual_leaves, actual_spec = pytree.tree_flatten(actual)
    expected_leaves, expected_spec = pytree.tree_flatten(expected)
    assert actual_spec == expected_spec
    for i, (a, e) in enumerate(zip(actual_leaves, expected_leaves)):
        a, e = (t.detach() if isinstance(t, Tensor) else t for t in (a, e))
        assert type(a) is type(e) or isinstance(a, Tensor)
        assert_equal(a, e, f"leaf {i}", strides, tolerance)


def assert_runs_like_torch(
    program: Any,
    *calls: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    strides: bool = True,
    tolerance: float | None = None,
    **options: Any,
) -> Any:
    """Calls both one after the other with each of `calls`; results, writes to inputs and buffers agree.

    Returns the compiled program. torch's module gets a program of its own, because it writes the program's buffers.
    """
    reference = copy.deepcopy(program).module()
    before = {name: value.clone() for name, value in program.state_dict.items()}
    compiled = compile_program(program, options=options)
    for call in calls:
        ours = _fresh((call, kwargs or {}))
        theirs = _fresh((call, kwargs or {}))
        with torch.no_grad():
            expected = reference(*theirs[0], **theirs[1])
        actual = compiled(*ours[0], **ours[1])
        assert_like(actual, expected, strides, tolerance)
        assert_like(ours, theirs, tolerance=tolerance)
        kept = dict(reference.named_buffers())
        for name, buffer in compiled.named_buffers():
            if name in kept:
                assert_equal(buffer, kept[name], f"buffer {name}")
    for name, value in before.items():
        assert torch.equal(program.state_dict[name], value), f"{name} of the given program changed"
    assert compiled.report.failures == []
    return compiled


def _fresh(tree: Any) -> Any:
    """A copy with the same strides, so that writes can be compared."""
    return pytree.tree_map(lambda v: _copied(v) if isinstance(v, Tensor) else v, tree)


def _copied(tensor: Tensor) -> Tensor:
    storage = tensor.detach().untyped_storage().clone()
    empty = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    copied = empty.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
    return copied.requires_grad_(tensor.requires_grad)
