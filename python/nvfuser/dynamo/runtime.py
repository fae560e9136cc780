"""Runs a partitioned graph: the call of one fusion, and the Python function around all of them."""

from __future__ import annotations

import functools
import operator
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from .lowering import (
    Layout,
    build_definition,
    dense_order,
    dense_strides,
    layout_class,
    layout_of_meta,
    region_device,
)
from .op_table import COPIES_INPUT, TABLE, is_static
from .partition import Plan, Region, op_name
from .report import AttentionEntry, FusionEntry

#: part of the message with which the core refuses an input whose strides are not those of the definition
STRIDE_MISMATCH = "stride mismatch with contiguity info"


class RegionCall:
    """The callable of one region: takes its inputs in order, returns its outputs as a list.

    The definition is made for the strides that the graph promises. The core checks the strides of each call; when
    they differ, the call goes to a definition made for that layout, and from then on every call looks its layout up.
    """

    def __init__(self, region: Region, name: str, options: Any):
        self.region = region
        self.options = options
        self.entry = _entry(region, name)
        self._executors: dict[Any, Callable[..., list[torch.Tensor]]] = {}
        self._eager: Callable[..., list[torch.Tensor]] | None = None
        self._fix = _output_fixer(region)
        self._device = _device_argument(region)
        self._by_layout = False
        self._attention_seen = not self.entry.attention
        layouts = [layout_of_meta(n) for n in region.inputs]
        self._tensor_inputs = [i for i, layout in enumerate(layouts) if layout is not None]
        self._execute = self._executor_for(layouts)

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        try:
            execute = self._executor_for(self._layouts(inputs)) if self._by_layout else self._execute
            outputs = execute(inputs)
        except Exception as error:
            outputs = self._after_failure(inputs, error)
        if self._fix is not None:
            self._fix(outputs, inputs)
        if not self._attention_seen:
            self._note_attention()
        return outputs

    def _layouts(self, inputs: tuple[Any, ...]) -> list[Layout]:
        return [(tuple(x.shape), x.stride()) if isinstance(x, torch.Tensor) else None for x in inputs]

    def _executor_for(self, layouts: list[Layout]) -> Callable[..., list[torch.Tensor]]:
        """The function that runs the definition for these layouts; builds the definition when there is none yet."""
        key = tuple(None if layout is None else layout_class(*layout) for layout in layouts)
        execute = self._executors.get(key)
        if execute is None:
            definition = build_definition(self.region, layouts, self.options)
            execute = self._executors[key] = _executor(definition, self._device)
            self.entry.num_definitions += 1
        return execute

    def _after_failure(self, inputs: tuple[Any, ...], error: Exception) -> list[torch.Tensor]:
        """Runs the call in another way: for the inputs at hand, else in eager (which raises what eager raises)."""
        has_new_layout = STRIDE_MISMATCH in str(error) and not self._by_layout
        plain = tuple(_plain(x) for x in inputs)
        if has_new_layout or any(a is not b for a, b in zip(plain, inputs)):
            self._by_layout = self._by_layout or has_new_layout
            inputs = plain
            try:
                return self._executor_for(self._layouts(inputs))(inputs)
            except Exception as second:
                error = second
        if self._eager is None:
            self._eager = eager_function(self.region)
        outputs = self._eager(*inputs)
        message = f"{type(error).__name__}: {error}"
        if message not in self.entry.failures:
            self.entry.failures.append(message)
            warnings.warn(f"nvfuser: {self.entry.name} ran in eager after {message}", RuntimeWarning, stacklevel=3)
        return outputs

    def _note_attention(self) -> None:
        self._attention_seen = True
        backends = _backends_that_ran(len(self.entry.attention))
        for entry, backend in zip(self.entry.attention, backends):
            entry.backend = backend


def _plain(value: Any) -> Any:
    """A tensor of a subclass without rules of its own as a plain tensor; other values as they are."""
    is_plain = not isinstance(value, torch.Tensor) or type(value) in (torch.Tensor, torch.nn.Parameter)
    if is_plain or type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return value
    return value.as_subclass(torch.Tensor)


