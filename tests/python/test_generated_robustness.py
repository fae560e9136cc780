"""Generated kernels under threads, racing and killed processes, long runs, and on machines that lack something."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from helpers import make
from nvfuser import cache
from nvfuser_direct import FusionDefinition

PYTHON_DIR = Path(__file__).resolve().parents[2] / "python"
KERNELS = ["generated_kernels"]

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)


def row_norms(number: float) -> FusionDefinition:
    """Two kernels with a matrix product between them; the number makes their texts new."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        mean = fd.ops.div(fd.ops.sum(fd.ops.abs(x), [1], True), fd.ops.cast(fd.ops.size(x, 1), x.dtype()))
        y = fd.ops.div(x, fd.ops.add(mean, number))
        z = fd.ops.matmul(y, fd.ops.permute(y, [1, 0]))
        fd.add_output(fd.ops.tanh(fd.ops.add(z, number)))
    return fd


def reference(x: torch.Tensor, number: float) -> torch.Tensor:
    y = x / (x.abs().mean(1, keepdim=True) + number)
    return torch.tanh(y @ y.t() + number)


def is_right(fd: FusionDefinition, x: torch.Tensor, number: float) -> bool:
    (found,) = fd.execute([x], _enable_options=KERNELS)
    return torch.allclose(found, reference(x, number), rtol=1e-4, atol=1e-5)


def in_threads(count: int, work) -> list:
    """What the calls work(0), work(1), ... return, all begun at once; the first exception is raised."""
    results, barrier = [None] * count, threading.Barrier(count)

    def run(k):
        barrier.wait()
        try:
            results[k] = work(k)
        except BaseException as error:  # noqa: BLE001
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


# --- threads ---


def test_threads_share_one_definition():
    """Each thread brings its own sizes, some of them those of others."""
    fd = row_norms(1.5)

    def work(k):
        inputs = [make((2 + (k + n) % 5, 3 + k % 4), torch.float32, seed=k) for n in range(40)]
        return all(is_right(fd, x, 1.5) for x in inputs)

    assert all(in_threads(16, work))


def test_threads_with_a_definition_each():
    def work(k):
        number = 1.25 + k % 6  # so that some compile the same text at the same time
        fd = row_norms(number)
        return all(is_right(fd, make((3, 4 + n), torch.float32, seed=n), number) for n in range(20))

    assert all(in_threads(16, work))


def test_threads_with_options_of_their_own():
    """What one thread asks for is not what another gets."""
    fd = row_norms(2.5)
    x = make((5, 7), torch.float32)

    def work(k):
        options = {"_enable_options": KERNELS} if k % 2 else {"_disable_options": KERNELS}
        return all(torch.allclose(fd.execute([x], **options)[0], reference(x, 2.5), rtol=1e-4) for _ in range(50))

    assert all(in_threads(16, work))
    assert fd.fec.num_runtimes() == 2


# --- options of a call ---


def test_options_of_a_call_decide_what_runs():
    fd = row_norms(3.5)
    x = make((4, 4), torch.float32)
    for _ in range(2):
        fd.execute([x], _disable_options=KERNELS)
        assert fd.fec.num_runtimes() in (1, 3)
    assert fd.last_kernel_code() == ""
    for _ in range(2):
        fd.execute([x], _enable_options=KERNELS)
    assert "nvf_stage0" in fd.last_kernel_code()
    assert fd.fec.num_runtimes() == 2
    fd.execute([x], _enable_options=[*KERNELS, "check_kernels"])
    assert fd.fec.num_runtimes() == 3
    fd.execute([x], _enable_options=KERNELS, _disable_options=["contig_indexing"])
    assert fd.fec.num_runtimes() == 3, "an option that changes no kernel"


# --- processes ---


def forked(work) -> int:
    """The pid of a child that runs `work` and ends with 0 when it returns true."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return pid


def statuses(pids: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of compiled kernels that knows the compiler already."""
    monkeypatch.setenv("NVFUSER_CACHE_DIR", str(tmp_path / "cache"))
    cache.info()
    return tmp_path / "cache"


def unique() -> float:
    """A number that no kernel text of this process holds yet."""
    return 1.0 + random.SystemRandom().random()


def test_processes_race_on_one_folder(folder):
    numbers = [unique() for _ in range(3)]
    x = make((3, 5), torch.float32)

    def work():
        return all(is_right(row_norms(number), x, number) for number in numbers)

    assert statuses([forked(work) for _ in range(6)]) == [0] * 6
    assert len(list(folder.glob("nvf-*.so"))) == 2 * len(numbers), "two kernels for each"
    assert not list(folder.glob("*.tmp")) and not list(folder.glob("*.lock"))


def test_killed_while_it_compiles(folder):
    chance = random.Random(2)
    x = make((3, 5), torch.float32)
    for _ in range(12):
        number = unique()
        pid = forked(lambda number=number: is_right(row_norms(number), x, number))
        time.sleep(chance.uniform(0, 0.3))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if chance.random() < 0.4:
            assert is_right(row_norms(number), x, number)
    number = unique()
    assert is_right(row_norms(number), x, number)


