"""What bad attention operands get: RuntimeError with the op's name and the shapes or dtypes, when defining or running."""

import re

import pytest
import torch
from attention_reference import make_qkv, sdpa, sdpa_backward
from nvfuser_direct import DataType, FusionDefinition

F32, BF16, F64 = torch.float32, torch.bfloat16, torch.float64


def qkv(q=(2, 4, 7, 16), k=(2, 4, 9, 16), v=(2, 4, 9, 16), dtypes=(F32, F32, F32)):
    return [torch.zeros(s, dtype=d) for s, d in zip((q, k, v), dtypes)]


SHAPES = {
    "rank below 4": (qkv((4, 7, 16), (4, 9, 16), (4, 9, 16)), {}, "query needs at least 4 dimensions"),
    "ranks differ": (qkv(q=(1, 2, 4, 7, 16)), {}, "need the same number of dimensions"),
    "batch of key": (qkv(k=(3, 4, 9, 16)), {}, "the batch sizes of query"),
    "batch of value": (qkv(v=(1, 4, 9, 16)), {}, "the batch sizes of query"),
    "head size": (qkv(k=(2, 4, 9, 8)), {}, "the head sizes of query and key differ"),
    "key length": (qkv(v=(2, 4, 8, 16)), {}, "the lengths"),
    "value heads": (qkv(v=(2, 2, 9, 16)), {}, "head counts of key and value differ"),
    "heads": (
        qkv(k=(2, 3, 9, 16), v=(2, 3, 9, 16)),
        {},
        "query has 4 heads, key has 3; query heads must be a multiple",
    ),
    "more key heads": (qkv(k=(2, 8, 9, 16), v=(2, 8, 9, 16)), {}, "query has 4 heads, key has 8"),
    "no key heads": (qkv(k=(2, 0, 9, 16), v=(2, 0, 9, 16)), {}, "query has 4 heads, key has 0"),
    "bias": (qkv(), {"bias": torch.zeros(2, 4, 7, 8)}, "does not broadcast to the scores"),
    "bias heads": (qkv(), {"bias": torch.zeros(2, 3, 7, 9)}, "does not broadcast to the scores"),
    "bias rank": (qkv(), {"bias": torch.zeros(1, 2, 4, 7, 9)}, "does not broadcast to the scores"),
    "mask": (qkv(), {"mask": torch.ones(6, 9, dtype=torch.bool)}, "does not broadcast to the scores"),
}
DTYPES = {
    "dtypes differ": (qkv(dtypes=(F32, BF16, F32)), {}, "need the same dtype, not Float, BFloat16 and Float"),
    "integers": (qkv(dtypes=(torch.int64,) * 3), {}, "must be Half, BFloat16, Float or Double, not Int"),
    "complex": (qkv(dtypes=(torch.complex64,) * 3), {}, "must be Half, BFloat16, Float or Double"),
    "bias dtype": (
        qkv(),
        {"bias": torch.zeros(7, 9, dtype=F64)},
        "bias must have query's dtype Float or Float, not Double",
    ),
    "bool bias": (qkv(), {"bias": torch.zeros(7, 9, dtype=torch.bool)}, "bias must have query's dtype"),
    "mask dtype": (qkv(), {"mask": torch.zeros(7, 9)}, "mask must be Bool .true keeps a key., not Float"),
    "dropout_p above 1": (qkv(), {"dropout_p": 1.5}, "dropout_p must lie between 0 and 1, not 1.5"),
    "dropout_p below 0": (qkv(), {"dropout_p": -0.1}, "dropout_p must lie between 0 and 1, not -0.1"),
}


@pytest.mark.parametrize("case", (SHAPES | DTYPES).values(), ids=(SHAPES | DTYPES).keys())
def test_when_defining(case):
    tensors, settings, message = case
    with pytest.raises(RuntimeError, match="sdpa_fwd: .*" + message):
        sdpa(*tensors, static=True, **settings)


@pytest.mark.parametrize("case", SHAPES.values(), ids=SHAPES.keys())
def test_when_running_with_symbolic_sizes(case):
    # The sizes are known only here. Some contradictions show up as two values for one symbolic size.
    tensors, settings, message = case
    with pytest.raises(RuntimeError, match="sdpa_fwd|query|input"):
        sdpa(*tensors, **settings)


