"""The surroundings of an attention call: its bias, the layout of its output, the branches of control flow."""

import logging

import pytest
import torch
import torch.nn.functional as F
from nvfuser.passes import replace_fused_sdpa
from passes_helpers import (
    CPU_FLASH,
    EFFICIENT,
    FLASH,
    SDPA,
    assert_metadata_is_valid,
    aten,
    attention_nodes,
    call_of,
    decomposed,
    exported,
    fake_tensors,
    fused_names,
    log_lines,
    output_of,
    reference,
    targets,
    traced,
)
from torch import nn
from torch.fx import GraphModule

Q, KV = (2, 6, 9, 16), (2, 6, 11, 16)
PAD, SLICE, EXPAND = aten.constant_pad_nd.default, aten.slice.Tensor, aten.expand.default


# ---- the bias


def aligned(bias, keys, amounts=None, end=None, value=0.0, dim=-1):
    """What eager does before the efficient kernel: pad to a multiple of 8, slice back so that only strides change."""
    amounts = [0, 8 - keys % 8] if amounts is None else amounts
    return aten.slice.Tensor(aten.constant_pad_nd(bias, amounts, value), dim, 0, keys if end is None else end)


def attend(q, k, bias):
    return EFFICIENT(q, k, k, bias, False)[0]


def restored(function, *tensors):
    """The name of the mask that the call ends up with, and the graph."""
    result = replace_fused_sdpa(traced(function, *tensors))
    assert result.modified, result.report
    (node,) = attention_nodes(result.graph_module)
    assert_metadata_is_valid(result.graph_module)
    result.graph_module.graph.lint()
    return node.args[3].name, result


@pytest.mark.parametrize("shape", [(2, 1, 1, 11), (1, 6, 9, 11), (2, 6, 9, 11), (1, 1, 9, 11), (9, 11), (6, 9, 11)])
def test_padded_and_expanded_bias_is_restored(shape):
    def function(q, k, bias):
        return attend(q, k, aligned(bias, 11).expand(2, 6, 9, 11))

    name, result = restored(function, *fake_tensors(Q, KV, shape))
    assert name == "bias_1" and not {PAD, SLICE, EXPAND} & set(targets(result.graph_module))
    assert result.report.candidates[0].notes == ["the bias is bias_1, from before padding and expansion"]
    q, k, bias = (torch.randn(s, dtype=torch.float64) for s in (Q, KV, shape))
    torch.testing.assert_close(result.graph_module(q, k, bias), reference(q, k, k, bias), rtol=0, atol=1e-14)


def test_bias_that_is_only_expanded_is_restored():
    name, result = restored(
        lambda q, k, bias: attend(q, k, bias.expand(2, 6, 9, 11)), *fake_tensors(Q, KV, (2, 1, 1, 11))
    )
    assert name == "bias_1" and EXPAND not in targets(result.graph_module)


def test_padded_bias_of_symbolic_sizes_is_restored():
    def function(q, k, bias):
        keys = k.shape[2]
        return attend(q, k, aligned(bias, keys).expand(q.shape[0], q.shape[1], q.shape[2], keys))

    name, result = restored(function, *fake_tensors(("n", 6, "l", 16), ("n", 6, "s", 16), ("n", 1, "l", "s")))
    assert name == "bias_1" and PAD not in targets(result.graph_module)
    q, k, bias = (torch.randn(s, dtype=torch.float64) for s in ((3, 6, 5, 16), (3, 6, 7, 16), (3, 1, 5, 7)))
    torch.testing.assert_close(result.graph_module(q, k, bias), reference(q, k, k, bias), rtol=0, atol=1e-14)


def test_padding_value_does_not_matter():
    name, _ = restored(lambda q, k, b: attend(q, k, aligned(b, 11, value=7.0)), *fake_tensors(Q, KV, (2, 6, 9, 11)))
    assert name == "b_1"


