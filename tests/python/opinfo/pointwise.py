"""One row per pointwise operator: promotion group, torch reference, operand domains and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from helpers import BOOL, COMPLEX, FLOATS, FULLS, INTS, make

from .promotion import common_dtype, compute_dtype, operand, result_dtype

WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


@dataclass(frozen=True)
class Row:
    """What the tests need to know about one operator."""

    name: str
    group: str  # see promotion.py
    ref: Callable  # torch function on operands of the compute dtype
    dtypes: tuple  # operand dtypes with a defined result
    domains: tuple  # (low, high) for each operand
    nonzero: tuple = ()  # positions of operands that must not be zero
    raises: tuple = ()  # operand dtypes that must be refused with RuntimeError
    int_domains: tuple | None = None
    wide: bool = True  # evaluate the reference in double precision
    slack: float = 1.0  # factor on the tolerances
    specials: bool = True  # NaN, infinities and signed zeros give torch's result

    @property
    def arity(self) -> int:
        return len(self.domains)

    def sample(self, position: int, shape, dtype, device="cpu", seed: int = 0) -> torch.Tensor:
        """Operand number `position` with values inside the operator's domain."""
        domains = (
            self.int_domains if self.int_domains and not (dtype.is_floating_point or dtype.is_complex) else self.domains
        )
        low, high = domains[position]
        return make(shape, dtype, device, low, high, seed=seed * 7 + position, nonzero=position in self.nonzero)

    def expected_dtype(self, operands) -> torch.dtype:
        """Dtype of the result for torch tensors and Python numbers as operands."""
        common = common_dtype([operand(x) for x in operands])
        result = result_dtype(self.group, common)
        return result.to_real() if self.name == "abs" and result.is_complex else result

    def reference(self, operands) -> torch.Tensor:
        """Expected result, computed in double precision where that is meaningful and rounded once."""
        common = common_dtype([operand(x) for x in operands])
        compute = torch.bool if self.group == "L" else compute_dtype(self.group, common)
        wide = WIDE.get(compute, compute) if self.wide else compute
        device = next((x.device for x in operands if isinstance(x, torch.Tensor)), "cpu")
        converted = [torch.as_tensor(x, dtype=operand(x)[1], device=device).to(compute).to(wide) for x in operands]
        return self.ref(*converted).to(self.expected_dtype(operands))


ANY = (-4.0, 4.0)
POSITIVE = (0.3, 6.0)
UNIT = (-0.95, 0.95)
REAL = FLOATS + INTS
EVERY = FLOATS + INTS + BOOL + COMPLEX
FLOATING = FLOATS + INTS + BOOL + COMPLEX  # group F takes everything


def _isreal(x):
    return torch.isreal(x)


def _real_copy(x):
    return torch.real(x).clone() if x.is_complex() else x.clone()


