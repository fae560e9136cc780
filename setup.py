"""Builds the package: CMake and ninja make libnvfuser_core and the extension, setuptools packs them.

Environment: MAX_JOBS limits parallel compilers, CXX names the compiler, CMAKE_ARGS is handed to CMake,
NVFUSER_SKIP_NATIVE_BUILD=1 links or packs the Python part only.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "cmake"))

import build_requirements as requirements  # noqa: E402

NATIVE_BUILD = os.environ.get("NVFUSER_SKIP_NATIVE_BUILD", "0") != "1"


def torch_requirement() -> str:
    """The torch that the metadata asks for: the minor release built against, because torch keeps no C++ ABI across them."""
    try:
        torch = requirements.require_torch()
    except requirements.RequirementError:
        return requirements.TORCH_RANGE
    major, minor, _ = requirements.release(torch.__version__)
    return f"torch=={major}.{minor}.*"


class CMakeExtension(Extension):
    """The compiled part of nvfuser_direct as CMake sees it."""

    def __init__(self, name: str):
        super().__init__(name, sources=[])


class CMakeBuild(build_ext):
    """Runs CMake and ninja in place of setuptools' own compiler driver."""

    def run(self) -> None:
        if NATIVE_BUILD:
            super().run()

    def build_extension(self, ext: Extension) -> None:
        requirements.check_python(sys.version_info[:2])
        torch = requirements.require_torch()
        compiler = requirements.require_compiler()
        requirements.require_module("pybind11")
        cmake, ninja = requirements.require_tool("cmake"), requirements.require_tool("ninja")

        # Editable installs share the build folder and the outputs of `make build`.
        in_place = bool(self.inplace) or getattr(self, "editable_mode", False)
        if in_place:
            package_dir, build_dir = ROOT / "python" / "nvfuser_direct", ROOT / "build"
        else:
            package_dir = Path(self.build_lib).resolve() / "nvfuser_direct"
            tag = f"py{sys.version_info[0]}.{sys.version_info[1]}-torch{torch.__version__}".replace("+", "_")
            build_dir = Path(self.build_temp).resolve() / tag
        configure = [
            *(cmake, "-S", str(ROOT), "-B", str(build_dir), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"),
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DNVFUSER_PACKAGE_DIR={package_dir}",
            *(["-DCMAKE_BUILD_TYPE=Debug"] if self.debug else ["-DCMAKE_BUILD_TYPE=Release"]),
            *([] if in_place else ["-DNVFUSER_BUILD_TESTS=OFF"]),
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ]
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
        environment = {**os.environ, "PATH": path}
        if len(compiler.split()) == 1:
            environment["CXX"] = compiler
        if not in_place or not (build_dir / "build.ninja").exists():
            subprocess.run(configure, check=True, env=environment)
        subprocess.run([ninja, "-C", str(build_dir), f"-j{requirements.parallel_jobs()}"], check=True, env=environment)
        if not in_place:
            shutil.rmtree(package_dir / "__pycache__", ignore_errors=True)

    def get_outputs(self) -> list[str]:
        """What the build leaves in the package, for installers that record it."""
        package_dir = Path(self.build_lib) / "nvfuser_direct"
        return [str(path) for path in package_dir.rglob("*") if path.is_file() and path.suffix != ".py"]

    def get_source_files(self) -> list[str]:
        return []


def main() -> None:
    """Checks what can be checked before anything is compiled, then hands over to setuptools."""
    try:
        setup(
            version=(ROOT / "version.txt").read_text().strip(),
            package_dir={"": "python"},
            packages=find_packages("python"),
            ext_modules=[CMakeExtension("nvfuser_direct._C_DIRECT")],
            cmdclass={"build_ext": CMakeBuild},
            install_requires=[torch_requirement(), "numpy"],
        )
    except requirements.RequirementError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
