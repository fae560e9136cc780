"""Decomposed programs with attention: through the attention pass, in eager and through nvfuser, against the original."""

import importlib.util
import math

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import TOLERANCES
from export_helpers import assert_like, assert_runs_like_torch, export
from nvfuser import demo
from nvfuser.demo_model import WEIGHTS_PACKAGE, SentenceTokenizer, load_encoder
from nvfuser.export import compile as compile_program
from nvfuser.export import explain
from torch import nn
from torch.export import Dim

passes = pytest.importorskip("nvfuser.passes")

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec(WEIGHTS_PACKAGE.replace("-", "_")) is None, reason=f"{WEIGHTS_PACKAGE} is not installed"
)
SDPA = torch.ops.aten.scaled_dot_product_attention.default


class Attention(nn.Module):
    """Projections, attention with fixed settings, a gate: [N, L, 64] and [N, S, 64] -> [N, L, 64]."""

    def __init__(self, heads=4, key_heads=4, **settings):
        super().__init__()
        self.settings = {**settings, "enable_gqa": heads != key_heads}
        self.query = nn.Linear(64, heads * 16)
        self.key = nn.Linear(64, key_heads * 16)
        self.value = nn.Linear(64, key_heads * 16)
        self.out = nn.Linear(heads * 16, 64)

    def forward(self, x, memory, mask=None):
        q, k, v = (
            project(t).unflatten(-1, (-1, 16)).transpose(1, 2)
            for project, t in ((self.query, x), (self.key, memory), (self.value, memory))
        )
        y = F.scaled_dot_product_attention(q, k, v, mask, **self.settings)
        return self.out(y.transpose(1, 2).flatten(2)) * torch.sigmoid(x)


def through_the_cpu_kernel(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """scaled_dot_product_attention as torch's dispatcher runs it on the CPU, as a decomposition."""
    groups = q.shape[1] // k.shape[1]
    if groups != 1:
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=q.dtype).masked_fill(~attn_mask, -math.inf)
    op = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return op(q, k, v, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]


def decomposed_for(device: str, program):
    """The program with fused attention variants: on CUDA torch's default table makes them, on the CPU ours does."""
    if device == "cuda":
        return program.run_decompositions()
    return program.run_decompositions({SDPA: through_the_cpu_kernel})


def fused_variants(program) -> list[str]:
    return [str(n.target) for n in program.graph.nodes if "aten._scaled_dot_product" in str(n.target)]


def targets(program) -> list:
    return [n.target for n in program.graph.nodes]


CASES = {
    "causal grouped-query with its own scale": ({"heads": 4, "key_heads": 2, "is_causal": True, "scale": 0.31}, 24, 24),
    "mask": ({}, 24, 40),
    "one query over 256 keys": ({}, 1, 256),
}


@pytest.mark.parametrize("case", CASES)
def test_decomposed_passed_and_run(case, device):
    settings, length, keys = CASES[case]
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    module = Attention(**settings).to(device, dtype)
    args = [torch.randn(2, n, 64, device=device, dtype=dtype) for n in (length, keys)]
    if case == "mask":
        args.append(torch.rand(2, 1, length, keys, device=device) > 0.3)
    program = decomposed_for(device, export(module, tuple(args)))
    variants = fused_variants(program)
    assert len(variants) == 1, "torch opened the call instead of picking a kernel"

    result = passes.replace_fused_sdpa(program)
    assert result.modified and SDPA in targets(result.program) and not fused_variants(result.program)
    assert len(fused_variants(program)) == 1, "the given program changed"

    with torch.no_grad():
        expected = module(*args)
    tolerance = TOLERANCES[dtype][0]
    assert_like(result.program.module()(*args), expected, strides=False, tolerance=tolerance)
    for given in (result.program, program):
        compiled = compile_program(given)
        assert_like(compiled(*args), expected, strides=False, tolerance=tolerance)
        (node,) = compiled.report.attention
        assert node.op == "aten.scaled_dot_product_attention.default" and compiled.report.failures == []
        (part,) = explain(given).attention
        assert part.backend == node.backend is not None
    kept = compile_program(program, options={"replace_fused_sdpa": False})
    assert_like(kept(*args), expected, strides=False, tolerance=tolerance)
    assert [a.op for a in kept.report.attention] == variants


