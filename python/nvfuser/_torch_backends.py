"""Makes ``torch.compile(f, backend="nvfuser")`` work after ``import nvfuser``.

An installed package is found by torch through its entry point. From a source tree that was never installed it is
not, so importing `nvfuser` adds the same entry to torch's list. torch._dynamo takes a second to import; we wait
until somebody else imports it.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from importlib.metadata import EntryPoint

from nvfuser._retired import BACKEND_NAMES, retired_backend_message

_REGISTRY_MODULE = "torch._dynamo.backends.registry"
_ENTRY_POINT = EntryPoint("nvfuser", "nvfuser.dynamo:nvfuser_backend", "torch_dynamo_backends")


def _refuse(name: str):
    def backend(graph_module, example_inputs, **options):
        raise RuntimeError(retired_backend_message(name))

    backend.__name__ = name
    return backend


def _fill(registry) -> None:
    registry._BACKENDS.setdefault("nvfuser", _ENTRY_POINT)
    for name in BACKEND_NAMES:
        if name not in registry._COMPILER_FNS:
            # tag "debug": callable by name, but not in torch._dynamo.list_backends()
            registry.register_backend(_refuse(name), name=name, tags=("debug",))


class _AfterRegistryImport(importlib.abc.MetaPathFinder):
    """Fills the registry right after its module has run, then leaves sys.meta_path."""

    _searching = False

    def find_spec(self, fullname, path=None, target=None):
        if fullname != _REGISTRY_MODULE or self._searching:
            return None
        self._searching = True  # the search below comes here too
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            return spec
        run_module = spec.loader.exec_module

        def exec_module(module):
            run_module(module)
            _fill(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)

        spec.loader.exec_module = exec_module
        return spec


def register() -> None:
    """Enter our backend, and a pointer for each retired name, in torch's registry, now or once it is imported."""
    if _REGISTRY_MODULE in sys.modules:
        _fill(sys.modules[_REGISTRY_MODULE])
    elif not any(isinstance(finder, _AfterRegistryImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterRegistryImport())
