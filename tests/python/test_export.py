"""``nvfuser.export.compile``: numbers of exported programs against torch, dynamic sizes, forms of a program."""

import pytest
import torch
import torch.nn.functional as F
from export_helpers import assert_like, assert_runs_like_torch, export
from nvfuser.export import compile as compile_program
from torch import nn
from torch.export import Dim


class Mlp(nn.Module):
    def __init__(self, size: int = 16):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.up = nn.Linear(size, 4 * size)
        self.down = nn.Linear(4 * size, size)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Block(nn.Module):
    """A transformer block with grouped-query attention; `mask` may be None, Bool or float."""

    def __init__(self, size=32, heads=4, key_heads=2, scale=None, is_causal=False):
        super().__init__()
        self.heads, self.key_heads, self.scale, self.is_causal = heads, key_heads, scale, is_causal
        self.head_size = size // heads
        self.norm = nn.LayerNorm(size)
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, key_heads * self.head_size)
        self.value = nn.Linear(size, key_heads * self.head_size)
        self.out = nn.Linear(size, size)
        self.mlp = Mlp(size)

    def forward(self, x, mask=None):
        y = self.norm(x)
        q, k, v = (f(y).unflatten(-1, (-1, self.head_size)).transpose(1, 2) for f in (self.query, self.key, self.value))
        grouped = self.heads != self.key_heads
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=self.is_causal, scale=self.scale, enable_gqa=grouped
        )
        return self.mlp(x + self.out(y.transpose(1, 2).flatten(2)))


def bool_mask(batch: int, length: int) -> torch.Tensor:
    mask = torch.ones(batch, 1, 1, length, dtype=torch.bool)
    mask[-1, ..., length // 2 + 1 :] = False
    return mask


def all_in_fusions(compiled, count: int = 1) -> None:
    """Every attention node of the program is in a fusion."""
    assert len(compiled.report.attention) == count
    assert not any("scaled_dot_product" in op for op in compiled.report.eager_ops)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_mlp_is_one_fusion():
    compiled = assert_runs_like_torch(
        export(Mlp(), (torch.randn(3, 16),)), (torch.randn(3, 16),), (torch.randn(3, 16),)
    )
    assert compiled.report.num_fusions == 1 and not compiled.report.eager_ops


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_block_in_every_dtype(dtype):
    x = torch.randn(2, 7, 32, dtype=dtype)
    compiled = assert_runs_like_torch(export(Block().to(dtype), (x,)), (x,))
    all_in_fusions(compiled)


@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("case", ["plain", "causal", "bool", "float", "scale"])
def test_attention_keeps_its_settings(heads, case):
    block = Block(
        heads=heads[0], key_heads=heads[1], scale=0.3 if case == "scale" else None, is_causal=case == "causal"
    )
    mask = {"bool": bool_mask(2, 9), "float": torch.randn(9, 9)}.get(case)
    args = (torch.randn(2, 9, 32), *([] if mask is None else [mask]))
    compiled = assert_runs_like_torch(
        export(block.double(), tuple(_double(a) for a in args)), tuple(map(_double, args))
    )
    all_in_fusions(compiled)
    assert [a.backend for a in compiled.report.attention] == ["cpu_flash"]


def _double(value):
    return value.double() if value.is_floating_point() else value


class Call(nn.Module):
    """scaled_dot_product_attention with fixed settings."""

    def __init__(self, **settings):
        super().__init__()
        self.settings = settings

    def forward(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, mask, **self.settings)


def test_causal_with_more_keys_than_queries_is_top_left():
    args = (torch.randn(1, 2, 3, 8), torch.randn(1, 2, 7, 8), torch.randn(1, 2, 7, 8))
    all_in_fusions(assert_runs_like_torch(export(Call(is_causal=True), args), args))


@pytest.mark.parametrize("shapes", [[(2, 5, 8)] * 3, [(2, 2, 5, 8), (1, 2, 5, 8), (1, 2, 5, 8)]])
def test_attention_that_is_not_ours_stays_whole_in_eager(shapes):
    args = tuple(torch.randn(shape) for shape in shapes)
    compiled = assert_runs_like_torch(export(Call(), args), args)
    assert compiled.report.eager_ops["aten.scaled_dot_product_attention.default"] == 1
    assert compiled.report.attention == []


def test_values_of_another_head_size():
    args = (torch.randn(2, 2, 5, 8), torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 12))
    all_in_fusions(assert_runs_like_torch(export(Call(), args), args))


def test_rows_without_a_key():
    mask = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    mask[..., 2, :] = False
    args = (*(torch.randn(1, 2, 5, 8) for _ in range(3)), mask)
    compiled = assert_runs_like_torch(export(Call(), args), args)
    assert not compiled(*args)[:, :, 2].any()


