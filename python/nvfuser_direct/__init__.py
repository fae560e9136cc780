"""The fusion API under the name that existing callers import.

`FusionDefinition` defines and runs a fusion; `DataType` and the other enums, `ops` (operators) and `schedule`
(schedule functions), executors and caches are attributes of this package. `nvfuser` re-exports everything here and adds
the torch.compile backend.
"""
# ruff: noqa: E402, F401

from nvfuser_direct import _loader

_C_DIRECT = _loader.load()

# Every public name of the compiled part is a name of the package.
globals().update({name: getattr(_C_DIRECT, name) for name in dir(_C_DIRECT) if not name.startswith("_")})

from nvfuser_direct import multidevice, pytorch_utils
from nvfuser_direct.attention import SdpaBackendTable, sdpa_backends
from nvfuser_direct.definition import FusionDefinition
from nvfuser_direct.explain import Explanation
from nvfuser_direct.kernels import KernelExecutor
from nvfuser_direct.lru import LRUCache, LruFusionCache
from nvfuser_direct.multidevice import execute_with_dtensors
from nvfuser_direct.nvfuser_direct_version import NvfuserVersion
from nvfuser_direct.params import (
    CircularBufferOptions,
    ClusterDims,
    CompileParams,
    GemmTile,
    HeuristicParams,
    LaunchParams,
    MatmulParams,
    MatMulTileOptions,
    MmaMacro,
    MmaMacroEncode,
    PointwiseParams,
    ReductionParams,
    SupportedVectorization,
)
from nvfuser_direct.profiler import PythonProfiler
from nvfuser_direct.validation import validate_with_auto_inferred_outputs

__version__ = _C_DIRECT._version


def version() -> NvfuserVersion:
    """The package's version; compares by its numbers with a str or a Version object."""
    return NvfuserVersion(__version__)


# The modules that only hold what is imported above are no part of the API.
_MODULES = {
    "definition",
    "draw",
    "explain",
    "fake_tensors",
    "kernels",
    "lru",
    "nvfuser_direct_version",
    "params",
    "profiler",
    "repro",
    "validation",
}
__all__ = sorted(name for name in globals() if not name.startswith("_") and name not in _MODULES)
