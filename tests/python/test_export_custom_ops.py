"""Exported programs with custom ops (also ones that write or have effects), branches with captured state, dropout."""

import pytest
import torch
import torch.nn.functional as F
from export_helpers import assert_runs_like_torch, export
from nvfuser.export import compile as compile_program
from torch import nn
from torch.export import Dim

log: list[float] = []


@torch.library.custom_op("nvfuser_test_export::add_one", mutates_args={"x"})
def add_one(x: torch.Tensor) -> None:
    x.add_(1)


@torch.library.custom_op("nvfuser_test_export::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("nvfuser_test_export::logged", mutates_args=())
def logged(x: torch.Tensor) -> torch.Tensor:
    log.append(x.sum().item())
    return x.clone()


for _op in (twice, logged):
    _op.register_fake(torch.empty_like)


def test_custom_ops_run_in_eager():
    class Custom(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(4))

        def forward(self, x):
            y = x * 2
            torch.ops.nvfuser_test_export.add_one(y)
            torch.ops.nvfuser_test_export.add_one(self.seen)
            return torch.ops.nvfuser_test_export.twice(y) + self.seen + 1

    compiled = assert_runs_like_torch(export(Custom(), (torch.randn(4),)), *[(torch.randn(4),)] * 3)
    assert dict(compiled.named_buffers())["seen"].tolist() == [3.0] * 4
    assert compiled.report.eager_ops["nvfuser_test_export.twice.default"] == 1


def test_effects_stay_in_order():
    effects = pytest.importorskip("torch._higher_order_ops.effects")
    if not hasattr(effects, "_register_effectful_op"):
        pytest.skip("this torch has no effectful custom ops")
    effects._register_effectful_op(torch.ops.nvfuser_test_export.logged.default, effects._EffectType.ORDERED)

    class Logs(nn.Module):
        def forward(self, x):
            first = torch.ops.nvfuser_test_export.logged(x * 2)
            torch.ops.nvfuser_test_export.logged(x * 3)
            return first + torch.ops.nvfuser_test_export.logged(x * 4)

    x = torch.ones(2)
    compiled = assert_runs_like_torch(export(Logs(), (x,)), (x,))
    log.clear()
    compiled(x)
    assert log == [4.0, 6.0, 8.0]


def test_branches_that_capture_parameters_and_choose_by_size():
    class Captured(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 8)
            self.register_buffer("shift", torch.ones(8))

        def forward(self, x):
            return torch.cond(
                x.sum() > 0, lambda x: self.linear(x) * self.shift, lambda x: x - self.shift.expand(x.shape[0], 8), (x,)
            )

    program = export(Captured(), (torch.ones(2, 8),), dynamic_shapes=({0: Dim("n", max=9)},))
    assert_runs_like_torch(program, (torch.ones(2, 8),), (-torch.ones(7, 8),), (torch.ones(9, 8),))


def test_dropout_in_training_draws_what_torch_draws():
    class Drop(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5, training=True) * 2

    program = export(Drop(), (torch.randn(50),))
    compiled, x = compile_program(program), torch.randn(50)
    torch.manual_seed(1)
    actual = compiled(x)
    torch.manual_seed(1)
    assert torch.equal(actual, program.module()(x))
