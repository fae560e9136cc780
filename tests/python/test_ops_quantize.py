"""nv_block_quantize, nv_grouped_block_quantize, preprocess_grouped_matmul_input_sf.

Each of them may be refused on a device that cannot run it, with an error that names the operator; where it runs, the
quantised values times their scales must be close to the input.
"""

import pytest
import torch
from helpers import dtype_id, make, refused, run
from nvfuser_direct import DataType


def attempt(name, build, inputs):
    """Outputs, or None when the operator says that it cannot run here."""
    try:
        return run(build, inputs, round_trip=False)
    except (RuntimeError, NotImplementedError) as error:
        assert name in str(error), error
        return None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=dtype_id)
def test_mxfp8_blocks(dtype):
    x = make((4, 64), dtype)
    outputs = attempt(
        "nv_block_quantize",
        lambda fd, t: list(fd.ops.nv_block_quantize(t, None, False, 32, DataType.Float8_e4m3fn)),
        [x],
    )
    if outputs is None:
        return
    values, scales = outputs
    assert values.dtype == torch.float8_e4m3fn and values.shape == (4, 64)
    assert scales.dtype == torch.float8_e8m0fnu and scales.shape == (4, 2)
    restored = values.double() * scales.double().repeat_interleave(32, 1)
    assert ((restored - x.double()).abs() <= x.double().abs() / 8 + 0.02).all()


E2M1 = torch.tensor(
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0], dtype=torch.float64
)


def unpack(packed):
    """Values of a packed fp4 tensor, low nibble first."""
    codes = packed.view(torch.uint8)
    return E2M1[torch.stack([codes & 15, codes >> 4], -1).flatten(-2).long()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=dtype_id)
def test_nvfp4_blocks(dtype):
    x = make((4, 64), dtype)
    outputs = attempt("nv_block_quantize", lambda fd, t: list(fd.ops.nv_block_quantize(t)), [x])
    if outputs is None:
        return
    values, scales = outputs
    assert values.shape == (4, 32) and scales.dtype == torch.float8_e4m3fn and scales.shape == (4, 4)
    restored = unpack(values) * scales.double().repeat_interleave(16, 1)
    peak = x.double().abs().reshape(4, 4, 16).amax(-1).repeat_interleave(16, 1)
    assert ((restored - x.double()).abs() <= peak / 4).all()


def test_nvfp4_blocks_with_global_scale():
    x, scale = make((4, 64), torch.float32), torch.tensor(100.0)
    outputs = attempt("nv_block_quantize", lambda fd, t, g: list(fd.ops.nv_block_quantize(t, g)), [x, scale])
    if outputs is None:
        return
    values, scales = outputs
    restored = unpack(values) * scales.double().repeat_interleave(16, 1) / 100.0
    peak = x.double().abs().reshape(4, 4, 16).amax(-1).repeat_interleave(16, 1)
    assert ((restored - x.double()).abs() <= peak / 4).all()


def test_block_quantize_errors():
    x = make((4, 64), torch.float32)
    quantize = lambda *a: lambda fd, t: list(fd.ops.nv_block_quantize(t, *a))  # noqa: E731
    both = (RuntimeError, NotImplementedError)
    refused(quantize(None, False, 16, DataType.Float), [x], error=both)
    refused(quantize(None, False, 32, DataType.Float4_e2m1fn), [x], error=both)
    refused(quantize(None, False, 16, DataType.Float8_e4m3fn), [x], error=both)
    refused(quantize(None, True, 32, DataType.Float8_e4m3fn), [x], error=both)
    refused(quantize(), [make((4, 64), torch.int64)], error=both)
    refused(quantize(), [make((4, 64), torch.float64)], error=both)
    refused(lambda fd, t: list(fd.ops.nv_block_quantize("x")), [x], error=TypeError)


def test_grouped_block_quantize_runs_or_names_itself():
    x = make((8, 64), torch.bfloat16)
    ends = torch.tensor([0, 3], dtype=torch.int32)
    padded = torch.tensor([0, 128], dtype=torch.int32)
    outputs = attempt(
        "nv_grouped_block_quantize",
        lambda fd, t, a, b: list(fd.ops.nv_grouped_block_quantize(t, a, b)),
        [x, ends, padded],
    )
    if outputs is not None:
        assert outputs[0].shape == (8, 32)


def test_grouped_scale_layout_runs_or_names_itself():
    scales = make((8, 4), torch.float32, low=0.5, high=2).to(torch.float8_e4m3fn)
    ends = torch.tensor([0, 3], dtype=torch.int32)
    padded = torch.tensor([0, 128], dtype=torch.int32)
    outputs = attempt(
        "preprocess_grouped_matmul_input_sf",
        lambda fd, t, a, b: fd.ops.preprocess_grouped_matmul_input_sf(t, a, b),
        [scales, ends, padded],
    )
    if outputs is not None:
        assert outputs[0].dim() == 2 and outputs[0].dtype == scales.dtype