KEPT_BIAS = {
    "padded in front": ((2, 6, 9, 11), lambda b: aligned(b, 11, amounts=[1, 4])),
    "cut in front": ((2, 6, 9, 11), lambda b: aligned(b, 11, amounts=[-1, 6])),
    "another dim padded": ((2, 6, 7, 11), lambda b: aligned(b, 11, amounts=[0, 5, 0, 2])),
    "slice keeps some padding": ((2, 6, 9, 8), lambda b: aligned(b, 11, amounts=[0, 8])),
    "slice cuts too much": ((2, 6, 9, 14), lambda b: aligned(b, 11, amounts=[0, 2])),
    "slice of another dim": ((2, 6, 9, 8), lambda b: aligned(b, 9, amounts=[0, 3], dim=2)),
    "slice does not start at zero": (
        (2, 6, 9, 11),
        lambda b: aten.slice.Tensor(aten.constant_pad_nd(b, [0, 5]), -1, 1, 12),
    ),
    "slice with a step": ((2, 6, 9, 11), lambda b: aten.slice.Tensor(aten.constant_pad_nd(b, [0, 11]), -1, 0, 22, 2)),
    "expanded in between": ((9, 1), lambda b: aten.add.Tensor(b.expand(9, 11), 1.0)),
}


@pytest.mark.parametrize("case", KEPT_BIAS)
def test_bias_that_was_changed_stays_as_it_is(case):
    shape, prepare = KEPT_BIAS[case]
    name, result = restored(lambda q, k, b: attend(q, k, prepare(b)), *fake_tensors(Q, KV, shape))
    assert name not in ("b_1",)
    q, k, bias = (torch.randn(s, dtype=torch.float64) for s in (Q, KV, shape))
    torch.testing.assert_close(result.graph_module(q, k, bias), reference(q, k, k, prepare(bias)), rtol=0, atol=1e-14)


def test_expansion_to_other_sizes_than_the_scores_stays():
    name, result = restored(lambda q, k, b: attend(q, k, b.expand(1, 6, 9, 11)), *fake_tensors(Q, KV, (1, 1, 9, 11)))
    assert name != "b_1" and EXPAND in targets(result.graph_module)


def test_bias_of_one_dim_stays_expanded():
    """scaled_dot_product_attention wants a mask of two dims at least."""
    name, _ = restored(lambda q, k, b: attend(q, k, b.expand(2, 6, 9, 11)), *fake_tensors(Q, KV, (11,)))
    assert name != "b_1"


def test_preparation_that_others_use_stays():
    def function(q, k, bias):
        prepared = aligned(bias, 11).expand(2, 6, 9, 11)
        return attend(q, k, prepared), prepared * 2

    name, result = restored(function, *fake_tensors(Q, KV, (2, 1, 1, 11)))
    assert name == "bias_1" and {PAD, SLICE, EXPAND} <= set(targets(result.graph_module))


def test_layers_that_share_a_preparation():
    def function(q, k, bias):
        prepared = aligned(bias, 11)
        for _ in range(3):
            q = attend(q, k, prepared.expand(2, 6, 9, 11)) + q
        return q

    result = replace_fused_sdpa(traced(function, *fake_tensors(Q, KV, (2, 1, 1, 11))))
    assert [n.args[3].name for n in attention_nodes(result.graph_module)] == ["bias_1"] * 3
    assert not {PAD, SLICE, EXPAND} & set(targets(result.graph_module))


# ---- nodes around


def test_only_what_belongs_to_the_call_is_erased():
    """A node without users may be there on purpose."""

    def function(q, k):
        y = FLASH(q, k, k)[0]
        aten._assert_async.msg(torch.ones((), dtype=torch.bool, device="meta"), "no")
        return y

    given = traced(function, *fake_tensors(Q, KV))
    with given.graph.inserting_before(call_of(given)):
        dead = given.graph.call_function(aten.neg.default, (next(iter(given.graph.nodes)),))
    result = replace_fused_sdpa(given)
    left = [n.name for n in result.graph_module.graph.nodes]
    assert dead.name in left
    gone = {n.name for n in given.graph.nodes} - set(left)
    assert gone == {call_of(given).name} | {n.name for n in call_of(given).users if n.args[1] != 0}