# --- long runs ---


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_memory_is_flat_over_100000_runs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.tanh(fd.ops.add(x, fd.ops.sum(x, [1], True))))
    inputs = [[make((n, 8), torch.float32)] for n in (2, 3, 5, 7)]
    fd.execute(inputs[0], _enable_options=KERNELS)
    run = fd.fec.execute

    def runs(count):
        for k in range(count):
            run(inputs[k & 3], _enable_options=KERNELS)

    runs(10_000)
    before = resident_bytes()
    runs(100_000)
    assert resident_bytes() - before < 2 << 20


def test_memory_is_flat_over_new_sizes():
    """Launch plans of sizes that do not come back are dropped."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=[False, True])
        fd.add_output(fd.ops.tanh(fd.ops.add(x, 1.5)))
    x = torch.ones(200, 200)

    def runs(first, last):
        for n in range(first, last):
            fd.execute([x[: 2 + n % 180, : 2 + n // 180]], _enable_options=KERNELS)

    runs(0, 18_000)  # more than are kept
    before = resident_bytes()
    runs(18_000, 30_000)
    assert resident_bytes() - before < 16 << 20


# --- machines that lack something ---


PROGRAM = f"""
import resource, sys
sys.path[:0] = [{str(PYTHON_DIR)!r}, {str(Path(__file__).parent)!r}]
import torch
from test_generated_robustness import cache, row_norms, reference

def check(number):
    x = torch.linspace(-2, 2, 15).view(3, 5)
    fd = row_norms(number)
    for _ in range(2):
        torch.testing.assert_close(fd.execute([x])[0], reference(x, number), rtol=1e-4, atol=1e-5)
    counts = cache.info()
    print("ran", bool(fd.last_kernel_code()), counts["compiled"], counts["from_disk"])
"""


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    everything = {**os.environ, "OMP_NUM_THREADS": "1", "NVFUSER_DISABLE": "", "NVFUSER_ENABLE": "", **environment}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + code], capture_output=True, text=True, timeout=240, env=everything
    )


TWO = "check(1.5)\ncheck(2.5)\n"


@pytest.mark.parametrize("cxx", ["", "no-such-compiler", "/bin/false"])
def test_no_compiler_is_one_warning(tmp_path, cxx):
    done = run_python(TWO, PATH=str(tmp_path), CXX=cxx, NVFUSER_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["ran False 0 0"] * 2
    assert done.stderr.count("nvfuser:") == 1
    for text in ("kernels are not generated", "no C++ compiler is usable", "c++: not found", "apt-get install g++"):
        assert text in done.stderr
    assert cxx in done.stderr


def test_a_compiler_that_is_not_there_gives_way_with_a_warning(tmp_path):
    done = run_python(TWO, CXX="no-such-compiler", NVFUSER_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["ran True 2 0", "ran True 4 0"]
    assert done.stderr.count("nvfuser:") == 1
    assert "CXX names no-such-compiler, which is not usable: not found" in done.stderr


def test_flags_that_the_compiler_refuses_are_one_warning(tmp_path):
    done = run_python(TWO, NVFUSER_CXXFLAGS="-fno-such-flag", NVFUSER_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["ran False 0 0"] * 2
    assert done.stderr.count("nvfuser:") == 1
    assert "NVFUSER_CXXFLAGS" in done.stderr and "-fno-such-flag" in done.stderr


def test_a_folder_that_cannot_be_made_is_one_warning():
    done = run_python(TWO, NVFUSER_CACHE_DIR="/proc/nvfuser")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["ran True 2 0", "ran True 4 0"]
    assert done.stderr.count("nvfuser:") == 1 and "kept in memory only" in done.stderr


def test_a_full_cache_disk_is_one_warning(tmp_path):
    first, full = tmp_path / "first", tmp_path / "full"
    assert run_python("check(1.5)", NVFUSER_CACHE_DIR=str(first)).returncode == 0
    full.mkdir(mode=0o700)
    for note in first.glob("nvf-*.txt"):
        shutil.copy2(note, full)
    # What the compiler writes fits, and the kernel with its key does not.
    limit = min(path.stat().st_size for path in first.glob("nvf-*.so")) - 200
    done = run_python(
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\ncheck(1.5)", NVFUSER_CACHE_DIR=str(full)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ran True")
    assert "File too large; compiled kernels are kept in memory only" in done.stderr
    assert not list(full.glob("*.tmp"))


def test_a_full_temporary_disk_leaves_segments_to_aten(tmp_path):
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    done = run_python(limit + TWO, NVFUSER_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["ran False 0 0"] * 2
    assert done.stderr.count("nvfuser:") == 1, done.stderr


# --- the key of a kernel ---


def test_another_compiler_or_other_flags_are_another_key(tmp_path):
    here = str(tmp_path / "cache")
    seen = []
    for environment in (
        {"CXX": "c++"},
        {"CXX": "g++"},
        {"CXX": "g++ -DNOTHING"},
        {"CXX": "c++", "NVFUSER_CXXFLAGS": "-O1"},
        {"CXX": "c++"},
    ):
        if not shutil.which(environment["CXX"].split()[0]):
            pytest.skip("c++ and g++ are needed")
        done = run_python("check(1.5)", NVFUSER_CACHE_DIR=here, **environment)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        seen.append(done.stdout.strip())
    assert seen == ["ran True 2 0"] * 4 + ["ran True 0 2"]
