"""Prints "version;root;cxx11abi" of the installed torch for CMake, or says in one sentence what to install."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cmake"))
import build_requirements as requirements  # noqa: E402

try:
    torch = requirements.require_torch()
except requirements.RequirementError as error:
    sys.exit(str(error))

version = ".".join(str(part) for part in requirements.release(torch.__version__))
print(version, Path(torch.__file__).resolve().parent, int(torch._C._GLIBCXX_USE_CXX11_ABI), sep=";")
