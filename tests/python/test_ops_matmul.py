"""matmul and linear against torch."""

import pytest
import torch
from helpers import COMPLEX, FLOATS, FULLS, HALVES, INTS, assert_values, dtype_id, layouts, make, refused, run, run1

SHAPES = [
    ((4,), (4,)),
    ((4,), (4, 3)),
    ((2, 4), (4,)),
    ((2, 4), (4, 3)),
    ((1, 4), (4, 1)),
    ((5, 2, 4), (4, 3)),
    ((2, 4), (5, 4, 3)),
    ((5, 2, 4), (5, 4, 3)),
    ((1, 2, 4), (5, 4, 3)),
    ((6, 1, 2, 4), (5, 4, 3)),
    ((4,), (5, 4, 3)),
    ((5, 2, 4), (4,)),
    ((2, 1), (1, 3)),
    ((2, 0), (0, 3)),
    ((0, 4), (4, 3)),
    ((1,), (1,)),
]
HALF_TOLERANCE = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
    torch.float32: (1e-5, 1e-5),
    torch.complex64: (2e-5, 2e-5),
}


def close(result, expected):
    """Matrix products round differently by summation order."""
    rtol, atol = HALF_TOLERANCE.get(result.dtype, (None, None))
    assert_values(result, expected, rtol=rtol, atol=atol)


def wide(x):
    return x.to(torch.complex128) if x.is_complex() else x.double()


def matmul(fd, a, b):
    return fd.ops.matmul(a, b)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=dtype_id)
def test_matmul_shapes(dtype, device):
    for left, right in SHAPES:
        a, b = make(left, dtype, device, low=-1, high=1), make(right, dtype, device, low=-1, high=1, seed=1)
        result = run1(matmul, [a, b])
        assert result.shape == torch.matmul(a, b).shape
        close(result, torch.matmul(wide(a), wide(b)).to(dtype))


@pytest.mark.parametrize("left,right", [((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5))], ids=str)
def test_matmul_layouts(left, right, device):
    a, b = make(left, torch.float32, device), make(right, torch.float32, device, seed=1)
    expected = torch.matmul(a.double(), b.double()).float()
    for x in layouts(a):
        for y in layouts(b):
            close(run1(matmul, [x, y]), expected)


def test_matmul_with_static_sizes():
    a, b = make((3, 4), torch.float32), make((4, 5), torch.float32, seed=1)
    close(run1(matmul, [a, b], static_sizes=True), torch.matmul(a.double(), b.double()).float())


def test_matmul_refuses_different_dtypes():
    for left, right in [
        (torch.float32, torch.float64),
        (torch.float16, torch.bfloat16),
        (torch.float32, torch.float16),
    ]:
        refused(matmul, [make((2, 3), left), make((3, 2), right)])


def test_matmul_refuses_wrong_shapes():
    one = torch.float32
    refused(matmul, [make((), one), make((3, 2), one)])
    refused(matmul, [make((2, 3), one), make((), one)])
    refused(matmul, [make((2, 3), one), make((4, 2), one)])
    refused(matmul, [make((2, 3), one), make((4, 2), one)], static_sizes=True)
    refused(matmul, [make((2, 2, 3), one), make((5, 3, 2), one)])
    refused(lambda fd, a: fd.ops.matmul(a, 2.0), [make((2, 2), one)], error=TypeError)
    refused(lambda fd, a: fd.ops.matmul(a), [make((2, 2), one)], error=TypeError)


