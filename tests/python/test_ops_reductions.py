"""sum, prod, max, min, var, var_mean, welford against torch."""

import pytest
import torch
from helpers import (
    ALL_DTYPES,
    COMPLEX,
    FLOATS,
    FULLS,
    HALVES,
    INTS,
    NVF,
    assert_values,
    dtype_id,
    layouts,
    make,
    refused,
    run,
    run1,
)
from nvfuser_direct import DataType, FusionDefinition

SHAPES_AND_DIMS = [
    ((5,), [0]),
    ((1,), [0]),
    ((3, 5), [0]),
    ((3, 5), [1]),
    ((3, 5), [-1]),
    ((3, 5), [0, 1]),
    ((2, 3, 5), [0, 2]),
    ((2, 3, 5), [-2]),
    ((2, 1, 4), [1]),
    ((2, 1, 4), [0, 1]),
    ((2, 0, 3), [2]),
    ((2, 0, 3), [0]),
]
WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def widened(x):
    """The tensor in the precision of the reference."""
    return x.to(WIDE.get(x.dtype, x.dtype))


def default_dtype(dtype):
    """Result dtype of sum and prod without a dtype argument."""
    return torch.int64 if not (dtype.is_floating_point or dtype.is_complex) else dtype


def prod_over(x, dims, keepdim):
    """torch.prod over several dims."""
    for dim in sorted((d % x.dim() for d in dims), reverse=True):
        x = x.prod(dim, keepdim=keepdim)
    return x


def reference(name, x, dims, keepdim=False):
    """The reduction in wide precision, rounded to the result dtype."""
    wide = widened(x)
    if name == "sum":
        return wide.sum(dims, keepdim=keepdim).to(default_dtype(x.dtype))
    if name == "prod":
        return prod_over(wide, dims, keepdim).to(default_dtype(x.dtype))
    return (torch.amax if name == "max" else torch.amin)(x, dims, keepdim=keepdim)


def sample(name, shape, dtype, device="cpu", seed=0):
    """Values whose product stays moderate."""
    return (
        make(shape, dtype, device, low=-2, high=2, seed=seed)
        if name == "prod"
        else make(shape, dtype, device, seed=seed)
    )


def reduce_dims(name, dims, keepdim):
    """A build function for the form with a list of dims."""
    return lambda fd, x: getattr(fd.ops, name)(x, dims, keepdim)


CASES = [
    (name, dtype)
    for name in ("sum", "prod", "max", "min")
    for dtype in ALL_DTYPES
    if not (name in ("max", "min") and dtype.is_complex)
]


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name,dtype", CASES, ids=lambda v: v if isinstance(v, str) else dtype_id(v))
def test_dims_and_dtypes(name, dtype, keepdim, device):
    for number, (shape, dims) in enumerate(SHAPES_AND_DIMS):
        if 0 in shape and name in ("max", "min") and shape[dims[0]] == 0:
            continue
        x = sample(name, shape, dtype, device, seed=number)
        result = run1(reduce_dims(name, dims, keepdim), [x])
        assert_values(result, reference(name, x, dims, keepdim), message=f"{shape} {dims}")


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_call_forms(name, device):
    """All dims, an int, a list, a tuple, keywords."""
    x = sample(name, (2, 3, 4), torch.float32, device)

    def build(fd, t):
        op = getattr(fd.ops, name)
        return [
            op(t),
            op(t, 1),
            op(t, dim=1),
            op(t, -1, True),
            op(t, [0, 2]),
            op(t, (0, 2), keepdim=True),
            op(t, dims=[1], keepdim=False),
            op(t, dims=(-1, 0)),
        ]

    results = run(build, [x])
    expected = [
        reference(name, x, [0, 1, 2]),
        reference(name, x, [1]),
        reference(name, x, [1]),
        reference(name, x, [2], True),
        reference(name, x, [0, 2]),
        reference(name, x, [0, 2], True),
        reference(name, x, [1]),
        reference(name, x, [0, 2]),
    ]
    for result, wanted in zip(results, expected, strict=True):
        assert_values(result, wanted)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_layouts(name, device):
    for x in layouts(sample(name, (4, 6), torch.float32, device)):
        for dims in ([0], [1], [0, 1]):
            assert_values(run1(reduce_dims(name, dims, False), [x]), reference(name, x, dims))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_zero_dim_input_is_copied(name):
    for dtype in (torch.float32, torch.float16, torch.int64):
        x = sample(name, (), dtype)
        result = run1(lambda fd, t: getattr(fd.ops, name)(t), [x])
        assert result.shape == ()
        assert_values(result.to(dtype), x)


