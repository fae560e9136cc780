"""Names under which the fuser was known before, each with what to use today."""

from __future__ import annotations

import importlib.abc
import sys

_USE_COMPILE = 'torch.compile(f, backend="nvfuser")'

# Attributes of earlier `nvfuser` modules.
_ATTRIBUTES = {
    "FusionCache": "compiled fusions belong to their definition (fd.fec); nvfuser.LRUCache shares them",
    "_C": "the extension is nvfuser._C_DIRECT; its public names are attributes of nvfuser itself",
    "Scalar": "nvfuser.Val",
    "Tensor": "nvfuser.TensorView",
    "Vector": "FusionDefinition.define_vector, which returns a list of nvfuser.Val",
    "UserSchedule": "FusionDefinition.manual_execute with the functions of fd.sched",
    "compute_contiguity": "nvfuser.compute_tensor_descriptor(sizes, strides), which returns (contiguity, stride order)",
    "clone": "a new FusionDefinition; nvfuser.LruFusionCache shares its compiled form",
    "contrib": _USE_COMPILE,
    "nvfuser_version": "nvfuser.version()",
    "enable": f"nothing: the fuser is chosen per function with {_USE_COMPILE}",
    "disable": f"nothing: the fuser is chosen per function with {_USE_COMPILE}",
}

# Strings that torch.compile(backend=...) and torchdynamo took for this fuser.
BACKEND_NAMES = ("aot_nvfuser", "aot_ts_nvfuser", "nvprims_nvfuser", "prims_nvfuser", "ts_nvfuser")


def retired_name_message(name: str) -> str | None:
    """The error text for an attribute that earlier versions had, or None for any other name."""
    if name not in _ATTRIBUTES:
        return None
    return f"nvfuser.{name} no longer exists; use instead: {_ATTRIBUTES[name]}"


def retired_backend_message(name: str) -> str:
    """The error text for one of BACKEND_NAMES."""
    return f'the torch.compile backend "{name}" no longer exists; use {_USE_COMPILE}'


class _RetiredModules(importlib.abc.MetaPathFinder):
    """Answers ``from nvfuser import FusionCache`` and ``import nvfuser._C`` with the pointer.

    Python turns the AttributeError of a module's __getattr__ into "cannot import name"; the look for a submodule of
    that name, which comes first, is where a text of our own can be given.
    """

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.rpartition(".")
        message = retired_name_message(name) if package == "nvfuser" else None
        if message is not None:
            raise ImportError(message, name=fullname)
        return None


def install_import_pointers() -> None:
    """Add the finder at the end of sys.meta_path, where only imports arrive that nobody else could serve."""
    if not any(isinstance(finder, _RetiredModules) for finder in sys.meta_path):
        sys.meta_path.append(_RetiredModules())
