"""The cache of compiled kernels: races, kills, damage, disks that cannot be used, compilers that are not there."""

import ctypes
import itertools
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from nvfuser import cache
from nvfuser.__main__ import main
from nvfuser_direct import _C_DIRECT

compile_text = _C_DIRECT.kernel_cache.compile
PYTHON_DIR = Path(__file__).resolve().parents[2] / "python"
numbers = itertools.count(os.getpid() * 1000)

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)


def new_text() -> tuple[str, int]:
    """A text that no memory cache holds, and the number that its function returns."""
    number = next(numbers)
    return f'extern "C" long nvf_answer() {{ return {number}; }}\n', number


def answer(text: str, flags: tuple[str, ...] = ()) -> int:
    address = compile_text(text, flags=list(flags)).symbol("nvf_answer")
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder that already knows the compiler's flags."""
    path = tmp_path / "cache"
    monkeypatch.setenv("NVFUSER_CACHE_DIR", str(path))
    tmp_path.joinpath("tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    cache.info()
    return path


def kernels(folder: Path) -> list[Path]:
    return sorted(folder.glob("nvf-*.so"))


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


def in_child(work) -> None:
    assert statuses([forked(work)]) == [0]


def counted(work) -> tuple[int, int]:
    """How many kernels `work` compiled and took from disk."""
    before = cache.info()
    work()
    after = cache.info()
    return after["compiled"] - before["compiled"], after["from_disk"] - before["from_disk"]


def test_a_second_process_takes_the_kernel_from_disk(folder):
    text, number = new_text()
    in_child(lambda: counted(lambda: answer(text)) == (1, 0) and answer(text) == number)
    assert len(kernels(folder)) == 1
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    begin = time.perf_counter()
    assert counted(lambda: answer(text)) == (0, 1)
    assert time.perf_counter() - begin < 0.5
    assert answer(text) == number


def test_flags_and_text_are_in_the_key(folder):
    text, number = new_text()
    assert counted(lambda: (answer(text), answer(text, ("-DX=1",)), answer(text))) == (2, 0)


@pytest.mark.parametrize("same", [True, False])
def test_processes_race_on_an_empty_cache(folder, same):
    texts = [new_text()] * 8 if same else [new_text() for _ in range(8)]
    pids = [forked(lambda text=text, number=number: answer(text) == number) for text, number in texts]
    assert statuses(pids) == [0] * 8
    assert len(kernels(folder)) == (1 if same else 8)
    assert not list(folder.glob("*.tmp")) and not list(folder.glob("*.lock"))


@pytest.mark.parametrize("same", [True, False])
def test_threads(folder, same):
    texts = [new_text()] * 16 if same else [new_text() for _ in range(16)]
    wrong = []

    def work(text, number):
        if answer(text) != number:
            wrong.append(number)

    def run():
        threads = [threading.Thread(target=work, args=pair) for pair in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert counted(run) == (1 if same else 16, 0)
    assert not wrong


def test_killed_at_any_moment(folder):
    chance = random.Random(1)
    for _ in range(30):
        text, number = new_text()
        pid = forked(lambda text=text: bool(answer(text)))
        time.sleep(chance.uniform(0, 0.12))
        os.kill(pid, signal.SIGKILL)
        statuses([pid])
        if chance.random() < 0.3:
            assert answer(text) == number
    text, number = new_text()
    assert answer(text) == number


def test_what_killed_processes_left_is_removed_later(folder):
    old = [folder / "nvf-123-4-567.tmp", folder / "nvf-00ff.lock"]
    for path in old:
        path.write_bytes(b"x")
        os.utime(path, (1, 1))
    young = folder / "nvf-123-4-568.tmp"
    young.write_bytes(b"x")
    in_child(lambda: [answer(new_text()[0]) for _ in range(33)] and True)
    assert not any(path.exists() for path in old)
    assert young.exists()


def damage_truncate(path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def damage_flip(path: Path, other: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def damage_empty(path: Path, other: Path) -> None:
    path.write_bytes(b"")


def damage_other_kernel(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def damage_symlink(path: Path, other: Path) -> None:
    moved = path.with_name("moved")
    path.rename(moved)
    path.symlink_to(moved)


def damage_writable(path: Path, other: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize(
    "damage",
    [damage_truncate, damage_flip, damage_empty, damage_other_kernel, damage_symlink, damage_writable],
)
def test_a_damaged_entry_is_rebuilt(folder, damage):
    other_text, _ = new_text()
    in_child(lambda: bool(answer(other_text)))
    (other,) = kernels(folder)
    text, number = new_text()
    in_child(lambda: answer(text) == number)
    (path,) = set(kernels(folder)) - {other}
    good = path.read_bytes()
    damage(path, other)
    in_child(lambda: counted(lambda: answer(text)) == (1, 0) and answer(text) == number)
    assert len(path.read_bytes()) == len(good) and not path.is_symlink()
    in_child(lambda: counted(lambda: answer(text)) == (0, 1) and answer(text) == number)


def test_the_least_recently_used_kernels_go_first(folder, monkeypatch):
    texts = [new_text() for _ in range(4)]
    paths = []
    for text, _ in texts[:3]:
        in_child(lambda text=text: bool(answer(text)))
        paths += set(kernels(folder)) - set(paths)
    for age, path in zip((3000, 2000, 1000), paths, strict=True):
        os.utime(path, (time.time() - age,) * 2)
    in_child(lambda: counted(lambda: answer(texts[0][0])) == (0, 1))  # now the youngest
    for note in folder.glob("*.txt"):
        os.utime(note)
    total = sum(path.stat().st_size for path in folder.iterdir())
    monkeypatch.setenv("NVFUSER_CACHE_SIZE", str(total + 100))
    in_child(lambda: bool(answer(texts[3][0])))
    left = kernels(folder)
    assert paths[1] not in left
    assert paths[0] in left and paths[2] in left and len(left) == 3


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    program = f"import sys; sys.path.insert(0, {str(PYTHON_DIR)!r})\n" + (
        "import ctypes, os, resource, signal\nfrom nvfuser_direct import _C_DIRECT\n"
        "def answer(text):\n"
        "    address = _C_DIRECT.kernel_cache.compile(text).symbol('nvf_answer')\n"
        "    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program + code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


TWO = "\n".join(f"print(answer('extern \"C\" long nvf_answer() {{ return {n}; }}'))" for n in (41, 42))


def test_a_folder_that_others_can_write_is_refused(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    done = run_python(TWO, NVFUSER_CACHE_DIR=str(folder))
    assert done.stdout.split() == ["41", "42"], done.stderr
    assert done.stderr.count("can be written by other users") == 1
    assert not list(folder.iterdir())


def test_a_parent_that_others_can_write_is_refused(tmp_path, monkeypatch):
    tmp_path.joinpath("open").mkdir()
    tmp_path.joinpath("open").chmod(0o777)
    monkeypatch.setenv("NVFUSER_CACHE_DIR", str(tmp_path / "open" / "cache"))
    assert cache.info()["directory"] is None
    assert "which other users can write" in cache.info()["refused"]
    tmp_path.joinpath("open").chmod(0o1777)
    assert cache.info()["directory"] == str(tmp_path / "open" / "cache")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    tmp_path.joinpath("theirs").mkdir(mode=0o700)
    os.chown(tmp_path / "theirs", 12345, 12345)
    monkeypatch.setenv("NVFUSER_CACHE_DIR", str(tmp_path / "theirs"))
    assert "belongs to another user" in cache.info()["refused"]


def test_a_full_disk_is_one_warning(folder):
    assert answer(new_text()[0])
    (path,) = kernels(folder)
    # The compiler's output fits, the cached file, which also holds the key, does not.
    limit = path.stat().st_size - 200
    code = f"_C_DIRECT.kernel_cache.info()\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    done = run_python(code + TWO)
    assert done.stdout.split() == ["41", "42"], done.stderr
    assert done.stderr.count("nvfuser:") == 1
    assert "cannot be written: File too large; compiled kernels are kept in memory only" in done.stderr
    assert kernels(folder) == [path]
    assert not list(folder.glob("*.tmp"))


def test_a_folder_that_cannot_be_made_is_one_warning(tmp_path):
    tmp_path.joinpath("file").write_text("")
    # Temporary folders of killed processes: an old one goes, a young one may be in use.
    ours = f"nvfuser-{os.geteuid()}-"
    old, young, theirs = (tmp_path / name for name in (ours + "old123", ours + "young1", "nvfuser-other"))
    for path in (old, young, theirs):
        path.mkdir()
        path.joinpath("kernel.cpp").write_text("")
    for path in (old, theirs):
        os.utime(path, (1, 1))
    done = run_python(TWO, NVFUSER_CACHE_DIR=str(tmp_path / "file" / "cache"), TMPDIR=str(tmp_path))
    assert not old.exists() and young.exists() and theirs.exists()
    assert done.stdout.split() == ["41", "42"], done.stderr
    assert done.stderr.count("nvfuser:") == 1
    assert "kept in memory only" in done.stderr


def test_no_compiler_is_an_error_with_the_reason(tmp_path):
    code = "try:\n    answer('')\nexcept RuntimeError as error:\n    print(error)\n"
    done = run_python(code, PATH=str(tmp_path), CXX="", NVFUSER_CACHE_DIR=str(tmp_path / "cache"))
    assert "no C++ compiler is usable (c++: not found; g++: not found; clang++: not found)" in done.stdout


def test_cxx_may_hold_arguments(folder, monkeypatch):
    monkeypatch.setenv("CXX", "c++ -DANSWER=77 '-DUNUSED=a b'")
    number = next(numbers)
    assert answer(f'extern "C" long nvf_answer() {{ return ANSWER; }} // {number}') == 77
    assert cache.info()["compiler"][1:] == ["-DANSWER=77", "-DUNUSED=a b"]


def test_a_text_that_does_not_compile(folder):
    text = f"this is no C++; // {next(numbers)}"
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match="(?s)the kernel mine does not compile.*error.*command: /.*-O3"
        ) as caught:
            compile_text(text, name="mine")
    path = str(caught.value).rpartition("its text is kept in ")[2]
    assert Path(path).read_text() == text


@pytest.mark.parametrize("name", ["space and 'quotes\"$x", "back\\slash ünïcode-漢"])
def test_odd_paths(tmp_path, name):
    odd = tmp_path / name
    odd.mkdir()
    done = run_python(TWO, TMPDIR=str(odd), HOME=str(odd), XDG_CACHE_HOME="", NVFUSER_CACHE_DIR="")
    assert done.stdout.split() == ["41", "42"], done.stderr
    assert done.stderr == ""
    assert len(kernels(odd / ".cache" / "nvfuser")) == 2
    assert not list(odd.glob("nvfuser-*")), "a temporary folder is left"


def test_a_host_program_that_ignores_sigchld(tmp_path):
    code = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + TWO
    done = run_python(code, NVFUSER_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.split() == ["41", "42"], done.stderr


def test_limit_of_nothing_keeps_nothing(folder, monkeypatch):
    monkeypatch.setenv("NVFUSER_CACHE_SIZE", "0")
    text, number = new_text()
    assert answer(text) == number
    assert not kernels(folder)


def test_clear_removes_only_our_files(folder):
    assert answer(new_text()[0])
    theirs = [folder / "notes.txt", folder / "nvf-mine.so", folder / "nvf-00.json"]
    for path in theirs:
        path.write_text("")
    assert cache.clear() == 1
    assert sorted(folder.iterdir()) == sorted(theirs)


def test_command(folder, capsys):
    assert answer(new_text()[0])
    shown = subprocess.run(
        [sys.executable, "-m", "nvfuser", "cache"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(PYTHON_DIR)},
    )
    assert shown.returncode == 0, shown.stderr
    for word in (str(folder), "1.0 GiB", "-O3", "processor", "compiler"):
        assert word in shown.stdout
    assert main(["cache", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["entries"] == 1 and values["directory"] == str(folder)
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == "removed 1 compiled kernels\n"
    assert not kernels(folder)


def test_sizes_with_units(folder, monkeypatch, capfd):
    for text, expected in {"5K": 5 << 10, "6M": 6 << 20, "2G": 2 << 30, "100": 100, "much": 1 << 30}.items():
        monkeypatch.setenv("NVFUSER_CACHE_SIZE", text)
        assert cache.info()["limit"] == expected
    assert 'NVFUSER_CACHE_SIZE="much" is no size' in capfd.readouterr().err