def test_explain_says_what_the_pass_did():
    args = tuple(torch.randn(2, 6, 64) for _ in range(2))
    explained = explain(decomposed_for("cpu", export(Attention(), args)))
    (part,) = explained.attention_pass
    assert part.rewritten and "flash_attention_for_cpu" in part.op
    assert "attention pass: 1 of 1 fused variant" in str(explained)
    (unequal,) = explain(
        decomposed_for("cpu", export(Attention(is_causal=True), (torch.randn(2, 3, 64), torch.randn(2, 6, 64))))
    ).attention_pass
    assert not unequal.rewritten and unequal.reason
    assert explain(export(Attention(), args)).attention_pass == []
    assert explain(export(Attention(), args), options={"replace_fused_sdpa": False}).attention_pass is None


@pytest.mark.cuda
def test_program_moved_from_the_gpu_to_the_cpu():
    move = pytest.importorskip("torch.export.passes").move_to_device_pass
    module = Attention().to("cuda", torch.bfloat16)
    args = tuple(torch.randn(2, 8, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    program = move(passes.replace_fused_sdpa(export(module, args).run_decompositions()).program, "cpu")
    with torch.no_grad():
        expected = module(*args).cpu()
    on_cpu = tuple(a.cpu() for a in args)
    assert_like(compile_program(program)(*on_cpu), expected, strides=False, tolerance=TOLERANCES[torch.bfloat16][0])
    with pytest.raises(ValueError, match="input 'x' is on cuda:0; the program was exported for cpu"):
        compile_program(program)(*args)


@needs_weights
@pytest.mark.parametrize("form", ["exported", "decomposed"])
def test_sentence_encoder(form, device):
    model = load_encoder().to(device)
    tokenizer = SentenceTokenizer()
    ids, mask = (t.to(device) for t in tokenizer(demo.SENTENCES))
    sizes = {0: Dim("batch", min=1, max=64), 1: Dim("length", min=3, max=512)}
    program = torch.export.export(model, (ids, mask), dynamic_shapes=(sizes, sizes))
    layers = len(model.layers)
    if form == "decomposed":
        program = decomposed_for(device, program)
        assert len(fused_variants(program)) == layers
        program = passes.replace_fused_sdpa(program).program
    # On CUDA the padding of a mask of symbolic length may keep a variant as it is.
    assert targets(program).count(SDPA) == layers or (device == "cuda" and len(fused_variants(program)) == layers)

    compiled = compile_program(program)
    for sentences in (demo.SENTENCES, demo.SENTENCES[:1], demo.SENTENCES[2:5], ["No."]):
        ids, mask = (t.to(device) for t in tokenizer(sentences))
        with torch.no_grad():
            expected = model(ids, mask)
        difference = (compiled(ids, mask) - expected).abs().max().item()
        assert difference <= demo.ENCODE_TOLERANCE
    assert compiled.report.failures == [] and len(compiled.report.attention) == layers
    assert all(node.backend for node in compiled.report.attention)
    with pytest.raises(ValueError, match="dim 1 of input 'ids' is 513; the program was exported for 3 to 512"):
        compiled(ids.new_zeros(1, 513), mask.new_ones(1, 513))


@needs_weights
def test_sentence_encoder_saved_and_loaded(tmp_path):
    model = load_encoder()
    ids, mask = SentenceTokenizer()(demo.SENTENCES[:4])
    length = Dim("length", min=3, max=512)
    program = torch.export.export(model, (ids, mask), dynamic_shapes=({1: length}, {1: length}))
    torch.export.save(program, tmp_path / "encoder.pt2")
    loaded = torch.export.load(tmp_path / "encoder.pt2")
    assert_runs_like_torch(loaded, (ids, mask), (ids[:, :5], mask[:, :5]), tolerance=demo.ENCODE_TOLERANCE)
