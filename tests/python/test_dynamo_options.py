"""Options of torch.compile(backend="nvfuser"), and what wrong ones get."""

import nvfuser
import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same, compiled
from nvfuser.dynamo import compile_report, nvfuser_backend


def test_backend_is_found_by_name():
    torch._dynamo.reset()
    assert "nvfuser" in torch._dynamo.list_backends()
    x = torch.randn(4)
    torch.testing.assert_close(torch.compile(lambda x: x * 2 + 1, backend="nvfuser")(x), x * 2 + 1)


def test_backend_function_can_be_passed():
    x = torch.randn(4)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(lambda x: x * 2, backend=nvfuser_backend)(x), x * 2)


@pytest.mark.parametrize("backend", ["nvfuser", nvfuser_backend])
def test_unknown_option(backend):
    torch._dynamo.reset()
    function = torch.compile(lambda x: x + 1, backend=backend, options={"max_autotune": True})
    with pytest.raises(ValueError, match="unknown option 'max_autotune'; known options: disabled_ops"):
        function(torch.randn(3))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"min_ops": 0}, "'min_ops' is 0, expected an int of 1 or more"),
        ({"min_ops": "2"}, "'min_ops' is '2'"),
        ({"sdpa_backend": "fast"}, "'sdpa_backend' is 'fast', expected one of auto"),
        ({"partitioner": None}, "expected one of min_cut, default"),
        ({"disabled_ops": "aten.mm"}, "expected op names such as"),
        ({"disabled_ops": [1]}, "expected op names such as"),
        ({"whole_attention": 1}, "expected True or False"),
    ],
)
def test_wrong_values(options, message):
    with pytest.raises(ValueError, match=message):
        compiled(lambda x: x + 1, options=options)(torch.randn(3))


def test_mode_is_refused():
    torch._dynamo.reset()
    with pytest.raises(ValueError, match="no mode 'max-autotune'"):
        torch.compile(lambda x: x + 1, backend="nvfuser", mode="max-autotune")(torch.randn(3))


def test_disabled_ops():
    options = {"disabled_ops": ["aten.sin", "aten.mm.default"]}
    report = assert_same(lambda x: (x @ x).sin().cos(), torch.randn(4, 4), options=options)
    assert report.eager_ops == {"aten.sin.default": 1, "aten.mm.default": 1}
    assert "switched off by the option disabled_ops" in str(report)


def test_min_ops():
    report = assert_same(lambda x: x.sin().cos().flip(0) + 1, torch.randn(4), options={"min_ops": 2})
    assert report.num_fusions == 1
    assert report.eager_ops["aten.add.Tensor"] == 1


@pytest.mark.parametrize("partitioner", ["min_cut", "default"])
def test_partitioner(partitioner):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))
    assert_same(model, torch.randn(3, 4), train=True, options={"partitioner": partitioner})


@pytest.mark.parametrize("backend", ["math", "cpu_flash"])
def test_sdpa_backend(backend):
    q = torch.randn(1, 2, 5, 8)
    report = assert_same(
        lambda q: F.scaled_dot_product_attention(q, q, q),
        *(q,),
        train=True,
        strides=False,
        options={"sdpa_backend": backend},
    )
    assert {entry.backend for entry in report.attention} == {backend}


def test_compile_report_is_public():
    function = compiled(lambda x: (x * 2).sort().values)
    function(torch.randn(4))
    assert nvfuser.compile_report is compile_report
    text = str(nvfuser.compile_report())
    assert "1 graph, 1 fusion" in text
    assert "aten.mul.Tensor" in text
    assert "aten.sort.default (no row in the op table)" in text