def test_output_taken_twice_by_the_next_layer():
    """The second layer reads the output of the first through both nodes, of which one is left."""

    def function(q, k):
        return FLASH(FLASH(q, k, k)[0], k, k)[0]

    given = traced(function, *fake_tensors(Q, KV))
    first, second = (n for n in given.graph.nodes if n.target is FLASH.default)
    taken = output_of(first)
    with given.graph.inserting_before(second):
        again = given.graph.call_function(taken.target, (first, 0))
    again.meta = dict(taken.meta)
    second.replace_input_with(taken, again)
    result = replace_fused_sdpa(given)
    assert len(attention_nodes(result.graph_module)) == 2
    q, k = torch.randn(Q, dtype=torch.float64), torch.randn(KV, dtype=torch.float64)
    expected = reference(reference(q, k, k), k, k)
    torch.testing.assert_close(result.graph_module(q, k), expected, rtol=0, atol=1e-14)


# ---- the layout of the output


def test_view_that_fits_one_layout_only_becomes_a_reshape():
    """Flash writes N, L, H, E, so tracing made a view of flatten; other kernels write N, H, L, E."""

    def function(q, k):
        y = FLASH(q, k, k)[0].transpose(1, 2).flatten(2)
        return y.unflatten(-1, (2, 48)), y.view(18, 96)

    given = traced(function, *fake_tensors(Q, KV))
    assert targets(given).count(aten.view.default) == 3
    result = replace_fused_sdpa(given)
    assert [t for t in targets(result.graph_module) if t in (aten.view.default, aten.reshape.default)] == [
        aten.reshape.default,  # merges heads
        aten.view.default,  # splits a dim: that fits every layout
        aten.reshape.default,
    ]
    assert_metadata_is_valid(result.graph_module)
    q, k = torch.randn(Q, dtype=torch.float64), torch.randn(KV, dtype=torch.float64)
    expected = reference(q, k, k).transpose(1, 2).flatten(2)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        for actual, shape in zip(result.graph_module(q, k), [(2, 9, 2, 48), (18, 96)]):
            torch.testing.assert_close(actual, expected.reshape(shape), rtol=0, atol=1e-14)


def test_views_behind_a_projection_stay():
    def function(q, k, weight):
        y = FLASH(q, k, k)[0].transpose(1, 2).flatten(2).flatten(0, 1)
        return torch.mm(y, weight).view(2, 9, 96).flatten(0, 1)

    result = replace_fused_sdpa(traced(function, *fake_tensors(Q, KV, (96, 96))))
    shaped = [t for t in targets(result.graph_module) if t in (aten.view.default, aten.reshape.default)]
    assert shaped == [aten.reshape.default, aten.reshape.default, aten.view.default, aten.view.default]


@pytest.mark.parametrize("kind", ["as_strided", "write to a view", "write to what is contiguous"])
def test_layout_that_must_stay_is_restored_by_a_copy(kind):
    def function(q, k):
        y = FLASH(q, k, k)[0]
        if kind == "as_strided":
            return y, torch.as_strided(y, (2, 9, 6 * 16), (9 * 96, 96, 1))
        tokens = y.transpose(1, 2)
        flat = tokens.view(2, 9, 96) if "view" in kind else aten.contiguous(tokens).view(2, 9, 96)
        flat.mul_(2)
        return y, flat

    result = replace_fused_sdpa(traced(function, *fake_tensors(Q, KV)))
    (node,) = attention_nodes(result.graph_module)
    assert node.name == "scaled_dot_product_attention" and len(result.report.candidates[0].notes) == 1
    assert aten.reshape.default not in targets(result.graph_module)
    assert_metadata_is_valid(result.graph_module)
    q, k = torch.randn(Q, dtype=torch.float64), torch.randn(KV, dtype=torch.float64)
    expected = reference(q, k, k) * (2 if "write" in kind else 1)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        y, flat = result.graph_module(q, k)
    assert y.stride() == (9 * 96, 16, 96, 1)
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(flat, expected.transpose(1, 2).flatten(2), rtol=0, atol=1e-14)


