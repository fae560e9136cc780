"""Options that say what becomes a fusion: shared by ``torch.compile`` and by exported programs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

SDPA_BACKENDS = ("auto", "flash", "efficient", "cudnn", "math", "cpu_flash", "generated")


@dataclass(frozen=True)
class FusionOptions:
    """Options of every way into the compiler; subclasses add their own fields, each a bool or one of `CHOICES`."""

    #: what error messages call the caller
    CALLER: ClassVar[str] = "nvfuser"
    #: the exception for an unknown name or a bad value
    ERROR: ClassVar[type[ValueError]] = ValueError
    #: option -> the words that it takes
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"sdpa_backend": SDPA_BACKENDS}

    #: ops that stay in eager, as "aten.mm" (all overloads) or "aten.add.Tensor"
    disabled_ops: tuple[str, ...] = ()
    #: a group of fewer ops than this stays in eager
    min_ops: int = 1
    #: which backend attention nodes ask for; "auto" lets the dispatcher choose
    sdpa_backend: str = "auto"
    #: random ops stay in eager, which draws other numbers from the same seed
    fallback_random: bool = False
    #: round to float16 or bfloat16 after every op as eager does, not only where a value is stored or cast
    emulate_precision_casts: bool = False

    @classmethod
    def parse(cls, options: Any) -> Any:
        """An instance from a mapping of names to values (or None); raises `ERROR`, a ValueError."""
        options = dict(options or {})
        known = {f.name: f for f in dataclasses.fields(cls)}
        if unknown := sorted(set(options) - set(known)):
            raise cls.ERROR(
                f"{cls.CALLER}: unknown option {', '.join(map(repr, unknown))}; known options: {', '.join(known)}"
            )
        if isinstance(options.get("disabled_ops"), (list, set, frozenset)):
            options["disabled_ops"] = tuple(sorted(options["disabled_ops"]))
        for name, value in options.items():
            cls._check(name, value)
        return cls(**options)

    @classmethod
    def _check(cls, name: str, value: Any) -> None:
        choices = cls.CHOICES.get(name)
        if choices is not None:
            is_good, wanted = value in choices, f"one of {', '.join(choices)}"
        elif name == "disabled_ops":
            is_good = isinstance(value, tuple) and all(isinstance(v, str) for v in value)
            wanted = 'op names such as ["aten.mm"]'
        elif name == "min_ops":
            is_good, wanted = type(value) is int and value >= 1, "an int of 1 or more"
        else:
            is_good, wanted = isinstance(value, bool), "True or False"
        if not is_good:
            raise cls.ERROR(f"{cls.CALLER}: option {name!r} is {value!r}, expected {wanted}")