@pytest.mark.parametrize(
    "target", [torch.float32, torch.float64, torch.int64, torch.int32, torch.float16], ids=dtype_id
)
@pytest.mark.parametrize("source", [torch.float32, torch.float16, torch.int32, torch.bool], ids=dtype_id)
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_dtype_argument_casts_before_reducing(name, source, target):
    x = sample(name, (3, 5), source)
    expected = x.to(target)
    expected = (expected.sum(1) if name == "sum" else expected.prod(1)) if target != torch.float16 else expected
    if target == torch.float16:
        expected = (expected.double().sum(1) if name == "sum" else expected.double().prod(1)).to(target)
    else:
        expected = expected.to(target)
    dims_form, int_form = run(
        lambda fd, t: [
            getattr(fd.ops, name)(t, dims=[1], dtype=NVF[target]),
            getattr(fd.ops, name)(t, 1, False, NVF[target]),
        ],
        [x],
    )
    assert_values(dims_form, expected)
    assert_values(int_form, expected)
    everything = run1(lambda fd, t: getattr(fd.ops, name)(t, dtype=NVF[target]), [x])
    assert everything.dtype == target and everything.shape == ()


@pytest.mark.parametrize("name", ["max", "min"])
def test_max_and_min_take_no_dtype(name):
    refused(lambda fd, t: getattr(fd.ops, name)(t, dims=[0], dtype=DataType.Double), [make((3,), torch.float32)])


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", COMPLEX, ids=dtype_id)
def test_max_and_min_refuse_complex(name, dtype):
    refused(lambda fd, t: getattr(fd.ops, name)(t, [0]), [make((3,), dtype)])


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_id)
def test_max_and_min_propagate_nan_and_keep_infinities(name, dtype):
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1.0, nan, 3.0], [-inf, -inf, -inf], [inf, inf, inf], [-inf, 0.0, inf]], dtype=dtype)
    assert_values(run1(reduce_dims(name, [1], False), [x]), reference(name, x, [1]))
    rows = torch.full((2, 40), -inf if name == "max" else inf, dtype=dtype)
    assert_values(run1(reduce_dims(name, [1], False), [rows]), rows[:, 0].clone())


IDENTITY = {
    ("sum", torch.float32): 0.0,
    ("prod", torch.float32): 1.0,
    ("max", torch.float32): float("-inf"),
    ("min", torch.float32): float("inf"),
    ("sum", torch.int64): 0,
    ("prod", torch.int64): 1,
    ("max", torch.int64): -(2**63),
    ("min", torch.int64): 2**63 - 1,
    ("max", torch.int32): -(2**31),
    ("min", torch.int32): 2**31 - 1,
}


@pytest.mark.parametrize("name,dtype", IDENTITY, ids=lambda v: v if isinstance(v, str) else dtype_id(v))
def test_nothing_to_reduce_gives_the_identity(name, dtype):
    x = torch.empty(3, 0, 2, dtype=dtype)
    result = run1(reduce_dims(name, [1], False), [x])
    assert_values(result, torch.full((3, 2), IDENTITY[name, dtype], dtype=dtype))
    kept = run1(reduce_dims(name, [1], True), [x])
    assert kept.shape == (3, 1, 2)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_expanded_dims(name):
    """sum scales, prod raises to a power, max and min drop the dim."""
    x = make((3, 1), torch.float64, low=-2, high=2).expand(3, 5)
    for dims in ([1], [0], [0, 1]):
        assert_values(run1(reduce_dims(name, dims, False), [x]), reference(name, x, dims))

    def inside(fd, t):
        return getattr(fd.ops, name)(fd.ops.expand(t, [3, 5]), [1])

    column = x[:, :1].contiguous()
    assert_values(run1(inside, [column]), reference(name, x, [1]))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_errors(name):
    x = make((3, 4), torch.float32)
    for dims in ([2], [-3], [0, 5]):
        refused(reduce_dims(name, dims, False), [x])
    refused(reduce_dims(name, [], False), [x], match="No reduction axis specified")
    for bad in (1.0, "0", [0.5], None):
        refused(lambda fd, t: getattr(fd.ops, name)(t, bad, False), [x], error=TypeError)  # noqa: B023
    refused(lambda fd, t: getattr(fd.ops, name)([t], [0]), [x], error=TypeError)


@pytest.mark.parametrize("name", ["sum", "max"])
def test_duplicate_dims_are_refused(name):
    refused(reduce_dims(name, [0, 0], False), [make((3, 4), torch.float32)])
    refused(reduce_dims(name, [1, -1], False), [make((3, 4), torch.float32)])


def test_half_sums_do_not_lose_small_terms():
    """4096 ones and a start that swamps single additions in half precision."""
    x = torch.ones(4096, dtype=torch.float16)
    assert run1(lambda fd, t: fd.ops.sum(t, [0]), [x]).item() == 4096.0
    y = torch.cat([torch.full((1,), 2048.0), torch.ones(2048)]).half()
    assert run1(lambda fd, t: fd.ops.sum(t, [0]), [y]).item() == 4096.0


def test_sum_of_bools_counts():
    x = make((40, 3), torch.bool)
    assert_values(run1(lambda fd, t: fd.ops.sum(t, [0]), [x]), x.sum(0))


# --- var, var_mean, welford ----------------------------------------------------------------------------------------------

VAR_CASES = [((5,), [0]), ((3, 5), [1]), ((3, 5), [0, 1]), ((2, 3, 4), [-1, 0]), ((2, 1, 4), [2])]