def test_output_that_is_written_elsewhere_needs_no_copy():
    """The write goes to another tensor; the layout of what is written does not matter."""

    def function(q, k, cache):
        cache.copy_(FLASH(q, k, k)[0])
        return cache

    result = replace_fused_sdpa(traced(function, *fake_tensors(Q, KV, Q, device="meta")))
    assert result.report.candidates[0].notes == []
    assert aten.clone.default not in targets(result.graph_module)


def test_layout_that_cannot_be_restored_stays():
    def function(q, k):
        y = FLASH(q, k, k)[0]
        return torch.as_strided(y, (2, 3), (3, 1))

    given = traced(function, *fake_tensors(Q, KV))
    taken = output_of(call_of(given))
    with taken.meta["val"].fake_mode:
        taken.meta["val"] = torch.empty_strided(Q, (5000, 160, 480, 2), dtype=torch.bfloat16, device="cuda")
    (kept,) = replace_fused_sdpa(given).report
    assert kept.reason == "as_strided reads its strides, and its layout is not known well enough to be restored"


# ---- control flow


def plain(x):
    return F.scaled_dot_product_attention(x, x, x)


class Conditions(nn.Module):
    """cond within cond, with attention in three of the branches."""

    def forward(self, x, choose):
        def inner(x):
            return plain(x).transpose(1, 2).flatten(2)

        def other(x):
            return x.transpose(1, 2).flatten(2) * 2

        def outer(x):
            return torch.cond(x.sum() > 0, inner, other, (x,))

        def scaled(x):
            return F.scaled_dot_product_attention(x, x, x, scale=0.3, is_causal=True).transpose(1, 2).flatten(2)

        return torch.cond(choose, outer, scaled, (plain(x),))


