"""Choice of the attention backend: the table, explicit names, torch's switches, deterministic mode, what ran."""

import threading

import pytest
import torch
from attention_reference import assert_near, make_qkv, reference, sdpa, sdpa_backward
from nvfuser_direct import attention
from nvfuser_direct.attention import sdpa_backends
from torch.nn.attention import SDPBackend, sdpa_kernel

ALL = {"cudnn", "flash", "efficient", "cpu_flash", "math"}


def test_table_of_a_plain_cpu_problem():
    table = sdpa_backends(*make_qkv())
    assert {row.name for row in table} == ALL
    assert table.eligible == ["cpu_flash", "math"]
    for name in ("cudnn", "flash", "efficient"):
        assert table.reason(name) == "runs on CUDA only"
    assert table.reason("math") == ""
    text = str(table)
    assert "cpu_flash  eligible, chosen" in text and len(text.splitlines()) == 5
    with pytest.raises(KeyError, match="'nope'"):
        table.reason("nope")


@pytest.mark.parametrize(
    "sizes,settings,reason",
    (
        ({}, {"dropout_p": 0.1}, "has no dropout"),
        ({"ev": 8}, {}, "needs equal head sizes of query and value"),
        ({"length": 5}, {"is_causal": True, "causal_alignment": "bottom_right"}, "aligns the causal diagonal top-left"),
        ({}, {"is_causal": True, "scale": 0.0}, "gives NaN for a causal call with a scale that is not positive"),
        ({}, {"is_causal": True, "scale": -1.0}, "gives NaN for a causal call with a scale that is not positive"),
        ({"e": 0}, {}, "needs head sizes above 0"),
    ),
)
def test_why_cpu_flash_is_not_eligible(sizes, settings, reason):
    q, k, v = make_qkv(**{"length": 9, "keys": 9, **sizes})
    table = sdpa_backends(q, k, v, **settings)
    assert table.reason("cpu_flash") == reason and table.eligible == ["math"]
    if q.shape[-1]:
        with pytest.raises(RuntimeError, match=f"sdpa_fwd: backend 'cpu_flash' cannot run this: it {reason}; query"):
            sdpa(q, k, v, backend="cpu_flash", **settings)
        expected = sdpa(q, k, v, backend="math", **settings) if not settings.get("dropout_p") else None
        attention.reset_sdpa_run_counts()
        result = sdpa(q, k, v, **settings)
        assert attention.last_sdpa_backend() == "math"
        assert expected is None or torch.equal(result[0], expected[0])


def test_backward_table():
    q, k, v = make_qkv()
    bias = torch.zeros(1, 4, 7, 9)
    assert sdpa_backends(q, k, v, bias, backward=True).eligible == ["cpu_flash", "math"]
    table = sdpa_backends(q, k, v, bias, backward=True, bias_grad=True)
    assert table.eligible == ["math"] and table.reason("cpu_flash") == "has no gradient of bias"
    assert sdpa_backends(*(t.double() for t in (q, k, v)), backward=True).eligible[0] == "math"


def test_table_of_an_empty_problem_is_all_eligible():
    assert set(sdpa_backends(*make_qkv(n=0)).eligible) == ALL


@pytest.mark.parametrize("backend", ("flash", "efficient", "cudnn"))
def test_cuda_backends_refuse_the_cpu_by_name(backend):
    q, k, v = make_qkv(dtype=torch.bfloat16)
    message = rf"sdpa_fwd: backend '{backend}' cannot run this: it runs on CUDA only; query \[2, 4, 7, 16\]"
    with pytest.raises(RuntimeError, match=message):
        sdpa(q, k, v, backend=backend)
    forward = sdpa(q, k, v)
    with pytest.raises(RuntimeError, match=f"sdpa_bwd: backend '{backend}' cannot run this: it runs on CUDA only"):
        sdpa_backward(forward[0], q, k, v, forward, backend=backend)


@pytest.mark.parametrize("sizes", ({}, {"n": 0}))
def test_unknown_backend(sizes):
    q, k, v = make_qkv(**sizes)
    with pytest.raises(RuntimeError, match="no attention backend .turbo.; .*auto, .*cudnn"):
        sdpa(q, k, v, backend="turbo")


def ran(function):
    attention.reset_sdpa_run_counts()
    function()
    return attention.sdpa_run_log()


