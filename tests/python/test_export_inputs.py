"""What a compiled exported program says about inputs that do not fit: structure, kind, dtype, device, sizes."""

import pytest
import torch
from export_helpers import assert_runs_like_torch, export
from nvfuser.export import compile as compile_program
from torch import nn
from torch.export import Dim


class Add(nn.Module):
    def forward(self, x, batch):
        return x.sum(1) + batch["y"].sum(1)


@pytest.fixture(scope="module")
def compiled():
    n, m = Dim("n", min=3, max=16), Dim("m", min=1, max=8)
    shapes = {"x": {0: n, 1: m}, "batch": {"y": {0: n}}}
    return compile_program(export(Add(), (torch.randn(4, 5), {"y": torch.randn(4, 7)}), dynamic_shapes=shapes))


def rows(n: int, m: int = 5):
    return torch.randn(n, m), {"y": torch.randn(n, 7)}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((17, 5), "dim 0 of input 'x' is 17; the program was exported for 3 to 16"),
        ((2, 5), "dim 0 of input 'x' is 2; the program was exported for 3 to 16"),
        ((4, 9), "dim 1 of input 'x' is 9; the program was exported for 1 to 8"),
    ],
)
def test_a_size_out_of_its_range(compiled, sizes, message):
    with pytest.raises(ValueError, match=message):
        compiled(*rows(*sizes))


def test_sizes_that_should_be_equal(compiled):
    with pytest.raises(
        ValueError, match=r"dim 0 of input \"batch\['y'\]\" is 5; it must equal dim 0 of input 'x', .* 4"
    ):
        compiled(rows(4)[0], rows(5)[1])


def test_a_fixed_size(compiled):
    with pytest.raises(ValueError, match="dim 1 of input .* is 6; the program was exported for 7 only"):
        compiled(torch.randn(4, 5), {"y": torch.randn(4, 6)})


def test_the_ends_of_a_range_are_allowed(compiled):
    for n, m in ((3, 1), (16, 8)):
        assert compiled(*rows(n, m)).shape == (n,)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((), {}, ValueError, r"not structured as in the export: .*; the program takes \(x, batch\['y'\]\)"),
        ((*rows(4), 1), {}, ValueError, "not structured as in the export"),
        ((rows(4)[0],), {"batch": rows(4)[1]}, ValueError, r"got the keywords \['batch'\], expected \[\]"),
        ((rows(4)[0], rows(4)[1]["y"]), {}, ValueError, "not structured as in the export"),
        ((rows(4)[0], {"z": torch.ones(4, 7)}), {}, ValueError, "not structured as in the export"),
        ((3.0, rows(4)[1]), {}, TypeError, "input 'x' must be a tensor, not float"),
        ((None, rows(4)[1]), {}, TypeError, "input 'x' must be a tensor, not NoneType"),
        ((rows(4)[0].double(), rows(4)[1]), {}, ValueError, "input 'x' has dtype torch.float64; .* torch.float32"),
        ((torch.ones(4), rows(4)[1]), {}, ValueError, r"input 'x' has 1 dims, shape \[4\]; .* exported for 2"),
        (
            (torch.ones(4, 5, device="meta"), rows(4)[1]),
            {},
            ValueError,
            "input 'x' is on meta; .* for cpu .*move_to_device_pass",
        ),
        ((torch.eye(4, 5).to_sparse(), rows(4)[1]), {}, ValueError, "input 'x' has layout torch.sparse_coo"),
    ],
)
def test_inputs_of_another_kind(compiled, args, kwargs, error, message):
    with pytest.raises(error, match=message):
        compiled(*args, **kwargs)


def test_nothing_is_written_when_an_input_does_not_fit():
    class Count(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            return x + self.count.add_(1)

    compiled = compile_program(export(Count(), (torch.ones(3),)))
    with pytest.raises(ValueError):
        compiled(torch.ones(4))
    assert dict(compiled.named_buffers())["count"].item() == 0


class Settings(nn.Module):
    def forward(self, x, n, factor, flag, mode, nothing):
        x = x * n * factor
        return x + 1 if flag and mode == "plus" and nothing is None else x


def test_constants_among_the_inputs_must_stay_what_they_were():
    constants = (3, 0.5, True, "plus", None)
    compiled = assert_runs_like_torch(export(Settings(), (torch.randn(4), *constants)), (torch.randn(4), *constants))
    for position, (name, other) in enumerate(
        [("n", 4), ("factor", 0.25), ("flag", False), ("mode", "minus"), ("nothing", 1)]
    ):
        changed = list(constants)
        changed[position] = other
        with pytest.raises(ValueError, match=f"input '{name}' is {other!r}; the export fixed it at"):
            compiled(torch.randn(4), *changed)
    with pytest.raises(ValueError, match="input 'n' is True; the export fixed it at 3"):
        compiled(torch.randn(4), True, *constants[1:])


def test_numbers_that_may_change():
    class Scaled(nn.Module):
        def forward(self, x, n):
            return x * n, n + 1

    program = export(Scaled(), (torch.randn(4), 3), dynamic_shapes={"x": None, "n": Dim.DYNAMIC})
    compiled = assert_runs_like_torch(program, (torch.randn(4), 3), (torch.randn(4), 11))
    for wrong in (2.0, True, torch.tensor(3)):
        with pytest.raises(TypeError, match="input 'n' must be of type int"):
            compiled(torch.randn(4), wrong)


def test_sizes_that_hang_together():
    class Pairs(nn.Module):
        def forward(self, x, y):
            return x.view(-1, 2).sum(1) + y[1:]

    half = Dim("half", min=1, max=10)
    shapes = ({0: 2 * half}, {0: half + 1})
    compiled = compile_program(export(Pairs(), (torch.randn(6), torch.randn(4)), dynamic_shapes=shapes))
    assert compiled(torch.ones(10), torch.ones(6)).shape == (5,)
    with pytest.raises(ValueError, match=r"dim 0 of input 'x' is 7; it must be 2\*\w+ for an integer"):
        compiled(torch.ones(7), torch.ones(4))
    with pytest.raises(ValueError, match=r"dim 0 of input 'y' is 5; it must be \w+ \+ 1, which is 4"):
        compiled(torch.ones(6), torch.ones(5))
    with pytest.raises(ValueError, match=r"dim 0 of input 'x' is 40, .* exported for . to 10"):
        compiled(torch.ones(40), torch.ones(21))


def test_conditions_of_the_tracer():
    class Rows(nn.Module):
        def forward(self, x):
            return x.view(-1, 4).sum(1)

    shapes = ({0: Dim.AUTO},)
    program = export(Rows(), (torch.randn(8),), dynamic_shapes=shapes)
    compiled = assert_runs_like_torch(program, (torch.randn(8),), (torch.randn(12),))
    with pytest.raises((ValueError, RuntimeError)):
        compiled(torch.randn(9))
