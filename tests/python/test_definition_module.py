"""Module-level pieces: version, enums, dtype maps, stride descriptors."""

import os
import subprocess
import sys

import nvfuser_direct
import pytest
import torch
from helpers import NVF
from nvfuser_direct import DataType, compute_tensor_descriptor, pytorch_utils


def test_public_names():
    for name in (
        "FusionDefinition DataType ParallelType CommunicatorBackend SchedulerType LoadStoreOpType MemoryType CacheOp IdMappingMode "
        "Fusion FusionGuard FusionExecutorCache LRUCache LruFusionCache KernelExecutor LaunchParams CompileParams define_tensor "
        "define_scalar compute_tensor_descriptor translate_fusion validate_with_auto_inferred_outputs get_val_tolerances ops "
        "schedule multidevice idm version __version__ TensorView Val Expr IterDomain TensorDomain pytorch_utils _C_DIRECT "
        "execute_with_dtensors PythonProfiler"
    ).split():
        assert hasattr(nvfuser_direct, name), name


def test_version():
    assert nvfuser_direct.version() == nvfuser_direct.__version__
    assert nvfuser_direct.version() >= "0.2.34"
    assert nvfuser_direct.version() >= "0.3.0"
    assert not nvfuser_direct.version() < "0.3.0"
    assert isinstance(nvfuser_direct.version(), str)


def test_version_comparisons():
    from nvfuser_direct.nvfuser_direct_version import NvfuserVersion

    version = NvfuserVersion("0.2.10+git1234")
    assert version == "0.2.10" and version == NvfuserVersion("0.2.10+cu126")
    assert version > "0.2.9" and version >= "0.2.10" and version < "0.2.11" and version <= "0.3" and version != "0.2.9"
    assert not version < "0.2.2" and not version > "0.10"
    assert version < NvfuserVersion("0.3.0")


DATA_TYPES = (
    "Double Float Half Int Int32 UInt64 Index Bool BFloat16 Float8_e4m3fn Float8_e5m2 Float8_e8m0fnu Float4_e2m1fn "
    "Float4_e2m1fn_x2 ComplexFloat ComplexDouble Null"
)
ENUMS = {
    "DataType": DATA_TYPES,
    "ParallelType": "mesh_x mesh_y mesh_z grid_x grid_y grid_z block_x block_y block_z mma serial tma unroll unswitch vectorize stream",
    "CommunicatorBackend": "nccl ucc cuda",
    "SchedulerType": "none no_op pointwise matmul reduction inner_persistent inner_outer_persistent outer_persistent transpose expr_eval resize",
    "LoadStoreOpType": "set load_matrix cp_async tma",
    "MemoryType": "tensor local shared global symmetric",
    "CacheOp": "unspecified all_levels streaming global",
    "IdMappingMode": "exact almost_exact broadcast permissive loop",
}


@pytest.mark.parametrize("name", ENUMS)
def test_enum_members(name):
    enum = getattr(nvfuser_direct, name)
    assert set(ENUMS[name].split()) <= set(enum.__members__)
    first = ENUMS[name].split()[0]
    assert getattr(enum, "__entries")[first][0] == enum.__members__[first]
    assert enum.__members__[first] == enum.__members__[first] and hash(enum.__members__[first]) is not None


def test_torch_dtypes():
    for dtype, expected in NVF.items():
        assert pytorch_utils.torch_dtype_to_nvfuser_dtype(dtype) == expected
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"):
        if hasattr(torch, name):
            assert pytorch_utils.torch_dtype_to_nvfuser_dtype(getattr(torch, name)) == getattr(
                DataType, name.replace("float", "Float")
            )
    if hasattr(torch, "float4_e2m1fn_x2"):
        assert pytorch_utils.torch_dtype_to_nvfuser_dtype(torch.float4_e2m1fn_x2) == DataType.Float4_e2m1fn_x2


@pytest.mark.parametrize(
    "kind,expected", [(complex, "ComplexDouble"), (float, "Double"), (int, "Int"), (bool, "Bool")], ids=str
)
def test_python_types(kind, expected):
    assert pytorch_utils.torch_dtype_to_nvfuser_dtype(kind) == getattr(DataType, expected)
    assert pytorch_utils.python_scalar_to_nvfuser_dtype(kind(1)) == getattr(DataType, expected)