def test_sdpa_backend_option_reaches_the_node():
    args = tuple(torch.randn(1, 2, 5, 8) for _ in range(3))
    compiled = assert_runs_like_torch(export(Call(), args), args, sdpa_backend="math")
    assert [a.backend for a in compiled.report.attention] == ["math"]


# ---- sizes -----------------------------------------------------------------------------------------------------------

DYNAMIC = {"x": {0: Dim("batch", min=1, max=16), 1: Dim("length", min=1, max=64)}, "mask": None}


@pytest.fixture(scope="module")
def dynamic_block():
    torch.manual_seed(0)
    block = Block(is_causal=True)
    return torch.export.export(block.eval(), (torch.randn(2, 10, 32), None), dynamic_shapes=DYNAMIC)


def test_dynamic_batch_and_length(dynamic_block):
    calls = [(torch.randn(*sizes, 32), None) for sizes in [(2, 10), (1, 1), (16, 3), (3, 64), (1, 10), (5, 1), (2, 10)]]
    compiled = assert_runs_like_torch(dynamic_block, *calls)
    all_in_fusions(compiled)


def test_dynamic_masks_follow_their_sizes():
    batch, length = Dim("batch", max=16), Dim("length", max=64)
    shapes = {"x": {0: batch, 1: length}, "mask": {0: batch, 3: length}}
    program = export(Block(), (torch.randn(2, 10, 32), bool_mask(2, 10)), dynamic_shapes=shapes)
    calls = [(torch.randn(b, n, 32), bool_mask(b, n)) for b, n in [(2, 10), (1, 1), (4, 33)]]
    all_in_fusions(assert_runs_like_torch(program, *calls))


def test_empty_batch():
    program = export(Mlp(), (torch.randn(4, 16),), dynamic_shapes=({0: Dim("n", min=0, max=9)},))
    assert_runs_like_torch(program, (torch.randn(0, 16),), (torch.randn(1, 16),), (torch.randn(9, 16),))


def test_static_empty_input():
    assert_runs_like_torch(export(Mlp(), (torch.randn(0, 16),)), (torch.randn(0, 16),))


def test_inputs_of_another_layout(dynamic_block):
    x = torch.randn(2, 32, 10).transpose(1, 2)
    gaps = torch.randn(2, 10, 64)[..., ::2]
    expanded = torch.randn(1, 10, 32).expand(2, 10, 32)
    assert_runs_like_torch(dynamic_block, (x, None), (gaps, None), (expanded, None), strides=False)


def test_sizes_that_are_computed():
    class Halves(nn.Module):
        def forward(self, x):
            n = x.shape[0] // 2
            return x[:n] * 2, x[n:] + x.shape[0], n

    program = export(Halves(), (torch.randn(6, 3),), dynamic_shapes=({0: 2 * Dim("half", min=2, max=20)},))
    assert_runs_like_torch(program, (torch.randn(6, 3),), (torch.randn(8, 3),), (torch.randn(40, 3),))


def test_sizes_that_depend_on_data():
    class Picked(nn.Module):
        def forward(self, x):
            return (x[x > 0] * 2).sum(), torch.nonzero(x)

    assert_runs_like_torch(
        export(Picked(), (torch.randn(20),)), (torch.randn(20),), (-torch.ones(20),), (torch.ones(20),)
    )


# ---- forms of a program ----------------------------------------------------------------------------------------------


def test_decomposed_with_the_default_table():
    x = torch.randn(2, 7, 32)
    program = export(Block(is_causal=True), (x,)).run_decompositions()
    assert_runs_like_torch(program, (x,))


def test_decomposed_with_an_empty_table():
    x = torch.randn(2, 7, 32)
    all_in_fusions(assert_runs_like_torch(export(Block(), (x,)).run_decompositions({}), (x,)))


@pytest.mark.parametrize("replace", [True, False])
def test_decomposed_to_the_cpu_variant(replace):
    pytest.importorskip("nvfuser.passes")
    args = tuple(torch.randn(2, 4, 9, 8) for _ in range(3))
    program = export(Variant(), args)
    assert any("flash_attention_for_cpu" in str(n.target) for n in program.graph.nodes)
    compiled = assert_runs_like_torch(program, args, replace_fused_sdpa=replace)
    all_in_fusions(compiled)
    op = compiled.report.attention[0].op
    assert op == ("aten.scaled_dot_product_attention.default" if replace else op)
    assert ("flash_attention_for_cpu" in op) != replace


class Variant(nn.Module):
    def forward(self, q, k, v):
        output = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, is_causal=True, scale=0.2)[0]
        return output.transpose(1, 2) * 2


def test_saved_and_loaded(tmp_path, dynamic_block):
    torch.export.save(dynamic_block, tmp_path / "block.pt2")
    program = torch.export.load(tmp_path / "block.pt2")
    assert_runs_like_torch(program, (torch.randn(2, 10, 32), None), (torch.randn(3, 5, 32), None))


