"""Random programs of pointwise, shape and reduction ops through torch.compile, compared with eager in value and gradient."""

import random

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same

UNARY = [
    torch.sin,
    torch.relu,
    torch.sigmoid,
    torch.clone,
    lambda x: x * 2 - 1,
    lambda x: torch.where(x > 0, x, -0.5),
    lambda x: x.clamp(-1, 1),
    lambda x: (x > 0).to(x.dtype) + x,
    lambda x: x.half().float(),
    lambda x: x.softmax(-1),
    lambda x: x - x.mean(-1, keepdim=True),
    lambda x: x.cumsum(0),
    lambda x: x.flip(0),  # stays in eager
]

# Each takes a tensor and one of its dims.
SHAPES = [
    lambda x, d: x.transpose(0, d),
    lambda x, d: x.unsqueeze(d).expand(*x.shape[:d], 3, *x.shape[d:]).sum(d),
    lambda x, d: x.reshape(-1).reshape(x.shape),
    lambda x, d: torch.cat([x, x], d).narrow(d, 1, x.shape[d]),
    lambda x, d: x.sum(d, keepdim=True) + x,
    lambda x, d: x.flatten().view(x.shape[::-1]).permute(tuple(range(x.ndim - 1, -1, -1))),
    lambda x, d: F.pad(x, (1, 0))[..., :-1],
    lambda x, d: x.narrow(d, 0, x.shape[d] - 1) * 1 if x.shape[d] > 2 else x,
    lambda x, d: x.amax(d, keepdim=True).expand_as(x) + x,
    lambda x, d: torch.stack([x, x * 2], d).select(d, 1),
    lambda x, d: (x.unsqueeze(-1) * x.unsqueeze(-2)).sum(-1),
    lambda x, d: x.contiguous().mT if x.ndim > 1 else x,
]

BINARY = [torch.add, torch.mul, torch.maximum, torch.sub]
SIZES = [(4, 6), (3, 5, 4), (2, 3, 4, 5), (7,), (1, 6), (4, 1, 3)]


def run_program(program, x, y):
    """All values in the order in which they are made: the inputs, their sum, one for each step."""
    values = [x, y, x + y]
    for function, operands, extra in program:
        values.append(function(*(values[i] for i in operands), *extra))
    return values


def random_program(seed, sizes):
    """Steps (function, operand positions, further arguments) that fit together for inputs of `sizes`."""
    choose = random.Random(seed)
    program = []
    x, y = torch.randn(sizes), torch.randn(sizes)
    for _ in range(choose.randrange(3, 14)):
        values = run_program(program, x, y)
        place = choose.randrange(max(0, len(values) - 4), len(values))
        kind = choose.random()
        if kind < 0.4:
            program.append((choose.choice(UNARY), (place,), ()))
        elif kind < 0.75:
            program.append((choose.choice(SHAPES), (place,), (choose.randrange(values[place].ndim),)))
        else:
            mates = [i for i, value in enumerate(values) if value.shape == values[place].shape]
            program.append((choose.choice(BINARY), (place, choose.choice(mates)), ()))
    count = len(program) + 3
    outputs = sorted({*choose.sample(range(2, count), min(3, count - 2)), count - 1})
    return program, outputs


@pytest.mark.parametrize("dynamic", [None, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("seed", range(18))
def test_random_program(seed, dynamic):
    sizes = SIZES[seed % len(SIZES)]
    program, outputs = random_program(seed, sizes)

    def function(x, y):
        values = run_program(program, x, y)
        return tuple(values[i] for i in outputs)

    larger = [size + 2 if size > 1 else size for size in sizes]
    more = ((torch.randn(larger), torch.randn(larger)),) if dynamic else ()
    inputs = torch.randn(sizes), torch.randn(sizes)
    # Strides of dims of size 1 are torch's own guess in the traced graph, and mean nothing.
    options = {"train": seed % 2 == 0, "strides": False, "tolerance": 1e-3, "dynamic": dynamic}
    assert_same(function, *inputs, more_inputs=more, **options)