def test_unknown_dtypes():
    for bad in (torch.int16, torch.uint64, "float", None, str):
        with pytest.raises((KeyError, TypeError, ValueError, RuntimeError)):
            value = pytorch_utils.torch_dtype_to_nvfuser_dtype(bad)
            assert value is not None
            raise AssertionError(value)


@pytest.mark.parametrize(
    "sizes,strides,contiguity,order",
    [
        ([2, 3], [3, 1], [True, True], [1, 0]),
        ([2, 3], [1, 2], [True, True], [0, 1]),
        ([2, 3], [6, 2], [True, False], [1, 0]),
        ([2, 3], [5, 1], [False, True], [1, 0]),
        ([2, 1], [1, 1], [True, None], None),
        ([2, 3], [0, 1], [None, True], None),
        ([2, 3], [1, 0], [True, None], [1, 0]),
        ([2, 3], [0, 0], [None, None], [1, 0]),
        ([4], [1], [True], [0]),
        ([4], [2], [False], [0]),
        ([], [], [], []),
        ([2, 3, 4], [12, 4, 1], [True, True, True], [2, 1, 0]),
        ([2, 3, 4], [1, 8, 2], [True, True, True], [0, 2, 1]),
        ([2, 3, 4], [3, 1, 6], [True, True, True], [1, 0, 2]),
        ([2, 1, 4], [4, 99, 1], [None, True, True], None),
    ],
    ids=str,
)
def test_descriptor(sizes, strides, contiguity, order):
    got_contiguity, got_order = compute_tensor_descriptor(sizes, strides)
    assert list(got_contiguity) == contiguity
    if order is not None:
        assert list(got_order) == order
    assert sorted(got_order) == list(range(len(sizes)))


def test_descriptor_of_random_permutations_of_dense_tensors():
    generator = torch.Generator().manual_seed(3)
    for _ in range(30):
        order = torch.randperm(4, generator=generator).tolist()
        x = torch.empty(2, 3, 4, 5).permute(order)
        contiguity, stride_order = compute_tensor_descriptor(list(x.shape), list(x.stride()))
        assert list(contiguity) == [True] * 4
        by_stride = sorted(range(4), key=lambda d: x.stride(d))
        assert [by_stride.index(d) for d in range(4)] == list(stride_order)


def test_descriptor_errors():
    with pytest.raises(RuntimeError):
        compute_tensor_descriptor([2, 3], [3, -1])
    with pytest.raises(RuntimeError):
        compute_tensor_descriptor([2, 3], [3])
    with pytest.raises(TypeError):
        compute_tensor_descriptor([2.0], [1])
    with pytest.raises(TypeError):
        compute_tensor_descriptor([2])


def test_retry_decorator_passes_results_through():
    @pytorch_utils.retry_on_oom_or_skip_test
    def function(a, b):
        return a + b

    assert function(1, b=2) == 3


@pytest.mark.parametrize("order", ["import nvfuser, nvfuser_direct", "import nvfuser_direct, nvfuser"])
def test_both_packages_import_without_a_warning(order):
    code = f"{order}\nassert nvfuser.DataType.Float is not None and nvfuser_direct.FusionDefinition is nvfuser.FusionDefinition"
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_nvfuser_direct_needs_neither_nvfuser_nor_torch_before_it():
    code = (
        "import sys, nvfuser_direct\nassert 'nvfuser' not in sys.modules\nimport torch\nassert nvfuser_direct.version()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_unknown_environment_options_list_the_known_ones():
    code = (
        "import nvfuser_direct, torch\n"
        "from nvfuser_direct import FusionDefinition\n"
        "with FusionDefinition() as fd:\n"
        "    fd.add_output(fd.ops.neg(fd.define_tensor([-1], contiguity=True)))\n"
        "fd.execute([torch.ones(2)])\n"
    )
    good = {"NVFUSER_ENABLE": "id_model_extra_validation", "NVFUSER_DISABLE": "multidevice"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **good})
    assert done.returncode == 0, done.stderr
    for variable in good:
        env = {**os.environ, variable: "no_such_option"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
        assert done.returncode != 0 and "no_such_option" in done.stderr and "multi" in done.stderr
