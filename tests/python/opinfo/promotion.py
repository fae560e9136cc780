"""Independent model of the result-dtype rules of the pointwise operators.

Step 1 finds the common dtype of the operands: tensors with dimensions come before 0-dim tensors, those before scalars.
Step 2 depends on the group of the operator:

    K keep            halves and integers keep their dtype
    D default         halves become float32, integers keep their dtype
    F floating        halves and integers become float32
    P full precision  float32 or float64 only (halves become float32)
    B bool            result is bool, operands are compared in the dtype of group D
    L logical         result is bool, every operand is cast to bool by itself
    I integer         integers and bools only
"""

from __future__ import annotations

import torch

HALVES = (torch.float16, torch.bfloat16)
COMPLEX_OF = {
    torch.float16: torch.complex64,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}

DIM, ZERO, SCALAR = 0, 1, 2  # operand classes, strongest first


def operand(value) -> tuple[int, torch.dtype]:
    """(class, dtype) of a torch tensor or Python number used as an operand."""
    if isinstance(value, torch.Tensor):
        return (DIM if value.dim() > 0 else ZERO, value.dtype)
    if isinstance(value, bool):
        return (SCALAR, torch.bool)
    if isinstance(value, int):
        return (SCALAR, torch.int64)
    if isinstance(value, float):
        return (SCALAR, torch.float64)
    return (SCALAR, torch.complex128)


def combine(high: torch.dtype, low: torch.dtype) -> torch.dtype:
    """Dtype of a stronger operand class `high` together with a weaker one."""
    if high.is_complex:
        return high
    if low.is_complex:
        return COMPLEX_OF[high] if high.is_floating_point else low
    if high.is_floating_point:
        return high
    if high == torch.bool or low.is_floating_point:
        return torch.promote_types(high, low)
    return high


def common_dtype(operands) -> torch.dtype:
    """Step 1: `operands` is a list of (class, dtype)."""
    dtypes = {dtype for _, dtype in operands}
    if len(dtypes) == 1:
        return dtypes.pop()
    result = None
    for level in (DIM, ZERO, SCALAR):
        members = [dtype for cls, dtype in operands if cls == level]
        if not members:
            continue
        here = members[0]
        for dtype in members[1:]:
            here = torch.promote_types(here, dtype)
        result = here if result is None else combine(result, here)
    return result


def compute_dtype(group: str, common: torch.dtype) -> torch.dtype:
    """Dtype in which an operator of `group` works on operands of the common dtype."""
    if group in "DBFP" and common in HALVES:
        return torch.float32
    if group == "F" and not (common.is_floating_point or common.is_complex):
        return torch.float32
    return common


def result_dtype(group: str, common: torch.dtype) -> torch.dtype:
    """Step 2: dtype of the result."""
    return torch.bool if group in "BL" else compute_dtype(group, common)
