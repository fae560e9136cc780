"""``nvfuser.export.explain`` and ``python -m nvfuser explain``: what they say, and with which status the command ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nvfuser.export
import pytest
import torch
import torch.nn.functional as F
from export_helpers import export
from torch import nn
from torch.export import Dim

PYTHON_DIR = Path(__file__).resolve().parents[2] / "python"


class Model(nn.Module):
    """An attention node for a fusion, one that stays in eager, an op without a row, a branch."""

    def forward(self, q, k, mask):
        y = F.scaled_dot_product_attention(q, k, k, mask, scale=0.25, enable_gqa=True)
        y = torch.cond(q.sum() > 0, lambda y: F.scaled_dot_product_attention(y, y, y, is_causal=True), torch.sin, (y,))
        flat = F.scaled_dot_product_attention(q[:, 0], q[:, 0], q[:, 0])
        return y * 2, flat.flip(0)


@pytest.fixture(scope="module")
def program():
    n, length = Dim("n", min=1, max=8), Dim("length", max=32)
    inputs = (torch.randn(2, 4, 6, 8), torch.randn(2, 2, 6, 8), torch.ones(2, 1, 1, 6, dtype=torch.bool))
    shapes = ({0: n, 2: length}, {0: n, 2: length}, {0: n, 3: length})
    return export(Model(), inputs, dynamic_shapes=shapes)


@pytest.fixture(scope="module")
def saved(program, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("programs") / "model.pt2"
    torch.export.save(program, path)
    return path


def explain_command(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "nvfuser", "explain", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(PYTHON_DIR)},
    )


# ---- the data --------------------------------------------------------------------------------------------------------


def test_graphs_fusions_and_what_is_left(program):
    explained = nvfuser.export.explain(program)
    main, *branches = explained.graphs
    assert main.title == "exported" and [b.title for b in branches] == [
        "cond branch true_graph_0",
        "cond branch false_graph_0",
    ]
    left = {part.op: part.reason for part in main.eager}
    assert left["aten.flip.default"] == "no row in the op table"
    assert left["aten.scaled_dot_product_attention.default"] == "attention of rank 3"
    assert "its branches are compiled on their own" in left["cond"]
    assert sum(f.ops.get("aten.mul.Tensor", 0) for f in main.fusions) == 1


def test_attention_nodes_and_their_backends(program):
    inside, in_eager, in_branch = nvfuser.export.explain(program).attention
    assert inside.place.startswith("fusion_") and in_branch.place == "fusion_0"
    assert (inside.backend, in_branch.backend) == ("cpu_flash", "cpu_flash")
    assert inside.settings["scale"] == 0.25 and in_branch.settings["is_causal"] is True
    answers = {c.name: c.reason for c in inside.candidates}
    assert answers["cpu_flash"] == answers["math"] == "" and answers["cudnn"] == "runs on CUDA only"
    assert inside.operands["query"].startswith("float32 [") and inside.operands["attn_mask"].startswith("bool [")
    assert inside.ran is None
    assert (in_eager.place, in_eager.reason, in_eager.candidates) == ("ATen", "attention of rank 3", [])


@pytest.mark.kernels
@pytest.mark.parametrize("run", [False, True])
def test_segments_of_a_fusion(run):
    class Gated(nn.Module):
        def forward(self, x, w):
            return torch.softmax(F.linear(x * 2 + 1, w), -1)

    program = export(Gated(), (torch.randn(3, 8), torch.randn(5, 8)))
    explained = nvfuser.export.explain(program, run=run)
    (fusion,) = explained.graphs[0].fusions
    assert [segment.kind for segment in fusion.segments] == ["kernel", "library call", "kernel"]
    assert fusion.segments[1].ops == ["linear"]
    schedulers = [segment.scheduler for segment in fusion.segments]
    assert schedulers == (["pointwise", "expr_eval", "inner reduction"] if run else ["", "expr_eval", ""])
    text = str(explained)
    assert "    segment 1  library call: linear" in text
    assert f"    segment 0  kernel{', pointwise' if run else ''}: " in text
    assert json.loads(json.dumps(explained.as_dict()))["graphs"][0]["fusions"][0]["segments"][1]["ops"] == ["linear"]


def test_a_named_backend_that_does_not_take_the_node(program):
    part = nvfuser.export.explain(program, options={"sdpa_backend": "cudnn"}).attention[0]
    assert part.backend is None and part.requested == "cudnn" and part.note == "cudnn does not take it"
    part = nvfuser.export.explain(program, options={"sdpa_backend": "math"}).attention[0]
    assert part.backend == part.requested == "math"


def test_backends_are_asked_with_the_settings_of_the_variant():
    class Variant(nn.Module):
        def forward(self, q, mask):
            op = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
            return op(q, q, q, is_causal=False, attn_mask=mask, scale=0.5)[0] * 2

    args = torch.randn(1, 2, 5, 8), torch.randn(5, 5)
    (part,) = nvfuser.export.explain(export(Variant(), args), options={"replace_fused_sdpa": False}).attention
    assert part.backend == part.requested == "cpu_flash" and part.settings == {"scale": 0.5}


def test_running_names_the_backend_that_ran(program):
    explained = nvfuser.export.explain(program, run=True)
    ran = {part.node: part.ran for graph in explained.graphs for f in graph.fusions for part in f.attention}
    assert list(ran.values())[0] == "cpu_flash" and set(ran.values()) <= {"cpu_flash", "not run"}


def test_running_leaves_the_example_inputs_alone():
    class Writes(nn.Module):
        def forward(self, x):
            return x.add_(1) * 2

    program = export(Writes(), (torch.zeros(3),))
    example = program.example_inputs[0][0]
    before = example.clone()
    nvfuser.export.explain(program, run=True)
    assert torch.equal(example, before)


def test_running_without_example_inputs(program, monkeypatch):
    monkeypatch.setattr(program, "_example_inputs", None)
    with pytest.raises(ValueError, match="no example inputs"):
        nvfuser.export.explain(program, run=True)
    # Without them the hints of the export count.
    assert nvfuser.export.explain(program).attention[0].backend == "cpu_flash"


def test_other_things_than_programs_are_refused():
    with pytest.raises(TypeError, match="expected a torch.export.ExportedProgram, got Linear"):
        nvfuser.export.explain(nn.Linear(2, 2))


# ---- the command -----------------------------------------------------------------------------------------------------


def test_text_of_the_command(saved):
    done = explain_command(saved)
    assert done.returncode == 0, done.stderr
    for expected in (
        "q: float32 [",
        " (1 to 8), 4, ",
        "attention backends are asked with s",
        "attention pass: ",
        "program: ",
        "  fusion_0\n    ops      ",
        "backend cpu_flash",
        "flash: runs on CUDA only",
        "left to ATen",
        "no row in the op table: aten.flip.default",
        "attention of rank 3: aten.scaled_dot_product_attention.default",
        "cond branch true_graph_0: 1 fusion",
    ):
        assert expected in done.stdout
    assert done.stderr == "" and max(map(len, done.stdout.splitlines())) <= 120


def test_json_of_the_command(saved):
    done = explain_command(saved, "--json", "--run")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert set(answer) == {"inputs", "sizes", "attention_pass", "graphs"}
    assert sorted(answer["sizes"].values()) == [2, 6]
    parts = [a for graph in answer["graphs"] for fusion in graph["fusions"] for a in fusion["attention"]]
    assert parts[0]["backend"] == parts[0]["ran"] == "cpu_flash"
    assert {"name": "cudnn", "reason": "runs on CUDA only"} in parts[0]["candidates"]


def test_a_missing_file(tmp_path):
    done = explain_command(tmp_path / "none.pt2")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"error: there is no file {tmp_path / 'none.pt2'}\n"


@pytest.mark.parametrize("content", [b"", b"no zip archive", b"PK\x05\x06" + bytes(18)])
def test_a_file_that_is_no_program(content, tmp_path):
    path = tmp_path / "broken.pt2"
    path.write_bytes(content)
    done = explain_command(path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"error: {path} is no exported program that this torch")


@pytest.mark.parametrize("arguments", [(), ("a.pt2", "b.pt2"), ("a.pt2", "--no-such-option")])
def test_wrong_usage(arguments):
    done = explain_command(*arguments)
    assert done.returncode == 2 and "usage: python -m nvfuser" in done.stderr