UNARY = [
    Row("abs", "K", torch.abs, REAL + COMPLEX, (ANY,)),
    Row("acos", "F", torch.acos, FLOATING, (UNIT,)),
    Row("acosh", "F", torch.acosh, FLOATING, ((1.1, 8.0),)),
    Row("asin", "F", torch.asin, FLOATING, (UNIT,)),
    Row("asinh", "F", torch.asinh, FLOATING, (ANY,)),
    Row("atan", "F", torch.atan, FLOATING, ((-0.9, 0.9),)),
    Row("atanh", "F", torch.atanh, FLOATING, (UNIT,), slack=4),
    Row("bitwise_not", "I", torch.bitwise_not, INTS + BOOL, ((-50, 50),), raises=FULLS + COMPLEX),
    Row("ceil", "K", torch.ceil, REAL, (ANY,)),
    Row("cos", "F", torch.cos, FLOATING, (ANY,)),
    Row("cosh", "F", torch.cosh, FLOATING, (ANY,)),
    Row("erf", "F", torch.erf, REAL + BOOL, (ANY,)),
    Row("erfc", "F", torch.erfc, REAL + BOOL, ((-3.0, 3.0),), slack=4),
    Row("erfcinv", "F", lambda x: torch.erfinv(1 - x), REAL + BOOL, ((0.05, 1.95),), slack=8, specials=False),
    Row("erfinv", "F", torch.erfinv, REAL + BOOL, (UNIT,), slack=4),
    Row("exp", "F", torch.exp, FLOATING, (ANY,)),
    Row("exp2", "F", torch.exp2, FLOATING, (ANY,)),
    Row("expm1", "F", torch.expm1, FLOATING, (ANY,)),
    Row("floor", "K", torch.floor, REAL, (ANY,)),
    Row("frac", "K", torch.frac, FLOATS, (ANY,)),
    Row("isfinite", "B", torch.isfinite, EVERY, (ANY,)),
    Row("isinf", "B", torch.isinf, EVERY, (ANY,)),
    Row("isnan", "B", torch.isnan, EVERY, (ANY,)),
    Row("isneginf", "B", torch.isneginf, REAL, (ANY,)),
    Row("isposinf", "B", torch.isposinf, REAL, (ANY,)),
    Row("isreal", "B", _isreal, EVERY, (ANY,)),
    Row("lgamma", "F", torch.lgamma, REAL, (POSITIVE,), slack=4),
    Row("log", "F", torch.log, FLOATING, (POSITIVE,)),
    Row("log10", "F", torch.log10, FLOATING, (POSITIVE,)),
    Row("log1p", "F", torch.log1p, FLOATING, ((-0.7, 6.0),)),
    Row("log2", "F", torch.log2, FLOATING, (POSITIVE,)),
    Row("logical_not", "L", torch.logical_not, FLOATS + INTS + BOOL + COMPLEX, (ANY,)),
    Row("neg", "D", torch.neg, REAL + COMPLEX, (ANY,)),
    Row("real", "K", _real_copy, REAL + BOOL, (ANY,)),
    Row("reciprocal", "F", torch.reciprocal, FLOATING, (ANY,), nonzero=(0,)),
    Row("relu", "K", torch.relu, REAL, (ANY,)),
    Row("round", "K", torch.round, REAL, ((-6.0, 6.0),)),
    Row("rsqrt", "F", torch.rsqrt, FLOATING, (POSITIVE,)),
    Row("segment_set", "K", torch.clone, EVERY, (ANY,)),
    Row("set", "K", torch.clone, EVERY, (ANY,)),
    Row("sigmoid", "F", torch.sigmoid, FLOATING, (ANY,)),
    Row("sign", "K", torch.sign, REAL, (ANY,), specials=False),
    Row("signbit", "B", torch.signbit, REAL, (ANY,)),
    Row("silu", "K", torch.nn.functional.silu, FLOATS + COMPLEX, (ANY,), specials=False),
    Row("sin", "F", torch.sin, FLOATING, (ANY,)),
    Row("sinh", "F", torch.sinh, FLOATING, (ANY,)),
    Row("sqrt", "F", torch.sqrt, FLOATING, (POSITIVE,)),
    Row("tan", "F", torch.tan, FLOATING, ((-1.3, 1.3),), slack=2),
    Row("tanh", "F", torch.tanh, FLOATING, (ANY,)),
    Row("trunc", "K", torch.trunc, REAL, (ANY,)),
]
# real and imag of complex operands and `complex` change between real and complex dtypes: test_ops_cast.py.


def _div(a, b):
    exact = a.is_floating_point() or a.is_complex()
    return torch.div(a, b) if exact else torch.div(a, b, rounding_mode="trunc")


def _logical_right_shift(a, b):
    bits = 8 * a.element_size()
    mask = (1 << bits) - 1
    values = [
        (x & mask) >> s if s < bits else 0
        for x, s in zip(a.flatten().tolist(), b.expand_as(a).flatten().tolist(), strict=True)
    ]
    signed = [v - (1 << bits) if v >= 1 << (bits - 1) else v for v in values]
    return torch.tensor(signed, dtype=a.dtype, device=a.device).reshape(a.shape)


def _broadcasting(function):
    """The reference for operands that still have to be broadcast."""
    return lambda *operands: function(*torch.broadcast_tensors(*operands))


