"""NVFUSER_DUMP: each name prints what the README says, an unknown one is refused with the list of known ones."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]

PROGRAM = """
import torch
from nvfuser_direct import FusionDefinition
with FusionDefinition() as fd:
    x = fd.define_tensor([-1, -1], contiguity=True)
    fd.add_output(fd.ops.mul(x, fd.ops.sum(x, [1], keepdim=True)))
    fd.add_output(fd.ops.matmul(x, x))
fd.execute([torch.ones(4, 4)], _enable_options=["generated_kernels"])
"""


def run(**environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(REPO / "python"), "OMP_NUM_THREADS": "1", **environment},
    )


def known_names() -> list[str]:
    done = run(NVFUSER_DUMP="nonsense")
    assert done.returncode != 0
    message = [line for line in done.stderr.splitlines() if "unknown option" in line][-1]
    assert message.startswith('RuntimeError: NVFUSER_DUMP: unknown option "nonsense"; known are ')
    return message.split("known are ")[1].split(", ")


def test_unknown_names_are_refused_with_the_known_ones_and_the_readme_has_them_all():
    names = known_names()
    assert {"segments", "scheduled_ir", "kernel_ir", "kernel_source", "fusion_ir", "dead_code"} <= set(names)
    readme = (REPO / "README.md").read_text()
    missing = [name for name in names if f"`{name}`" not in readme]
    assert not missing, f"dump options that README.md does not describe: {missing}"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("segments", ["segment 0 (", "inner reduction", "aten: "]),
        ("scheduled_ir", ["%kernel_math", "blockIdx.x"]),
        ("kernel_ir", ["kernel of 1 stage", "parallel for l0 in 0 .. p", "neutral of sum", "float r0 = b0["]),
        ("kernel_source", ['extern "C" void nvf_stage0', "#pragma omp simd"]),
        ("fusion_ir", ["%kernel_math", "reduction("]),
    ],
)
def test_a_dump_prints_its_stage(name, parts):
    done = run(NVFUSER_DUMP=name)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^---- (\w+) ----$", done.stdout, re.MULTILINE)[:1] == [name]
    for part in parts:
        assert part in done.stdout


def test_several_dumps_and_none():
    labels = re.findall(r"^---- (\w+) ----$", run(NVFUSER_DUMP=" kernel_ir , segments").stdout, re.MULTILINE)
    assert set(labels) == {"kernel_ir", "segments"}
    assert run(NVFUSER_DUMP="").stdout == ""


@pytest.mark.parametrize("variable", ["NVFUSER_ENABLE", "NVFUSER_DISABLE", "NVFUSER_PROF"])
def test_other_options_are_refused_in_the_same_way(variable):
    done = run(**{variable: "nonsense"})
    assert done.returncode != 0 and f'{variable}: unknown option "nonsense"; known are ' in done.stderr
