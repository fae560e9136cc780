"""Builds the FusionDefinition of one region.

A definition is built for a layout of the inputs (which dims are contiguous, and their order in memory), not for sizes:
symbolic sizes are -1, and everything computed from them is arithmetic on scalars of the fusion.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import map_aggregate

from .op_table import HALF_DTYPES, TABLE, Row, is_scalar_value, is_static, schema_arguments
from .partition import SIZE_ARITHMETIC, Region

#: sizes and strides of a tensor input; None for an input that is a number
Layout = tuple[tuple[int, ...], tuple[int, ...]] | None


class LoweringError(RuntimeError):
    """A node that should have become part of a fusion could not; carries the op and our builder's message."""

    def __init__(self, node: Node, cause: Exception):
        super().__init__(f"{node.target}: {type(cause).__name__}: {cause}")
        self.node = node


class Lowering:
    """What a translator sees: the definition under construction, the fx node at hand, and small helpers."""

    def __init__(self, definition: Any, options: Any, device: torch.device):
        from nvfuser_direct import DataType
        from nvfuser_direct.pytorch_utils import torch_dtype_to_nvfuser_dtype

        self.fd = definition
        self.ops = definition.ops
        self.options = options
        self.device = device
        self.node: Node = None  # type: ignore[assignment]  # set before each translator runs
        self._data_type = DataType
        self._rounded: dict[Node, Any] = {}
        #: float between ops costs memory where ATen runs them one by one, as it does on GPUs
        self.keeps_halves_wide = device.type in ("cpu", "cuda") and not options.emulate_precision_casts
        self._to_data_type = torch_dtype_to_nvfuser_dtype

    def dtype(self, dtype: torch.dtype) -> Any:
        """Our DataType for a torch dtype."""
        return self._data_type.UInt64 if dtype == torch.uint64 else self._to_data_type(dtype)

    def cast(self, value: Any, dtype: torch.dtype) -> Any:
        """`value` in `dtype`; the same TensorView where it has that dtype already."""
        wanted = self.dtype(dtype)
        return value if value.dtype() == wanted else self.ops.cast(value, wanted)

    def widened(self, value: Any) -> Any:
        """A float value for a tensor of a half type."""
        return self.cast(value, torch.float32)

    def rounded(self, node: Node, value: Any) -> Any:
        """`value`, which stands for `node`, in the dtype of the node: values of half types may be floats so far."""
        meta = node.meta["val"]
        if not _is_half(meta) or value.dtype() == self.dtype(meta.dtype):
            return value
        if node not in self._rounded:
            self._rounded[node] = self.cast(value, meta.dtype)
        return self._rounded[node]

    def size(self, tensor: Any, dim: int, meta_size: Any) -> Any:
        """The size of a dim: an int where the graph knows it, else a Val."""
        return int(meta_size) if is_static(meta_size) else self.ops.size(tensor, dim)

    def constant(self, value: int) -> Any:
        """An int constant as a Val, for the builders that take nothing else."""
        return self.fd.define_scalar(value, self._data_type.Int)

    def typed_constant(self, value: Any, dtype: torch.dtype) -> Any:
        """A constant of the kind (bool, int, float) of `dtype`."""
        kinds = self._data_type
        kind = kinds.Bool if dtype == torch.bool else kinds.Double if dtype.is_floating_point else kinds.Int
        return self.fd.define_scalar(value, kind)

    def unused_rng_state(self) -> tuple[Any, Any]:
        """An RNG state for a backward without dropout, which reads none."""
        zero = self.ops.full([], 0, self._data_type.Int)
        return zero, zero


def layout_of_meta(node: Node) -> Layout:
    """Sizes and strides of a region input as the graph expects them; symbolic numbers by their hints."""
    meta = node.meta["val"]
    return layout_of_tensor(meta) if isinstance(meta, torch.Tensor) else None


def layout_of_tensor(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides as ints; symbolic ones by their hints."""
    return tuple(_hint(s) for s in tensor.shape), tuple(_hint(s) for s in tensor.stride())


def _hint(value: Any) -> int:
    if isinstance(value, int):
        return value
    # A size that depends on data has no hint; any size above 1 gives the same definition.
    return int(value.node.hint) if value.node.has_hint() else 4


def layout_class(sizes: Sequence[int], strides: Sequence[int]) -> tuple[Any, ...]:
    """What of a layout enters a definition: contiguity and stride order (as `compute_tensor_descriptor` says)."""
    from nvfuser_direct import compute_tensor_descriptor

    contiguity, order = compute_tensor_descriptor(list(sizes), list(strides))
    return tuple(contiguity), tuple(order)


def build_definition(region: Region, layouts: Sequence[Layout], options: Any) -> Any:
    """The FusionDefinition of `region` for inputs of the given layouts; raises LoweringError."""
    from nvfuser_direct import FusionDefinition

    definition = FusionDefinition()
    failure: Exception | None = None
    with definition:
        # FusionDefinition prints what escapes its block; a region that cannot be built is no news for stdout.
        try:
            _define(definition, region, layouts, options)
        except Exception as error:
            failure = error
    if failure is not None:
        raise failure
    return definition


def region_device(region: Region) -> torch.device:
    """The device that the region's results lie on."""
    return region.outputs[0].meta["val"].device


def _define(definition: Any, region: Region, layouts: Sequence[Layout], options: Any) -> None:
    ctx = Lowering(definition, options, region_device(region))
    values: dict[Node, Any] = {}
    for node, layout in zip(region.inputs, layouts):
        values[node] = _define_input(ctx, node, layout)
    for node in region.nodes:
        ctx.node = node
        try:
            values[node] = _translated(ctx, node, values)
        except Exception as error:
            raise LoweringError(node, error) from error
    for node in region.outputs:
        definition.add_output(_in_order(ctx, ctx.rounded(node, values[node]), node.meta["val"]))


def dense_order(meta: torch.Tensor) -> tuple[int, ...] | None:
    """The dims of a tensor without gaps from outermost to innermost; None when it has gaps, overlaps or is unknown."""
    sizes, strides = layout_of_tensor(meta)
    if any(isinstance(s, torch.SymInt) and not s.node.has_hint() for s in (*meta.shape, *meta.stride())):
        return None
    # Of dims with equal strides one has size 1; it counts as the outer one.
    order = tuple(sorted(range(meta.ndim), key=lambda d: (-strides[d], sizes[d] != 1)))
    return order if dense_strides(sizes, order) == strides else None


def dense_strides(sizes: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Strides of a gapless tensor whose dims lie in memory in `order`, outermost first."""
    strides, step = [0] * len(order), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(strides)


def _in_order(ctx: Lowering, tensor: Any, meta: torch.Tensor) -> Any:
    """Asks for the output in the memory order of the graph; the core copies only what does not lie so already."""
    order = dense_order(meta) if meta.ndim > 1 else None
    if order is None:
        return tensor
    ranks = [0] * meta.ndim
    for rank, dim in enumerate(reversed(order)):
        ranks[dim] = rank
    return ctx.ops.stride_order(tensor, ranks)


def _define_input(ctx: Lowering, node: Node, layout: Layout) -> Any:
    meta = node.meta["val"]
    if layout is None:
        kinds = ctx._data_type
        is_bool = isinstance(meta, (bool, torch.SymBool))
        is_int = isinstance(meta, (int, torch.SymInt))
        return ctx.fd.define_scalar(kinds.Bool if is_bool else kinds.Int if is_int else kinds.Double)
    sizes, strides = layout
    contiguity, order = layout_class(sizes, strides)
    return ctx.fd.define_tensor(
        shape=[int(s) if is_static(s) else -1 for s in meta.shape],
        contiguity=list(contiguity),
        dtype=ctx.dtype(meta.dtype),
        is_cpu=meta.device.type == "cpu" and ctx.device.type != "cpu",
        stride_order=list(order),
    )


def _translated(ctx: Lowering, node: Node, values: dict[Node, Any]) -> Any:
    if node.target is operator.getitem:
        return values[node.args[0]][node.args[1]]
    if is_scalar_value(node.meta.get("val")):
        left, right = (values[a] if isinstance(a, Node) else a for a in node.args)
        return getattr(ctx.ops, SIZE_ARITHMETIC[node.target])(left, right)
    row = TABLE[node.target]
    arguments = [
        map_aggregate(argument, lambda a: _lowered(ctx, row, a, values)) for argument in schema_arguments(node)
    ]
    result = row.translate(ctx, *arguments)
    if row.kind == "view":
        return result
    expected = node.meta["val"]
    if isinstance(expected, (tuple, list)):
        return tuple(_finished(ctx, row, r, e) for r, e in zip(result, expected))
    return _finished(ctx, row, result, expected)


def _is_half(meta: Any) -> bool:
    return isinstance(meta, torch.Tensor) and meta.dtype in HALF_DTYPES


def _is_zero(argument: Any) -> bool:
    return isinstance(argument, (int, float)) and not isinstance(argument, bool) and argument == 0


def _lowered(ctx: Lowering, row: Row, argument: Any, values: dict[Node, Any]) -> Any:
    if not isinstance(argument, Node):
        return argument
    value = values[argument]
    if row.takes_any_halves() or not _is_half(argument.meta["val"]):
        return value
    is_wide = row.halves == "wide" or (row.halves == "sign" and _is_zero(schema_arguments(ctx.node)[1]))
    if is_wide and ctx.keeps_halves_wide:
        return ctx.widened(value)
    return ctx.rounded(argument, value)


def _finished(ctx: Lowering, row: Row, result: Any, expected: Any) -> Any:
    """`result` in the dtype that the graph promises, or in float for a half type; checks the rank."""
    if result is None or not isinstance(expected, torch.Tensor):
        return result
    if result.ndim != expected.ndim:
        raise ValueError(f"the result has {result.ndim} dims where the graph has {expected.ndim}")
    if _is_half(expected) and row.takes_any_halves():
        return result
    if _is_half(expected) and row.halves == "wide" and ctx.keeps_halves_wide:
        return ctx.widened(result)
    return ctx.cast(result, expected.dtype)