def real_dtype(dtype):
    """Dtype of a variance."""
    return dtype.to_real() if dtype.is_complex else torch.float32 if dtype in HALVES else dtype


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=dtype_id)
def test_var(dtype, correction, keepdim, device):
    for shape, dims in VAR_CASES:
        x = make(shape, dtype, device)
        result = run1(lambda fd, t: fd.ops.var(t, dims, correction, keepdim), [x])  # noqa: B023
        expected = torch.var(widened(x), dims, correction=correction, keepdim=keepdim)
        assert_values(result, expected.to(real_dtype(dtype)))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("dtype", FULLS + COMPLEX, ids=dtype_id)
def test_var_mean(dtype, correction, keepdim, device):
    for shape, dims in VAR_CASES:
        x = make(shape, dtype, device)
        var, mean = run(lambda fd, t: list(fd.ops.var_mean(t, dims, correction, keepdim)), [x])  # noqa: B023
        expected_var, expected_mean = torch.var_mean(widened(x), dims, correction=correction, keepdim=keepdim)
        assert_values(var, expected_var.to(real_dtype(dtype)))
        assert_values(mean, expected_mean.to(dtype))


def test_var_defaults_and_tuples():
    x = make((3, 5), torch.float32)
    var, var2, mean = run(lambda fd, t: [fd.ops.var(t, (1,)), *fd.ops.var_mean(t, (1,))], [x])
    assert_values(var, torch.var(x, 1))
    assert_values(var2, torch.var(x, 1))
    assert_values(mean, torch.mean(x, 1))


def test_var_with_few_elements_is_nan_or_inf():
    one = make((3, 1), torch.float32)
    assert run1(lambda fd, t: fd.ops.var(t, [1]), [one]).isnan().all()
    two = make((3, 2), torch.float32)
    assert run1(lambda fd, t: fd.ops.var(t, [1], 2), [two]).isinf().all()
    assert run1(lambda fd, t: fd.ops.var(t, [1], 5), [two]).isinf().all()


@pytest.mark.parametrize("shape,dims", [((0,), [0]), ((3, 0), [1]), ((0, 1), [0])], ids=str)
def test_var_mean_of_nothing_is_nan(shape, dims):
    var, mean = run(lambda fd, t: list(fd.ops.var_mean(t, dims)), [torch.empty(shape)])
    assert var.isnan().all() and mean.isnan().all()
    assert var.shape == torch.empty(shape).sum(dims).shape


@pytest.mark.parametrize("dtype", HALVES, ids=dtype_id)
def test_var_mean_refuses_halves(dtype):
    refused(lambda fd, t: list(fd.ops.var_mean(t, [0])), [make((3,), dtype)])


def test_var_errors():
    x = make((3, 4), torch.float32)
    for name in ("var", "var_mean"):
        for bad in (0, 1.0, "0", None, [0.5]):
            refused(lambda fd, t: getattr(fd.ops, name)(t, bad), [x], error=TypeError)  # noqa: B023
        refused(lambda fd, t: getattr(fd.ops, name)(t, [2]), [x])  # noqa: B023
        refused(lambda fd, t: getattr(fd.ops, name)(t, [-3]), [x])  # noqa: B023
        refused(lambda fd, t: getattr(fd.ops, name)(t, [0], -1), [x])  # noqa: B023


@pytest.mark.parametrize("dtype", FULLS, ids=dtype_id)
def test_welford(dtype, device):
    for shape, dims in VAR_CASES:
        for x in layouts(make(shape, dtype, device)):
            mean, squares, count = run(lambda fd, t: list(fd.ops.welford(t, dims)), [x])  # noqa: B023
            elements = x.numel() // max(x.double().sum(dims).numel(), 1)
            assert_values(mean, x.double().mean(dims).to(dtype))
            assert_values(squares, (x.double().var(dims, correction=0) * elements).to(dtype), rtol=1e-5, atol=1e-5)
            assert count.dtype == torch.int64
            assert (count == elements).all()


def test_welford_errors():
    refused(lambda fd, t: list(fd.ops.welford(t, [0])), [make((), torch.float32)])
    refused(lambda fd, t: list(fd.ops.welford(t, [2])), [make((3, 4), torch.float32)])


def test_variance_far_from_zero_does_not_cancel():
    x = make((64,), torch.float32, low=-1, high=1) + 10000.0
    result = run1(lambda fd, t: fd.ops.var(t, [0]), [x])
    assert_values(result, torch.var(x.double(), 0).float(), rtol=1e-3, atol=0)


@pytest.mark.parametrize("dtype", INTS, ids=dtype_id)
def test_integer_sum_does_not_overflow_int32(dtype):
    x = torch.full((4,), 2**30, dtype=dtype)
    result = run1(lambda fd, t: fd.ops.sum(t, [0]), [x])
    assert result.dtype == torch.int64 and result.item() == 2**32


def test_reduction_of_a_definition_without_a_tensor_of_that_name():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        for name in ("sum", "prod", "max", "min", "var", "var_mean", "welford"):
            with pytest.raises(TypeError):
                getattr(fd.ops, name)()
            with pytest.raises(TypeError):
                getattr(fd.ops, name)("x", [0])
        fd.add_output(x)