def test_sdpa_kernel_is_respected():
    q, k, v = make_qkv()
    assert ran(lambda: sdpa(q, k, v)) == ["cpu_flash"]
    with sdpa_kernel(SDPBackend.MATH):
        assert ran(lambda: sdpa(q, k, v)) == ["math"]
        assert sdpa_backends(q, k, v).reason("cpu_flash").startswith("is switched off in torch")
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        assert ran(lambda: sdpa(q, k, v)) == ["cpu_flash"]
        message = "sdpa_fwd: no attention backend can run this: .*math is switched off in torch"
        with pytest.raises(RuntimeError, match="(?s)" + message):
            sdpa(q, k, v, dropout_p=0.1)
    assert ran(lambda: sdpa(q, k, v)) == ["cpu_flash"]


def test_sdpa_kernel_is_respected_by_the_backward():
    q, k, v = make_qkv()
    forward = sdpa(q, k, v)
    backward = lambda **kw: sdpa_backward(forward[0], q, k, v, forward, **kw)  # noqa: E731
    with sdpa_kernel(SDPBackend.MATH):
        assert ran(backward) == ["math_backward"]
    assert ran(backward) == ["cpu_flash_backward"]


def test_an_explicit_backend_wins_over_the_switches():
    q, k, v = make_qkv()
    with sdpa_kernel(SDPBackend.MATH):
        assert ran(lambda: sdpa(q, k, v, backend="cpu_flash")) == ["cpu_flash"]


def test_backward_with_dropout_stays_with_the_forwards_backend():
    q, k, v = make_qkv()
    forward = sdpa(q, k, v, dropout_p=0.3)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # would leave none for dropout
        assert ran(lambda: sdpa_backward(forward[0], q, k, v, forward, dropout_p=0.3)) == ["math_backward"]


def test_deterministic_mode():
    q, k, v = make_qkv()
    torch.use_deterministic_algorithms(True)
    try:
        forward = sdpa(q, k, v)
        gradients = [sdpa_backward(forward[0], q, k, v, forward) for _ in range(2)]
        assert all(torch.equal(a, b) for a, b in zip(*gradients))
    finally:
        torch.use_deterministic_algorithms(False)


def test_counts_log_and_last():
    q, k, v = make_qkv()
    attention.reset_sdpa_run_counts()
    assert attention.sdpa_run_counts() == {} and attention.sdpa_run_log() == []
    forward = sdpa(q, k, v)
    sdpa(q, k, v, backend="math")
    sdpa_backward(forward[0], q, k, v, forward)
    assert attention.sdpa_run_counts() == {"cpu_flash": 1, "math": 1, "cpu_flash_backward": 1}
    assert attention.sdpa_run_log() == ["cpu_flash", "math", "cpu_flash_backward"]
    assert attention.last_sdpa_backend() == "cpu_flash"
    seen = []
    thread = threading.Thread(target=lambda: seen.append(attention.last_sdpa_backend()))
    thread.start()
    thread.join()
    assert seen == [""]


def test_threads_count_together():
    q, k, v = make_qkv()
    attention.reset_sdpa_run_counts()
    results = []

    def work():
        for _ in range(5):
            results.append(sdpa(q, k, v)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert attention.sdpa_run_counts() == {"cpu_flash": 20}
    expected = reference(q, k, v)[0]
    for result in results:
        assert_near(result, expected)


def test_the_table_refuses_what_the_node_refuses():
    q, k, v = make_qkv()
    with pytest.raises(RuntimeError, match="sdpa_backends: query has 4 heads, key has 3"):
        sdpa_backends(q, k[:, :3], v[:, :3])
    with pytest.raises(ValueError, match="causal_alignment"):
        sdpa_backends(q, k, v, causal_alignment="middle")
    with pytest.raises(TypeError, match="key must be a torch.Tensor, not list"):
        sdpa_backends(q, [1], v)
    with pytest.raises(TypeError, match="must be tensors"):
        sdpa_backends(q, None, v)


def test_public_names():
    import nvfuser
    import nvfuser.attention
    import nvfuser_direct

    assert nvfuser.sdpa_backends is sdpa_backends is nvfuser_direct.sdpa_backends
    assert nvfuser.attention.sdpa_run_counts is attention.sdpa_run_counts
    assert all(getattr(attention, name).__doc__ for name in attention.__all__)


def test_meta_tensors_have_a_table_too():
    table = sdpa_backends(*(t.to("meta") for t in make_qkv()))
    assert table.eligible == ["math"]
