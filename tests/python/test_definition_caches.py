"""Fusion equality, LRUCache, LruFusionCache, FusionExecutorCache."""

import pytest
import torch
from nvfuser_direct import (
    DataType,
    Fusion,
    FusionDefinition,
    FusionExecutorCache,
    FusionGuard,
    LRUCache,
    LruFusionCache,
    define_scalar,
    define_tensor,
    ops,
)


def built(function):
    """Fusion made by `function(fd)` on a (-1, -1) float tensor."""
    with FusionDefinition() as fd:
        function(fd)
    return fd


def two_inputs(fd, swap=False, shape=(-1, -1)):
    x = fd.define_tensor(list(shape), contiguity=True)
    y = fd.define_tensor([-1, -1], contiguity=True)
    fd.add_output(fd.ops.sub(y, x) if swap else fd.ops.sub(x, y))


VARIANTS = {
    "sub": two_inputs,
    "swapped": lambda fd: two_inputs(fd, swap=True),
    "static": lambda fd: two_inputs(fd, shape=(2, 3)),
    "static4": lambda fd: two_inputs(fd, shape=(2, 4)),
    "broadcast": lambda fd: two_inputs(fd, shape=(1, -1)),
    "add": lambda fd: fd.add_output(fd.ops.add(*(fd.define_tensor([-1, -1], contiguity=True) for _ in range(2)))),
    "not_contiguous": lambda fd: fd.add_output(
        fd.ops.sub(*(fd.define_tensor([-1, -1], contiguity=False) for _ in range(2)))
    ),
    "double": lambda fd: fd.add_output(
        fd.ops.sub(*(fd.define_tensor([-1, -1], contiguity=True, dtype=DataType.Double) for _ in range(2)))
    ),
}


def one_input(function):
    def build(fd):
        x = fd.define_tensor([-1, -1], contiguity=True)
        function(fd, x)

    return build


def alias(fd, x, twice=False):
    y = fd.ops.neg(x)
    fd.add_output(y, x)
    if twice:
        fd.add_output(y)


def ordered(fd, x, reverse=False):
    outputs = [fd.ops.sin(x), fd.ops.cos(x)]
    for output in reversed(outputs) if reverse else outputs:
        fd.add_output(output)


