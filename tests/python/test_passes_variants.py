"""Which calls of the fused variants become scaled_dot_product_attention, and which stay: traced on fake tensors."""

import logging
import math

import pytest
import torch
from nvfuser.passes import replace_fused_sdpa
from passes_helpers import (
    CPU_FLASH,
    CUDNN,
    EFFICIENT,
    FLASH,
    OVERRIDEABLE,
    SDPA,
    TRACEABLE,
    assert_metadata_is_valid,
    aten,
    attention_nodes,
    call_of,
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
from torch.fx import Graph, GraphModule

SHAPES = (2, 6, 9, 16), (2, 6, 11, 16), (2, 6, 11, 16)
EQUAL = (2, 6, 9, 16), (2, 6, 9, 16), (2, 6, 9, 16)
BIAS = (2, 6, 9, 11)


def rewritten(function, *tensors, **options):
    """The attention node that a traced call becomes, and the graph that holds it."""
    result = replace_fused_sdpa(traced(function, *tensors), **options)
    assert result.modified, result.report
    assert fused_names(result.graph_module) == []
    (node,) = attention_nodes(result.graph_module)
    assert_metadata_is_valid(result.graph_module)
    return node, result.graph_module


def reason_to_keep(function, *tensors, **options):
    """Why a traced call stays; the graph is the given one."""
    given = traced(function, *tensors)
    result = replace_fused_sdpa(given, **options)
    assert not result.modified and result.graph_module is given
    (candidate,) = result.report
    return candidate.reason


def names(arguments):
    return [getattr(a, "name", a) for a in arguments]


# ---- the arguments land in the right place

BY_VARIANT = {
    # name -> (call with every argument given, positional arguments expected, with a bias or without)
    "flash": (lambda q, k, v, b: FLASH(q, k, v, 0.25, False, True, scale=0.3), [None, 0.25]),
    "efficient": (lambda q, k, v, b: EFFICIENT(q, k, v, b, True, 0.25, False, scale=0.3), ["b_1", 0.25]),
    "cudnn": (lambda q, k, v, b: CUDNN(q, k, v, b, True, 0.25, False, True, scale=0.3), ["b_1", 0.25]),
    "overrideable": (lambda q, k, v, b: OVERRIDEABLE(q, k, v, b, 0.25, False, True, scale=0.3), ["b_1", 0.25]),
    "cpu_flash": (lambda q, k, v, b: CPU_FLASH(q, k, v, 0.0, False, attn_mask=b, scale=0.3), ["b_1"]),
}


@pytest.mark.parametrize("variant", TRACEABLE)
def test_arguments_that_are_all_given(variant):
    call, rest = BY_VARIANT[variant]
    node, _ = rewritten(lambda q, k, v, b: call(q, k, v, b)[0], *fake_tensors(*SHAPES, BIAS))
    assert names(node.args) == ["q_1", "k_1", "v_1", *rest]
    assert node.kwargs == {"scale": 0.3}


CAUSAL = {
    "flash": lambda q, k, v: FLASH(q, k, v, is_causal=True),
    "efficient": lambda q, k, v: EFFICIENT(q, k, v, None, False, is_causal=True),
    "cudnn": lambda q, k, v: CUDNN(q, k, v, None, False, is_causal=True),
    "overrideable": lambda q, k, v: OVERRIDEABLE(q, k, v, is_causal=True),
    "cpu_flash": lambda q, k, v: CPU_FLASH(q, k, v, is_causal=True),
}
PLAIN = {
    "flash": lambda q, k, v: FLASH(q, k, v),
    "efficient": lambda q, k, v: EFFICIENT(q, k, v, None, False),
    "cudnn": lambda q, k, v: CUDNN(q, k, v, None, False),
    "overrideable": lambda q, k, v: OVERRIDEABLE(q, k, v),
    "cpu_flash": lambda q, k, v: CPU_FLASH(q, k, v),
}


@pytest.mark.parametrize("variant", TRACEABLE)
def test_defaults_that_are_left_out(variant):
    node, graph = rewritten(lambda q, k, v: PLAIN[variant](q, k, v)[0], *fake_tensors(*SHAPES))
    assert names(node.args) == ["q_1", "k_1", "v_1"] and node.kwargs == {}
    node, causal = rewritten(lambda q, k, v: CAUSAL[variant](q, k, v)[0], *fake_tensors(*EQUAL))
    assert names(node.args) == ["q_1", "k_1", "v_1", None, 0.0, True] and node.kwargs == {}
    # The graph runs anywhere now, in numbers of another dtype as well.
    for run, shapes, is_causal in ((graph, SHAPES, False), (causal, EQUAL, True)):
        q, k, v = (torch.randn(shape, dtype=torch.float64) for shape in shapes)
        torch.testing.assert_close(run(q, k, v), reference(q, k, v, causal=is_causal), rtol=0, atol=1e-14)


def test_arguments_by_name():
    """Hand-written, because tracing would write the arguments in the order of the schema."""
    traced_graph = traced(lambda q, k, v, b: EFFICIENT(q, k, v, b, True, 0.25)[0], *fake_tensors(*SHAPES, BIAS))
    call = call_of(traced_graph)
    q, k, v, b = call.args[:4]
    by_name = {"value": v, "compute_log_sumexp": True, "scale": 0.3, "attn_bias": b, "dropout_p": 0.25, "key": k}
    call.args, call.kwargs = (q,), by_name
    result = replace_fused_sdpa(traced_graph)
    (node,) = attention_nodes(result.graph_module)
    assert names(node.args) == ["q_1", "k_1", "v_1", "b_1", 0.25] and node.kwargs == {"scale": 0.3}


def test_scale_that_is_the_default_is_left_out():
    tensors = fake_tensors(*EQUAL)
    for scale, kept in ((None, {}), (1 / math.sqrt(16), {}), (0.2500001, {"scale": 0.2500001}), (1, {"scale": 1})):
        node, _ = rewritten(lambda q, k, v: FLASH(q, k, v, scale=scale)[0], *tensors)  # noqa: B023
        assert node.kwargs == kept


def test_flash_and_cudnn_traces_of_one_module_become_equal():
    """One GPU takes flash with the scale written out, another cuDNN without it."""
    tensors = fake_tensors(*[(2, 8, 32, 64)] * 3)
    _, flash = rewritten(lambda q, k, v: FLASH(q, k, v, 0.0, True, scale=0.125)[0], *tensors)
    _, cudnn = rewritten(lambda q, k, v: CUDNN(q, k, v, None, False, 0.0, True)[0], *tensors)
    assert flash.code == cudnn.code and str(flash.graph) == str(cudnn.graph)


def test_default_scale_of_a_padded_head_dim_means_the_padded_one():
    """The scale of 20 dims, padded to 24: not the default of what attention gets to see."""

    def padded(q, k, v):
        q, k, v = (aten.constant_pad_nd(t, [0, 4]) for t in (q, k, v))
        return aten.slice.Tensor(FLASH(q, k, v, scale=1 / math.sqrt(20))[0], -1, 0, 20)

    node, graph = rewritten(padded, *fake_tensors(*[(2, 4, 6, 20)] * 3))
    assert node.kwargs == {"scale": 1 / math.sqrt(20)}
    assert targets(graph).count(aten.constant_pad_nd.default) == 3
    q, k, v = (torch.randn(2, 4, 6, 20, dtype=torch.float64) for _ in range(3))
    torch.testing.assert_close(graph(q, k, v), reference(q, k, v), rtol=0, atol=1e-14)


@pytest.mark.parametrize("variant", [v for v in TRACEABLE if v != "cpu_flash"])
def test_dropout_is_carried_over(variant):
    node, _ = rewritten(lambda *t: BY_VARIANT[variant][0](*t)[0], *fake_tensors(*SHAPES, BIAS))
    assert node.args[4] == 0.25


def test_dropout_of_the_cpu_kernel_stays():
    """That call raises when it runs, so it is not the same as one that works."""
    traced_graph = traced(lambda q, k, v: CPU_FLASH(q, k, v)[0], *fake_tensors(*SHAPES, device="cpu"))
    call = call_of(traced_graph)
    call.args = (*call.args[:3], 0.5)
    (kept,) = replace_fused_sdpa(traced_graph).report
    assert kept.reason == "the CPU kernel has no dropout; the call fails when it runs"


# ---- grouped-query heads


@pytest.mark.parametrize(
    "heads, key_heads, grouped",
    [
        (6, 6, False),
        (6, 2, True),
        (6, 1, True),
        ("h", "h", False),
        ("h", "g", True),
        ("2*g", "g", True),
        (6, "g", True),
    ],
)
def test_grouped_heads_unless_counts_are_known_to_be_equal(heads, key_heads, grouped):
    shapes = (2, heads, 9, 16), (2, key_heads, 11, 16), (2, key_heads, 11, 16)
    node, graph = rewritten(lambda q, k, v: FLASH(q, k, v)[0], *fake_tensors(*shapes))
    assert node.kwargs == ({"enable_gqa": True} if grouped else {})
    q, k = (torch.randn(2, h, 9, 16, dtype=torch.float64) for h in (6, 3 if grouped else 6))
    if heads != 6 or key_heads not in (6, 2, 1):
        torch.testing.assert_close(graph(q, k, k), reference(q, k, k), rtol=0, atol=1e-14)


def test_heads_that_are_no_multiple_stay():
    reason = reason_to_keep(lambda q, k: FLASH(q, k, k)[0], *fake_tensors((2, 6, 9, 16), (2, 4, 9, 16)))
    assert reason == "its 6 query heads are not a multiple of its 4 key heads"


@pytest.mark.parametrize("heads, key_heads, repeats", [(6, 2, 3), ("2*g", "g", 2), ("h", "h", 1)])
def test_groups_written_out_for_known_ratios(heads, key_heads, repeats):
    shapes = (2, heads, "l", 16), (2, key_heads, "s", 16), (2, key_heads, "s", 16)
    node, graph = rewritten(lambda q, k, v: FLASH(q, k, v)[0], *fake_tensors(*shapes), expand_gqa=True)
    assert node.kwargs == {} and (aten.clone.default in targets(graph)) == (repeats > 1)
    q = torch.randn(2, 6, 4, 16, dtype=torch.float64)
    k, v = (torch.randn(2, 6 // repeats, 5, 16, dtype=torch.float64) for _ in range(2))
    torch.testing.assert_close(graph(q, k, v), reference(q, k, v), rtol=0, atol=1e-14)


def test_groups_of_an_unknown_ratio_cannot_be_written_out():
    tensors = fake_tensors((2, "h", 9, 16), (2, "g", 9, 16))
    reason = reason_to_keep(lambda q, k: FLASH(q, k, k)[0], *tensors, expand_gqa=True)
    assert "have no known ratio" in reason


# ---- causal calls


@pytest.mark.parametrize("variant", TRACEABLE)
def test_causal_with_unequal_lengths_stays(variant):
    reason = reason_to_keep(lambda *t: CAUSAL[variant](*t)[0], *fake_tensors(*SHAPES))
    assert reason == "it is causal and its lengths 9 and 11 are not known to be equal"


@pytest.mark.parametrize("length, keys, known", [("l", "l", True), ("l", "s", False), ("l", 9, False), (1, "s", False)])
def test_causal_with_symbolic_lengths(length, keys, known):
    tensors = fake_tensors(("n", 6, length, 16), ("n", 6, keys, 16))
    function = lambda q, k: FLASH(q, k, k, is_causal=True)[0]  # noqa: E731
    if known:
        node, graph = rewritten(function, *tensors)
        q, k = (torch.randn(3, 6, 7, 16, dtype=torch.float64) for _ in range(2))
        torch.testing.assert_close(graph(q, k), reference(q, k, k, causal=True), rtol=0, atol=1e-14)
    else:
        assert "are not known to be equal" in reason_to_keep(function, *tensors)


CAUSAL_WITH_BIAS = {
    "efficient": lambda q, k, v, b: EFFICIENT(q, k, v, b, False, 0.0, True),
    "cudnn": lambda q, k, v, b: CUDNN(q, k, v, b, False, 0.0, True),
    "overrideable": lambda q, k, v, b: OVERRIDEABLE(q, k, v, b, 0.0, True),
    "cpu_flash": lambda q, k, v, b: CPU_FLASH(q, k, v, 0.0, True, attn_mask=b),
}


@pytest.mark.parametrize("variant", [v for v in TRACEABLE if v != "flash"])
def test_causal_with_a_bias_stays(variant):
    tensors = fake_tensors(*EQUAL, (2, 6, 9, 9))
    reason = reason_to_keep(lambda *t: CAUSAL_WITH_BIAS[variant](*t)[0], *tensors)
    assert reason == "it is causal and has a bias; scaled_dot_product_attention takes one of them"


def test_causal_flag_that_the_graph_computes_stays():
    traced_graph = traced(lambda q, k, v: FLASH(q, k, v)[0], *fake_tensors(*EQUAL))
    call = call_of(traced_graph)
    call.args = (*call.args[:3], 0.0, call.args[0])
    (kept,) = replace_fused_sdpa(traced_graph).report
    assert kept.reason == "its causal flag is computed by the graph"


# ---- other results


@pytest.mark.parametrize(
    "index, name", [(1, "logsumexp"), (6, "rng_state"), (8, "debug_attn_mask")], ids=["logsumexp", "seed", "debug mask"]
)
def test_other_results_in_use_stay(index, name, caplog):
    caplog.set_level(logging.INFO, "nvfuser.passes")

    def function(q, k, v):
        results = FLASH(q, k, v, 0.1, False, True)
        return results[0], results[index] + 1

    reason = reason_to_keep(function, *fake_tensors(*EQUAL))
    assert reason.startswith(f"its result {index} (") and reason.endswith("is used")
    assert name in reason or torch.__version__ < "2.7"
    assert len(log_lines(caplog)) == 1


def test_other_results_that_nobody_uses_do_not_matter():
    traced_graph = traced(lambda q, k, v: FLASH(q, k, v)[0], *fake_tensors(*EQUAL))
    call = call_of(traced_graph)
    assert len(call.users) > 1, "make_fx takes all results"
    result = replace_fused_sdpa(traced_graph)
    assert result.modified and fused_names(result.graph_module) == []
    assert len(result.graph_module.graph.nodes) == 5


def test_whole_result_in_use_stays():
    traced_graph = traced(lambda q, k, v: FLASH(q, k, v)[0], *fake_tensors(*EQUAL))
    call = call_of(traced_graph)
    output = next(n for n in traced_graph.graph.nodes if n.op == "output")
    output.args = ((output.args[0], call),)
    (kept,) = replace_fused_sdpa(traced_graph).report
    assert kept.reason == "output takes all of its results"


def test_call_without_users_stays():
    traced_graph = traced(lambda q, k, v: (FLASH(q, k, v)[0], q), *fake_tensors(*EQUAL))
    output = next(n for n in traced_graph.graph.nodes if n.op == "output")
    taken = output.args[0][0]
    output.args = (output.args[0][1],)
    traced_graph.graph.erase_node(taken)
    (kept,) = replace_fused_sdpa(traced_graph).report
    assert kept.reason == "its output is not used"


def test_training_graph_stays():
    """Forward and backward in one graph: the backward reads the logsumexp."""
    args = [torch.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3)]

    def step(q, k, v):
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return torch.autograd.grad(y.sum(), (q, k, v))

    from torch.fx.experimental.proxy_tensor import make_fx

    joint = make_fx(step)(*args)
    result = replace_fused_sdpa(joint)
    (kept,) = result.report
    assert not result.modified and "is used" in kept.reason and kept.variant == "cpu_flash"


# ---- graphs and calls that cannot be read


def test_quantised_overload_stays():
    overload = getattr(FLASH, "quantized", None)
    if overload is None:
        pytest.skip("this torch has no such overload")
    graph = Graph()
    q = graph.placeholder("q")
    call = graph.call_function(overload, (q, q, q, None, None, None))
    graph.output(graph.call_function(__import__("operator").getitem, (call, 0)))
    result = replace_fused_sdpa(GraphModule({}, graph))
    (kept,) = result.report
    assert kept.reason == "overload quantized is not known" and not result.modified


def test_call_without_an_overload_stays():
    graph = Graph()
    q = graph.placeholder("q")
    graph.output(graph.call_function(FLASH, (q, q, q)))
    (kept,) = replace_fused_sdpa(GraphModule({}, graph)).report
    assert kept.reason == "the call names no overload"


def test_graph_without_fake_tensors_stays():
    traced_graph = traced(lambda q, k, v: FLASH(q, k, v)[0], *fake_tensors(*EQUAL))
    next(n for n in traced_graph.graph.nodes if n.op == "placeholder").meta.pop("val")
    (kept,) = replace_fused_sdpa(traced_graph).report
    assert kept.reason == "the graph does not tell the sizes of its operands (no fake tensors)"


def test_operands_that_attention_refuses_stay():
    traced_graph = traced(lambda q, k, v, b: EFFICIENT(q, k, v, b, False)[0], *fake_tensors(*SHAPES, BIAS))
    node = next(n for n in traced_graph.graph.nodes if n.name == "b_1")
    with node.meta["val"].fake_mode:
        node.meta["val"] = torch.empty(2, 6, 9, 7, device="cuda", dtype=torch.bfloat16)
    (kept,) = replace_fused_sdpa(traced_graph).report
    assert kept.reason.startswith("scaled_dot_product_attention refuses its operands: ")
    with node.meta["val"].fake_mode:
        node.meta["val"] = torch.empty(BIAS, device="cuda", dtype=torch.float64)
    (kept,) = replace_fused_sdpa(traced_graph).report
    assert kept.reason == "scaled_dot_product_attention takes no bias of dtype torch.float64"


def test_output_of_another_shape_stays():
    traced_graph = traced(lambda q, k, v: FLASH(q, k, v)[0], *fake_tensors(*SHAPES))
    call = call_of(traced_graph)
    taken = output_of(call)
    taken.meta["val"] = call.args[1].meta["val"]
    (kept,) = replace_fused_sdpa(traced_graph).report
    assert kept.reason == (
        "scaled_dot_product_attention gives bfloat16 [2, 6, 9, 16] instead of bfloat16 [2, 6, 11, 16]"
    )


def test_asking_adds_no_guard():
    tensors = fake_tensors(("n", "h", "l", 16), ("n", "g", "s", 16), ("n", "g", "s", 16), ("n", 1, "l", "s"))
    traced_graph = traced(lambda q, k, v, b: CUDNN(q, k, v, b, False)[0], *tensors)
    env = tensors[0].fake_mode.shape_env
    guards, replacements = len(env.guards), dict(env.replacements)
    assert replace_fused_sdpa(traced_graph).modified
    assert len(env.guards) == guards and dict(env.replacements) == replacements


@pytest.mark.parametrize("unbacked", ["length", "key heads"])
def test_unbacked_sizes(unbacked):
    """Nothing is known about them, not even an example: what they decide is left to the call, as it was before."""

    class Model(nn.Module):
        def forward(self, x, count):
            n = count.item()
            torch._check(n >= 2)
            torch._check(n <= 8)
            if unbacked == "length":
                return CPU_FLASH(x[:, :, :n], x, x)[0] * 2
            return CPU_FLASH(x, x[:, :n], x[:, :n])[0] * 2

    x = torch.randn(2, 8, 8, 16)
    try:
        program = exported(Model(), x, torch.tensor(4))
    except torch._dynamo.exc.UserError as error:
        pytest.skip(f"this torch does not export it: {error}")
    result = replace_fused_sdpa(program)
    assert result.modified and SDPA in targets(result.program), result.report
    (node,) = attention_nodes(result.program)
    assert node.kwargs == ({"enable_gqa": True} if unbacked == "key heads" else {})
    for count in (2, 4):
        expected = Model()(x, torch.tensor(count))
        torch.testing.assert_close(result.program.module()(x, torch.tensor(count)), expected)
