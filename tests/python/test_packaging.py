"""What an installer meets: the checks before a build, the source archive and the metadata."""

import email
import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]


def load_requirements():
    spec = importlib.util.spec_from_file_location("build_requirements", REPO / "cmake" / "build_requirements.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


requirements = load_requirements()

GCC_12 = "g++ (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n"
GCC_13 = "g++-13 (Ubuntu 13.3.0-6ubuntu2) 13.3.0\nCopyright (C) 2023 Free Software Foundation, Inc.\n"
GCC_8 = "g++ (GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)\nCopyright (C) 2018 Free Software Foundation, Inc.\n"
CLANG_16 = "Debian clang version 16.0.6 (15~deb12u1)\nTarget: x86_64-pc-linux-gnu\n"
CLANG_14 = "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n"


def refused(call, *args) -> str:
    """The one sentence a check stops with."""
    with pytest.raises(requirements.RequirementError) as caught:
        call(*args)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.7.0", (2, 7, 0)),
        ("2.7.0a0+git1234", (2, 7, 0)),
        ("2.7.0+cu126", (2, 7, 0)),
        ("2.8.0.dev20250601", (2, 8, 0)),
        ("2.13", (2, 13, 0)),
    ],
)
def test_version_is_read_without_its_suffixes(text, expected):
    assert requirements.release(text) == expected


def test_unreadable_version_is_refused():
    assert "unknown" in refused(requirements.release, "unknown")


@pytest.mark.parametrize("version", ["2.6.0", "2.7.0+cu126", "2.8.0.dev20250601", "2.13.0+cpu", "2.14.1"])
def test_supported_torch_passes(version):
    requirements.check_torch_version(version)


@pytest.mark.parametrize("version", ["1.13.1", "2.5.1", "2.15.0", "3.0.0"])
def test_other_torch_is_refused(version):
    text = refused(requirements.check_torch_version, version)
    assert version in text and "pip install" in text and "2.6 to 2.14" in text


def test_missing_torch_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    text = refused(requirements.require_torch)
    assert "torch cannot be imported" in text and "--no-build-isolation" in text


@pytest.mark.parametrize("version", [(3, 10), (3, 11), (3, 12), (3, 13)])
def test_supported_python_passes(version):
    requirements.check_python(version)


@pytest.mark.parametrize("version", [(3, 9), (3, 14)])
def test_other_python_is_refused(version):
    assert "3.10 to 3.13" in refused(requirements.check_python, version)


@pytest.mark.parametrize("banner", [GCC_12, GCC_13, CLANG_16])
def test_supported_compiler_passes(banner):
    requirements.check_compiler("c++", banner)


@pytest.mark.parametrize(
    ("banner", "found"), [(GCC_8, "g++ 8"), (CLANG_14, "clang 14"), ("Intel(R) compiler 2021", "neither g++ nor clang")]
)
def test_other_compiler_is_refused(banner, found):
    text = refused(requirements.check_compiler, "c++", banner)
    assert found in text and "install g++ 12" in text


def test_no_compiler_names_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    text = refused(requirements.require_compiler)
    assert "no C++ compiler found" in text and "apt-get install g++" in text


def test_missing_tools_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "pip install no-such-tool" in refused(requirements.require_tool, "no-such-tool")
    assert "pip install no_such_module" in refused(requirements.require_module, "no_such_module")


@pytest.mark.parametrize(("limit", "expected"), [("1", 1), ("100000", None), ("", None), ("many", None), ("0", 1)])
def test_max_jobs_limits_the_compilers(monkeypatch, limit, expected):
    monkeypatch.setenv("MAX_JOBS", limit)
    cores = len(os.sched_getaffinity(0))
    assert requirements.parallel_jobs() == (cores if expected is None else expected)


def run_setup(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "setup.py", "-q", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def source_tree(tmp_path_factory) -> Path:
    """The unpacked source archive."""
    folder = tmp_path_factory.mktemp("sdist")
    done = run_setup("egg_info", "--egg-base", str(folder), "sdist", "--dist-dir", str(folder), cwd=REPO)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = tar.getnames()
        tar.extractall(folder / "unpacked")
    assert not [name for name in names if name.endswith((".so", ".pyc", ".o"))]
    (tree,) = (folder / "unpacked").iterdir()
    return tree


def test_source_archive_holds_what_a_build_needs(source_tree):
    version = (REPO / "version.txt").read_text().strip()
    assert source_tree.name == f"nvfuser-{version}"
    for name in ("setup.py", "pyproject.toml", "CMakeLists.txt", "version.txt", "LICENSE", "README.md", "Makefile"):
        assert (source_tree / name).is_file(), name
    for top, endings in (("csrc", (".cpp", ".h")), ("cmake", (".cmake", ".py", ".in")), ("python", (".py", ".pyi"))):
        wanted = {
            path.relative_to(REPO)
            for path in (REPO / top).rglob("*")
            if path.suffix in endings
            and path.name != "_build_info.py"
            and not {"include", "share", "lib"} & set(path.relative_to(REPO / top).parts[1:2])
        }
        missing = sorted(str(path) for path in wanted if not (source_tree / path).is_file())
        assert not missing, f"not in the source archive: {missing}"
    assert not (source_tree / "python/nvfuser_direct/include").exists()


@pytest.fixture(scope="module")
def metadata(source_tree, tmp_path_factory) -> tuple[email.message.Message, str]:
    """Metadata and entry points of a wheel of the Python part."""
    folder = tmp_path_factory.mktemp("wheel")
    done = run_setup("bdist_wheel", "--dist-dir", str(folder), cwd=source_tree, NVFUSER_SKIP_NATIVE_BUILD="1")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (text,) = (n for n in archive.namelist() if n.endswith("dist-info/METADATA"))
        (points,) = (n for n in archive.namelist() if n.endswith("dist-info/entry_points.txt"))
        return email.message_from_bytes(archive.read(text)), archive.read(points).decode()


def test_metadata_pins_the_torch_that_was_built_against(metadata):
    torch = pytest.importorskip("torch")
    message, _ = metadata
    major, minor, _ = requirements.release(torch.__version__)
    needs = message.get_all("Requires-Dist")
    assert f"torch=={major}.{minor}.*" in [need.replace(" ", "") for need in needs]
    assert message["Requires-Python"].replace(" ", "") in (">=3.10,<3.14", "<3.14,>=3.10")
    assert message["Version"] == (REPO / "version.txt").read_text().strip()


def test_dynamo_finds_the_backend_by_entry_point(metadata):
    _, points = metadata
    assert "[torch_dynamo_backends]" in points
    assert "nvfuser = nvfuser.dynamo:nvfuser_backend" in points


def test_build_without_torch_stops_with_one_sentence(source_tree, tmp_path):
    # A torch that cannot be imported stands before the real one on the path.
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    done = run_setup("build_ext", cwd=source_tree, PYTHONPATH=str(tmp_path), NVFUSER_SKIP_NATIVE_BUILD="0")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "torch cannot be imported" in last and "pip install" in last
    assert "Traceback" not in done.stderr


def test_build_with_old_compiler_stops_with_one_sentence(source_tree, tmp_path):
    old = tmp_path / "g++-8"
    old.write_text(f"#!/bin/sh\ncat <<'END'\n{GCC_8}END\n")
    old.chmod(0o755)
    done = run_setup("build_ext", cwd=source_tree, CXX=str(old), NVFUSER_SKIP_NATIVE_BUILD="0")
    assert done.returncode != 0
    assert "is g++ 8" in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr
