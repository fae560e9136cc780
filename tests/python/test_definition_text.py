"""The printed form of a definition and the scripts that reproduce it."""

import pytest
import torch
from helpers import define, from_text, make
from nvfuser_direct import DataType, FusionDefinition, translate_fusion

HEAD = "def nvfuser_fusion(fd : FusionDefinition) -> None :\n"
T3 = "fd.define_tensor(shape=[-1, -1, -1], contiguity=[True, True, True], dtype=DataType.Float, is_cpu=False)"
T2 = "fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)"


def text(*lines):
    return HEAD + "".join(f"    {line}\n" for line in lines)


def printed(build, *inputs):
    return repr(define(build, inputs))


def test_add_mul_sum():
    a = torch.ones(2, 4, 8)

    def build(fd, x, y):
        c = fd.define_scalar(3.0)
        return fd.ops.sum(fd.ops.mul(fd.ops.add(x, y), c), [-1], False, DataType.Float)

    assert printed(build, a, a) == text(
        f"tv0 = {T3}",
        f"tv1 = {T3}",
        "tv2 = fd.ops.add(tv0, tv1)",
        "tv3 = fd.ops.mul(tv2, 3.00000)",
        "tv4 = fd.ops.sum(tv3, dims=[2], dtype=DataType.Float)",
        "fd.add_output(tv4)",
    )


def test_translate_fusion_is_the_repr():
    fd = define(lambda fd, x: fd.ops.neg(x), [torch.ones(2, 3)])
    assert translate_fusion(fd.fusion) == repr(fd) == text(f"tv0 = {T2}", "tv1 = fd.ops.neg(tv0)", "fd.add_output(tv1)")


def test_unary_ternary_and_cast():
    def build(fd, x):
        return fd.ops.cast(fd.ops.where(fd.ops.gt(x, 0.0), fd.ops.exp(x), 2.0), dtype=DataType.Half)

    assert printed(build, torch.ones(2, 3)) == text(
        f"tv0 = {T2}",
        "tv1 = fd.ops.gt(tv0, 0.00000)",
        "tv2 = fd.ops.exp(tv0)",
        "tv3 = fd.ops.where(tv1, tv2, 2.00000)",
        "tv4 = fd.ops.cast(tv3, dtype=DataType.Half)",
        "fd.add_output(tv4)",
    )


def test_set_prints_as_a_cast_to_its_own_dtype():
    assert "tv1 = fd.ops.cast(tv0, dtype=DataType.Float)" in printed(lambda fd, x: fd.ops.set(x), torch.ones(2, 3))


def test_hidden_casts_count():
    """A half operand is cast first; the printed numbers include that tensor."""
    lines = printed(lambda fd, x: fd.ops.exp(x), torch.ones(2, 3).half()).splitlines()
    assert lines[2:] == [
        "    tv1 = fd.ops.cast(tv0, dtype=DataType.Float)",
        "    tv2 = fd.ops.exp(tv1)",
        "    fd.add_output(tv2)",
    ]


def test_reductions():
    def build(fd, x):
        return [fd.ops.max(x, [0]), fd.ops.sum(x, [1], True)]

    assert printed(build, torch.ones(2, 3)) == text(
        f"tv0 = {T2}",
        "tv1 = fd.ops.max(tv0, dims=[0])",
        "tv2 = fd.ops.sum(tv0, dims=[1], dtype=DataType.Float)",
        "tv3 = fd.ops.broadcast(tv2, is_broadcast_dim=[False, True])",
        "fd.add_output(tv1)",
        "fd.add_output(tv3)",
    )


def test_reducing_a_size_one_dim_prints_as_squeeze():
    assert "fd.ops.squeeze(tv0, dims=[1])" in printed(lambda fd, x: fd.ops.sum(x, [1]), torch.ones(3, 1))