def test_convolution_and_pooling_stay_in_eager():
    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

        def forward(self, x):
            return F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)

    x = torch.randn(2, 3, 9, 9)
    compiled = assert_runs_like_torch(export(Conv(), (x,)), (x,))
    assert compiled.report.eager_ops["aten.convolution.default"] == 1 and compiled.report.num_fusions == 1


def test_branches_are_compiled_on_their_own():
    class Branches(nn.Module):
        def forward(self, q, k, flag):
            attend = lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True) * 2  # noqa: E731
            return torch.cond(flag, attend, lambda q, k: torch.sin(q) - k, (q, k)) + 1

    q, k = torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
    yes, no = torch.tensor(True), torch.tensor(False)
    compiled = assert_runs_like_torch(export(Branches(), (q, k, yes)), (q, k, yes), (q, k, no))
    all_in_fusions(compiled)
    assert [g.kind for g in compiled.report.graphs] == [
        "exported",
        "cond branch true_graph_0",
        "cond branch false_graph_0",
    ]


def test_nested_branches():
    class Nested(nn.Module):
        def forward(self, x):
            inner = lambda x: torch.cond(x.mean() > 1, torch.cos, torch.exp, (x,)) * 3  # noqa: E731
            return torch.cond(x.sum() > 0, inner, torch.sin, (x,))

    calls = [(torch.full((4,), value),) for value in (5.0, 0.5, -1.0)]
    assert len(assert_runs_like_torch(export(Nested(), calls[0]), *calls).report.graphs) == 5


def test_loops():
    class Loop(nn.Module):
        def forward(self, x):
            done = torch._higher_order_ops.while_loop(
                lambda i, x: i < 3, lambda i, x: (i + 1, torch.sin(x) * 2), (torch.tensor(0), x)
            )
            return done[1] + 1

    x = torch.randn(4)
    compiled = assert_runs_like_torch(export(Loop(), (x,)), (x,))
    assert len(compiled.report.graphs) == 3


def test_grad_mode_and_autocast_blocks_of_the_module():
    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x):
            with torch.no_grad():
                y = self.linear(x).relu()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.linear(y), y

    x = torch.randn(3, 8)
    assert_runs_like_torch(export(Blocks(), (x,)), (x,))


def test_random_ops_draw_what_torch_draws():
    class Noise(nn.Module):
        def forward(self, x):
            return x * 2 + torch.rand_like(x), torch.randn(3) + 1

    x = torch.zeros(4)
    program = export(Noise(), (x,))
    compiled = compile_program(program)
    torch.manual_seed(3)
    actual = compiled(x)
    torch.manual_seed(3)
    assert_like(actual, program.module()(x))


# ---- around a call ---------------------------------------------------------------------------------------------------


def test_inputs_and_parameters_that_require_grad(dynamic_block):
    compiled = compile_program(dynamic_block)
    x = torch.randn(2, 10, 32, requires_grad=True)
    result = compiled(x, None)
    assert not result.requires_grad and all(p.requires_grad for _, p in compiled.named_parameters())
    assert_like(result, dynamic_block.module()(x, None))


def test_autocast_of_the_caller_changes_nothing(dynamic_block):
    compiled = compile_program(dynamic_block)
    x = torch.randn(2, 10, 32)
    expected = compiled(x, None)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_like(compiled(x, None), expected)


def test_inference_mode(dynamic_block):
    compiled = compile_program(dynamic_block)
    with torch.inference_mode():
        x = torch.randn(2, 10, 32)
        assert_like(compiled(x, None), dynamic_block.module()(x, None))


def test_new_weights_written_in_place_are_used():
    program = export(Mlp(), (torch.randn(3, 16),))
    compiled = compile_program(program)
    x = torch.randn(3, 16)
    with torch.no_grad():
        compiled.state_dict()["down.weight"].zero_()
        compiled.state_dict()["down.bias"].zero_()
    assert torch.equal(compiled(x), x)


def test_options_are_checked():
    program = export(Mlp(), (torch.randn(3, 16),))
    with pytest.raises(ValueError, match="nvfuser.export.compile: unknown option 'fast'; known options: disabled_ops"):
        compile_program(program, options={"fast": True})
    with pytest.raises(ValueError, match="option 'replace_fused_sdpa' is 1, expected True or False"):
        compile_program(program, options={"replace_fused_sdpa": 1})
    compiled = compile_program(program, options={"disabled_ops": ["aten.linear"]})
    assert compiled.report.eager_ops["aten.linear.default"] == 2
    with pytest.raises(TypeError, match="expected a torch.export.ExportedProgram, got Mlp"):
        compile_program(Mlp())
