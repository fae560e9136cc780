"""Parameters of kernels and schedulers, as callers make, compare and print them.

Schedulers of CPU kernels say what they chose in `heuristics`; the fields beside it are those of CUDA kernels, and
change nothing on the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nvfuser_direct import _C_DIRECT as _C


@dataclass
class LaunchParams:
    """Grid and block sizes of a launch; -1: chosen by the schedule."""

    gdimx: int = -1
    gdimy: int = -1
    gdimz: int = -1
    bdimx: int = -1
    bdimy: int = -1
    bdimz: int = -1


@dataclass(kw_only=True)
class CompileParams:
    """Options of a kernel's compilation."""

    index_type: Any = None
    maxrregcount: int = 255
    enable_magic_zero: bool = True
    enable_ptxas_verbose: bool = False
    device: Any = None
    include_paths: list[str] = field(default_factory=list)


@dataclass
class HeuristicParams:
    """What a scheduler decided for one class of inputs."""

    lparams: LaunchParams = field(default_factory=LaunchParams)
    cparams: CompileParams = field(default_factory=CompileParams)
    scheduler: str = field(default="", kw_only=True)
    """Of a CPU kernel: the scheduler in words ("inner reduction")."""
    heuristics: str = field(default="", kw_only=True)
    """Of a CPU kernel: what the scheduler chose."""
    input_sizes: list[list[int]] = field(default_factory=list, kw_only=True)
    """Sizes of the tensor inputs that the choice is for; schedulers guess those that are missing."""
    chosen_type: Any = field(default=None, kw_only=True, repr=False)
    """scheduler_type, where it is not that of the class."""

    @property
    def scheduler_type(self) -> Any:
        """The SchedulerType that these parameters belong to."""
        return self.chosen_type if self.chosen_type is not None else self._class_type()

    @classmethod
    def _class_type(cls) -> Any:
        return _C.SchedulerType.none

    def hash(self) -> int:
        """Equal for equal parameters."""
        return hash(repr(self))


@dataclass
class PointwiseParams(HeuristicParams):
    """Parameters of the pointwise scheduler."""

    break_point: int = 0
    split_block: bool = False
    split_grid_y_dim: bool = False
    flip_grid_binding: bool = False
    vectorization_factor: int = 1
    unroll_factor_inner: int = 1
    unroll_factor_outer: int = 1

    @classmethod
    def _class_type(cls) -> Any:
        return _C.SchedulerType.pointwise


@dataclass
class ReductionParams(HeuristicParams):
    """Parameters of the reduction and normalisation schedulers, per inner and outer reduction and iteration dim."""

    persistent_kernel: bool = False
    project_persistent_buffers: bool = False
    schedule_3D: bool = False
    fastest_dim: bool = False
    cross_block_inner_reduction: bool = False
    cross_grid_inner_reduction: bool = False
    unroll_factor_inner_reduction: int = 1
    vectorize_inner_reduction: bool = False
    split_grid_dim_inner_reduction: bool = False
    pad_inner_reduction_to_warp: bool = False
    batches_per_block_inner_reduction: int = 1
    block_dim_inner_reduction: Any = None
    grid_dim_inner_reduction: Any = None
    multiple_reds_per_blk: bool = False
    unroll_factor_iter_dom: int = 1
    vectorize_iter_dom: bool = False
    split_grid_dim_iter_dom_inner: bool = False
    split_grid_dim_iter_dom_outer: bool = False
    block_dim_iter_dom: Any = None
    grid_dim_iter_dom: Any = None
    cross_block_outer_reduction: bool = False
    cross_grid_outer_reduction: bool = False
    batches_per_block_outer_reduction: int = 1
    unroll_factor_outer_reduction: int = 1
    block_dim_outer_reduction: Any = None
    grid_dim_outer_reduction: Any = None
    compute_persistent_buffer_with_first_consumer: bool = False
    static_bdimx: bool = False
    static_bdimy: bool = False
    combined_inner_outer: bool = False
    tidx_for_outer_reduction: bool = False
    pad_outer_reduction_to_warp: bool = False
    vectorization_factor_outer: int = 1
    vectorization_factor_tmp_gmem_write: int = 1

    @classmethod
    def _class_type(cls) -> Any:
        return _C.SchedulerType.reduction


