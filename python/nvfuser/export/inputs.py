"""Checks what a caller passes to an exported program, and names the inputs in its messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
import torch
import torch.utils._pytree as pytree
from torch.export.graph_signature import ConstantArgument, InputKind


@dataclass
class UserInput:
    """One leaf of the inputs: its name for people, its placeholder, and the value that the program was exported with."""

    name: str
    placeholder: str
    #: a FakeTensor, a symbolic number, or a constant that the input must equal
    value: Any
    is_constant: bool = False


class InputError(ValueError):
    """The inputs do not fit the program: structure, dtype, device or a size."""


class ProgramInputs:
    """What a program takes: `flatten` orders a call's arguments, `check` holds them against the export.

    Both raise `InputError`, a ValueError that names the input, or TypeError for a value of another kind.
    """

    def __init__(self, program: Any):
        self.in_spec = program.call_spec.in_spec
        children = self.in_spec.children() if hasattr(self.in_spec, "children") else self.in_spec.children_specs
        self._keywords = children[1].context
        self.inputs = _user_inputs(program, self.in_spec)
        self._declared = dict(program.range_constraints)
        self._sizes = _Sizes(self.inputs, self._declared)
        self._guards = _tracer_guards(program)

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of the arguments in the program's order; keywords and dicts may come in any order."""
        if set(kwargs) != set(self._keywords):
            raise InputError(self._misfit(f"got the keywords {sorted(kwargs)}, expected {sorted(self._keywords)}"))
        try:
            return self.in_spec.flatten_up_to((args, {name: kwargs[name] for name in self._keywords}))
        except ValueError as error:
            raise InputError(self._misfit(str(error))) from None

    def _misfit(self, text: str) -> str:
        names = ", ".join(i.name for i in self.inputs)
        return f"the inputs are not structured as in the export: {text}; the program takes ({names})"

    def check(self, flat: list[Any]) -> None:
        """Raises unless dtypes, devices, ranks, sizes and constants are those of the export."""
        for declared, given in zip(self.inputs, flat):
            if declared.is_constant:
                _check_constant(declared, given)
            elif isinstance(declared.value, torch.Tensor):
                _check_tensor(declared, given)
            else:
                _check_number(declared, given)
        self._sizes.bind(flat)
        if self._guards is not None:
            try:
                self._guards(*flat)
            except AssertionError as error:
                raise InputError(f"the inputs are outside of what the program was exported for: {error}") from None

    def declared_range(self, size: Any) -> str:
        """The range that the export gave a symbolic size, as text; "" for any other size."""
        found = self._declared.get(size.node.expr) if isinstance(size, torch.SymInt) else None
        if found is None:
            return ""
        return _range_text(found)

    def symbols(self, flat: list[Any]) -> dict[Any, int]:
        """The value of each symbol of the sizes for these inputs."""
        return self._sizes.bind(flat)


def _user_inputs(program: Any, in_spec: Any) -> list[UserInput]:
    metas = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    specs = [s for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT]
    paths = _paths(in_spec)
    argument_names = getattr(program.module_call_graph[0].signature, "forward_arg_names", None) or []
    found = []
    for spec, path in zip(specs, paths):
        name = _readable(path, argument_names, spec.arg.name)
        is_constant = isinstance(spec.arg, ConstantArgument)
        value = spec.arg.value if is_constant else metas[spec.arg.name]
        # A plain number in the place of a symbol is a constant too.
        is_constant = is_constant or not isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool))
        found.append(UserInput(name, spec.arg.name, value, is_constant))
    return found


def _paths(in_spec: Any) -> list[Any]:
    leaves = pytree.tree_unflatten(list(range(in_spec.num_leaves)), in_spec)
    return [path for path, _ in pytree.tree_flatten_with_path(leaves)[0]]


def _readable(path: Any, argument_names: list[str], placeholder: str) -> str:
    """``x``, ``batch['mask']``: the way to a leaf as Python code."""
    kind, first, *rest = path
    if isinstance(first, pytree.MappingKey):
        base = first.key
    elif kind.idx == 0 and first.idx < len(argument_names):
        base = argument_names[first.idx]
    else:
        base = placeholder if not rest else f"args[{first.idx}]"
    return f"{base}{pytree.keystr(tuple(rest))}"


def _bounds(found: Any) -> tuple[int | None, int | None]:
    # A lower bound of 2 is how the tracer marks a size that it saw as neither 0 nor 1; both may come later.
    lower = _as_int(found.lower)
    return (lower if lower is not None and lower > 2 else None), _as_int(found.upper)


def _range_text(found: Any) -> str:
    lower, upper = _as_int(found.lower) or 0, _as_int(found.upper)
    return f"{lower} to {upper}" if upper is not None else f"{lower} or more"


def _as_int(bound: Any) -> int | None:
    if not isinstance(bound, int) and not getattr(bound, "is_Integer", False):  # an infinity
        return None
    # Before infinities had a class of their own, the largest int64 meant one.
    return int(bound) if abs(int(bound)) < 2**62 else None


def _check_constant(declared: UserInput, given: Any) -> None:
    wanted = declared.value
    both_nan = isinstance(wanted, float) and isinstance(given, float) and math.isnan(wanted) and math.isnan(given)
    if type(given) is not type(wanted) or not (given == wanted or both_nan):
        raise InputError(f"input {declared.name!r} is {_shown(given)}; the export fixed it at {wanted!r}")


def _check_number(declared: UserInput, given: Any) -> None:
    kinds = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
    wanted = kinds[type(declared.value)]
    if type(given) is not wanted:
        raise TypeError(f"input {declared.name!r} must be of type {wanted.__name__}, not {type(given).__name__}")


