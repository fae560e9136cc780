"""The shape of the source tree: who may include what, how long a file may be, where a composite node may be named."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
CSRC = REPO / "csrc"

# Data flows from left to right; a folder includes only itself and what stands to its left.
FOLDERS = [
    "ir",
    "ops",
    "analysis",
    "passes",
    "scheduler",
    "lower",
    "codegen",
    "runtime",
    "multidevice",
    "bindings",
]
EDGE_FOLDERS = {"runtime", "multidevice", "bindings"}
EDGE_HEADER = re.compile(r"^(ATen|torch|c10|caffe2|pybind11|Python\.h)")

MAX_LINES = 700
# Files that are allowed to be longer. This list may only shrink.
LONG_FILES: set[str] = set()

# Where the attention node's class may be named (design decision 16).
SDPA_NODE_PLACES = [
    r"csrc/ir/sdpa_nodes\.(h|cpp)",
    r"csrc/ops/sdpa\.(h|cpp)",
    r"csrc/runtime/[^/]*(sdpa|attention)[^/]*(/.*)?",
    r"csrc/bindings/[^/]*(sdpa|attention)[^/]*",
    r"tests/.*",
    r"examples/.*",
    r".*\.md",
]

# Headers that must compile alone, quickly and without torch; the most widely included of their folders.
LIGHT_HEADERS = [
    "ir/type.h",
    "ir/scalar_value.h",
    "ir/fusion.h",
    "ir/sdpa_nodes.h",
    "ops/sdpa.h",
    "analysis/logical_domain_map.h",
    "passes/pipeline.h",
]
LIGHT_HEADER_SECONDS = 2.0

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


@cache
def sources() -> list[Path]:
    """Every C++ file below csrc."""
    return sorted(path for path in CSRC.rglob("*") if path.suffix in {".h", ".cpp", ".cu", ".cuh"})


def name_of(path: Path) -> str:
    return path.relative_to(REPO).as_posix()


def folder_of(path: Path) -> str:
    return path.relative_to(CSRC).parts[0]


def own_target(path: Path, include: str) -> Path | None:
    """The file of ours that an include names, or None where it names somebody else's."""
    for candidate in (CSRC / include, path.parent / include):
        if candidate.is_file():
            return candidate.resolve()
    return None


@cache
def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text(errors="replace"))


def test_csrc_holds_only_the_folders_of_the_design():
    found = {path.name for path in CSRC.iterdir() if path.is_dir()}
    assert found <= set(FOLDERS), f"unexpected folders in csrc: {sorted(found - set(FOLDERS))}"
    loose = [path.name for path in CSRC.iterdir() if path.is_file() and path.suffix in {".h", ".cpp"}]
    assert not loose, f"sources outside the folders: {loose}"


def test_only_edge_folders_include_torch():
    wrong = [
        f"{name_of(path)} includes <{include}>"
        for path in sources()
        if folder_of(path) not in EDGE_FOLDERS
        for include in includes(path)
        if EDGE_HEADER.match(include)
    ]
    assert not wrong, "only runtime, multidevice and bindings may include torch:\n" + "\n".join(wrong)


def test_no_cuda_toolkit_header():
    toolkit = re.compile(r"^(cuda|cuda_runtime|nvrtc|cudnn|c10/cuda/|ATen/cuda/|torch/csrc/cuda/|cublas)")
    wrong = [
        f"{name_of(path)} includes <{include}>"
        for path in sources()
        for include in includes(path)
        if toolkit.match(include) and own_target(path, include) is None
    ]
    assert not wrong, "the build has no CUDA toolkit:\n" + "\n".join(wrong)


def test_includes_point_to_the_left():
    rank = {folder: index for index, folder in enumerate(FOLDERS)}
    wrong = []
    for path in sources():
        for include in includes(path):
            target = own_target(path, include)
            if target is not None and rank[folder_of(target)] > rank[folder_of(path)]:
                wrong.append(f"{name_of(path)} includes <{include}>")
    assert not wrong, f"allowed order is {' '.join(FOLDERS)}:\n" + "\n".join(wrong)


def test_headers_have_no_include_cycle():
    graph = {
        path.resolve(): [target for i in includes(path) if (target := own_target(path, i)) is not None]
        for path in sources()
        if path.suffix in {".h", ".cuh"}
    }
    done: set[Path] = set()

    def visit(path: Path, trail: list[Path]) -> None:
        assert path not in trail, "include cycle: " + " -> ".join(p.name for p in [*trail[trail.index(path) :], path])
        if path in done or path not in graph:
            return
        for target in graph[path]:
            visit(target, [*trail, path])
        done.add(path)

    for header in graph:
        visit(header, [])


def long_files() -> set[str]:
    # Type stubs are not counted: a generator writes them.
    tracked = [
        *sources(),
        *(p for top in ("python", "tests", "benchmarks", "examples") for p in (REPO / top).rglob("*")),
    ]
    return {
        name_of(path)
        for path in tracked
        if path.suffix in {".h", ".cpp", ".py", ".cu", ".cuh"}
        and "/nvfuser_direct/include/" not in path.as_posix()
        and path.is_file()
        and path.read_text(errors="replace").count("\n") > MAX_LINES
    }


def test_no_file_over_700_lines():
    new = long_files() - LONG_FILES
    assert not new, f"over {MAX_LINES} lines, split by topic: {sorted(new)}"


def test_list_of_long_files_only_shrinks():
    stale = LONG_FILES - long_files()
    assert not stale, f"no longer over {MAX_LINES} lines, take them off the list: {sorted(stale)}"


@pytest.mark.parametrize("node", ["SdpaFwdOp", "SdpaBwdOp"])
def test_attention_node_is_named_only_where_it_lives(node):
    allowed = re.compile("|".join(f"(?:{place})" for place in SDPA_NODE_PLACES))
    named = []
    for top in ("csrc", "python", "benchmarks"):
        for path in (REPO / top).rglob("*"):
            if (
                path.suffix not in {".h", ".cpp", ".py", ".pyi", ".cu", ".cuh"}
                or "/nvfuser_direct/include/" in path.as_posix()
            ):
                continue
            text = path.read_text(errors="replace")
            if re.search(rf"\b{node}\b", text) and not allowed.fullmatch(name_of(path)):
                named.append(name_of(path))
    assert not named, f"{node} is named outside its header, builder, evaluator and binding: {named}"


def user_seconds(command: list[str]) -> float:
    """CPU seconds of a command, so that a busy machine does not fail the test."""
    before = os.times()
    result = subprocess.run(command, capture_output=True, text=True)
    after = os.times()
    assert result.returncode == 0, result.stderr[:2000]
    return after.children_user - before.children_user


@pytest.mark.parametrize("header", LIGHT_HEADERS)
def test_core_header_compiles_alone_without_torch(header, tmp_path):
    compiler = os.environ.get("CXX", "g++").split()
    unit = tmp_path / "alone.cpp"
    unit.write_text(f"#include <{header}>\n#include <{header}>\nint main() {{}}\n")
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", f"-I{CSRC}", str(unit)]
    seconds = user_seconds(command)
    assert seconds < LIGHT_HEADER_SECONDS, (
        f"<{header}> alone takes {seconds:.1f} s; the limit is {LIGHT_HEADER_SECONDS} s"
    )
