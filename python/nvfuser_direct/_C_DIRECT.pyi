# Written by tools/gen_stubs.py from the docstrings of the extension.
"""
The compiled part of nvfuser_direct: the fusion IR, its operators and its executors.
"""
from __future__ import annotations
import collections.abc
import typing
from nvfuser_direct import ops
from nvfuser_direct import schedule
from nvfuser_direct import idm
from nvfuser_direct import kernel_cache
__all__: list[str] = ['BroadcastOp', 'CacheOp', 'CommunicatorBackend', 'DataType', 'Expr', 'Fusion', 'FusionExecutorCache', 'FusionGuard', 'FusionProfile', 'IdMappingMode', 'InternalError', 'IterDomain', 'KernelProfile', 'LoadStoreOpType', 'MatmulBufferingLoopLevel', 'MatmulCircularBufferingStrategy', 'MatmulTileRasterizationOrder', 'MatmulTilingStrategy', 'MemoryType', 'Merge', 'MmaMacroArch', 'ParallelType', 'ReshapeOp', 'SchedulerType', 'Split', 'SqueezeOp', 'Statement', 'TensorDomain', 'TensorView', 'Val', 'compute_tensor_descriptor', 'define_scalar', 'define_tensor', 'get_fusion_profile', 'get_val_tolerances', 'idm', 'kernel_cache', 'last_sdpa_backend', 'ops', 'reset_profiler', 'reset_sdpa_run_counts', 'rng_state_form', 'schedule', 'sdpa_backends', 'sdpa_run_counts', 'sdpa_run_log', 'translate_fusion']
class DataType:
    """
    Element types of tensors and types of scalars.

    Members:

      Double

      Float

      Half

      Int

      Int32

      UInt64

      Index

      Bool

      BFloat16

      Float8_e4m3fn

      Float8_e5m2

      Float8_e8m0fnu

      Float4_e2m1fn

      Float4_e2m1fn_x2

      ComplexFloat

      ComplexDouble

      Null
    """
    BFloat16: typing.ClassVar[DataType]
    Bool: typing.ClassVar[DataType]
    ComplexDouble: typing.ClassVar[DataType]
    ComplexFloat: typing.ClassVar[DataType]
    Double: typing.ClassVar[DataType]
    Float: typing.ClassVar[DataType]
    Float4_e2m1fn: typing.ClassVar[DataType]
    Float4_e2m1fn_x2: typing.ClassVar[DataType]
    Float8_e4m3fn: typing.ClassVar[DataType]
    Float8_e5m2: typing.ClassVar[DataType]
    Float8_e8m0fnu: typing.ClassVar[DataType]
    Half: typing.ClassVar[DataType]
    Index: typing.ClassVar[DataType]
    Int: typing.ClassVar[DataType]
    Int32: typing.ClassVar[DataType]
    Null: typing.ClassVar[DataType]
    UInt64: typing.ClassVar[DataType]
    __members__: typing.ClassVar[dict[str, DataType]]
    @typing.overload
    def __eq__(self, other: DataType) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: DataType) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class ParallelType:
    """
    What a loop of a scheduled tensor is mapped to.

    Members:

      mesh_x

      mesh_y

      mesh_z

      grid_x

      grid_y

      grid_z

      block_x

      block_y

      block_z

      mma

      serial

      tma

      unroll

      unswitch

      vectorize

      stream
    """
    __members__: typing.ClassVar[dict[str, ParallelType]]
    block_x: typing.ClassVar[ParallelType]
    block_y: typing.ClassVar[ParallelType]
    block_z: typing.ClassVar[ParallelType]
    grid_x: typing.ClassVar[ParallelType]
    grid_y: typing.ClassVar[ParallelType]
    grid_z: typing.ClassVar[ParallelType]
    mesh_x: typing.ClassVar[ParallelType]
    mesh_y: typing.ClassVar[ParallelType]
    mesh_z: typing.ClassVar[ParallelType]
    mma: typing.ClassVar[ParallelType]
    serial: typing.ClassVar[ParallelType]
    stream: typing.ClassVar[ParallelType]
    tma: typing.ClassVar[ParallelType]
    unroll: typing.ClassVar[ParallelType]
    unswitch: typing.ClassVar[ParallelType]
    vectorize: typing.ClassVar[ParallelType]
    @typing.overload
    def __eq__(self, other: ParallelType) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: ParallelType) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class CommunicatorBackend:
    """
    Libraries for communication between devices.

    Members:

      nccl

      ucc

      cuda
    """
    __members__: typing.ClassVar[dict[str, CommunicatorBackend]]
    cuda: typing.ClassVar[CommunicatorBackend]
    nccl: typing.ClassVar[CommunicatorBackend]
    ucc: typing.ClassVar[CommunicatorBackend]
    @typing.overload
    def __eq__(self, other: CommunicatorBackend) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: CommunicatorBackend) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class SchedulerType:
    """
    What turns a segment into a kernel, or evaluates it.

    Members:

      none

      no_op

      pointwise

      matmul

      reduction

      inner_persistent

      inner_outer_persistent

      outer_persistent

      transpose

      expr_eval

      resize
    """
    __members__: typing.ClassVar[dict[str, SchedulerType]]
    expr_eval: typing.ClassVar[SchedulerType]
    inner_outer_persistent: typing.ClassVar[SchedulerType]
    inner_persistent: typing.ClassVar[SchedulerType]
    matmul: typing.ClassVar[SchedulerType]
    no_op: typing.ClassVar[SchedulerType]
    none: typing.ClassVar[SchedulerType]
    outer_persistent: typing.ClassVar[SchedulerType]
    pointwise: typing.ClassVar[SchedulerType]
    reduction: typing.ClassVar[SchedulerType]
    resize: typing.ClassVar[SchedulerType]
    transpose: typing.ClassVar[SchedulerType]
    @typing.overload
    def __eq__(self, other: SchedulerType) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: SchedulerType) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class LoadStoreOpType:
    """
    How a copy moves its data.

    Members:

      set

      load_matrix

      cp_async

      tma
    """
    __members__: typing.ClassVar[dict[str, LoadStoreOpType]]
    cp_async: typing.ClassVar[LoadStoreOpType]
    load_matrix: typing.ClassVar[LoadStoreOpType]
    set: typing.ClassVar[LoadStoreOpType]
    tma: typing.ClassVar[LoadStoreOpType]
    @typing.overload
    def __eq__(self, other: LoadStoreOpType) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: LoadStoreOpType) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class MemoryType:
    """
    Where a tensor lives while a kernel runs.

    Members:

      tensor

      local

      shared

      global

      symmetric
    """
    __members__: typing.ClassVar[dict[str, MemoryType]]
    local: typing.ClassVar[MemoryType]
    shared: typing.ClassVar[MemoryType]
    symmetric: typing.ClassVar[MemoryType]
    tensor: typing.ClassVar[MemoryType]
    @typing.overload
    def __eq__(self, other: MemoryType) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: MemoryType) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class CacheOp:
    """
    Cache hint of a load.

    Members:

      unspecified

      all_levels

      streaming

      global
    """
    __members__: typing.ClassVar[dict[str, CacheOp]]
    all_levels: typing.ClassVar[CacheOp]
    streaming: typing.ClassVar[CacheOp]
    unspecified: typing.ClassVar[CacheOp]
    @typing.overload
    def __eq__(self, other: CacheOp) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: CacheOp) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class IdMappingMode:
    """
    Which IterDomains an IdModel graph takes as one.

    Members:

      exact

      almost_exact

      broadcast

      permissive

      loop
    """
    __members__: typing.ClassVar[dict[str, IdMappingMode]]
    almost_exact: typing.ClassVar[IdMappingMode]
    broadcast: typing.ClassVar[IdMappingMode]
    exact: typing.ClassVar[IdMappingMode]
    loop: typing.ClassVar[IdMappingMode]
    permissive: typing.ClassVar[IdMappingMode]
    @typing.overload
    def __eq__(self, other: IdMappingMode) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: IdMappingMode) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class MatmulTilingStrategy:
    """
    How output tiles of a matrix product are given to thread blocks.

    Members:

      one_tile_per_cta

      distribute_tiles_across_sms

      distribute_stages_across_sms
    """
    __members__: typing.ClassVar[dict[str, MatmulTilingStrategy]]
    distribute_stages_across_sms: typing.ClassVar[MatmulTilingStrategy]
    distribute_tiles_across_sms: typing.ClassVar[MatmulTilingStrategy]
    one_tile_per_cta: typing.ClassVar[MatmulTilingStrategy]
    @typing.overload
    def __eq__(self, other: MatmulTilingStrategy) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: MatmulTilingStrategy) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class MatmulBufferingLoopLevel:
    """
    The loop whose loads are buffered.

    Members:

      cta_tiles

      warp_tiles
    """
    __members__: typing.ClassVar[dict[str, MatmulBufferingLoopLevel]]
    cta_tiles: typing.ClassVar[MatmulBufferingLoopLevel]
    warp_tiles: typing.ClassVar[MatmulBufferingLoopLevel]
    @typing.overload
    def __eq__(self, other: MatmulBufferingLoopLevel) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: MatmulBufferingLoopLevel) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class MatmulCircularBufferingStrategy:
    """
    How loads and products overlap.

    Members:

      pipelined

      warp_specialized
    """
    __members__: typing.ClassVar[dict[str, MatmulCircularBufferingStrategy]]
    pipelined: typing.ClassVar[MatmulCircularBufferingStrategy]
    warp_specialized: typing.ClassVar[MatmulCircularBufferingStrategy]
    @typing.overload
    def __eq__(self, other: MatmulCircularBufferingStrategy) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: MatmulCircularBufferingStrategy) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class MatmulTileRasterizationOrder:
    """
    The order in which tiles are visited.

    Members:

      column_major

      row_major
    """
    __members__: typing.ClassVar[dict[str, MatmulTileRasterizationOrder]]
    column_major: typing.ClassVar[MatmulTileRasterizationOrder]
    row_major: typing.ClassVar[MatmulTileRasterizationOrder]
    @typing.overload
    def __eq__(self, other: MatmulTileRasterizationOrder) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: MatmulTileRasterizationOrder) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class MmaMacroArch:
    """
    Generation of the matrix instruction.

    Members:

      no_mma

      volta

      turing

      ampere

      hopper

      blackwell_1cta

      blackwell_2cta
    """
    __members__: typing.ClassVar[dict[str, MmaMacroArch]]
    ampere: typing.ClassVar[MmaMacroArch]
    blackwell_1cta: typing.ClassVar[MmaMacroArch]
    blackwell_2cta: typing.ClassVar[MmaMacroArch]
    hopper: typing.ClassVar[MmaMacroArch]
    no_mma: typing.ClassVar[MmaMacroArch]
    turing: typing.ClassVar[MmaMacroArch]
    volta: typing.ClassVar[MmaMacroArch]
    @typing.overload
    def __eq__(self, other: MmaMacroArch) -> bool:
        ...
    @typing.overload
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> int:
        ...
    def __hash__(self) -> int:
        ...
    def __index__(self) -> int:
        ...
    def __init__(self, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @typing.overload
    def __ne__(self, other: MmaMacroArch) -> bool:
        ...
    @typing.overload
    def __ne__(self, other: typing.Any) -> bool:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, state: int) -> None:
        ...
    def __str__(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class Statement:
    """
    Base of everything that stands in a fusion.
    """
    def __repr__(self) -> str:
        ...
    def __str__(self) -> str:
        ...
class Val(Statement):
    """
    A value: a scalar, a tensor, an IterDomain or a TensorDomain.
    """
    def definition(self) -> typing.Any:
        """
        The Expr that computes the value, or None.
        """
    def dtype(self) -> DataType:
        """
        The DataType of the value.
        """
    def is_symbolic(self) -> bool:
        """
        False for a constant scalar, else True.
        """
    def is_tensor(self) -> bool:
        """
        True for a TensorView.
        """
    def uses(self) -> list:
        """
        The list of Exprs that read the value.
        """
    def value(self) -> typing.Any:
        """
        The Python number of a constant scalar, else None.
        """
class Expr(Statement):
    """
    An operation: computes values from values.
    """
    def input(self, index: int) -> typing.Any:
        """
        Operand number `index`, absent ones not counted. IndexError when there is none.
        """
    def inputs(self) -> list:
        """
        The operands that are present.
        """
    def name(self) -> str:
        """
        The class of the operation, such as "BinaryOp" or "TopKOp".
        """
    def output(self, index: int) -> typing.Any:
        """
        Result number `index`. IndexError when there is none.
        """
    def outputs(self) -> list:
        """
        The results.
        """
class IterDomain(Val):
    """
    One dimension of a tensor or one loop.
    """
    def extent(self) -> typing.Any:
        """
        The size, a Val.
        """
    def is_broadcast(self) -> bool:
        """
        True when the dimension has size 1 in memory.
        """
    def is_reduction(self) -> bool:
        """
        True when the dimension is reduced.
        """
    def parallel_type(self) -> ParallelType:
        """
        The ParallelType.
        """
    def parallelize(self, parallel_type: ParallelType) -> None:
        """
        Maps the loop to a ParallelType.
        """
class TensorDomain(Val):
    """
    The domains of a tensor: root, logical, allocation and loop domain.
    """
class Split(Expr):
    """
    One IterDomain becomes two.
    """
    def inner(self) -> typing.Any:
        """
        The inner result.
        """
    def outer(self) -> typing.Any:
        """
        The outer result.
        """
class Merge(Expr):
    """
    Two IterDomains become one.
    """
    def inner(self) -> typing.Any:
        """
        The inner operand.
        """
    def outer(self) -> typing.Any:
        """
        The outer operand.
        """
class BroadcastOp(Expr):
    """
    Inserts dimensions of size 1.
    """
class ReshapeOp(Expr):
    """
    Gives the same elements another shape.
    """
class SqueezeOp(Expr):
    """
    Removes dimensions of size 1.
    """
class TensorView(Val):
    """
    A tensor in a fusion.
    """
    def axis(self, index: int) -> typing.Any:
        """
        Loop number `index` (negative: from the end). RuntimeError when out of range.
        """
    def cache_after(self, op_type: LoadStoreOpType = LoadStoreOpType.set, cache_op: CacheOp = CacheOp.unspecified, propagate_allocation_domain: bool = True, cached_uses: collections.abc.Sequence[Expr] = []) -> TensorView:
        """
        A copy of this tensor that takes over its uses (or the listed ones). Returns the copy.
        """
    def cache_before(self, op_type: LoadStoreOpType = LoadStoreOpType.set) -> TensorView:
        """
        A tensor that takes over this one's definition; this one becomes its copy.
        """
    def domain(self) -> typing.Any:
        """
        The TensorDomain that holds all domains.
        """
    def get_allocation_domain(self) -> list:
        """
        The dimensions in memory order.
        """
    def get_logical_domain(self) -> list:
        """
        The dimensions as a user sees them (and reductions), a list of IterDomain.
        """
    def get_loop_domain(self) -> list:
        """
        The loops that compute the tensor.
        """
    def get_root_domain(self) -> list:
        """
        The dimensions as the operands have them; the logical domain where there is no other.
        """
    def has_root(self) -> bool:
        """
        True when the root domain differs from the logical.
        """
    def inner_split(self, axis: int, factor: Val | bool | int | float | complex) -> None:
        """
        split with the inner loop of size `factor`.
        """
    def merge(self, axis_o: int, axis_i: int) -> None:
        """
        Merges two loops into one at the outer one's place.
        """
    def outer_split(self, axis: int, factor: Val | bool | int | float | complex) -> None:
        """
        split with the outer loop of size `factor`.
        """
    def reorder(self, old2new: collections.abc.Mapping[int, int] = {}) -> None:
        """
        Moves loops: old position -> new position; the others keep their order.
        """
    def rfactor(self, axes: typing.Sequence[int]) -> TensorView:
        """
        Splits a reduction in two; the returned TensorView reduces `axes`, this one the rest.
        """
    def set_allocation_domain(self, new_allocation_domain: collections.abc.Sequence[IterDomain], new_contiguity: bool) -> None:
        """
        Lays the tensor out in memory as the list of IterDomains says, all contiguous or none.
        """
    def set_device_mesh(self, mesh: typing.Any) -> None:
        """
        Not available: needs the multidevice part. Raises NotImplementedError.
        """
    def set_memory_type(self, memory_type: MemoryType) -> None:
        """
        Where the tensor lives. RuntimeError for inputs and outputs, which are global.
        """
    def shape(self) -> list:
        """
        The sizes of all dimensions, a list of Val.
        """
    def size(self, dim: int) -> Val:
        """
        Size of dimension `dim` (negative: from the end), a Val. RuntimeError when out of range.
        """
    def split(self, axis: int, factor: Val | bool | int | float | complex, inner_split: bool = True) -> None:
        """
        Splits a loop in two; `factor` is the size of the inner one, or of the outer one where inner_split is False. RuntimeError for an axis out of range or a factor below 1.
        """
    def swizzle(self, x: int, y: int) -> None:
        """
        XOR-swizzles two loops of equal size.
        """
    def swizzle1d(self, x: int, parallel_type: ParallelType) -> None:
        """
        Not available before code generation: raises NotImplementedError.
        """
    @property
    def ndim(self) -> int:
        """
        Number of dimensions.
        """
class Fusion:
    """
    A graph of operations with its inputs, outputs and in-place outputs.
    """
    def __eq__(self, other: typing.Any) -> typing.Any:
        """
        True for the same inputs, operations, outputs and in-place outputs.
        """
    def __hash__(self) -> int:
        ...
    def __init__(self) -> None:
        """
        An empty fusion.
        """
    def __str__(self) -> str:
        ...
    def _canonical_text(self) -> str:
        """
        Equal for two fusions exactly when they are equal.
        """
    def _visible_outputs(self) -> list[int]:
        """
        Indices of the outputs that a run returns.
        """
    def add_input(self, input: Val) -> None:
        """
        Makes a tensor or symbolic scalar an input. RuntimeError when it is one already, has a definition or belongs to another fusion.
        """
    @typing.overload
    def add_output(self, output: TensorView) -> None:
        """
        Appends an output. The same tensor may be added more than once.
        """
    @typing.overload
    def add_output(self, output: TensorView, alias_input: TensorView) -> None:
        """
        Writes `output` into the storage of the fusion input `alias_input`; it is returned only if it is also added plainly. RuntimeError unless alias_input is an input of the same dtype and rank.
        """
    @typing.overload
    def add_output(self, output: Val) -> None:
        """
        Scalars are refused with RuntimeError.
        """
    def exprs(self) -> list:
        """
        The operations that lead to an output, producers first.
        """
    def inputs(self) -> list:
        """
        The list of inputs.
        """
    def outputs(self) -> list:
        """
        The list of outputs, hidden in-place ones included.
        """
    def print_kernel(self, compile_params: typing.Any = None) -> str:
        """
        The C++ text of the CPU kernel that the fusion becomes, as one kernel, by the schedule of its tensors.

        A tensor that inline_most or inline_at computes at the innermost loops of its users has no loops of its own. The kernels
        of automatic schedules are those of FusionDefinition.last_kernel_code(). compile_params changes nothing on the CPU.
        RuntimeError when an operation is none of generated kernels (matmul, attention, ...) or the schedule cannot be carried
        out.
        """
    def print_math(self, from_outputs_only: bool = True) -> str:
        """
        The operations as text; with from_outputs_only=False also those that no output needs.
        """
    def vals(self) -> list:
        """
        Every value.
        """
class FusionGuard:
    """
    Makes a fusion the one that operations are added to, while alive.
    """
    def __enter__(self) -> typing.Any:
        ...
    def __exit__(self, *args) -> None:
        ...
    def __init__(self, fusion: Fusion) -> None:
        ...
class FusionExecutorCache:
    """
    Runs a fusion for any inputs that fit; what it prepares for a class of inputs is kept.
    """
    def __init__(self, fusion: Fusion, fusion_id: int = 0, auto_schedule: bool = True) -> None:
        """
        Takes the fusion over: it must not be changed afterwards.
        """
    def _measure(self, inputs: typing.Any, device: typing.Any = None, runs: int = 20, _enable_options: typing.Any = None, _disable_options: typing.Any = None) -> tuple[list[float], float]:
        """
        Median seconds of each segment and of a whole run.
        """
    def _most_recent_report(self) -> list:
        """
        _report of the inputs that were prepared last, without sizes.
        """
    def _report(self, inputs: typing.Any, device: typing.Any = None, _enable_options: typing.Any = None, _disable_options: typing.Any = None) -> dict:
        """
        The segments that a run with these inputs executes, as dicts; runs nothing.
        """
    def execute(self, inputs: typing.Any, *, device: typing.Any = None, _enable_options: typing.Any = None, _disable_options: typing.Any = None) -> list:
        """
        Runs the fusion and returns the list of visible outputs.

        inputs: torch tensors and Python numbers in definition order; nested lists and tuples are flattened. device: None (the
        tensors' common device), a CUDA index, a str or a torch.device. Nothing is recorded for autograd.
        RuntimeError, naming the input: a wrong count, kind, dtype, rank, size, stride class or device.
        """
    def fusion(self) -> Fusion:
        """
        The fusion as it was defined.
        """
    def get_cuda_kernel(self, inputs: typing.Any, intrinsic_code: bool = False, device: typing.Any = None) -> str:
        """
        The sources of the generated kernels that a run with these inputs launches: CUDA C++, or C++ for CPU tensors.

        Empty when ATen evaluates all of it. Each text is complete by itself, so intrinsic_code makes no difference. Prepares
        what is missing, and runs nothing. Errors as execute.
        """
    def get_most_recent_scheduled_ir(self, tensor_transforms: bool = False) -> str:
        """
        get_scheduled_ir for the inputs that were prepared last. RuntimeError before any were.
        """
    def get_output_shardings(self) -> list:
        """
        Empty: no output is sharded over devices.
        """
    def get_scheduled_ir(self, inputs: typing.Any, tensor_transforms: bool = False, device: typing.Any = None) -> str:
        """
        The segments that a run with these inputs executes, each with its nodes as they are scheduled.

        tensor_transforms: also how the loops of each tensor come from its dimensions. Prepares what is missing, and runs
        nothing. Errors as execute.
        """
    def is_compiled(self, inputs: typing.Any, device: typing.Any = None) -> bool:
        """
        True when a run with inputs of this class needs no more preparation.
        """
    def last_kernel_code(self) -> str:
        """
        The sources of the generated kernels of the most recent run; empty when ATen evaluated all of it.
        """
    def num_runtimes(self) -> int:
        """
        For how many classes of inputs something is prepared.
        """
class KernelProfile:
    """
    One generated kernel, or one library call, of a profiled run. Times in ms, bandwidths in GB/s.
    """
    def __repr__(self) -> str:
        ...
    @property
    def block_str(self) -> str:
        """
        Threads, on the CPU.
        """
    @property
    def cluster_str(self) -> str:
        ...
    @property
    def compile_time_ms(self) -> float:
        """
        0 when it was ready before the run.
        """
    @property
    def correlation_id(self) -> int:
        """
        Running number within the run.
        """
    @property
    def device(self) -> int:
        """
        Index of the CUDA device; -1 for the CPU.
        """
    @property
    def effective_bandwidth_gbs(self) -> float:
        """
        Bytes of its inputs and outputs by its time.
        """
    @property
    def grid_str(self) -> str:
        """
        Tasks of each stage, on the CPU.
        """
    @property
    def input_bytes(self) -> int:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def output_bytes(self) -> int:
        ...
    @property
    def percentage_peak_bandwidth(self) -> float:
        """
        Of the copy bandwidth of the device, which is measured once, at the first question.
        """
    @property
    def registers(self) -> int:
        ...
    @property
    def scheduler(self) -> str:
        """
        "expr_eval" for library calls, "user" for schedules made by hand.
        """
    @property
    def segment_id(self) -> int:
        ...
    @property
    def shared_mem_str(self) -> str:
        """
        Bytes of workspace, and of scratch memory of each thread, on the CPU.
        """
    @property
    def stream(self) -> int:
        ...
    @property
    def time_ms(self) -> float:
        ...
class FusionProfile:
    """
    One run of a fusion. Times in ms, bandwidths in GB/s.
    """
    def __str__(self) -> str:
        ...
    @property
    def compile_time_ms(self) -> float:
        """
        What the call prepared; 0 when all was ready.
        """
    @property
    def cuda_evt_time_ms(self) -> float:
        """
        All segments; on the CPU by the host's clock.
        """
    @property
    def effective_bandwidth_gbs(self) -> float:
        ...
    @property
    def fusion_id(self) -> int:
        ...
    @property
    def host_time_ms(self) -> float:
        """
        The whole call, compiling included.
        """
    @property
    def input_bytes(self) -> int:
        ...
    @property
    def kernel_profiles(self) -> list[KernelProfile]:
        ...
    @property
    def kernel_time_ms(self) -> float:
        """
        The sum over kernel_profiles.
        """
    @property
    def output_bytes(self) -> int:
        ...
    @property
    def percentage_peak_bandwith(self) -> float:
        """
        Of the copy bandwidth of the device, which is measured once, at the first question.
        """
    @property
    def segments(self) -> int:
        ...
    @property
    def verbose(self) -> bool:
        ...
def _active_fusion() -> typing.Any:
    """
    The fusion that operations are added to on this thread, or None.
    """
def _copy_bandwidth(device: typing.Any = None) -> float:
    """
    Bytes per second, read and written, of a large copy on the device, measured now.
    """
def _evaluate(fusion: Fusion, args: typing.Any) -> list:
    """
    The visible outputs, evaluated node by node on the definition as it is: no passes, no in-place writes.
    """
def _last_profile() -> FusionProfile | None:
    """
    The same, or None.
    """
def _planned_report(fusion: Fusion, _enable_options: typing.Any = None, _disable_options: typing.Any = None) -> list:
    """
    The segments that runs on CPU tensors have as far as the definition decides it.
    """
def _start_profiling() -> None:
    """
    Profiles runs until _stop_profiling().
    """
def _stop_profiling() -> None:
    """
    Ends one _start_profiling().
    """
def compute_tensor_descriptor(sizes: typing.Sequence[int], strides: typing.Sequence[int]) -> tuple[list[bool | None], list[int]]:
    """
    The (contiguity, stride order) lists of a torch tensor with these sizes and strides.

    Stride-0 dims keep their position; the others are sorted by descending stride. Contiguity is listed in that order:
    None for size 1 or stride 0, else whether the dim follows the next inner one without a gap. stride_order[i] is the rank
    of dim i in memory, 0 = fastest. RuntimeError: a negative stride, lengths that differ.
    """
@typing.overload
def define_scalar(dtype: DataType = DataType.Double) -> Val:
    """
    A symbolic scalar in the active fusion, without adding it as an input.
    """
@typing.overload
def define_scalar(value: Val | bool | int | float | complex | None, dtype: DataType | None = None) -> Val:
    """
    A constant of this value, cast to `dtype`; with value None a symbolic scalar of `dtype`. Without dtype: complex ComplexDouble, float Double, int and bool Int.
    """
@typing.overload
def define_tensor(shape: typing.Sequence[int], contiguity: typing.Sequence[bool | None], dtype: DataType = DataType.Float, is_cpu: bool = False, stride_order: typing.Sequence[int] = ()) -> TensorView:
    """
    A tensor in the active fusion, without adding it as an input.

    shape: -1 symbolic, 1 broadcast, 0 or more than 1 static. contiguity: one flag per dim in memory order (slowest
    first), None for size-1 dims; None for another size marks an expanded dim (stride 0). stride_order: rank of each dim
    in memory, 0 = fastest. is_cpu: a 0-dim tensor that stays on the CPU while the fusion runs on a GPU.
    RuntimeError: a size below -1, lengths that differ, a stride_order that is no permutation, is_cpu with dims.
    """
@typing.overload
def define_tensor(shape: typing.Sequence[int], contiguity: bool = False, dtype: DataType = DataType.Float, is_cpu: bool = False, stride_order: typing.Sequence[int] = ()) -> TensorView:
    """
    As above, with the same flag for every dim whose size is not 1.
    """
@typing.overload
def define_tensor(sizes: typing.Sequence[int], strides: typing.Sequence[int], dtype: DataType = DataType.Float, static_sizes: bool = False, is_cpu: bool = False) -> TensorView:
    """
    A tensor laid out as a torch tensor of these sizes and strides. Sizes other than 1 become symbolic unless static_sizes.
    """
def get_fusion_profile() -> FusionProfile:
    """
    The FusionProfile of the profiled run that ended last, on any thread. RuntimeError when there is none.
    """
def get_val_tolerances(fusion: Fusion, args: typing.Any) -> list[tuple[float, float]]:
    """
    A list of (absolute, relative) tolerances, one per output: larger for narrow types and after long reductions.
    """
def last_sdpa_backend() -> str:
    """
    Name of the backend of this thread's most recent attention node; "" before the first.
    """
def reset_profiler() -> None:
    """
    Forgets the profile.
    """
def reset_sdpa_run_counts() -> None:
    """
    Forgets what has run.
    """
def rng_state_form(torch_version: str | None = None, is_rocm: bool = False) -> dict:
    """
    Dtypes, shapes and device of philox_seed and philox_offset for a version of torch; None: the torch in use.
    """
def sdpa_backends(query: typing.Any, key: typing.Any, value: typing.Any, bias: typing.Any = None, mask: typing.Any = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, bottom_right: bool = False, training: bool = True, backward: bool = False, bias_grad: bool = False) -> list:
    """
    (name, eligible, reason) for every attention backend, in the order in which "auto" prefers them.
    """
def sdpa_run_counts() -> dict:
    """
    Attention nodes run since the last reset, by backend; backward nodes count as "<name>_backward".
    """
def sdpa_run_log() -> list[str]:
    """
    The names that sdpa_run_counts counts, in the order of the runs; the most recent 1024.
    """
def translate_fusion(fusion: Fusion) -> str:
    """
    The text of a Python function nvfuser_fusion(fd) that defines the same fusion.
    """
_built_with_torch: str = '2.13.0'
_version: str = '0.3.0'
class InternalError(RuntimeError):
    """
    A fault of this library, not of its caller. The message names the place in the source.
    """
