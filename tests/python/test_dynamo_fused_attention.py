"""torch's fused attention ops as graph nodes: which become our node, with which arguments, and what they give back.

The graphs are traced with fake CUDA tensors, so that lowering is tested where there is no device.
"""

import pytest
import torch
from nvfuser.dynamo.backend import Options
from nvfuser.dynamo.lowering import build_definition, layout_of_meta
from nvfuser.dynamo.partition import Partitioner
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten
flash = aten._scaled_dot_product_flash_attention.default
flash_backward = aten._scaled_dot_product_flash_attention_backward.default
efficient = aten._scaled_dot_product_efficient_attention.default
efficient_backward = aten._scaled_dot_product_efficient_attention_backward.default
cudnn = aten._scaled_dot_product_cudnn_attention.default
cudnn_backward = aten._scaled_dot_product_cudnn_attention_backward.default
cpu_flash = aten._scaled_dot_product_flash_attention_for_cpu.default


def plan_of(function, bias_shape=None, device="cuda", length=100):
    with FakeTensorMode():
        options = {"dtype": torch.bfloat16, "device": device}
        inputs = [torch.empty(2, 4, length, 64, **options), *(torch.empty(2, 4, 256, 64, **options) for _ in "kv")]
        if bias_shape is not None:
            inputs.append(torch.empty(bias_shape, **options))
        graph = make_fx(function)(*inputs).graph
    graph.eliminate_dead_code()
    return Partitioner(graph).run()


def text_of(plan):
    """The definition of the plan's only region, as text."""
    (region,) = plan.regions()
    return repr(build_definition(region, [layout_of_meta(n) for n in region.inputs], Options()))


def test_flash_is_bottom_right():
    text = text_of(plan_of(lambda q, k, v: flash(q, k, v, 0.0, True, scale=0.25)[0]))
    assert "sdpa_fwd" in text or "sdpfa_fwd" in text
    assert "is_causal=True" in text and "scale=0.25" in text
    assert "bottom_right" in text or "sdpfa_fwd" in text


def test_flash_with_its_statistics():
    def function(q, k, v):
        out = flash(q, k, v)
        return out[0], out[1], out[6], out[7]

    plan = plan_of(function)
    (region,) = plan.regions()
    assert len(region.outputs) == 4
    text_of(plan)


def test_flash_with_dropout():
    plan = plan_of(lambda q, k, v: flash(q, k, v, 0.1)[0])
    assert "dropout_p=0.1" in text_of(plan)


def test_results_that_we_do_not_make_leave_the_op_in_eager():
    plan = plan_of(lambda q, k, v: (flash(q, k, v, 0.1, False, True)[8], flash(q, k, v, 0.1, False, True)[0]))
    assert not plan.regions()
    assert any("attention op is used" in reason or reason == "debug mask" for _, reason in plan.eager_reasons)


@pytest.mark.parametrize("op", [efficient, cudnn])
def test_bias_and_scale(op):
    plan = plan_of(lambda q, k, v, bias: op(q, k, v, bias, False, 0.0, False, scale=0.5)[0], (1, 1, 100, 256))
    text = text_of(plan)
    assert "bias=tv3" in text and "scale=0.5" in text
    assert f'backend="{"efficient" if op is efficient else "cudnn"}"' in text.replace("'", '"')


@pytest.mark.parametrize("op", [efficient, cudnn])
def test_dropout_of_other_kernels_stays_in_eager(op):
    plan = plan_of(lambda q, k, v: op(q, k, v, None, False, 0.1)[0])
    assert not plan.regions()
    assert (str(op), "dropout") in plan.eager_reasons


def test_efficient_logsumexp_is_padded():
    def function(q, k, v):
        out = efficient(q, k, v, None, True)
        return out[0], out[1]

    plan = plan_of(function)
    (region,) = plan.regions()
    assert region.outputs[1].meta["val"].shape == (2, 4, 128)
    assert "pad(" in text_of(plan)


def test_cudnn_logsumexp_has_a_last_dim_of_one():
    def function(q, k, v):
        out = cudnn(q, k, v, None, True)
        return out[0], out[1]

    plan = plan_of(function)
    (region,) = plan.regions()
    assert region.outputs[1].meta["val"].ndim == 4
    assert "broadcast(" in text_of(plan)


def test_flash_backward():
    def function(q, k, v):
        out = flash(q, k, v, 0.0, True)
        return flash_backward(
            *(out[0] * 2, q, k, v, out[0], out[1], None, None, 100, 256, 0.0, True, out[6], out[7]),
            scale=0.25,
        )

    text = text_of(plan_of(function))
    assert "bwd(" in text and "scale=0.25" in text


def test_efficient_backward_with_the_gradient_of_a_bias():
    def function(q, k, v, bias):
        out = efficient(q, k, v, bias, True)
        gradient = out[0] * 2
        return efficient_backward(gradient, q, k, v, bias, *out, 0.0, [True, True, True, True])

    text = text_of(plan_of(function, (2, 4, 100, 256)))
    assert "sdpa_bwd(" in text and "bias_grad=True" in text


def test_cudnn_backward():
    def function(q, k, v):
        out = cudnn(q, k, v, None, True, 0.0, True)
        rest = (out[6], out[7], None, None, None, 100, 256, 0.0, True)
        return cudnn_backward(out[0] * 2, q, k, v, out[0], out[1], *rest)

    text = text_of(plan_of(function))
    assert "sdpa_bwd(" in text and "cudnn" in text


def test_flash_for_cpu_takes_a_mask_of_two_dims():
    def function(q, k, v, mask):
        return cpu_flash(q, k, v, 0.0, True, attn_mask=mask)[0]

    text = text_of(plan_of(function, (100, 256), device="cpu"))
    assert "cpu_flash" in text and "is_causal=True" in text and "bias=" in text
