"""Runs a function in eager and through torch.compile(backend="nvfuser"), and compares all that a caller can see."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from nvfuser.dynamo import CompileReport, compile_report, nvfuser_backend, reset_compile_report
from torch import Tensor, nn

TOLERANCES = {
    torch.float64: (1e-10, 1e-10),
    torch.float32: (2e-5, 2e-5),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3e-2, 3e-2),
}


def compiled(function: Any, **options: Any) -> Any:
    """`function` through our backend, from a clean state of dynamo and of the report."""
    torch._dynamo.reset()
    reset_compile_report()
    return torch.compile(function, backend=nvfuser_backend, **options)


def assert_equal(
    actual: Any, expected: Any, what: str = "result", strides: bool = True, tolerance: float | None = None
) -> None:
    """Same structure, shapes, dtypes, devices, strides; floats close, all else exact."""
    assert type(actual) is type(expected), f"{what}: {type(actual)} for {type(expected)}"
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected), what
        for i, (a, e) in enumerate(zip(actual, expected)):
            assert_equal(a, e, f"{what}[{i}]", strides, tolerance)
        return
    if not isinstance(expected, Tensor):
        assert actual == expected, f"{what}: {actual} for {expected}"
        return
    absolute, relative = TOLERANCES.get(expected.dtype, (0, 0))
    if tolerance is not None and expected.is_floating_point():
        absolute = relative = tolerance
    message = lambda text: f"{what}: {text}"  # noqa: E731
    torch.testing.assert_close(actual, expected, atol=absolute, rtol=relative, equal_nan=True, msg=message)
    assert actual.requires_grad == expected.requires_grad, what
    if strides and expected.numel():
        assert actual.stride() == expected.stride(), f"{what}: strides {actual.stride()} for {expected.stride()}"


def _fresh(value: Any, train: bool) -> Any:
    if not isinstance(value, Tensor):
        return value
    # Not clone(): it would drop gaps and expanded dims, which are part of the test.
    copied = value.detach().as_strided(value.shape, value.stride()) if 0 in value.stride() else value.detach().clone()
    return copied.requires_grad_(train and value.is_floating_point())


def _leaves(result: Any) -> list[Tensor]:
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [t for t in parts if isinstance(t, Tensor) and t.requires_grad]


def run(function: Callable[..., Any], inputs: tuple[Any, ...], train: bool) -> tuple[Any, list[Any]]:
    """The result, and the gradients of inputs and parameters for a loss that weighs each element differently."""
    inputs = tuple(_fresh(i, train) for i in inputs)
    module = function if isinstance(function, nn.Module) else None
    if module is not None:
        module.zero_grad(set_to_none=True)
    torch.manual_seed(7)
    result = function(*inputs)
    if not train or not _leaves(result):
        return result, []
    loss = torch.zeros((), dtype=torch.float64)
    for tensor in _leaves(result):
        weight = torch.linspace(0.5, 1.5, max(tensor.numel(), 1), dtype=torch.float64)[: tensor.numel()]
        loss = loss + (tensor.double() * weight.view(tensor.shape).to(tensor.device)).sum().cpu()
    loss.backward()
    gradients = [i.grad for i in inputs if isinstance(i, Tensor) and i.requires_grad]
    if module is not None:
        gradients += [None if p.grad is None else p.grad.clone() for p in module.parameters()]
    return result, gradients


def assert_same(
    function: Any,
    *inputs: Any,
    train: bool = False,
    strides: bool = True,
    tolerance: float | None = None,
    more_inputs: tuple[tuple[Any, ...], ...] = (),
    **options: Any,
) -> CompileReport:
    """Eager and compiled give the same results (and gradients, with `train`) for `inputs`, then for each of `more_inputs`.

    Also checks that inputs stay as they were and that no fusion had to be rerun in eager. Returns the report.
    """
    function_c = compiled(copy.deepcopy(function) if isinstance(function, nn.Module) else function, **options)
    for case in (inputs, *more_inputs):
        kept = copy.deepcopy([i.detach() if isinstance(i, Tensor) else i for i in case])
        expected = run(function, case, train)
        actual = run(function_c, case, train)
        assert_equal(actual[0], expected[0], "result", strides, tolerance)
        assert_equal(actual[1], expected[1], "gradient", strides, tolerance)
        assert_equal([i.detach() if isinstance(i, Tensor) else i for i in case], kept, "input")
    report = compile_report()
    assert report.failures == [], report.failures
    return report
