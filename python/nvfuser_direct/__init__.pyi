# Written by tools/gen_stubs.py from the docstrings of the extension.
from nvfuser_direct import _C_DIRECT as _C_DIRECT
from nvfuser_direct._C_DIRECT import BroadcastOp as BroadcastOp
from nvfuser_direct._C_DIRECT import CacheOp as CacheOp
from nvfuser_direct.params import CircularBufferOptions as CircularBufferOptions
from nvfuser_direct.params import ClusterDims as ClusterDims
from nvfuser_direct._C_DIRECT import CommunicatorBackend as CommunicatorBackend
from nvfuser_direct.params import CompileParams as CompileParams
from nvfuser_direct._C_DIRECT import DataType as DataType
from nvfuser_direct._C_DIRECT import Expr as Expr
from nvfuser_direct._C_DIRECT import Fusion as Fusion
from nvfuser_direct.definition import FusionDefinition as FusionDefinition
from nvfuser_direct._C_DIRECT import FusionExecutorCache as FusionExecutorCache
from nvfuser_direct._C_DIRECT import FusionGuard as FusionGuard
from nvfuser_direct.params import GemmTile as GemmTile
from nvfuser_direct.params import HeuristicParams as HeuristicParams
from nvfuser_direct._C_DIRECT import IdMappingMode as IdMappingMode
from nvfuser_direct._C_DIRECT import InternalError as InternalError
from nvfuser_direct._C_DIRECT import IterDomain as IterDomain
from nvfuser_direct.kernels import KernelExecutor as KernelExecutor
from nvfuser_direct.lru import LRUCache as LRUCache
from nvfuser_direct.params import LaunchParams as LaunchParams
from nvfuser_direct._C_DIRECT import LoadStoreOpType as LoadStoreOpType
from nvfuser_direct.lru import LruFusionCache as LruFusionCache
from nvfuser_direct.params import MatMulTileOptions as MatMulTileOptions
from nvfuser_direct._C_DIRECT import MatmulBufferingLoopLevel as MatmulBufferingLoopLevel
from nvfuser_direct._C_DIRECT import MatmulCircularBufferingStrategy as MatmulCircularBufferingStrategy
from nvfuser_direct.params import MatmulParams as MatmulParams
from nvfuser_direct._C_DIRECT import MatmulTileRasterizationOrder as MatmulTileRasterizationOrder
from nvfuser_direct._C_DIRECT import MatmulTilingStrategy as MatmulTilingStrategy
from nvfuser_direct._C_DIRECT import MemoryType as MemoryType
from nvfuser_direct._C_DIRECT import Merge as Merge
from nvfuser_direct.params import MmaMacro as MmaMacro
from nvfuser_direct._C_DIRECT import MmaMacroArch as MmaMacroArch
from nvfuser_direct.params import MmaMacroEncode as MmaMacroEncode
from nvfuser_direct.nvfuser_direct_version import NvfuserVersion as NvfuserVersion
from nvfuser_direct._C_DIRECT import ParallelType as ParallelType
from nvfuser_direct.params import PointwiseParams as PointwiseParams
from nvfuser_direct.kernels import PythonProfiler as PythonProfiler
from nvfuser_direct.params import ReductionParams as ReductionParams
from nvfuser_direct._C_DIRECT import ReshapeOp as ReshapeOp
from nvfuser_direct._C_DIRECT import SchedulerType as SchedulerType
from nvfuser_direct._C_DIRECT import Split as Split
from nvfuser_direct._C_DIRECT import SqueezeOp as SqueezeOp
from nvfuser_direct._C_DIRECT import Statement as Statement
from nvfuser_direct.params import SupportedVectorization as SupportedVectorization
from nvfuser_direct._C_DIRECT import TensorDomain as TensorDomain
from nvfuser_direct._C_DIRECT import TensorView as TensorView
from nvfuser_direct._C_DIRECT import Val as Val
from nvfuser_direct._C_DIRECT import compute_tensor_descriptor as compute_tensor_descriptor
from nvfuser_direct._C_DIRECT import define_scalar as define_scalar
from nvfuser_direct._C_DIRECT import define_tensor as define_tensor
from nvfuser_direct.multidevice import execute_with_dtensors as execute_with_dtensors
from nvfuser_direct.kernels import get_fusion_profile as get_fusion_profile
from nvfuser_direct._C_DIRECT import get_val_tolerances as get_val_tolerances
from nvfuser_direct import idm as idm
from nvfuser_direct import multidevice as multidevice
from nvfuser_direct import ops as ops
from nvfuser_direct import pytorch_utils as pytorch_utils
from nvfuser_direct.kernels import reset_profiler as reset_profiler
from nvfuser_direct import schedule as schedule
from nvfuser_direct._C_DIRECT import translate_fusion as translate_fusion
from nvfuser_direct.validation import validate_with_auto_inferred_outputs as validate_with_auto_inferred_outputs

__version__: str

def version() -> NvfuserVersion:
    """The package's version; compares by its numbers with a str or a Version object."""
