"""A fusion compiler for PyTorch in which attention is a node of the IR.

``nvfuser`` holds every public name of ``nvfuser_direct`` (`FusionDefinition`, `DataType`, `ops`, ...) and adds

- ``torch.compile(f, backend="nvfuser")`` (`nvfuser.dynamo`) and `compile_report`, which says what went where,
- `nvfuser.export`: runs programs of ``torch.export``, and says what becomes of them,
- `nvfuser.passes`: turns fused attention variants in such programs back into one node,
- `sdpa_backends`: which attention backends take a problem, or why not,
- the command line ``python -m nvfuser``.

Names are resolved when they are first used, so ``import nvfuser`` costs neither torch nor the compiled part.
"""

from __future__ import annotations

import importlib as _importlib

from nvfuser import _torch_backends
from nvfuser._retired import install_import_pointers as _install_import_pointers
from nvfuser._retired import retired_name_message as _retired_name_message

# Public names of our own -> the module that defines them.
_OWN_NAMES = {
    "compile_report": "nvfuser.dynamo",
    "sdpa_backends": "nvfuser.attention",
}
_SUBMODULES = ("attention", "demo", "demo_model", "dynamo", "export", "info", "passes", "pytorch_utils")

_torch_backends.register()
_install_import_pointers()


def _public_names() -> list[str]:
    import nvfuser_direct

    direct = getattr(nvfuser_direct, "__all__", None) or [n for n in dir(nvfuser_direct) if not n.startswith("_")]
    return sorted({*direct, *_OWN_NAMES, "__version__"})


def __getattr__(name: str):
    # `_C_DIRECT` is the one underscore name that nvfuser_direct makes public.
    if name.startswith("_") and name not in ("_C_DIRECT", "__version__", "__all__"):
        raise AttributeError(_retired_name_message(name) or f"module 'nvfuser' has no attribute {name!r}")
    if name == "__all__":
        return _public_names()
    if name in _SUBMODULES:
        return _importlib.import_module(f"nvfuser.{name}")

    message = _retired_name_message(name)
    if message is not None:
        raise AttributeError(message)
    source = _importlib.import_module(_OWN_NAMES.get(name, "nvfuser_direct"))
    try:
        value = getattr(source, name)
    except AttributeError:
        raise AttributeError(f"module 'nvfuser' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    try:
        public = _public_names()
    except ImportError:  # the compiled part is not there; what is left can still be listed
        public = list(_OWN_NAMES)
    return sorted({*globals(), *public, *_SUBMODULES})
