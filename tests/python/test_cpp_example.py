"""A C++ project finds the package with find_package(nvfuser), builds, and runs a fusion with an attention node."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PACKAGE = REPO / "python" / "nvfuser_direct"

pytest.importorskip("torch")


def run(*command: str) -> str:
    environment = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_example_builds_against_the_package_and_runs(tmp_path):
    assert (PACKAGE / "lib" / "libnvfuser_core.so").is_file(), "build first: make build"
    prefix = run(sys.executable, "-m", "nvfuser", "--cmake-prefix-path").strip()
    assert (Path(prefix) / "share/cmake/nvfuser/nvfuserConfig.cmake").is_file()

    source = shutil.copytree(REPO / "examples" / "cpp", tmp_path / "example")
    build = tmp_path / "build"
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DPython_EXECUTABLE={sys.executable}"]
    run("cmake", "-S", str(source), "-B", str(build), "-G", "Ninja", *options)
    run("cmake", "--build", str(build))

    printed = run(str(build / "gated_attention"))
    assert "sdpa" in printed.lower()
    assert "output [2, 4, 10, 16]" in printed


def test_installed_libraries_hold_no_absolute_search_path():
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed")
    libraries = [*PACKAGE.glob("_C_DIRECT*.so"), *PACKAGE.glob("lib/*.so")]
    assert libraries, "build first: make build"
    for library in libraries:
        for line in run(readelf, "-d", str(library)).splitlines():
            if "PATH)" in line:
                folders = line.split("[", 1)[1].rstrip("]").split(":")
                assert all(folder.startswith("$ORIGIN") for folder in folders), f"{library.name}: {line.strip()}"
