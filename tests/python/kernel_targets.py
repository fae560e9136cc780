"""Where the tests of generated kernels run: a module sets the target, and the tests ask for it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

import torch

KERNELS = ("generated_kernels", "check_kernels")


@dataclass(frozen=True)
class Target:
    """A device, and the text that its kernels are."""

    name: str
    device: str
    options: tuple[str, ...] = KERNELS

    @property
    def is_cuda_text(self) -> bool:
        """CUDA's rules for what the language leaves open hold, on a GPU or emulated."""
        return self.name != "cpu"

    def rng_state(self) -> torch.Tensor:
        """State of the generator of the device."""
        return torch.cuda.get_rng_state() if self.device.startswith("cuda") else torch.get_rng_state()


TARGETS = {
    target.name: target
    for target in (
        Target("cpu", "cpu"),
        Target("emulated", "cpu", (*KERNELS, "emulate_cuda")),
        Target("cuda", "cuda:0"),
    )
}
_current = [TARGETS["cpu"]]


def target() -> Target:
    """The target of the running test."""
    return _current[-1]


@contextmanager
def on_target(name: str):
    """Runs the tests inside on another target."""
    _current.append(TARGETS[name])
    try:
        yield _current[-1]
    finally:
        _current.pop()