def test_contraction_over_a_size_one_dim():
    """K is 1, by declaration in one operand and by chance in the other."""
    a, b = make((5, 1), torch.float32), make((1, 3), torch.float32, seed=1)

    def build(fd):
        x = fd.define_tensor([-1, 1], contiguity=[True, None])
        y = fd.define_tensor([-1, -1], contiguity=[True, True])
        fd.add_output(fd.ops.matmul(x, y))

    from nvfuser_direct import FusionDefinition

    with FusionDefinition() as fd:
        build(fd)
    close(fd.execute([a, b])[0], a @ b)
    with pytest.raises(RuntimeError):
        fd.execute([a, make((2, 3), torch.float32)])


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=dtype_id)
def test_linear(dtype, with_bias, device):
    for shape in [(4,), (3, 4), (2, 3, 4), (0, 4), (1, 4), (2, 1, 3, 4)]:
        x, w = make(shape, dtype, device, low=-1, high=1), make((5, 4), dtype, device, low=-1, high=1, seed=1)
        b = make((5,), dtype, device, seed=2)
        inputs = [x, w, b] if with_bias else [x, w]
        result = run1(lambda fd, *t: fd.ops.linear(*t), inputs)
        expected = torch.matmul(wide(x), wide(w).transpose(0, 1)) + (wide(b) if with_bias else 0)
        close(result, expected.to(dtype))


def test_linear_keyword_and_none():
    x, w, b = make((3, 4), torch.float32), make((5, 4), torch.float32), make((5,), torch.float32)
    with_bias, without = run(lambda fd, p, q, r: [fd.ops.linear(p, q, bias=r), fd.ops.linear(p, q, None)], [x, w, b])
    close(with_bias, torch.nn.functional.linear(x, w, b))
    close(without, torch.nn.functional.linear(x, w))


def test_linear_layouts(device):
    x, w = make((3, 4), torch.float32, device), make((5, 4), torch.float32, device, seed=1)
    for p in layouts(x):
        for q in layouts(w):
            close(run1(lambda fd, a, b: fd.ops.linear(a, b), [p, q]), torch.nn.functional.linear(x, w))


def test_linear_with_one_input_feature():
    x, w = make((3, 1), torch.float32), make((5, 1), torch.float32, seed=1)
    close(run1(lambda fd, a, b: fd.ops.linear(a, b), [x, w]), torch.nn.functional.linear(x, w))


def test_linear_errors():
    one = torch.float32
    x, w, b = make((3, 4), one), make((5, 4), one), make((5,), one)
    refused(lambda fd, p, q, r: fd.ops.linear(p, q, r), [x, w.double(), b])
    refused(lambda fd, p, q, r: fd.ops.linear(p, q, r), [x, w, b.half()])
    refused(lambda fd, p, q: fd.ops.linear(p, q), [x, make((5, 3), one)])
    refused(lambda fd, p, q: fd.ops.linear(p, q), [x, make((5, 3), one)], static_sizes=True)
    refused(lambda fd, p, q: fd.ops.linear(p, q), [x, make((4,), one)])
    refused(lambda fd, p, q: fd.ops.linear(p, q), [make((), one), w])
    refused(lambda fd, p, q, r: fd.ops.linear(p, q, r), [x, w, make((6,), one)])
    refused(lambda fd, p, q, r: fd.ops.linear(p, q, r), [x, w, make((1, 5), one)])
    refused(lambda fd, p: fd.ops.linear(p), [x], error=TypeError)
    refused(lambda fd, p: fd.ops.linear(p, "w"), [x], error=TypeError)


@pytest.mark.parametrize("dtype", HALVES, ids=dtype_id)
def test_half_products_accumulate_in_float(dtype):
    """4096 products of 1 and a start that half precision could not count up from."""
    a, b = torch.ones(1, 4096, dtype=dtype), torch.ones(4096, 1, dtype=dtype)
    assert run1(matmul, [a, b]).item() == 4096.0


@pytest.mark.parametrize("dtype", FULLS, ids=dtype_id)
def test_matmul_after_pointwise_and_before_reduction(dtype):
    a, b = make((3, 4), dtype), make((4, 5), dtype, seed=1)

    def build(fd, x, y):
        return fd.ops.sum(fd.ops.relu(fd.ops.matmul(fd.ops.sin(x), fd.ops.mul(y, 2.0))), [0])

    close(run1(build, [a, b]), torch.relu(torch.sin(a.double()) @ (b.double() * 2)).sum(0).to(dtype))


@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
def test_integer_matmul_is_right_or_refused(dtype):
    a, b = make((2, 3), dtype), make((3, 4), dtype, seed=1)
    try:
        result = run1(matmul, [a, b])
    except RuntimeError:
        return
    assert_values(result, a @ b)