def test_shape_ops():
    body = printed(lambda fd, x: fd.ops.permute(x, [1, 0]), torch.ones(2, 3))
    assert "tv1 = fd.ops.permute(tv0, dims=[1, 0])" in body
    body = printed(lambda fd, x: fd.ops.reshape(x, [6]), torch.ones(2, 3))
    assert "fd.ops.reshape(tv0, new_shape=[6])" in body
    body = printed(lambda fd, x: fd.ops.squeeze(x, [1]), torch.ones(3, 1))
    assert "fd.ops.squeeze(tv0, dims=[1])" in body
    body = printed(lambda fd, x: fd.ops.stride_order(x, [0, 1]), torch.ones(2, 3))
    assert "fd.ops.stride_order(tv0, stride_order=[0, 1])" in body
    body = printed(lambda fd, x: fd.ops.broadcast_in_dim(x, [2, 5, 3], [0, 2]), torch.ones(2, 3))
    assert "fd.ops.broadcast(tv0, is_broadcast_dim=[False, True, False])" in body and "fd.ops.expand(" in body


def test_slice_and_pad():
    body = printed(lambda fd, x: fd.ops.slice(x, [0, 1], [2, 3]), torch.ones(4, 5))
    assert "fd.ops.slice(tv0, start_indices=[" in body and "], end_indices=[" in body
    assert "strides=[1, 1], manual_normalization=True)" in body
    body = printed(lambda fd, x: fd.ops.pad(x, [1, 2], 0.5), torch.ones(4, 5))
    assert "fd.ops.pad(tv0, pad_widths=[1, 2, 0, 0], value=" in body
    body = printed(lambda fd, x, y: fd.ops.cat([x, y], 1), torch.ones(4, 5), torch.ones(4, 2))
    assert "fd.ops.cat([" in body and "dim=1" in body


def test_matmul_and_linear():
    body = printed(lambda fd, x, y: fd.ops.matmul(x, y), torch.ones(4, 5), torch.ones(5, 2))
    assert "tv2 = fd.ops.matmul(tv0, tv1)" in body
    body = printed(lambda fd, x, y, z: fd.ops.linear(x, y, z), torch.ones(4, 5), torch.ones(2, 5), torch.ones(2))
    assert "tv3 = fd.ops.linear(tv0, tv1, bias=tv2)" in body
    body = printed(lambda fd, x, y: fd.ops.linear(x, y), torch.ones(4, 5), torch.ones(2, 5))
    assert "tv2 = fd.ops.linear(tv0, tv1)" in body


def test_dead_operations_are_left_out():
    def build(fd, x):
        fd.ops.exp(x)
        fd.ops.sum(x, [0])
        return fd.ops.neg(x)

    body = printed(build, torch.ones(2, 3))
    assert "exp" not in body and "sum" not in body and "tv3 = fd.ops.neg(tv0)" in body


def test_operations_are_listed_output_by_output():
    """Depth first from the outputs, operands from left to right."""

    def build(fd, x, y):
        a, b = fd.ops.sin(x), fd.ops.cos(y)
        return [fd.ops.add(b, a), fd.ops.exp(x)]

    lines = [line.strip() for line in printed(build, torch.ones(2, 3), torch.ones(2, 3)).splitlines()[3:]]
    assert lines == [
        "tv3 = fd.ops.cos(tv1)",
        "tv2 = fd.ops.sin(tv0)",
        "tv4 = fd.ops.add(tv3, tv2)",
        "tv5 = fd.ops.exp(tv0)",
        "fd.add_output(tv4)",
        "fd.add_output(tv5)",
    ]


def test_aliases_are_printed_after_everything_else():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.neg(x)
        fd.add_output(y, x)
    assert repr(fd) == text(f"tv0 = {T2}", "tv1 = fd.ops.neg(tv0)", "fd.add_output(tv1, tv0)")


def test_a_size_is_printed_as_a_size():
    body = printed(lambda fd, x: fd.ops.mul(x, fd.ops.size(x, 1)), torch.ones(2, 3))
    assert "= fd.ops.size(tv0, dim=1)" in body


def test_the_text_survives_the_first_run():
    x = torch.ones(2, 3)
    fd = define(lambda fd, t: fd.ops.relu(fd.ops.add(t, 1.0)), [x])
    before = repr(fd)
    fd.execute([x])
    assert repr(fd) == before