def _check_tensor(declared: UserInput, given: Any) -> None:
    name, wanted = declared.name, declared.value
    if not isinstance(given, torch.Tensor):
        raise TypeError(f"input {name!r} must be a tensor, not {type(given).__name__}")
    if given.dtype != wanted.dtype:
        raise InputError(f"input {name!r} has dtype {given.dtype}; the program was exported for {wanted.dtype}")
    if given.device != wanted.device:
        raise InputError(
            f"input {name!r} is on {given.device}; the program was exported for {wanted.device}"
            " (torch.export.passes.move_to_device_pass moves a program)"
        )
    if given.layout != wanted.layout:
        raise InputError(f"input {name!r} has layout {given.layout}; the program was exported for {wanted.layout}")
    if given.ndim != wanted.ndim:
        raise InputError(
            f"input {name!r} has {given.ndim} dims, shape {list(given.shape)}; the program was exported for"
            f" {wanted.ndim}, shape {[str(s) for s in wanted.shape]}"
        )


def _shown(value: Any) -> str:
    return f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


@dataclass
class _Place:
    """Where a size comes from: input number `leaf`, dim `dim` (None: the input is the number)."""

    leaf: int
    dim: int | None
    name: str

    def read(self, flat: list[Any]) -> int:
        return flat[self.leaf] if self.dim is None else flat[self.leaf].shape[self.dim]

    def __str__(self) -> str:
        return f"input {self.name!r}" if self.dim is None else f"dim {self.dim} of input {self.name!r}"


class _Sizes:
    """The sizes of all inputs: fixed ones, symbols with their ranges, and expressions over symbols."""

    def __init__(self, inputs: list[UserInput], ranges: Mapping[Any, Any]):
        self._fixed: list[tuple[_Place, int]] = []
        self._symbols: list[tuple[_Place, Any]] = []
        self._derived: list[tuple[_Place, Any]] = []
        self._ranges = {symbol: (*_bounds(declared), _range_text(declared)) for symbol, declared in ranges.items()}
        for leaf, declared in enumerate(inputs):
            if isinstance(declared.value, torch.Tensor):
                for dim, size in enumerate(declared.value.shape):
                    self._note(_Place(leaf, dim, declared.name), size)
            elif isinstance(declared.value, torch.SymInt):
                self._note(_Place(leaf, None, declared.name), declared.value)
        known = {symbol for _, symbol in self._symbols}
        #: (place, symbol, function): a symbol that no size names by itself, found from one that holds it
        self._solved: list[tuple[_Place, Any, Callable[[int], Any]]] = []
        for place, expression in self._derived:
            unknown = expression.free_symbols - known
            if len(unknown) == 1 and (solve := _solver(expression, *unknown)) is not None:
                self._solved.append((place, *unknown, solve))
                known |= unknown

    def _note(self, place: _Place, size: Any) -> None:
        if isinstance(size, int):
            self._fixed.append((place, size))
            return
        expression = size.node.expr
        if expression.is_number:
            self._fixed.append((place, int(expression)))
        elif expression.is_symbol:
            self._symbols.append((place, expression))
        else:
            self._derived.append((place, expression))

    def bind(self, flat: list[Any]) -> dict[Any, int]:
        """The value of each symbol; raises `InputError` where a size is not what the program allows."""
        for place, wanted in self._fixed:
            if (got := place.read(flat)) != wanted:
                raise InputError(f"{place} is {got}; the program was exported for {wanted} only")
        values: dict[Any, int] = {}
        origin: dict[Any, _Place] = {}
        for place, symbol in self._symbols:
            got = place.read(flat)
            if symbol not in values:
                values[symbol], origin[symbol] = got, place
                self._check_range(symbol, got, place, "")
            elif values[symbol] != got:
                raise InputError(f"{place} is {got}; it must equal {origin[symbol]}, which is {values[symbol]}")
        for place, symbol, solve in self._solved:
            got = place.read(flat)
            found = solve(got)
            if found != int(found):
                raise InputError(f"{place} is {got}; it must be {self._expression(place)} for an integer {symbol}")
            values[symbol] = int(found)
            self._check_range(symbol, int(found), place, f"{got}, so {symbol} in {self._expression(place)} is ")
        for place, expression in self._derived:
            wanted = expression.subs(values)
            if wanted.is_number and (got := place.read(flat)) != int(wanted):
                raise InputError(f"{place} is {got}; it must be {expression}, which is {int(wanted)} for these inputs")
        return values

    def _expression(self, place: _Place) -> Any:
        return next(e for p, e in self._derived if p is place)

    def _check_range(self, symbol: Any, value: int, place: _Place, how: str) -> None:
        lower, upper, allowed = self._ranges.get(symbol, (None, None, ""))
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            raise InputError(f"{place} is {how}{value}; the program was exported for {allowed}")


def _solver(expression: Any, symbol: Any) -> Callable[[int], Any] | None:
    """A function from the value of `expression` to that of its symbol, where that is unique."""
    if expression.free_symbols != {symbol} or not expression.is_polynomial(symbol) or sympy.degree(expression) != 1:
        return None
    slope, offset = sympy.Poly(expression, symbol).all_coeffs()
    return lambda value: sympy.Rational(value - offset) / slope


def _tracer_guards(program: Any) -> Callable[..., Any] | None:
    """The conditions that the tracer noted while it exported (torch 2.9 and later), as torch's own function."""
    if not getattr(program, "_guards_code", None):
        return None
    return getattr(program.module(), "_guards_fn", None)
