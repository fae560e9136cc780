"""The set of operator names, and that each of them is exercised by some test of this folder."""

import re
from pathlib import Path

import nvfuser_direct
import pytest
from nvfuser_direct import FusionDefinition
from opinfo import names
from opinfo.pointwise import BY_NAME

HERE = Path(__file__).parent


def test_there_are_134_distinct_names():
    assert len(names.all_names()) == len(set(names.all_names())) == 134


@pytest.mark.parametrize("name", names.all_names())
def test_the_name_exists_and_has_help(name):
    op = getattr(nvfuser_direct.ops, name)
    assert callable(op)
    with FusionDefinition() as fd:
        assert callable(getattr(fd.ops, name))
    text = op.__doc__ or ""
    assert len(text.strip()) > 20, f"{name} has no useful docstring: {text!r}"


def test_every_pointwise_name_has_a_row():
    special = {"imag", "complex"}  # change between real and complex dtypes: own tests
    assert set(names.UNARY + names.BINARY) - special == set(BY_NAME)


@pytest.mark.parametrize("file", names.OTHERS)
def test_every_other_name_is_called_in_its_file(file):
    text = (HERE / f"{file}.py").read_text()
    for name in names.OTHERS[file].split():
        assert re.search(rf'ops\.{name}\(|"{name}"', text), f"{name} is not exercised in {file}.py"


def test_every_attention_name_is_called_somewhere():
    text = "".join(path.read_text() for path in HERE.glob("test_*.py") if path.name != "test_ops_coverage.py")
    for name in names.ATTENTION:
        assert re.search(rf"ops\.{name}\(", text), name


def test_names_that_do_not_exist_raise_attribute_error():
    with FusionDefinition() as fd:
        for name in ("gelu", "softmax", "no_such_op"):
            with pytest.raises(AttributeError):
                getattr(fd.ops, name)
