"""The rules of the attention pass against an oracle of their own, and graphs that write in place."""

import operator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from nvfuser.passes import replace_fused_sdpa
from passes_helpers import (
    CUDNN,
    EFFICIENT,
    FLASH,
    SDPA,
    aten,
    attention_nodes,
    call_of,
    fake_tensors,
    fused_names,
    reference,
    traced,
)

# ---- random calls


@st.composite
def calls(draw):
    """A call that its variant accepts: sizes are numbers or symbols, equal names are equal sizes."""
    heads, key_heads = draw(st.sampled_from([(6, 6), (6, 2), ("h", "h"), ("h", "g"), ("2*h", "h")]))
    return {
        "variant": draw(st.sampled_from(["flash", "efficient", "cudnn"])),
        "batch": draw(st.sampled_from([2, "n"])),
        "heads": heads,
        "key_heads": key_heads,
        "length": draw(st.sampled_from([8, 16, "l"])),
        "keys": draw(st.sampled_from([8, 16, "l", "s"])),
        "bias": draw(st.booleans()),
        "causal": draw(st.booleans()),
        "dropout": draw(st.sampled_from([0.0, 0.25])),
        "scale": draw(st.sampled_from([None, 0.25, 0.3])),
        "takes_logsumexp": draw(st.booleans()),
    }


def graph_of(call):
    n, h, g, length, keys = (call[name] for name in ("batch", "heads", "key_heads", "length", "keys"))
    has_bias = call["bias"] and call["variant"] != "flash"
    shapes = [(n, h, length, 16), (n, g, keys, 16)] + ([(n, h, length, keys)] if has_bias else [])
    p, causal, scale = call["dropout"], call["causal"], call["scale"]

    def function(q, k, bias=None):
        if call["variant"] == "flash":
            found = FLASH(q, k, k, p, causal, scale=scale)
        elif call["variant"] == "efficient":
            found = EFFICIENT(q, k, k, bias, True, p, causal, scale=scale)
        else:
            found = CUDNN(q, k, k, bias, True, p, causal, scale=scale)
        return (found[0], found[1]) if call["takes_logsumexp"] else found[0]

    tensors = fake_tensors(*shapes)
    return traced(function if has_bias else lambda q, k: function(q, k), *tensors), tensors, has_bias


@settings(max_examples=60, deadline=None, derandomize=True)
@given(calls())
def test_decision_is_that_of_the_oracle(call):
    graph, tensors, has_bias = graph_of(call)
    env = tensors[0].fake_mode.shape_env
    guards = len(env.guards) if env is not None else 0
    before = str(graph.graph)
    result = replace_fused_sdpa(graph)
    assert str(graph.graph) == before
    assert env is None or len(env.guards) == guards

    keeps = call["takes_logsumexp"] or (call["causal"] and (has_bias or call["length"] != call["keys"]))
    (candidate,) = result.report
    assert candidate.rewritten == (not keeps) == result.modified, str(candidate)
    assert bool(candidate.reason) == keeps
    if keeps:
        assert result.graph_module is graph
        return
    (node,) = attention_nodes(result.graph_module)
    names = [argument.name for argument in SDPA._schema.arguments]
    actual = {**dict(zip(names, node.args)), **node.kwargs}
    assert [a.name for a in node.args[:2]] == ["q_1", "k_1"] and node.args[1] is node.args[2]
    assert (actual.get("attn_mask") is not None) == has_bias
    assert actual.get("dropout_p", 0.0) == call["dropout"]
    assert actual.get("is_causal", False) == call["causal"]
    # 0.25 is the default for 16 dims.
    assert actual.get("scale") == (0.3 if call["scale"] == 0.3 else None) and (call["scale"] or "scale" not in actual)
    assert actual.get("enable_gqa", False) == (call["heads"] != call["key_heads"])
    assert not replace_fused_sdpa(result.graph_module).modified


@pytest.mark.parametrize("heads, key_heads", [("h", "g"), ("2*h", "h"), (6, "g")])
def test_groups_written_out_add_no_guard(heads, key_heads):
    tensors = fake_tensors((2, heads, 8, 16), (2, key_heads, 8, 16))
    graph = traced(lambda q, k: FLASH(q, k, k)[0], *tensors)
    env = tensors[0].fake_mode.shape_env
    guards = len(env.guards)
    replace_fused_sdpa(graph, expand_gqa=True)
    assert len(env.guards) == guards


# ---- graphs that write in place, as exports without decompositions and make_fx leave them

Q = (2, 6, 9, 16)


def padded(bias):
    return aten.slice.Tensor(aten.constant_pad_nd(bias, [0, 7]), -1, 0, 9)


def test_bias_that_is_written_after_padding_is_not_restored():
    """The padded bias is a copy of what was there before."""

    def function(q, bias):
        copied = padded(bias)
        bias.mul_(0.0)
        return EFFICIENT(q, q, q, copied, False)[0] + 0

    result = replace_fused_sdpa(traced(function, *fake_tensors(Q, (2, 6, 9, 9))))
    q, bias = torch.randn(Q, dtype=torch.float64), torch.randn(2, 6, 9, 9, dtype=torch.float64)
    expected = reference(q, q, q, bias)
    torch.testing.assert_close(result.graph_module(q, bias.clone()), expected, rtol=0, atol=1e-14)


def test_query_that_is_written_between_call_and_output():
    """The attention call stands where the call of the variant stood."""
    graph = traced(lambda q: FLASH(q, q, q)[0] + 0, *fake_tensors(Q))
    call = call_of(graph)
    query = call.args[0]
    with graph.graph.inserting_after(call):
        graph.graph.call_function(aten.mul_.Tensor, (query, 0.0)).meta["val"] = query.meta["val"]
    graph.recompile()
    result = replace_fused_sdpa(graph)
    q = torch.randn(Q, dtype=torch.float64)
    torch.testing.assert_close(result.graph_module(q.clone()), reference(q, q, q), rtol=0, atol=1e-14)


# ---- odd users


@pytest.mark.parametrize("index", [slice(0, 1), -9, -1])
def test_other_ways_to_take_results_stay(index):
    graph = traced(lambda q: FLASH(q, q, q)[0], *fake_tensors(Q))
    call = call_of(graph)
    (output,) = (n for n in graph.graph.nodes if n.op == "output")
    with graph.graph.inserting_before(output):
        output.args = ((output.args[0], graph.graph.call_function(operator.getitem, (call, index))),)
    graph.recompile()
    (kept,) = replace_fused_sdpa(graph).report
    assert kept.reason and not kept.rewritten and fused_names(graph)
