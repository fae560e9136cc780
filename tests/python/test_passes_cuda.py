"""The pass over programs that were decomposed on a GPU: what torch makes of attention there, and back."""

import pytest
import torch
from nvfuser.passes import replace_fused_sdpa
from passes_helpers import Attention, aten, attention_nodes, fused_names, targets
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

pytestmark = pytest.mark.cuda

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
CASES = {
    # name -> (settings of the module, query length, key length, with a mask)
    "causal grouped-query with its own scale": ({"key_heads": 2, "is_causal": True, "scale": 0.31}, 24, 24, False),
    "mask": ({}, 24, 40, True),
    "mask of an unaligned length": ({}, 24, 27, True),
    "one query over 256 keys": ({}, 1, 256, False),
}


def program_of(case, dtype=torch.bfloat16):
    settings, length, keys, has_mask = CASES[case]
    module = Attention(**settings).to("cuda", dtype).eval()
    args = [torch.randn(2, n, 32, device="cuda", dtype=dtype) for n in (length, keys)]
    if has_mask:
        args.append(torch.rand(2, 1, length, keys, device="cuda") > 0.3)
    return module, tuple(args), torch.export.export(module, tuple(args))


@torch.no_grad()
def assert_close_to(program, module, args):
    # Two steps of bfloat16 at 1; kernels round at different places.
    torch.testing.assert_close(program.module()(*args), module(*args), rtol=2e-2, atol=2e-2)


@torch.no_grad()
def runs(program, args):
    """False when the kernel refuses at run time what its meta function has taken."""
    try:
        program.module()(*args)
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("backend", [None, *BACKENDS])
@pytest.mark.parametrize("case", CASES)
def test_decomposed_on_the_gpu_and_rewritten(case, backend):
    module, args, program = program_of(case)
    if backend is None:
        fused = program.run_decompositions()
    else:
        try:
            with sdpa_kernel(BACKENDS[backend]):
                fused = program.run_decompositions()
        except RuntimeError as error:
            pytest.skip(f"{backend} does not take it: {error}")
    if not fused_names(fused):
        pytest.skip("torch opened the call instead of picking a kernel")
    (name,) = fused_names(fused)
    if backend is not None:
        assert f"_{backend}_attention" in name

    result = replace_fused_sdpa(fused, strict=True)
    (candidate,) = result.report
    assert candidate.rewritten and fused_names(result.program) == [] and fused_names(fused) == [name]
    (node,) = attention_nodes(result.program)
    settings, _, _, has_mask = CASES[case]
    assert node.kwargs.get("scale") == settings.get("scale")
    assert node.kwargs.get("enable_gqa", False) == ("key_heads" in settings)
    assert (len(node.args) > 3 and node.args[3] is not None) == has_mask
    assert (len(node.args) > 5 and node.args[5] is True) == settings.get("is_causal", False)

    result.program.validate()
    if runs(fused, args):
        assert_close_to(fused, module, args)
    assert_close_to(result.program, module, args)
    # Whatever kernel runs it, with whatever layout of its output.
    with sdpa_kernel(SDPBackend.MATH):
        assert_close_to(result.program, module, args)
    again = torch.export.export(result.program.module(), args)
    assert len(attention_nodes(again)) == 1
    assert_close_to(again, module, args)


def test_padding_of_the_mask_is_taken_off():
    _, _, program = program_of("mask of an unaligned length")
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        fused = program.run_decompositions()
    assert {aten.constant_pad_nd.default, aten.slice.Tensor} <= set(targets(fused)), "torch no longer pads the bias"
    result = replace_fused_sdpa(fused, strict=True)
    assert aten.constant_pad_nd.default not in targets(result.program)
    (node,) = attention_nodes(result.program)
    assert tuple(node.args[3].meta["val"].shape) == (2, 1, 24, 27)


def test_scale_is_the_same_node_whichever_kernel_was_picked():
    """Flash gets the default scale written out, cuDNN does not."""
    _, _, program = program_of("one query over 256 keys")
    nodes = []
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        try:
            with sdpa_kernel(backend):
                fused = program.run_decompositions()
        except RuntimeError:
            continue
        if fused_names(fused):
            nodes += attention_nodes(replace_fused_sdpa(fused, strict=True).program)
    if len(nodes) < 2:
        pytest.skip("this machine has one kernel only")
    assert all(n.kwargs == {} and len(n.args) == 3 for n in nodes)


def test_program_of_the_gpu_runs_on_the_cpu():
    move = pytest.importorskip("torch.export.passes").move_to_device_pass
    module, args, program = program_of("causal grouped-query with its own scale")
    fused = program.run_decompositions()
    moved = move(replace_fused_sdpa(fused, strict=True).program, "cpu")
    with torch.no_grad():
        expected = module(*args).cpu()
        actual = moved.module()(*(a.cpu() for a in args))
    torch.testing.assert_close(actual, expected, rtol=2e-2, atol=2e-2)


class Padded(nn.Module):
    """A head dim that flash pads to a multiple of 8: the scale of 20 dims is written out, the output cut."""

    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def test_padded_head_dim():
    args = tuple(torch.randn(2, 4, 16, 20, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        fused = torch.export.export(Padded(), args).run_decompositions()
    if not fused_names(fused):
        pytest.skip("flash does not take it")
    result = replace_fused_sdpa(fused, strict=True)
    (node,) = attention_nodes(result.program)
    if node.args[0].meta["val"].shape[-1] != 20:
        assert node.kwargs["scale"] == pytest.approx(20**-0.5)
    assert_close_to(result.program, Padded(), args)