@dataclass(frozen=True)
class GemmTile:
    """Sizes of one tile of a matrix product."""

    m: int
    n: int
    k: int


@dataclass
class MatMulTileOptions:
    """Tiles of a thread block and of a warp."""

    cta_tile: GemmTile = GemmTile(128, 128, 32)
    warp_tile: GemmTile = GemmTile(64, 64, 32)


@dataclass
class CircularBufferOptions:
    """Whether loads to shared memory and to registers are buffered, in how many stages, and how far ahead."""

    circular_buffer_smem_write: bool = False
    circular_buffer_smem_read: bool = False
    smem_circular_buffer_stage: int = 2
    smem_circular_buffer_prefetch_gap: int = 1


@dataclass
class SupportedVectorization:
    """Vector widths for the operands and for the epilogue."""

    a: int = 1
    b: int = 1
    epilogue: int = 1


@dataclass(frozen=True)
class ClusterDims:
    """Thread block cluster sizes."""

    m: int = 1
    n: int = 1


@dataclass(frozen=True)
class MmaMacro:
    """A matrix instruction: generation and sizes."""

    arch: Any
    m: int
    n: int
    k: int


@dataclass(frozen=True)
class MmaMacroEncode:
    """The parts from which a MmaMacro is made."""

    arch: Any
    m: int
    n: int
    k: int

    def mma_macro(self) -> MmaMacro:
        """The instruction of this generation and these sizes."""
        return MmaMacro(self.arch, self.m, self.n, self.k)


@dataclass
class MatmulParams(HeuristicParams):
    """Parameters of the matmul scheduler."""

    tile_sizes: MatMulTileOptions = field(default_factory=MatMulTileOptions)
    circular_buffer_options: CircularBufferOptions = field(default_factory=CircularBufferOptions)
    supported_vec_size: SupportedVectorization = field(default_factory=SupportedVectorization)
    async_gmem_load_operands: bool = False
    grid_traversal_factor: tuple[int, int] = (1, 1)
    use_smem_epilogue: bool = False
    use_ldst_matrix: bool = False
    promote_prologue_smem_reuse: bool = False
    splitk_factor: int = 1
    tiling_strategy: Any = field(default_factory=lambda: _C.MatmulTilingStrategy.one_tile_per_cta)
    buffering_loop_level: Any = field(default_factory=lambda: _C.MatmulBufferingLoopLevel.cta_tiles)
    circular_buffering_strategy: Any = field(default_factory=lambda: _C.MatmulCircularBufferingStrategy.pipelined)
    cta_order: Any = field(default_factory=lambda: _C.MatmulTileRasterizationOrder.row_major)
    cluster_dims: ClusterDims = ClusterDims()
    mma_macro: MmaMacro | None = None

    @classmethod
    def _class_type(cls) -> Any:
        return _C.SchedulerType.matmul


def params_of(scheduler_type: Any, scheduler: str, heuristics: str, input_sizes: list[list[int]]) -> HeuristicParams:
    """The parameters that a scheduler of CPU kernels has chosen for inputs of these sizes."""
    kinds = _C.SchedulerType
    classes = {
        kinds.pointwise: PointwiseParams,
        kinds.reduction: ReductionParams,
        kinds.inner_persistent: ReductionParams,
        kinds.outer_persistent: ReductionParams,
    }
    params = classes.get(scheduler_type, HeuristicParams)(
        scheduler=scheduler, heuristics=heuristics, input_sizes=input_sizes, chosen_type=scheduler_type
    )
    if isinstance(params, ReductionParams):
        params.fastest_dim = scheduler.startswith("inner")
        params.persistent_kernel = scheduler_type != kinds.reduction
    return params
