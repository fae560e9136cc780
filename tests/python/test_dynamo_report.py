"""nvfuser.compile_report(): what it holds, when it is emptied, how it reads."""

import torch
import torch.nn.functional as F
from dynamo_helpers import compiled
from nvfuser.dynamo import CompileReport, compile_report, reset_compile_report


def test_empty_report_says_what_to_do():
    reset_compile_report()
    report = compile_report()
    assert isinstance(report, CompileReport)
    assert report.graphs == [] and report.num_fusions == 0
    assert 'torch.compile(f, backend="nvfuser")' in str(report)


def test_fields():
    function = compiled(lambda x: ((x + 1).exp() * 2).flip(0).sin())
    function(torch.randn(3))
    (graph,) = compile_report().graphs
    assert graph.kind == "inference"
    assert graph.num_fusions == 2
    assert graph.fused_ops == {"aten.add.Tensor": 1, "aten.exp.default": 1, "aten.mul.Tensor": 1, "aten.sin.default": 1}
    assert graph.eager == {("aten.flip.default", "no row in the op table"): 1}
    assert [f.num_inputs for f in graph.fusions] == [1, 1]
    assert [f.num_outputs for f in graph.fusions] == [1, 1]
    assert "def run_graph(args):" in graph.code


def test_training_has_two_graphs():
    function = compiled(lambda x: x.tanh().sum())
    function(torch.randn(3, requires_grad=True)).backward()
    assert [g.kind for g in compile_report().graphs] == ["forward", "backward"]


def test_attention_entries():
    function = compiled(lambda q: F.scaled_dot_product_attention(q, q, q))
    q = torch.randn(1, 2, 4, 8, requires_grad=True)
    out = function(q)
    before = compile_report()
    assert [e.op for e in before.attention] == ["nvfuser.sdpa.default"]
    out.sum().backward()
    report = compile_report()
    assert [e.op for e in report.attention] == ["nvfuser.sdpa.default", "nvfuser.sdpa_backward.default"]
    assert all(entry.backend for entry in report.attention)
    assert "attention: nvfuser.sdpa.default on " in str(report)


def test_reset():
    compiled(lambda x: x + 1)(torch.randn(3))
    assert compile_report(reset=True).graphs
    assert not compile_report().graphs


def test_a_report_that_was_taken_does_not_grow():
    compiled(lambda x: x + 1)(torch.randn(3))
    report = compile_report()
    torch.compile(lambda x: x - 1, backend="nvfuser")(torch.randn(4))
    assert len(report.graphs) == 1
    assert len(compile_report().graphs) == 2


def test_repeated_ops_are_counted():
    def function(x):
        for _ in range(5):
            x = x.sin() * 2
        return x

    compiled(function)(torch.randn(3))
    report = compile_report()
    assert report.fused_ops == {"aten.sin.default": 5, "aten.mul.Tensor": 5}
    assert "5 x aten.sin.default" in str(report)
