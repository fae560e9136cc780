"""grouped_mm (plain and scaled), scaled_mm, cutlass_nvfp4_grouped_mm."""

import pytest
import torch
from helpers import FULLS, HALVES, NVF, assert_values, dtype_id, make, refused, run, run1
from nvfuser_direct import DataType

TOLERANCE = {torch.float16: (3e-3, 3e-3), torch.bfloat16: (2e-2, 2e-2), torch.float32: (2e-5, 2e-5)}


def close(result, expected):
    rtol, atol = TOLERANCE.get(result.dtype, (None, None))
    assert_values(result, expected, rtol=rtol, atol=atol)


def ends(*values, device="cpu"):
    """Cumulative group ends."""
    return torch.tensor(values, dtype=torch.int32, device=device)


def reference(mat1, mat2, offsets, scale1=None, scale2=None):
    """Group by group in double precision; scales multiply their matrix."""
    a, b = mat1.double(), mat2.double()
    spans = list(zip([0, *offsets.tolist()[:-1]], offsets.tolist(), strict=True))
    one = torch.ones((), dtype=torch.float64, device=a.device)
    scaled = scale1 is not None
    if a.dim() == 2 and b.dim() == 2:
        parts = [
            a[:, lo:hi] @ b[lo:hi] * ((scale1[g] * scale2[g]).double() if scaled else one)
            for g, (lo, hi) in enumerate(spans)
        ]
        return torch.stack(parts)
    if a.dim() == 3:
        parts = [
            a[g] @ b[:, lo:hi] * ((scale1[g] * scale2[:, lo:hi]).double() if scaled else one)
            for g, (lo, hi) in enumerate(spans)
        ]
        return torch.cat(parts, 1)
    parts = [
        a[lo:hi] @ b[g] * ((scale1[lo:hi] * scale2[g]).double() if scaled else one) for g, (lo, hi) in enumerate(spans)
    ]
    return torch.cat(parts, 0)


GROUPED = {
    "k_grouped": ((3, 16), (16, 5), (4, 8, 16)),
    "n_grouped": ((3, 4, 8), (8, 16), (4, 12, 16)),
    "m_grouped": ((16, 8), (3, 8, 5), (8, 12, 16)),
    "empty_group": ((16, 8), (3, 8, 5), (8, 8, 16)),
    "one_group": ((16, 8), (1, 8, 5), (16,)),
}


@pytest.mark.parametrize("dtype", HALVES + FULLS[:1], ids=dtype_id)
@pytest.mark.parametrize("case", GROUPED)
def test_grouped_mm(case, dtype, device):
    left, right, spans = GROUPED[case]
    a, b = make(left, dtype, device, low=-1, high=1), make(right, dtype, device, low=-1, high=1, seed=1)
    offsets = ends(*spans, device=device)
    if device == "cuda" and dtype != torch.bfloat16:
        pytest.skip("torch's grouped product on CUDA takes bfloat16")
    result = run1(lambda fd, x, y, o: fd.ops.grouped_mm(x, y, o), [a, b, offsets])
    close(result, reference(a, b, offsets).to(dtype))


@pytest.mark.cuda
@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("case", ["k", "n", "m"])
def test_grouped_mm_of_many_sizes_on_cuda(case, aligned):
    """Groups that start between 16-byte boundaries are for another kernel; neither may end the process."""
    spans = (8, 8, 40, 64) if aligned else (3, 3, 37, 64)
    shapes = {"k": ((16, 64), (64, 24)), "n": ((4, 16, 32), (32, 64)), "m": ((64, 32), (4, 32, 24))}[case]
    a, b = (make(s, torch.bfloat16, "cuda", low=-1, high=1, seed=i) for i, s in enumerate(shapes))
    offsets = ends(*spans, device="cuda")
    for second in (b, b.mT.contiguous().mT):
        result = run1(lambda fd, x, y, o: fd.ops.grouped_mm(x, y, o), [a, second, offsets])
        close(result, reference(a, b, offsets).to(torch.bfloat16))


def test_grouped_mm_then_pointwise():
    a, b, offsets = make((16, 8), torch.bfloat16), make((2, 8, 5), torch.bfloat16, seed=1), ends(8, 16)
    result = run1(lambda fd, x, y, o: fd.ops.relu(fd.ops.grouped_mm(x, y, o)), [a, b, offsets])
    close(result, torch.relu(reference(a, b, offsets).bfloat16()))


