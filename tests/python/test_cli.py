"""``python -m nvfuser``: what each command prints and with which status it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON_DIR = Path(__file__).resolve().parents[2] / "python"


def nvfuser_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "nvfuser", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(PYTHON_DIR), **environment},
    )


def test_info_names_versions_devices_compilers_and_backends():
    import nvfuser
    import torch

    done = nvfuser_command("info")
    assert done.returncode == 0, done.stderr
    for expected in (
        str(nvfuser.version()),
        torch.__version__,
        "libcuda",
        "NVRTC",
        "g++",
        "RNG state of this torch",
        "cpu_flash",
        "math",
    ):
        assert expected in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_info_says_whether_kernels_are_generated(tmp_path):
    environment = {"NVFUSER_CACHE_DIR": str(tmp_path), "NVFUSER_ENABLE": "", "NVFUSER_DISABLE": ""}
    text = nvfuser_command("info", **environment).stdout
    assert "generated CPU kernels\n  state    on, compiled by " in text and f"kept in  {tmp_path} (0 kernels)" in text
    text = nvfuser_command("info", **{**environment, "NVFUSER_DISABLE": "generated_kernels"}).stdout
    assert "  state    off (NVFUSER_DISABLE=generated_kernels)" in text
    text = nvfuser_command("info", **environment, CXX="no-such-compiler").stdout
    assert "  state    o" in text


def test_info_reports_a_compiler_that_is_not_there():
    done = nvfuser_command("info", CXX="no-such-compiler")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "no-such-compiler" in line)
    assert "not found" in line


def test_cmake_prefix_path_is_one_line_with_the_package_file():
    done = nvfuser_command("--cmake-prefix-path")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert (Path(line) / "share" / "cmake" / "nvfuser" / "nvfuserConfig.cmake").is_file()


def test_version_is_that_of_the_package():
    import nvfuser

    assert nvfuser_command("--version").stdout.strip() == str(nvfuser.version())


@pytest.mark.parametrize("arguments", [(), ("no-such-command",)])
def test_wrong_usage_prints_the_usage_and_ends_with_2(arguments):
    done = nvfuser_command(*arguments)
    assert done.returncode == 2
    assert "usage: python -m nvfuser" in done.stderr


def test_a_failing_command_says_so_without_a_traceback(monkeypatch, capsys):
    import nvfuser.demo
    from nvfuser.__main__ import main

    def missing(**_):
        raise ImportError("the demo's weights are not installed")

    monkeypatch.setattr(nvfuser.demo, "run", missing)
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == "error: the demo's weights are not installed\n"
