"""The table of ATen overloads that a fusion can hold.

One row says: the overload, the function that builds our nodes for it, an optional check that looks at the
fx node and returns the reason why this call stays in eager, and the kind of row:

* ``compute``: does arithmetic or moves data; worth a fusion.
* ``view``: in ATen a view of its first argument; never a reason to start a fusion, and never the last
  node of one (the partitioner runs trailing views in eager, where they cost no copy).
* ``create``: makes a tensor out of nothing (``full``, ``arange``).

Rows are added by the decorator :func:`translates` in the ``ops_*.py`` files, or, for the plain pointwise ops,
by the data tables of ``ops_pointwise.py``. A translator is called as ``translate(ctx, *arguments)`` with the
arguments in schema order, defaults filled in, fx nodes replaced by what they were lowered to; it returns a
TensorView, or a tuple of them for an op with several results. The caller casts results to the dtypes of the
graph, so a translator need not; between ops of kind "wide" float16 and bfloat16 values stay float (`Row.halves`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

aten = torch.ops.aten
prims = torch.ops.prims

#: dtypes that a fusion takes from the graph; every other one stays in eager.
FUSIBLE_DTYPES = frozenset(
    {
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.bool,
    }
)

HALF_DTYPES = frozenset({torch.float16, torch.bfloat16})

#: ops whose result is a fresh copy of their operand
COPIES_INPUT = frozenset(
    {aten.clone.default, aten.lift_fresh_copy.default, aten._to_copy.default, prims.convert_element_type.default}
)

Check = Callable[[Node], "str | None"]


@dataclass(frozen=True)
class Row:
    """One supported overload; see the module docstring for the fields."""

    target: Any
    translate: Callable[..., Any]
    kind: str = "compute"
    check: Check | None = None
    #: extra dtypes that this op's operands may have (the RNG state of attention is uint64)
    extra_dtypes: frozenset[torch.dtype] = frozenset()
    is_attention: bool = False
    #: how values of half types come: "rounded" to their dtype; "sign", as "wide" beside the number 0 and else
    #: rounded; "wide", as float, and the result stays float until
    #: something needs its dtype; "any", as they are
    halves: str = "rounded"

    def takes_any_halves(self) -> bool:
        """True for a row that moves values and does no arithmetic on them."""
        return self.halves == "any" or self.kind == "view"


TABLE: dict[Any, Row] = {}


def add_row(row: Row) -> None:
    """Adds `row`; raises ValueError when its overload already has one."""
    if row.target in TABLE:
        raise ValueError(f"the op table already has a row for {row.target}")
    TABLE[row.target] = row


def translates(*targets: Any, kind: str = "compute", check: Check | None = None, **fields: Any):
    """Decorator: the function builds our nodes for each overload in `targets`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for target in targets:
            add_row(Row(target, function, kind, check, **fields))
        return function

    return register


def overloads(packet_name: str, *names: str) -> list[Any]:
    """The overloads `names` of ``aten.<packet_name>`` that the installed torch has."""
    packet = getattr(aten, packet_name, None)
    found = [getattr(packet, n) for n in names if packet is not None and n in packet.overloads()]
    # Under some names (`mul.default`) torch keeps an op on Python numbers alone.
    return [t for t in found if any("Tensor" in str(a.type) for a in t._schema.arguments)]


def schema_arguments(node: Node) -> list[Any]:
    """The call's arguments in schema order, with defaults filled in."""
    schema = node.target._schema
    values = list(node.args)
    for argument in schema.arguments[len(values) :]:
        values.append(node.kwargs.get(argument.name, argument.default_value))
    return values


def argument(node: Node, name: str, absent: Any = None) -> Any:
    """The value of the argument `name` of the call, default included; `absent` where the op has no such argument."""
    for index, declared in enumerate(node.target._schema.arguments):
        if declared.name == name:
            return schema_arguments(node)[index]
    return absent


def is_scalar_value(value: Any) -> bool:
    """True for what lives on the host: Python numbers and symbolic numbers."""
    return isinstance(value, (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool))


def meta_of(value: Any) -> Any:
    """The FakeTensor (or symbolic number) that stands for an fx node; other values as they are."""
    return value.meta.get("val") if isinstance(value, Node) else value


def is_static(value: Any) -> bool:
    """True for a plain int, and for a SymInt that can only have one value."""
    if isinstance(value, torch.SymInt):
        return value.node.expr.is_number
    return isinstance(value, int)


def is_one(size: Any) -> bool:
    """True when the size is statically 1 (asking never adds a guard)."""
    return is_static(size) and int(size) == 1


def metas(node: Node) -> list[torch.Tensor]:
    """All FakeTensors that `node` produces."""
    val = node.meta.get("val")
    values = val if isinstance(val, (tuple, list)) else (val,)
    return [v for v in values if isinstance(v, torch.Tensor)]


def _tensor_reason(tensor: torch.Tensor, extra: frozenset[torch.dtype]) -> str | None:
    if tensor.dtype not in FUSIBLE_DTYPES and tensor.dtype not in extra:
        return f"dtype {str(tensor.dtype).removeprefix('torch.')}"
    if tensor.layout != torch.strided or tensor.is_quantized:
        return f"layout {tensor.layout}"
    if tensor.device.type not in ("cpu", "cuda"):
        return f"device {tensor.device.type}"
    if tensor.ndim > 8:
        return f"rank {tensor.ndim}"
    return None


def why_not(node: Node) -> str | None:
    """Why `node` cannot be in a fusion, or None when it can.

    Looks at the table, the row's own check, and the dtypes, layouts and devices of operands and results.
    """
    if node.target is operator.getitem:
        source = node.args[0]
        return why_not(source) if isinstance(source, Node) else "getitem of a constant"
    row = TABLE.get(node.target)
    if row is None:
        return "no row in the op table"
    results = metas(node)
    if not results:
        return "no tensor result"
    device = results[0].device
    for tensor in results:
        if reason := _tensor_reason(tensor, row.extra_dtypes):
            return reason
    for operand in node.all_input_nodes:
        for tensor in metas(operand):
            if reason := _tensor_reason(tensor, row.extra_dtypes):
                return reason
            if tensor.device != device and not (tensor.device.type == "cpu" and tensor.ndim == 0):
                return f"operands on {tensor.device} and {device}"
    return row.check(node) if row.check is not None else None


def load() -> dict[Any, Row]:
    """The complete table (imports the files that add rows)."""
    from . import (  # noqa: F401
        ops_attention,
        ops_index,
        ops_matmul,
        ops_pointwise,
        ops_random,
        ops_reduction,
        ops_shape,
    )

    return TABLE