def test_grouped_mm_errors():
    half = torch.bfloat16
    a, b, offsets = make((16, 8), half), make((2, 8, 5), half), ends(8, 16)
    mm = lambda fd, x, y, o: fd.ops.grouped_mm(x, y, o)  # noqa: E731
    refused(mm, [a, b, offsets.long()])
    refused(mm, [a, b, offsets.reshape(1, 2)])
    refused(mm, [make((2, 16, 8), half), b, offsets])
    refused(mm, [make((16,), half), b, offsets])
    refused(mm, [a, b.float(), offsets])
    refused(mm, [a, make((2, 7, 5), half), offsets])
    refused(mm, [a, make((3, 8, 5), half), offsets])
    refused(lambda fd, x, y: fd.ops.grouped_mm(x, y), [a, b], error=TypeError)


SCALE_SHAPES = {
    "k_grouped": ((3, 3, 1), (3, 1, 5)),
    "n_grouped": ((3, 4, 1), (1, 16)),
    "m_grouped": ((16, 1), (3, 1, 5)),
}


@pytest.mark.parametrize("case", SCALE_SHAPES)
def test_scaled_grouped_mm(case):
    """Values where the operator can be evaluated; otherwise a refusal that names it."""
    left, right, spans = GROUPED[case]
    a = make(left, torch.float32, low=-1, high=1).to(torch.float8_e4m3fn)
    b = make(right, torch.float32, low=-1, high=1, seed=1).to(torch.float8_e4m3fn)
    scale1, scale2 = (make(s, torch.float32, low=0.5, high=2, seed=n) for n, s in enumerate(SCALE_SHAPES[case]))
    offsets = ends(*spans)

    def build(fd, x, y, o, p, q):
        out, block_scale, gamma = fd.ops.grouped_mm(x, y, o, p, q, dtype=DataType.BFloat16)
        assert block_scale is None and gamma is None
        return out

    try:
        result = run1(build, [a, b, offsets, scale1, scale2])
    except RuntimeError as error:
        assert "grouped" in str(error)
        return
    close(result, reference(a, b, offsets, scale1, scale2).bfloat16())


@pytest.mark.parametrize("rowwise", [False, True])
@pytest.mark.parametrize("out", [torch.bfloat16, torch.float32], ids=dtype_id)
def test_scaled_mm(out, rowwise, device):
    m, k, n = 16, 32, 16
    a = make((m, k), torch.float32, device, low=-1, high=1).to(torch.float8_e4m3fn)
    b = make((n, k), torch.float32, device, low=-1, high=1, seed=1).to(torch.float8_e4m3fn).t()
    shapes = ((m, 1), (1, n)) if rowwise else ((), ())
    scale1, scale2 = (make(s, torch.float32, device, low=0.5, high=2, seed=i) for i, s in enumerate(shapes))
    if device == "cuda" and (rowwise and out != torch.bfloat16):
        pytest.skip("row-wise scaling on CUDA gives bfloat16")

    def build(fd, x, y, p, q):
        result, block_scale, gamma = fd.ops.scaled_mm(x, y, p, q, dtype=NVF[out])
        assert block_scale is None and gamma is None
        return result

    try:
        result = run1(build, [a, b, scale1, scale2])
    except RuntimeError as error:
        assert "scaled_mm" in str(error)
        return
    expected = (a.float().double() * scale1.double()) @ (b.float().double() * scale2.double())
    close(result, expected.to(out))


def test_scaled_mm_refuses_block_outputs_and_beta_without_bias():
    a = torch.ones(16, 32).to(torch.float8_e4m3fn)
    b = torch.ones(16, 32).to(torch.float8_e4m3fn).t()
    s = torch.ones(())
    inputs = [a, b, s, s.clone()]
    refused(lambda fd, x, y, p, q: fd.ops.scaled_mm(x, y, p, q, output_block_scale_size=16)[0], inputs)
    refused(lambda fd, x, y, p, q: fd.ops.scaled_mm(x, y, p, q, output_gamma=True)[0], inputs)

    def only_beta(fd, x, y, p, q, beta):
        return fd.ops.scaled_mm(x, y, p, q, None, None, beta)[0]

    refused(only_beta, [*inputs, torch.ones(())])
    refused(lambda fd, x, y: fd.ops.scaled_mm(x, y), inputs[:2], error=TypeError)


def test_cutlass_grouped_mm_refuses_clearly_without_its_hardware():
    """The operator exists; where it cannot run, the error names it."""
    ints = torch.ones(2, 3, dtype=torch.int32)
    inputs = [
        make((4, 32), torch.bfloat16),
        make((2, 8, 32), torch.bfloat16),
        torch.ones(4, 2),
        torch.ones(2, 8, 2),
        torch.ones(2),
        ints,
    ]
    inputs += [torch.zeros(2, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)]
    with pytest.raises((RuntimeError, NotImplementedError), match="cutlass_nvfp4_grouped_mm|nvfp4"):
        run(lambda fd, *t: fd.ops.cutlass_nvfp4_grouped_mm(*t), inputs, round_trip=False)
