"""What became of a fusion: `fd.explain(inputs)` makes an `Explanation`, one `Segment` for each part that runs by itself."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from nvfuser_direct import _C_DIRECT as _C
from nvfuser_direct.attention import sdpa_run_log

WIDTH = 110
UNBROKEN = "\xa0"  # a space that no line ends at


@dataclass(frozen=True)
class Tensor:
    """A tensor at the border of a segment. `sizes` holds ints, and the text of a size that is not known."""

    name: str
    """As print_math() names it: "T3"."""
    role: str
    """ "input 0", "output 1", or "" for what lies between segments."""
    dtype: str
    sizes: tuple[int | str, ...]
    bytes: int
    """Of its elements, expanded dims counted once; 0 where a size is not known."""

    def __str__(self) -> str:
        role = f" ({self.role})" if self.role else ""
        return f"{self.name} {self.dtype} [{', '.join(map(str, self.sizes))}]{role}"


@dataclass(frozen=True)
class Segment:
    """One part of a fusion: a generated kernel, a library call, or a view that costs nothing."""

    number: int
    kind: str
    """ "kernel", "library call" or "view"."""
    scheduler: str
    """Of a kernel; "expr_eval" for library calls, "no_op" for views."""
    heuristics: str
    """What the scheduler chose, in its words."""
    loops: dict[str, list[str]]
    """Of a kernel: the loops of each tensor that has its own, outermost first ("parallel 512", "serial 1024")."""
    stages: list[tuple[int, int]]
    """Of a kernel, of each part that waits for the one before: its tasks, and how many of them a thread takes at
    least."""
    workspace_bytes: int
    scratch_bytes: int
    """Memory of each thread."""
    reason: str
    """Why it is no kernel; "" for a kernel."""
    refused: dict[str, str]
    """Schedulers that refused it, and why."""
    apart: list[str]
    """Why it is not one kernel with segments that its inputs come from."""
    ops: list[str]
    nodes: list[str]
    """The operations as print_math() writes them."""
    inputs: list[Tensor]
    outputs: list[Tensor]
    bytes_read: int
    bytes_written: int
    """Of its outputs; 0 for a view, as for bytes_read."""
    seconds: float | None = None
    """Median over the profiled runs; None without profile=True."""
    backends: list[str] = field(default_factory=list)
    """The attention backends that ran, in the order of its attention nodes; empty without profile=True."""
    bandwidth_share: float | None = None
    """Bytes read and written in that time, by what a large copy moved in it. Above 1 where caches hold the data."""

    @property
    def kernels(self) -> int:
        """Generated kernels that it launches: 1 or 0."""
        return int(self.kind == "kernel")

    @property
    def library_calls(self) -> int:
        """Operations that ATen evaluates."""
        return len(self.ops) if self.kind == "library call" else 0

    def op_counts(self) -> list[str]:
        """Its operations in order, equal ones in a row once: ["add", "2 x mul"]."""
        return counted(self.ops).split(", ") if self.ops else []

    def to_dict(self) -> dict[str, Any]:
        """All of it as lists, dicts, numbers and strings."""
        return {**asdict(self), "kernels": self.kernels, "library_calls": self.library_calls}

    def _lines(self) -> list[str]:
        title = f"{self.number}  {self.kind}"
        if self.kind == "kernel":
            title += f": {self.scheduler} ({self.heuristics})"
        elif self.reason and self.kind != self.reason.removeprefix("a "):
            title += f": {first_line(self.reason)}"
        lines = [title, *_wrapped("ops", counted(self.ops))]
        lines += _wrapped("ran on", ", ".join(self.backends))
        for name, tensors in (("in", self.inputs), ("out", self.outputs)):
            lines += _wrapped(name, "; ".join(str(tensor).replace(" ", UNBROKEN) for tensor in tensors))
        if self.kind != "view":
            moved = f"reads {size_text(self.bytes_read)}, writes {size_text(self.bytes_written)}"
            if self.seconds is not None:
                moved += f", {time_text(self.seconds)}"
                if self.bandwidth_share is not None and self.kind == "kernel":
                    moved += f", {100 * self.bandwidth_share:.0f} % of the copy bandwidth"
            lines += _wrapped("cost", moved)
        if self.stages:
            parts = [f"{tasks} tasks, {grain} or more a thread" for tasks, grain in self.stages]
            memory = [
                f"{size_text(count)} of {what}"
                for count, what in ((self.workspace_bytes, "workspace"), (self.scratch_bytes, "scratch a thread"))
                if count
            ]
            lines += _wrapped("launch", "; ".join(["; then ".join(parts), *memory]))
        for tensor, loops in self.loops.items():
            lines += _wrapped("loops", f"{tensor}: {', '.join(loops) or 'none'}")
        for scheduler, why in self.refused.items():
            lines += _wrapped("not", f"{scheduler}: {why}")
        for why in self.apart:
            lines += _wrapped("apart", first_line(why))
        return lines

    def __str__(self) -> str:
        return "\n".join(self._lines())


@dataclass(frozen=True)
class Explanation:
    """What a run of a fusion with certain inputs does. print() it, or read its attributes."""

    device: str
    segments: list[Segment] = field(default_factory=list)
    """In the order in which they run."""
    seconds: float | None = None
    """Median time of a whole run; None without profile=True."""
    copy_bandwidth: float | None = None
    """Bytes per second, read and written, that a copy of 64 MiB reached at that time."""

    @property
    def kernels(self) -> int:
        """Generated kernels of a run."""
        return sum(segment.kernels for segment in self.segments)

    @property
    def library_calls(self) -> int:
        """Operations that ATen evaluates in a run, views not counted."""
        return sum(segment.library_calls for segment in self.segments)

    @property
    def bytes_read(self) -> int:
        """Over all segments."""
        return sum(segment.bytes_read for segment in self.segments)

    @property
    def bytes_written(self) -> int:
        """Over all segments."""
        return sum(segment.bytes_written for segment in self.segments)

    def to_dict(self) -> dict[str, Any]:
        """All of it as lists, dicts, numbers and strings."""
        return {
            "device": self.device,
            "kernels": self.kernels,
            "library_calls": self.library_calls,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "seconds": self.seconds,
            "copy_bandwidth": self.copy_bandwidth,
            "segments": [segment.to_dict() for segment in self.segments],
        }

    def __str__(self) -> str:
        parts = [plural(self.kernels, "generated kernel"), plural(self.library_calls, "library call")]
        views = sum(segment.kind == "view" for segment in self.segments)
        if views:
            parts.append(plural(views, "view"))
        head = (
            f"{plural(len(self.segments), 'segment')} on {self.device}: {', '.join(parts)}; "
            f"reads {size_text(self.bytes_read)}, writes {size_text(self.bytes_written)}"
        )
        lines = [head]
        if self.seconds is not None:
            inside = sum(segment.seconds or 0 for segment in self.segments)
            lines.append(
                f"{time_text(self.seconds)} a run, {time_text(inside)} of it in segments; "
                f"a copy moves {(self.copy_bandwidth or 0) / 1e9:.1f} GB/s"
            )
        for segment in self.segments:
            lines += ["", *segment._lines()]
        return "\n".join(lines)


def _wrapped(label: str, text: str) -> list[str]:
    """`text` behind a label, wrapped into a column of its own."""
    if not text:
        return []
    lines = textwrap.wrap(text, WIDTH, initial_indent=f"   {label:<7}", subsequent_indent=" " * 10)
    return [line.replace(UNBROKEN, " ") for line in lines]


def first_line(text: str) -> str:
    """Compilers say much; its first line says which kernel and what."""
    return text.strip().split("\n", 1)[0]


def counted(names: list[str]) -> str:
    """ "add, 2 x mul": equal names in a row once."""
    groups: list[tuple[str, int]] = []
    for name in names:
        if groups and groups[-1][0] == name:
            groups[-1] = (name, groups[-1][1] + 1)
        else:
            groups.append((name, 1))
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in groups)


def plural(count: int, noun: str) -> str:
    """ "1 view", "2 views"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def size_text(count: float) -> str:
    """A number of bytes with a unit."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def time_text(seconds: float) -> str:
    """A time with a unit."""
    for unit, factor in (("s", 1), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def segments_from(
    reports: list[dict[str, Any]], times: list[float], bandwidth: float | None, backends: Iterable[str] = ()
) -> list[Segment]:
    """The dicts that the executor reports as Segments.

    `times` in their order, or empty; `backends`: those that ran, in the order of the attention nodes.
    """
    result = []
    names = iter(backends)
    for number, report in enumerate(reports):
        values = dict(report)
        for name in ("inputs", "outputs"):
            values[name] = [Tensor(**{**tensor, "sizes": tuple(tensor["sizes"])}) for tensor in values[name]]
        values["loops"] = dict(values["loops"])
        values["refused"] = dict(values["refused"])
        seconds = times[number] if times else None
        share = None
        moved = values["bytes_read"] + values["bytes_written"]
        if seconds and bandwidth and moved:
            share = moved / seconds / bandwidth
        ran = [next(names, "") for op in values["ops"] if is_attention(op)]
        ran = [name for name in ran if name]
        result.append(Segment(number=number, seconds=seconds, bandwidth_share=share, backends=ran, **values))
    return result


def is_attention(op: str) -> bool:
    """Whether an op of a definition is attention, which a backend computes."""
    return op.startswith(("sdpa_", "sdpfa_"))


def explain(
    executor: Any, inputs: list[Any], device: Any, profile: bool, runs: int, options: tuple[Any, Any]
) -> Explanation:
    """See FusionDefinition.explain."""
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise ValueError(f"explain: runs must be a positive int, not {runs!r}")
    report = executor._report(inputs, device, *options)
    if not profile:
        return Explanation(report["device"], segments_from(report["segments"], [], None))
    on = torch.device(report["device"])
    with torch.random.fork_rng(devices=[on] if on.type == "cuda" else [], device_type="cuda"):
        times, total = executor._measure(inputs, device, runs, *options)
        count = sum(is_attention(op) for segment in report["segments"] for op in segment["ops"])
        backends = sdpa_run_log()[-count:] if count else []
        bandwidth = _C._copy_bandwidth(report["device"])
    segments = segments_from(report["segments"], times, bandwidth, backends)
    return Explanation(report["device"], segments, total, bandwidth)
