"""The form of the random state: a function of torch's version and of ROCm, and what the nodes return."""

import pytest
import torch
from attention_reference import forward_fusion, make_qkv, sdpa, sdpa_backward
from nvfuser_direct import DataType, FusionDefinition, attention

VECTOR = {
    "philox_seed_dtype": "uint64",
    "philox_seed_shape": (2,),
    "philox_offset_dtype": "uint64",
    "philox_offset_shape": (),
    "device": "query",
}
SCALARS = {
    "philox_seed_dtype": "int64",
    "philox_seed_shape": (),
    "philox_offset_dtype": "int64",
    "philox_offset_shape": (),
    "device": "cpu",
}


@pytest.mark.parametrize(
    "version", ("2.7.0", "2.7.0a0+git1a2b3c4", "2.7.0+cu126", "2.7.1", "2.8.0.dev20250301", "2.10.0", "2.13.0", "3.0")
)
def test_from_2_7_on_it_is_a_vector(version):
    assert attention.rng_state_form(version) == VECTOR


@pytest.mark.parametrize("version", ("2.6.0", "2.6.1+cu124", "2.6.0.dev20241112", "2.5", "1.13.1"))
def test_before_2_7_it_is_two_scalars(version):
    assert attention.rng_state_form(version) == SCALARS


@pytest.mark.parametrize("version", ("2.6.0", "2.7.0", "2.13.0"))
def test_rocm_keeps_the_scalars(version):
    assert attention.rng_state_form(version, is_rocm=True) == SCALARS


@pytest.mark.parametrize("text", ("", "git", "v2.7"))
def test_what_is_no_version(text):
    with pytest.raises(RuntimeError, match="is not a version of torch"):
        attention.rng_state_form(text)


def test_form_of_the_torch_in_use():
    expected = attention.rng_state_form(torch.__version__, is_rocm=torch.version.hip is not None)
    assert attention.rng_state_form() == expected


@pytest.mark.parametrize("dropout_p", (0.0, 0.3))
@pytest.mark.parametrize("backend", ("auto", "math"))
def test_nodes_return_that_form(dropout_p, backend):
    q, k, v = make_qkv()
    form = attention.rng_state_form()
    fd = forward_fusion(q, k, v, dropout_p=dropout_p, backend=backend)
    _, _, seed, offset = fd.execute([q, k, v])
    assert str(seed.dtype) == f"torch.{form['philox_seed_dtype']}" and tuple(seed.shape) == form["philox_seed_shape"]
    assert str(offset.dtype) == f"torch.{form['philox_offset_dtype']}" and tuple(offset.shape) == ()
    assert seed.device == offset.device == q.device


def test_the_form_is_that_of_torchs_own_flash_op():
    meta = [torch.empty(2, 4, 8, 16, dtype=torch.bfloat16, device="meta") for _ in range(3)]
    op = torch.ops.aten._scaled_dot_product_flash_attention
    *_, seed, offset, _ = op(*meta, 0.1, False, False)
    form = attention.rng_state_form()
    assert str(seed.dtype) == f"torch.{form['philox_seed_dtype']}" and tuple(seed.shape) == form["philox_seed_shape"]
    assert str(offset.dtype) == f"torch.{form['philox_offset_dtype']}"


def test_backward_takes_the_scalar_form_too():
    q, k, v = make_qkv()
    forward = sdpa(q, k, v, dropout_p=0.3)
    out, lse, state, _ = forward
    scalars = [t.clone() for t in state.view(torch.int64)] if state.dim() else [state, forward[3]]
    grad = torch.randn_like(out)
    by_vector = sdpa_backward(grad, q, k, v, forward, dropout_p=0.3)
    by_scalars = sdpa_backward(grad, q, k, v, (out, lse, *scalars), dropout_p=0.3)
    assert all(torch.equal(a, b) for a, b in zip(by_vector, by_scalars))


@pytest.mark.parametrize("seed", ((DataType.Float, []), (DataType.UInt64, [3]), (DataType.Int, [2])))
def test_backward_refuses_other_forms(seed):
    q, k, v = make_qkv()
    with FusionDefinition() as fd:
        t = [fd.from_pytorch(x) for x in (q, q, k, v, q, q[..., 0])]
        s = fd.define_tensor(shape=seed[1], contiguity=True, dtype=seed[0])
        o = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.UInt64)
        with pytest.raises(RuntimeError, match="sdpa_bwd: philox_seed and philox_offset must be"):
            fd.ops.sdpa_bwd(*t, None, None, s, o, None)
        fd.add_output(fd.ops.neg(t[0]))