VARIANTS |= {
    "neg": one_input(lambda fd, x: fd.add_output(fd.ops.neg(x))),
    "neg_alias": one_input(alias),
    "neg_alias_twice": one_input(lambda fd, x: alias(fd, x, True)),
    "outputs": one_input(ordered),
    "outputs_reversed": one_input(lambda fd, x: ordered(fd, x, True)),
    "mul2": one_input(lambda fd, x: fd.add_output(fd.ops.mul(x, 2.0))),
    "mul3": one_input(lambda fd, x: fd.add_output(fd.ops.mul(x, 3.0))),
    "mul_int": one_input(lambda fd, x: fd.add_output(fd.ops.mul(x, 2))),
    "mul_close": one_input(lambda fd, x: fd.add_output(fd.ops.mul(x, 2.0000001))),
    "sum0": one_input(lambda fd, x: fd.add_output(fd.ops.sum(x, [0]))),
    "sum1": one_input(lambda fd, x: fd.add_output(fd.ops.sum(x, [1]))),
    "permute": one_input(lambda fd, x: fd.add_output(fd.ops.permute(x, [1, 0]))),
    "order": one_input(lambda fd, x: fd.add_output(fd.ops.stride_order(x, [0, 1]))),
    "order2": one_input(lambda fd, x: fd.add_output(fd.ops.stride_order(x, [1, 0]))),
    "reshape": one_input(lambda fd, x: fd.add_output(fd.ops.reshape(x, [-1]))),
    "slice": one_input(lambda fd, x: fd.add_output(fd.ops.slice(x, [0, 0], [2, 2]))),
    "slice2": one_input(lambda fd, x: fd.add_output(fd.ops.slice(x, [0, 1], [2, 2]))),
    "pad": one_input(lambda fd, x: fd.add_output(fd.ops.pad(x, [1, 0]))),
    "pad_one": one_input(lambda fd, x: fd.add_output(fd.ops.pad(x, [1, 0], 1.0))),
    "cast": one_input(lambda fd, x: fd.add_output(fd.ops.cast(x, dtype=DataType.Half))),
    "cast2": one_input(lambda fd, x: fd.add_output(fd.ops.cast(x, dtype=DataType.BFloat16))),
    "argsort": one_input(lambda fd, x: fd.add_output(fd.ops.argsort(x, 0))),
    "argsort_down": one_input(lambda fd, x: fd.add_output(fd.ops.argsort(x, 0, descending=True))),
    "topk": one_input(lambda fd, x: fd.add_output(fd.ops.topk(x, fd.define_scalar(1))[0])),
    "topk_index": one_input(lambda fd, x: fd.add_output(fd.ops.topk(x, fd.define_scalar(1))[1])),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_equality_of_fusions(name):
    """The same calls give equal fusions; every other variant differs."""
    fusion = built(VARIANTS[name]).fusion
    assert fusion == fusion
    assert fusion == built(VARIANTS[name]).fusion
    for other in VARIANTS:
        if other != name:
            assert fusion != built(VARIANTS[other]).fusion, other


def test_cache_hits_and_misses():
    cache = LRUCache(max_fusions=100)
    assert cache.num_fusions() == 0
    entries = {}
    for name, function in VARIANTS.items():
        fd = built(function)
        entries[name] = cache.cache_compile(fd.fusion)
        assert isinstance(entries[name], FusionExecutorCache)
    assert cache.num_fusions() == len(VARIANTS)
    for function in VARIANTS.values():
        cache.cache_compile(built(function).fusion)
    assert cache.num_fusions() == len(VARIANTS)


def test_a_cached_definition_runs():
    cache = LRUCache(max_fusions=10)
    a, b = torch.randn(2, 3), torch.randn(2, 3)
    for swap in (False, True, False, True):
        fd = built(lambda fd: two_inputs(fd, swap))  # noqa: B023
        fd.fec = cache.cache_compile(fd.fusion)
        del fd._fusion
        assert torch.equal(fd.execute([a, b])[0], b - a if swap else a - b)
    assert cache.num_fusions() == 2


def test_statistics_text():
    cache = LRUCache(3)
    assert cache.stats() == "Max Fusions Allowed: 3\nThe fusion cache is empty.\n"
    for name in ("neg", "mul2", "neg", "neg"):
        cache.cache_compile(built(VARIANTS[name]).fusion)
    assert cache.stats() == (
        "Max Fusions Allowed: 3\nTotal Fusions in Cache: 2\nTotal Unique Fusions Compiled: 2\n"
        "Cache Hits by LRU ordering:\n\t0 -> 2 hits\n\t1 -> 0 hits\n"
        "Cache Lookups: 4\nCache Hits: 2\nHit Rate: 50%\n"
    )


def test_the_least_recently_used_entry_goes_first():
    cache = LRUCache(max_fusions=2)
    for name in ("neg", "mul2", "neg", "mul3"):
        cache.cache_compile(built(VARIANTS[name]).fusion)
    assert cache.num_fusions() == 2
    before = cache.stats()
    assert "Total Unique Fusions Compiled: 3" in before and "Cache Hits: 1" in before
    cache.cache_compile(built(VARIANTS["neg"]).fusion)
    assert "Cache Hits: 2" in cache.stats()
    cache.cache_compile(built(VARIANTS["mul2"]).fusion)
    assert "Cache Hits: 2" in cache.stats() and cache.num_fusions() == 2


@pytest.mark.parametrize("size", [0, -1])
def test_a_cache_needs_room(size):
    with pytest.raises((RuntimeError, TypeError)):
        LRUCache(size)


def test_an_evicted_entry_that_is_still_held_keeps_working():
    cache = LRUCache(max_fusions=1)
    fd = built(VARIANTS["neg"])
    fd.fec = cache.cache_compile(fd.fusion)
    del fd._fusion
    cache.cache_compile(built(VARIANTS["mul2"]).fusion)
    assert torch.equal(fd.execute([torch.ones(2, 2)])[0], -torch.ones(2, 2))


def test_the_decorator():
    calls = []

    @LruFusionCache(max_fusions=10)
    def create(factor):
        """Multiplies by a factor."""
        calls.append(factor)
        return built(one_input(lambda fd, x: fd.add_output(fd.ops.mul(x, factor))))

    assert create.stats() == "Max Fusions Allowed: 10\nThe fusion cache is empty.\n"
    assert create.num_fusions() == 0 and create.__doc__ == "Multiplies by a factor."
    x = torch.ones(2, 2)
    for _ in range(3):
        for factor in (2.0, 3.0):
            fd = create(factor)
            assert fd.fec is not None and (not hasattr(fd, "_fusion") or fd._fusion is None)
            assert torch.equal(fd.execute([x])[0], x * factor)
    assert create.num_fusions() == 2 and len(calls) == 6
    stats = create.stats()
    assert "Cache Lookups: 6\nCache Hits: 4\nHit Rate: 66" in stats


def test_the_default_size_of_the_decorator():
    @LruFusionCache()
    def create():
        return built(VARIANTS["neg"])

    create()
    assert "Max Fusions Allowed: 16384" in create.stats()


# --- without a FusionDefinition ------------------------------------------------------------------------------------------


def test_fusions_and_guards_by_hand():
    fusion = Fusion()
    guard = FusionGuard(fusion)
    x = define_tensor([-1, -1], contiguity=True)
    assert fusion.inputs() == []
    fusion.add_input(x)
    s = define_scalar(2.0)
    y = ops.mul(x, s)
    fusion.add_output(y)
    del guard
    assert len(fusion.inputs()) == 1 and len(fusion.outputs()) == 1
    assert len(fusion.vals()) >= 2
    executor = FusionExecutorCache(fusion)
    a = torch.randn(2, 3)
    assert torch.equal(executor.execute([a])[0], a * 2)
    assert executor.fusion().inputs()


def test_executor_cache_by_hand():
    fd = built(VARIANTS["sub"])
    executor = FusionExecutorCache(fd.fusion)
    a, b = torch.randn(2, 3), torch.randn(2, 3)
    assert executor.is_compiled([a, b]) is False
    assert torch.equal(executor.execute([a, b])[0], a - b)
    assert executor.is_compiled([a, b]) is True
    assert executor.get_output_shardings() == []
    with pytest.raises(RuntimeError):
        executor.execute([a])
    with pytest.raises(RuntimeError, match="Unrecognized enable_option"):
        executor.execute([a, b], _enable_options=["no_such"])


def test_kernel_texts():
    fd = built(VARIANTS["sub"])
    a = torch.randn(2, 3)
    fd.execute([a, a], _enable_options=["generated_kernels"])
    assert "nvf_stage0" in fd.last_kernel_code()
    assert "nvf_stage0" in fd.fusion.print_kernel()
    assert fd.fec.get_scheduled_ir([a, a]).startswith("segment 0 (")


def test_print_math_names_the_tensors():
    fd = built(VARIANTS["neg"])
    text = fd.fusion.print_math()
    assert "T0_g_float" in text and "T1_g_float" in text and "-T0_g_float" in text.replace("- ", "-")
    full = fd.fusion.print_math(from_outputs_only=False)
    assert "T0_g_float" in full


def test_ir_objects():
    with FusionDefinition() as fd:
        x = fd.define_tensor([2, -1, 1], contiguity=[True, True, None])
        y = fd.ops.sum(fd.ops.exp(x), [0])
        fd.add_output(y)
        s = fd.define_scalar(3.0)
        assert s.is_symbolic() is False and s.is_tensor() is False and s.definition() is None
        assert fd.ops.size(x, 1).is_symbolic() is True
    assert x.is_tensor() and x.ndim == 3 and y.ndim == 2
    assert x.definition() is None and y.definition() is not None
    assert str(y.definition().input(0)).startswith("T1_")
    assert str(y.definition().output(0)) == str(y)
    assert len(x.uses()) == 1
    assert str(x).startswith("T0_g_float[iS0{2}, ")
    assert x.dtype() == DataType.Float
    assert x.axis(0).is_reduction() is False
    assert len(x.get_logical_domain()) == 3 and len(x.get_loop_domain()) == 3
    assert not x.has_root()
    assert str(x.domain()).startswith("[iS0{2}")