def _executor(definition: Any, device: str | None) -> Callable[..., list[torch.Tensor]]:
    """The shortest way into the core: the bound method of the fusion's executor."""
    from nvfuser_direct import FusionExecutorCache

    execute = FusionExecutorCache(definition.fusion).execute
    return execute if device is None else functools.partial(execute, device=device)


def _device_argument(region: Region) -> str | None:
    """The device to name in a call: needed where no input tensor tells it."""
    device = region_device(region)
    on_device = [n for n in region.inputs if getattr(n.meta["val"], "device", None) == device]
    return None if on_device else str(device)


def _backends_that_ran(count: int) -> list[str | None]:
    """The backends of the last `count` attention nodes, as the dispatcher noted them."""
    from nvfuser_direct.attention import sdpa_run_log

    names = [name.removesuffix("_backward") for name in sdpa_run_log()[-count:]]
    return names + [None] * (count - len(names))


def _entry(region: Region, name: str) -> FusionEntry:
    computing = region.computing()
    attention = [AttentionEntry(op_name(n)) for n in computing if TABLE[n.target].is_attention]
    ops = Counter(op_name(n) for n in computing)
    return FusionEntry(name, ops, attention, len(region.inputs), len(region.outputs))


# ---- layout of the outputs


def _output_fixer(region: Region) -> Callable[[list[torch.Tensor], tuple[Any, ...]], None]:
    """A function that brings outputs into the strides of the graph, in place in the list; mostly it finds them there."""
    static: list[tuple[int, tuple[int, ...]]] = []
    ordered: list[tuple[int, tuple[int, ...]]] = []
    copies: list[int] = []
    for position, node in enumerate(region.outputs):
        meta = node.meta["val"]
        if node.target in COPIES_INPUT:
            copies.append(position)
        if all(is_static(s) for s in (*meta.shape, *meta.stride())):
            static.append((position, tuple(int(s) for s in meta.stride())))
        elif (order := dense_order(meta)) is not None:
            ordered.append((position, order))

    def fix(outputs: list[torch.Tensor], inputs: tuple[Any, ...]) -> None:
        for position, strides in static:
            if outputs[position].stride() != strides:
                outputs[position] = with_strides(outputs[position], strides)
        for position, order in ordered:
            strides = dense_strides(outputs[position].shape, order)
            if outputs[position].stride() != strides:
                outputs[position] = with_strides(outputs[position], strides)
        for position in copies:
            _detach_storage(outputs, position, inputs)

    return fix


