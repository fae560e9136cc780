"""Which attention backends take a problem, which one ran, and the form of attention's random state.

A fusion's attention nodes (``fd.ops.sdpa_fwd``, ``sdpa_bwd``, ``sdpfa_fwd``, ``sdpfa_bwd``) run through one of the backends
``cudnn``, ``flash``, ``efficient`` (CUDA), ``cpu_flash`` (CPU) and ``math`` (any device).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nvfuser_direct import _C_DIRECT

__all__ = [
    "SdpaBackend",
    "SdpaBackendTable",
    "last_sdpa_backend",
    "reset_sdpa_run_counts",
    "rng_state_form",
    "sdpa_backends",
    "sdpa_run_counts",
    "sdpa_run_log",
]


class SdpaBackend(NamedTuple):
    """One row of `sdpa_backends`: a backend's name, whether it takes the problem, and if not, why."""

    name: str
    eligible: bool
    reason: str


class SdpaBackendTable(list):
    """The rows of `sdpa_backends`, in the order in which "auto" prefers them; prints as a table."""

    @property
    def eligible(self) -> list[str]:
        """Names of the backends that take the problem, the preferred one first."""
        return [row.name for row in self if row.eligible]

    def reason(self, name: str) -> str:
        """Why the backend `name` does not take the problem; "" when it does. KeyError for an unknown name."""
        for row in self:
            if row.name == name:
                return row.reason
        raise KeyError(f"there is no attention backend {name!r}; there are {', '.join(row.name for row in self)}")

    def __str__(self) -> str:
        width = max(len(row.name) for row in self)
        chosen = next((row.name for row in self if row.eligible), None)
        notes = {row.name: "eligible" if row.eligible else row.reason for row in self}
        if chosen is not None:
            notes[chosen] = "eligible, chosen"
        return "\n".join(f"{row.name:<{width}}  {notes[row.name]}" for row in self)

    __repr__ = __str__


def sdpa_backends(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    causal_alignment: str = "top_left",
    training: bool = True,
    backward: bool = False,
    bias_grad: bool = False,
) -> SdpaBackendTable:
    """Which attention backends take this problem, or why not.

    query [N.., H, L, E], key [N.., Hk, S, E], value [N.., Hk, S, Ev] of one floating dtype; bias and mask (Bool, True keeps)
    broadcast to [N.., H, L, S]. The other arguments mean what they mean to ``fd.ops.sdpa_fwd``; `training` is False for
    a forward without logsumexp, `backward` asks about the backward, `bias_grad` about one that gives the gradient of
    `bias`. torch's switches (``torch.nn.attention.sdpa_kernel``) and deterministic mode count.

    Returns the rows (name, eligible, reason) in the order of preference; the first eligible one is what "auto" runs.
    RuntimeError: shapes, dtypes or devices that do not fit. ValueError: an unknown `causal_alignment`. TypeError:
    something that is no tensor.
    """
    if causal_alignment not in ("top_left", "bottom_right"):
        raise ValueError(
            f'sdpa_backends: causal_alignment must be "top_left" or "bottom_right", not {causal_alignment!r}'
        )
    rows = _C_DIRECT.sdpa_backends(
        query,
        key,
        value,
        bias,
        mask,
        dropout_p,
        is_causal,
        scale,
        bottom_right=causal_alignment == "bottom_right",
        training=training,
        backward=backward,
        bias_grad=bias_grad,
    )
    return SdpaBackendTable(SdpaBackend(*row) for row in rows)


def last_sdpa_backend() -> str:
    """Name of the backend of this thread's most recent attention node; "" before the first."""
    return _C_DIRECT.last_sdpa_backend()


def sdpa_run_counts() -> dict[str, int]:
    """Attention nodes run since the last reset, by backend; backward nodes count as "<name>_backward"."""
    return _C_DIRECT.sdpa_run_counts()


def sdpa_run_log() -> list[str]:
    """The names that `sdpa_run_counts` counts, in the order of the runs; the most recent 1024."""
    return _C_DIRECT.sdpa_run_log()


def reset_sdpa_run_counts() -> None:
    """Forgets what has run."""
    _C_DIRECT.reset_sdpa_run_counts()


def rng_state_form(torch_version: str | None = None, is_rocm: bool = False) -> dict[str, Any]:
    """Dtypes, shapes and device of ``philox_seed`` and ``philox_offset`` for a version of torch; None: the torch in use.

    Keys: philox_seed_dtype, philox_seed_shape, philox_offset_dtype, philox_offset_shape, device ("query": where the query
    is; "cpu": on the CPU, on CUDA while a graph is captured). RuntimeError when `torch_version` is no version.
    """
    return _C_DIRECT.rng_state_form(torch_version, is_rocm)
