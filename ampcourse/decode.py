"""From a code to the number it stands for.

The rule is IEEE 754-2019, 3.4 for every format; what is special comes from the format's
record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from operator import index
from typing import Literal

from ampcourse.formats import FloatFormat, get_format, power_of_two
from ampcourse.number_text import decimal_text

Kind = Literal["zero", "subnormal", "normal", "infinity", "nan"]


@dataclass(frozen=True)
class Decoded:
    """What a code says: its three fields, its class and its value.

    ``value`` is a Python float and exact for every format of the course; ``fraction`` is the
    same number exactly, None for infinities and NaN (it cannot tell -0 from 0: ``sign`` can).
    ``exponent`` and ``implicit_bit`` are the numbers that stand in the formula
    (-1)^sign x 2^exponent x (implicit_bit + significand_field / 2^significand_bits), so zero
    and the subnormals have implicit bit 0 and exponent emin; both are None for infinities and
    NaN, which the formula does not cover.
    """

    code: int
    format: FloatFormat = field(repr=False)
    kind: Kind
    value: float
    fraction: Fraction | None
    sign: int
    biased_exponent: int
    significand_field: int
    exponent: int | None
    implicit_bit: int | None

    @property
    def significand(self) -> Fraction | None:
        """The significand with its implicit bit: in [1, 2) if normal, [0, 1) if subnormal."""
        if self.implicit_bit is None:
            return None
        return self.implicit_bit + self.significand_field * self.format.eps

    @property
    def decimal_text(self) -> str:
        """Every decimal digit of the value: '-0.0999755859375', '-0', 'inf', 'nan'."""
        minus = "-" if self.sign else ""
        if self.fraction is None:
            return minus + ("inf" if self.kind == "infinity" else "nan")
        return minus + decimal_text(abs(self.fraction))


def decode(code: int, fmt: str | FloatFormat) -> Decoded:
    """Take a code apart and work out its value.

    The code is an int from 0 to 2^bits - 1 (anything else raises ValueError or, if it is no
    integer, TypeError); the format is a FloatFormat or a name. A NaN of any payload gives
    float NaN with the code's sign bit.

    >>> decode(0x3C00, "fp16").value, decode(0x0001, "fp16").value == 2**-24
    (1.0, True)
    >>> decode(0x7C00, "fp16").value, decode(0x7C01, "fp16").kind
    (inf, 'nan')
    >>> decode(0x7E, "e4m3").value, decode(0x7F, "e4m3").kind, decode(0xFF, "e8m0").kind
    (448.0, 'nan', 'nan')
    """
    fmt = get_format(fmt)
    code = check_code(code, fmt)
    sign, biased, significand_field = split_fields(code, fmt)
    kind = classify(code, fmt)
    exponent: int | None = None
    implicit_bit: int | None = None
    fraction: Fraction | None = None
    value = math.inf if kind == "infinity" else math.nan
    if kind not in ("infinity", "nan"):
        implicit_bit = 1 if kind == "normal" else 0
        exponent = biased - fmt.bias if kind == "normal" else fmt.emin
        integer = (implicit_bit << fmt.significand_bits) + significand_field
        magnitude = integer * power_of_two(exponent - fmt.significand_bits)
        fraction = -magnitude if sign else magnitude
        value = float(magnitude)
    return Decoded(
        code=code,
        format=fmt,
        kind=kind,
        value=math.copysign(value, -1.0 if sign else 1.0),
        fraction=fraction,
        sign=sign,
        biased_exponent=biased,
        significand_field=significand_field,
        exponent=exponent,
        implicit_bit=implicit_bit,
    )


def split_fields(code: int, fmt: FloatFormat) -> tuple[int, int, int]:
    """Cut a code into sign, biased exponent and significand field.

    >>> split_fields(0xAE66, get_format("fp16"))
    (1, 11, 614)
    """
    sign = 1 if code & fmt.sign_mask else 0
    magnitude = code & ~fmt.sign_mask
    return sign, magnitude >> fmt.significand_bits, magnitude & ((1 << fmt.significand_bits) - 1)


def classify(code: int, fmt: FloatFormat) -> Kind:
    """Return the class of a code: zero, subnormal, normal, infinity or nan.

    >>> [classify(code, get_format("fp16")) for code in (0x8000, 0x03FF, 0x0400, 0xFC00, 0x7C01)]
    ['zero', 'subnormal', 'normal', 'infinity', 'nan']
    """
    magnitude = code & ~fmt.sign_mask
    if magnitude > fmt.largest_code:
        return "infinity" if magnitude == fmt.infinity_code else "nan"
    if fmt.has_subnormals and magnitude >> fmt.significand_bits == 0:
        return "zero" if magnitude == 0 else "subnormal"
    return "normal"


def check_code(code: int, fmt: FloatFormat) -> int:
    """Return the code as an int; raise TypeError or ValueError if the format has none such."""
    legal = f"{fmt.name} has codes 0 to {(1 << fmt.bits) - 1:#x}"
    if isinstance(code, bool) or not hasattr(code, "__index__"):
        raise TypeError(f"a code is an int, not {code!r} ({type(code).__name__}); {legal}")
    code = index(code)
    if not 0 <= code < 1 << fmt.bits:
        raise ValueError(f"code {code:#x} is out of range; {legal}")
    return code