class Loop(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops import while_loop

        def more(i, x):
            return i < 3

        def body(i, x):
            return i + 1, plain(x).contiguous()

        return while_loop(more, body, (torch.zeros((), dtype=torch.int64), x))[1]


class Map(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.map import map as map_op

        return map_op(lambda y: plain(y) + 1, torch.stack([x, x * 2]))


class Scan(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        def step(carry, y):
            return carry + 1, F.scaled_dot_product_attention(y, carry, carry)

        return scan(step, x, torch.stack([x, x * 2]))[1]


@pytest.mark.parametrize(
    "model, found",
    [
        (Conditions, ["", "false_graph_0", "true_graph_0.true_graph_0"]),
        (Loop, ["while_loop_body_graph_0"]),
        (Map, ["body_graph_0"]),
        (Scan, ["scan_combine_graph_0"]),
    ],
    ids=["cond", "while_loop", "map", "scan"],
)
def test_branches_of_control_flow_are_searched(model, found):
    args = (torch.randn(2, 4, 8, 16),)
    calls = [args] if model is not Conditions else [(*args, torch.tensor(flag)) for flag in (True, False)]
    program = exported(model(), *calls[0])
    result = replace_fused_sdpa(program)
    assert sorted(c.graph for c in result.report) == found and all(c.rewritten for c in result.report)
    assert fused_names(result.program) == [] and len(fused_names(program)) == len(found)
    assert len(attention_nodes(result.program)) == len(found)
    for call in calls:
        torch.testing.assert_close(result.program.module()(*call), model()(*call))
    decomposed(result.program)
    try:
        torch.export.export(program.module(), calls[0])
    except Exception as error:
        pytest.skip(f"this torch cannot export the given program again: {error}")
    again = torch.export.export(result.program.module(), calls[0])
    assert len(attention_nodes(again)) == len(found)


def test_call_that_stays_in_a_branch_is_named_with_it(caplog):
    caplog.set_level(logging.INFO, "nvfuser.passes")

    class Model(nn.Module):
        def forward(self, x, memory, choose):
            def attend(x, memory):
                return F.scaled_dot_product_attention(x, memory, memory, is_causal=True) + 1

            return torch.cond(choose, attend, lambda x, memory: x * 2, (x, memory))

    program = exported(Model(), torch.randn(2, 4, 3, 8), torch.randn(2, 4, 6, 8), torch.tensor(True))
    (kept,) = replace_fused_sdpa(program).report
    assert kept.graph == "true_graph_0" and not kept.rewritten
    assert str(kept).startswith(f"{kept.node} (cpu_flash) in true_graph_0 kept: it is causal and its lengths 3 and 6")
    assert log_lines(caplog) == [str(kept)]


def test_branch_that_is_called_twice_is_rewritten_once():
    inner = traced(lambda x: FLASH(x, x, x)[0].transpose(1, 2).flatten(2), *fake_tensors(Q))
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    root = nn.Module()
    root.first = root.second = inner
    once = graph.call_module("first", (x,))
    graph.output((once, graph.call_module("second", (x,))))
    result = replace_fused_sdpa(GraphModule(root, graph))
    assert len(result.report) == 1 and fused_names(inner) and not fused_names(result.graph_module)
    assert result.graph_module.first is result.graph_module.second
    q = torch.randn(Q, dtype=torch.float64)
    expected = reference(q, q, q).transpose(1, 2).flatten(2)
    for y in result.graph_module(q):
        torch.testing.assert_close(y, expected, rtol=0, atol=1e-14)


def test_views_within_a_branch_fit_the_output_that_is_handed_in():
    """The attention is outside, the view that relies on its layout inside."""
    tensors = fake_tensors(Q, KV)

    def branch(y):
        return y.transpose(1, 2).view(2, 9, 96)

    given = traced(lambda q, k: FLASH(q, k, k)[0], *tensors)
    output = next(n for n in given.graph.nodes if n.op == "output")
    taken = output.args[0]
    given.inner = traced(branch, taken.meta["val"])
    with given.graph.inserting_before(output):
        output.args = (given.graph.call_module("inner", (taken,)),)
    given.recompile()
    result = replace_fused_sdpa(given)
    assert aten.reshape.default in targets(result.graph_module) and aten.view.default in targets(given)
    q, k = torch.randn(Q, dtype=torch.float64), torch.randn(KV, dtype=torch.float64)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        y = result.graph_module(q, k)
    torch.testing.assert_close(y, reference(q, k, k).transpose(1, 2).flatten(2), rtol=0, atol=1e-14)


def test_layout_that_leaves_a_branch_is_restored():
    """Control flow compares the strides of its branches when the program is traced again."""

    class Model(nn.Module):
        def forward(self, x, choose):
            return torch.cond(choose, plain, lambda x: x.clone(memory_format=torch.contiguous_format), (x,))

    args = torch.randn(2, 4, 8, 16), torch.tensor(True)
    program = exported(Model(), *args)
    result = replace_fused_sdpa(program)
    (done,) = result.report
    assert done.rewritten and done.notes == ["a copy restores its layout, since cond carries it out of a branch"]
    torch.testing.assert_close(result.program.module()(*args), Model()(*args))
    assert SDPA in targets(torch.export.export(result.program.module(), args))
    # Attention itself would be opened with another layout here.
    result.program.run_decompositions()


def test_call_under_autocast_stays():
    """Autocast would cast the operands of scaled_dot_product_attention; it lets the variant alone."""

    class Model(nn.Module):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return CPU_FLASH(x, x, x)[0] + 1

    program = torch.export.export(Model(), (torch.randn(2, 4, 8, 16),))
    if not any("wrap_with_autocast" in str(t) for t in targets(program)):
        pytest.skip("this torch writes the casts out")
    result = replace_fused_sdpa(program)
    (kept,) = result.report
    assert kept.reason == "it runs under autocast, which casts the operands of scaled_dot_product_attention only"