def test_printing_a_copy_is_stable():
    """A copy is defined in printing order, so from then on the numbers no longer change."""
    x = torch.ones(2, 3)

    def build(fd, t):
        y = fd.ops.sum(fd.ops.mul(t, 2.0), [1], True)
        z = fd.ops.slice(fd.ops.permute(t, [1, 0]), [1, 0], [3, 2])
        return [fd.ops.sub(t, y), fd.ops.pad(z, [1, 0]), fd.ops.where(fd.ops.lt(t, 0.0), t, 1.0)]

    copy = repr(from_text(printed(build, x)))
    assert repr(from_text(copy)) == copy


@pytest.mark.parametrize(
    "value",
    [3.0, 0.0, -0.0, 1e-5, 1e20, 123456.0, 0.1, -2.5, 1e-30, 7, -7, 0, 2**40, True, False, 1 + 2j, -0.5j],
    ids=repr,
)
def test_constants_come_back(value):
    x = torch.ones(3, dtype=torch.complex128 if isinstance(value, complex) else torch.float64)
    fd = define(lambda fd, t: fd.ops.mul(t, value), [x])
    body = repr(fd)
    (first,), (second,) = fd.execute([x]), from_text(body).execute([x])
    torch.testing.assert_close(first, second, rtol=1e-5, atol=0)
    torch.testing.assert_close(first, x * value)


# --- scripts -------------------------------------------------------------------------------------------------------------


def run_script(script):
    """Names that the script leaves behind."""
    namespace = {}
    exec(compile(script, "<script>", "exec"), namespace)  # noqa: S102
    return namespace


def test_script_without_inputs():
    fd = define(lambda fd, x: fd.ops.neg(x), [torch.ones(2, 3)])
    script = fd.repro_script_for()
    assert "import torch\nfrom nvfuser_direct import FusionDefinition, DataType\n" + repr(fd) in script
    assert "# torch version: " in script and "# CUDA devices:" in script and "# cuda version: " in script
    assert "with FusionDefinition() as fd:\n    nvfuser_fusion(fd)\n" in script
    assert "inputs" not in script
    assert run_script(script)["fd"].execute([torch.ones(2, 2)])[0].sum() == -4


def test_script_with_inputs():
    inputs = [
        torch.ones(2, 4),
        torch.ones(4, 2).t(),
        torch.zeros(3, dtype=torch.int64),
        torch.ones(6, dtype=torch.int64)[::2],
        2.5,
    ]

    def build(fd, a, b, i, j, s):
        return [fd.ops.add(a, b), fd.ops.add(i, j), fd.ops.mul(a, s)]

    fd = define(build, inputs)
    script = fd.repro_script_for(inputs)
    assert "\ninputs = [\n" in script and script.rstrip().endswith("fd.execute(inputs)")
    assert "torch.testing.make_tensor((2, 4), dtype=torch.float32, device='cpu')," in script
    assert "torch.randn(8, dtype=torch.float32, device='cpu').as_strided((2, 4), (1, 2))," in script
    assert "torch.randint(0, 10, (5,), dtype=torch.int64, device='cpu').as_strided((3,), (2,))," in script
    namespace = run_script(script)
    assert len(namespace["inputs"]) == 5
    assert [tuple(r.shape) for r in namespace["fd"].execute(namespace["inputs"])] == [(2, 4), (3,), (2, 4)]


def test_script_after_a_saving_run():
    x = torch.ones(2, 3)
    fd = define(lambda fd, t: fd.ops.neg(t), [x])
    with pytest.raises(AssertionError, match="save_repro_inputs=True"):
        fd.last_repro_script()
    fd.execute([x])
    with pytest.raises(AssertionError, match="save_repro_inputs=True"):
        fd.last_repro_script()
    fd.execute([x], save_repro_inputs=True)
    assert len(fd.fake_inputs) == 1
    assert type(fd.fake_inputs[0]).__name__ == "FakeTensor"
    assert fd.last_repro_script() == fd.repro_script_for([x])
    run_script(fd.last_repro_script())


def test_script_keeps_scalars_and_nested_inputs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(fd.ops.reshape(x, fd.define_vector(2)))
    inputs = [make((6,), torch.float32), [2, 3]]
    fd.execute(inputs)
    script = fd.repro_script_for(inputs)
    namespace = run_script(script)
    assert namespace["fd"].execute(namespace["inputs"])[0].shape == (2, 3)