def test_messages_show_the_shapes():
    with pytest.raises(
        RuntimeError, match=re.escape("query T0 [2, 4, 7, 16], key T1 [2, 3, 9, 16], value T2 [2, 3, 9, 16]")
    ):
        sdpa(*SHAPES["heads"][0], static=True)
    with pytest.raises(RuntimeError, match=re.escape("query [2, 4, 7, 16], key [2, 3, 9, 16], value [2, 3, 9, 16]")):
        sdpa(*SHAPES["heads"][0])


def test_dropout_p_from_a_fusion_input():
    q, k, v = make_qkv()
    with FusionDefinition() as fd:
        tensors = [fd.from_pytorch(t) for t in (q, k, v)]
        fd.add_output(fd.ops.sdpa_fwd(*tensors, dropout_p=fd.define_scalar(DataType.Double))[0])
    with pytest.raises(RuntimeError, match="sdpa_fwd: dropout_p must lie between 0 and 1, not 2"):
        fd.execute([q, k, v, 2.0])
    assert fd.execute([q, k, v, 0.0])[0].shape == q.shape


@pytest.mark.parametrize(
    "change,message",
    (
        ({"grad": torch.zeros(2, 4, 7, 8)}, "sdpa_bwd: grad_output .*must be"),
        ({"out": torch.zeros(2, 4, 6, 16)}, "sdpa_bwd: output .*must be"),
        ({"lse": torch.zeros(2, 4, 7, 1)}, "sdpa_bwd: logsumexp .*must be query's shape without the last dimension"),
        ({"grad": torch.zeros(2, 4, 7, 16, dtype=BF16)}, "sdpa_bwd: grad_output must be Float, not BFloat16"),
        ({"lse": torch.zeros(2, 4, 7, dtype=F64)}, "sdpa_bwd: logsumexp must be Float, not Double"),
        ({"bias_grad": True}, "sdpa_bwd: bias_grad is set but bias is missing"),
    ),
)
def test_backward(change, message):
    q, k, v = make_qkv()
    forward = dict(zip(("out", "lse", "seed", "offset"), sdpa(q, k, v)))
    settings = {name: change.pop(name) for name in ("bias_grad",) if name in change}
    grad = change.pop("grad", torch.zeros(q.shape))
    forward.update(change)
    with pytest.raises(RuntimeError, match=message):
        sdpa_backward(grad, q, k, v, tuple(forward.values()), static=True, **settings)


@pytest.mark.parametrize(
    "wrong", ({"dropout_p": "p"}, {"is_causal": "yes"}, {"scale": "big"}, {"causal_alignment": "x"})
)
def test_settings_of_a_wrong_kind(wrong):
    with pytest.raises((TypeError, ValueError), match="sdpa_fwd|causal_alignment"):
        sdpa(*qkv(), **wrong)


def test_tensors_where_scalars_belong():
    q, k, v = make_qkv()
    with FusionDefinition() as fd:
        t = [fd.from_pytorch(x) for x in (q, k, v)]
        with pytest.raises(TypeError, match="sdpa_fwd"):
            fd.ops.sdpa_fwd(*t, dropout_p=t[0])
        with pytest.raises(TypeError, match="sdpa_fwd"):
            fd.ops.sdpa_fwd(*t, bias=1.0)
        with pytest.raises(RuntimeError, match="sdpfa_fwd: query has 4 heads, key has 3"):
            fd.ops.sdpfa_fwd(*[fd.define_tensor(s) for s in ((2, 4, 7, 16), (2, 3, 9, 16), (2, 3, 9, 16))])
        fd.add_output(fd.ops.neg(t[0]))


def test_messages_of_the_flash_named_ops():
    with FusionDefinition() as fd:
        t = [fd.define_tensor(s) for s in ((2, 4, 7, 16), (2, 4, 9, 8), (2, 4, 9, 16))]
        with pytest.raises(RuntimeError, match="sdpfa_fwd: the head sizes of query and key differ"):
            fd.ops.sdpfa_fwd(*t)
        lse = fd.define_tensor([2, 4, 7])
        state = fd.define_tensor([], dtype=DataType.Int)
        with pytest.raises(RuntimeError, match="sdpfa_bwd: the head sizes of query and key differ"):
            fd.ops.sdpfa_bwd(t[0], *t, t[0], lse, None, None, state, state, None)
        fd.add_output(fd.ops.neg(t[0]))