SMALL_INT = (-9, 9)
BITS = (-60, 60)
SHIFT = (0, 12)

BINARY = [
    Row("add", "D", torch.add, EVERY, (ANY, ANY)),
    Row("atan2", "F", torch.atan2, REAL + BOOL, (ANY, ANY), nonzero=(0, 1)),
    Row("bitwise_and", "I", torch.bitwise_and, INTS + BOOL, (BITS, BITS), raises=FULLS + COMPLEX),
    Row("bitwise_left_shift", "I", torch.bitwise_left_shift, INTS, (BITS, SHIFT), raises=FULLS + COMPLEX),
    Row("bitwise_or", "I", torch.bitwise_or, INTS + BOOL, (BITS, BITS), raises=FULLS + COMPLEX),
    Row("bitwise_right_shift", "I", torch.bitwise_right_shift, INTS, (BITS, SHIFT), raises=FULLS + COMPLEX),
    Row("bitwise_xor", "I", torch.bitwise_xor, INTS + BOOL, (BITS, BITS), raises=FULLS + COMPLEX),
    Row("div", "D", _div, REAL + COMPLEX, (ANY, ANY), nonzero=(1,), int_domains=((-40, 40), SMALL_INT)),
    Row("eq", "B", torch.eq, EVERY, (ANY, ANY), int_domains=((-1, 1), (-1, 1))),
    Row("fmod", "D", torch.fmod, REAL, (ANY, ANY), nonzero=(1,), int_domains=((-40, 40), SMALL_INT), slack=4),
    Row("gcd", "I", torch.gcd, INTS, (BITS, BITS), raises=FULLS + COMPLEX),
    Row("ge", "B", torch.ge, REAL + BOOL, (ANY, ANY), int_domains=((-1, 1), (-1, 1))),
    Row("gt", "B", torch.gt, REAL + BOOL, (ANY, ANY), int_domains=((-1, 1), (-1, 1))),
    Row("le", "B", torch.le, REAL + BOOL, (ANY, ANY), int_domains=((-1, 1), (-1, 1))),
    Row("logical_and", "L", torch.logical_and, EVERY, (ANY, ANY), int_domains=((-1, 1), (-1, 1))),
    Row("logical_or", "L", torch.logical_or, EVERY, (ANY, ANY), int_domains=((-1, 1), (-1, 1))),
    Row(
        "logical_right_shift",
        "I",
        _broadcasting(_logical_right_shift),
        INTS,
        (BITS, (0, 40)),
        raises=FULLS + COMPLEX,
    ),
    Row("lt", "B", torch.lt, REAL + BOOL, (ANY, ANY), int_domains=((-1, 1), (-1, 1))),
    Row("maximum", "D", torch.maximum, REAL + BOOL, (ANY, ANY)),
    Row("minimum", "D", torch.minimum, REAL + BOOL, (ANY, ANY)),
    Row("mod", "D", torch.fmod, REAL, (ANY, ANY), nonzero=(1,), int_domains=((-40, 40), SMALL_INT), slack=4),
    Row("mul", "D", torch.mul, EVERY, (ANY, ANY)),
    Row("ne", "B", torch.ne, EVERY, (ANY, ANY), int_domains=((-1, 1), (-1, 1))),
    Row("nextafter", "P", torch.nextafter, FULLS, (ANY, ANY), raises=INTS + COMPLEX, wide=False),
    Row("pow", "D", torch.pow, REAL + COMPLEX, (POSITIVE, (-2.0, 2.0)), int_domains=((-4, 4), (0, 4)), slack=8),
    Row("remainder", "D", torch.remainder, REAL, (ANY, ANY), nonzero=(1,), int_domains=((-40, 40), SMALL_INT), slack=4),
    Row("sub", "D", torch.sub, REAL + COMPLEX, (ANY, ANY)),
    Row("truediv", "F", torch.true_divide, EVERY, (ANY, ANY), nonzero=(1,)),
]

BY_NAME = {row.name: row for row in UNARY + BINARY}
