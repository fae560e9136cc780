"""The causal rule when query and key lengths differ: top left by default, bottom right by name."""

import math

import pytest
import torch
from attention_reference import assert_near, causal_keep, make_qkv, reference, sdpa
from nvfuser_direct import FusionDefinition

LENGTHS = [(1, 8), (2, 4), (4, 8), (5, 2), (8, 1), (4, 4), (1, 1)]


def keys_seen(length, keys, **settings):
    """The keys with weight in each row, read off with equal scores and one-hot values."""
    q, k = torch.zeros(1, 1, length, keys), torch.zeros(1, 1, keys, keys)
    out = sdpa(q, k, torch.eye(keys)[None, None], is_causal=True, **settings)[0][0, 0]
    return out > 0


@pytest.mark.parametrize("length,keys", LENGTHS)
@pytest.mark.parametrize("alignment", ("top_left", "bottom_right"))
@pytest.mark.parametrize("backend", ("auto", "math"))
def test_which_keys_are_kept(length, keys, alignment, backend):
    seen = keys_seen(length, keys, causal_alignment=alignment, backend=backend)
    assert torch.equal(seen, causal_keep(length, keys, alignment))


def test_default_is_top_left():
    assert keys_seen(2, 4).tolist() == [[True, False, False, False], [True, True, False, False]]


@pytest.mark.parametrize("length,keys", LENGTHS)
def test_top_left_agrees_with_torch(length, keys):
    q, k, v = make_qkv(length=length, keys=keys)
    assert_near(
        sdpa(q, k, v, is_causal=True)[0], torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    )


@pytest.mark.parametrize("length,keys", LENGTHS)
def test_bottom_right_equals_an_explicit_mask(length, keys):
    q, k, v = make_qkv(length=length, keys=keys)
    out, lse, *_ = sdpa(q, k, v, is_causal=True, causal_alignment="bottom_right")
    mask = causal_keep(length, keys, "bottom_right")
    by_mask, lse_by_mask, *_ = sdpa(q, k, v, mask=mask)
    assert_near(out, by_mask)
    assert_near(lse, lse_by_mask)


def test_rows_before_the_first_key_are_zero():
    q, k, v = make_qkv(length=5, keys=2)
    out, lse, *_ = sdpa(q, k, v, is_causal=True, causal_alignment="bottom_right")
    assert not out[:, :, :3].any()
    assert torch.equal(lse[:, :, :3], torch.full((2, 4, 3), -math.inf))


@pytest.mark.parametrize("length,keys", ((2, 4), (5, 2)))
def test_flash_named_op_is_bottom_right(length, keys):
    q, k, v = make_qkv(length=length, keys=keys)
    expected = reference(q, k, v, is_causal=True, causal_alignment="bottom_right")[0]
    forms = {
        "keywords": lambda ops, t: ops.sdpfa_fwd(*t, dropout_p=0.0, is_causal=True, scale=None),
        "older positions": lambda ops, t: ops.sdpfa_fwd(*t, 0.0, True, None),
        "general": lambda ops, t: ops.sdpa_fwd(*t, is_causal=True, causal_alignment="bottom_right"),
    }
    for form in forms.values():
        with FusionDefinition() as fd:
            fd.add_output(form(fd.ops, [fd.from_pytorch(t) for t in (q, k, v)])[0])
        assert_near(fd.execute([q, k, v])[0], expected)