def with_strides(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """`tensor` with the given strides: another view of it where only dims of size 1 differ, else a copy."""
    same = all(a == b or size == 1 for size, a, b in zip(tensor.shape, tensor.stride(), strides))
    if same or tensor.numel() == 0:
        return tensor.as_strided(tensor.shape, strides)
    wanted = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return wanted.copy_(tensor)


def _detach_storage(outputs: list[torch.Tensor], position: int, inputs: tuple[Any, ...]) -> None:
    """Copies an output that shares memory with an input although the graph says it is a copy of it."""
    storage = outputs[position].untyped_storage().data_ptr()
    if any(isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() == storage for x in inputs):
        outputs[position] = outputs[position].clone()


# ---- the function around the regions


def eager_function(region: Region) -> Callable[..., list[torch.Tensor]]:
    """The nodes of a region as a Python function that runs them in eager."""
    writer = _Writer()
    names = ", ".join(writer.name(n) for n in region.inputs)
    for node in region.nodes:
        writer.eager(node)
    writer.lines.append(f"return [{', '.join(writer.name(n) for n in region.outputs)}]")
    return writer.function("region_in_eager", f"{names}," if names else "")


def plan_function(
    plan: Plan, calls: dict[int, RegionCall], gm: torch.fx.GraphModule, attributes: dict[str, Any] | None = None
) -> tuple[Callable[..., Any], str]:
    """The function that runs `plan` on one list of arguments (which it empties), and its text.

    `calls` maps ``id(region)`` to the callable of that region, `attributes` names of `gm` to what stands in for them.
    """
    attributes = attributes or {}
    writer = _Writer()
    placeholders = [n for n in plan.graph.nodes if n.op == "placeholder"]
    if placeholders:
        writer.lines.append(f"{', '.join(writer.name(n) for n in placeholders)}, = args")
        # The caller's list keeps no tensor alive that the graph is done with.
        writer.lines.append("args.clear()")
    output = next(n for n in plan.graph.nodes if n.op == "output")
    last_use = _last_uses(plan, output)
    for position, step in enumerate(plan.steps):
        if isinstance(step, Region):
            call = calls[id(step)]
            results = ", ".join(writer.name(n) for n in step.outputs)
            arguments = ", ".join(writer.name(n) for n in step.inputs)
            writer.bind(call.entry.name, call)
            writer.lines.append(f"{results}, = {call.entry.name}({arguments})")
        elif step.op == "get_attr":
            value = attributes[step.target] if step.target in attributes else _attribute(gm, step.target)
            writer.lines.append(f"{writer.name(step)} = {writer.constant(value)}")
        else:
            writer.eager(step)
        if dead := last_use.get(position):
            writer.lines.append(f"del {', '.join(writer.name(n) for n in dead)}")
    writer.lines.append(f"return {writer.text(output.args[0])}")
    return writer.function("run_graph", "args"), writer.source("run_graph", "args")


def _last_uses(plan: Plan, output: Node) -> dict[int, list[Node]]:
    """For each step the values that nobody reads after it."""
    last: dict[Node, int] = {}
    for position, step in enumerate(plan.steps):
        made = step.outputs if isinstance(step, Region) else [step]
        used = step.inputs if isinstance(step, Region) else step.all_input_nodes
        last.update(dict.fromkeys([*made, *used], position))
    for node in output.all_input_nodes:
        last.pop(node, None)
    by_step: dict[int, list[Node]] = {}
    for node, position in last.items():
        by_step.setdefault(position, []).append(node)
    return by_step


def _attribute(gm: torch.fx.GraphModule, target: str) -> Any:
    return operator.attrgetter(target)(gm)


class _Writer:
    """Collects lines of a Python function, and the objects that its text names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.globals: dict[str, Any] = {"inf": float("inf"), "nan": float("nan")}
        self._names: dict[Node, str] = {}
        self._constants: dict[int, str] = {}

    def name(self, node: Node) -> str:
        # The prefix keeps names of the graph apart from Python's words and from constants.
        return self._names.setdefault(node, f"v_{node.name}")

    def bind(self, name: str, value: Any) -> None:
        self.globals[name] = value

    def constant(self, value: Any) -> str:
        """The name of a global that holds `value`."""
        name = self._constants.get(id(value))
        if name is None:
            hint = getattr(value, "__name__", type(value).__name__)
            hint = "".join(c if c.isalnum() else "_" for c in hint)
            name = self._constants[id(value)] = f"c{len(self._constants)}_{hint}"
            self.globals[name] = value
        return name

    def text(self, value: Any) -> str:
        if isinstance(value, Node):
            return self.name(value)
        if isinstance(value, (tuple, list)) and type(value).__name__ in ("tuple", "list", "immutable_list"):
            parts = "".join(f"{self.text(v)}, " for v in value)
            return f"({parts})" if isinstance(value, tuple) else f"[{parts}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.text(v)}" for k, v in value.items()) + "}"
        if value is None or type(value) in (bool, int, float, str):
            return repr(value)
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        return self.constant(value)

    def eager(self, node: Node) -> None:
        """Writes the call of an fx node."""
        arguments = [self.text(a) for a in node.args]
        arguments += [f"{k}={self.text(v)}" for k, v in node.kwargs.items()]
        if node.target is operator.getitem:
            call = f"{arguments[0]}[{arguments[1]}]"
        elif node.op == "call_function":
            call = f"{self.constant(node.target)}({', '.join(arguments)})"
        else:
            raise NotImplementedError(f"nvfuser: a graph of AOTAutograd with a {node.op} node ({node.target})")
        self.lines.append(f"{self.name(node)} = {call}")

    def source(self, name: str, parameters: str) -> str:
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"def {name}({parameters}):\n{body}\n"

    def function(self, name: str, parameters: str) -> Callable[..., Any]:
        scope = dict(self.globals)
        exec(compile(self.source(name, parameters), f"<nvfuser {name}>", "exec"), scope)
        return scope[name]
