"""Floating-point formats as records: one frozen FloatFormat each, and the table of them.

Everything else in the course takes a format as an argument, so a rule of a format is a
field here and nowhere else. Sources: IEEE 754-2019, clause 3.4 and table 3.5 (binary16,
binary32, binary64); OCP 8-bit Floating Point Specification (OFP8) 1.0 for E5M2 and E4M3;
OCP Microscaling Formats (MX) Specification 1.0, section 5.3 for the FP6 and FP4 elements
and section 5.4 for the E8M0 scale. bfloat16 and TF32 follow the IEEE layout with other
widths.

OCP's E4M3 is what torch and ml_dtypes call ``float8_e4m3fn``; ml_dtypes' ``float8_e4m3``
and the ``fnuz`` types are other formats, which the course leaves out. ``library_name`` holds
that mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal, get_args

SpecialCodes = Literal["ieee", "all_ones_nan", "none"]


@lru_cache(maxsize=4096)
def power_of_two(exponent: int) -> Fraction:
    """Return 2 to a positive or negative integer power, exactly.

    >>> power_of_two(-3)
    Fraction(1, 8)
    """
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@dataclass(frozen=True)
class FloatFormat:
    """One binary floating-point format: how wide its fields are and which codes are special.

    A code is, from the top bit down: the sign (if ``signed``), the biased exponent, and the
    trailing significand field. A normal number is
    (-1)^sign x 2^(biased exponent - bias) x (1 + field / 2^significand_bits).

    Every value is exact as a Python float. Raises ValueError for widths outside 2 to 11
    exponent bits and 0 to 52 significand bits, for a bias that leads out of the range of
    float, and for "ieee" special codes without a significand field to tell infinity from NaN.

    >>> FP16.bits, FP16.precision, FP16.emin, FP16.emax
    (16, 11, -14, 15)
    >>> FP16.max, hex(FP16.largest_code)
    (Fraction(65504, 1), '0x7bff')
    >>> E4M3.max, hex(E4M3.largest_code), E4M3.has_infinity
    (Fraction(448, 1), '0x7e', False)
    """

    name: str
    #: Width of the biased exponent field (w in IEEE 754).
    exponent_bits: int
    #: Width of the trailing significand field (t in IEEE 754), without the implicit bit.
    significand_bits: int
    #: What is subtracted from the biased exponent of a normal number.
    bias: int
    #: "ieee": the top biased exponent means infinity (field zero) or NaN (field not zero).
    #: "all_ones_nan": exponent and significand bits all ones mean NaN; there is no infinity.
    #: "none": every code is a number.
    special_codes: SpecialCodes = "ieee"
    #: Whether there is a sign bit.
    signed: bool = True
    #: Whether biased exponent 0 holds zero and the subnormals. If not, it is one more exponent
    #: of normal numbers, and the format has no zero.
    has_subnormals: bool = True
    #: The dtype's name in torch or ml_dtypes; empty where neither has it.
    library_name: str = ""

    def __post_init__(self) -> None:
        _check_width("exponent_bits", self.exponent_bits, 2, 11)
        lowest = 1 if self.special_codes == "ieee" else 0
        _check_width("significand_bits", self.significand_bits, lowest, 52)
        if self.special_codes not in get_args(SpecialCodes):
            legal = ", ".join(get_args(SpecialCodes))
            raise ValueError(f"special_codes = {self.special_codes!r} is none of {legal}")
        if self.emax > 1023 or self.emin - self.significand_bits < -1074:
            raise ValueError(f"bias = {self.bias} gives {self.name} values that no float holds")

    @property
    def bits(self) -> int:
        """Width of a code."""
        return int(self.signed) + self.exponent_bits + self.significand_bits

    @property
    def precision(self) -> int:
        """Bits of the significand with its implicit bit (p in IEEE 754)."""
        return self.significand_bits + 1

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal number, and of all subnormals."""
        return (1 if self.has_subnormals else 0) - self.bias

    @property
    def emax(self) -> int:
        """Exponent of the largest finite number."""
        return (self.largest_code >> self.significand_bits) - self.bias

    @property
    def sign_mask(self) -> int:
        """The sign bit alone, as a code; 0 in an unsigned format."""
        return 1 << (self.bits - 1) if self.signed else 0

    @property
    def largest_code(self) -> int:
        """The code of the largest finite number: the last one below the special codes."""
        magnitude_bits = self.exponent_bits + self.significand_bits
        all_ones = (1 << magnitude_bits) - 1
        if self.special_codes == "ieee":
            return all_ones - (1 << self.significand_bits)
        return all_ones - 1 if self.special_codes == "all_ones_nan" else all_ones

    @property
    def infinity_code(self) -> int | None:
        """The code of positive infinity; None where the format has none."""
        return self.largest_code + 1 if self.has_infinity else None

    @property
    def nan_code(self) -> int | None:
        """The code that a new NaN gets; None where the format has none.

        IEEE formats set the top bit of the significand field, which makes the NaN quiet
        (IEEE 754-2019, 6.2.1); the rest of the field, the payload, is zero.
        """
        if self.special_codes == "none":
            return None
        if self.special_codes == "all_ones_nan":
            return self.largest_code + 1
        return self.largest_code + 1 + (1 << (self.significand_bits - 1))

    @property
    def has_infinity(self) -> bool:
        """Whether the format has codes for plus and minus infinity."""
        return self.special_codes == "ieee"

    @property
    def has_nan(self) -> bool:
        """Whether at least one code is a NaN."""
        return self.special_codes != "none"

    @property
    def has_zero(self) -> bool:
        """Whether zero has a code; only E8M0 has none."""
        return self.has_subnormals

    @cached_property
    def max(self) -> Fraction:
        """The largest finite number."""
        field = self.largest_code & ((1 << self.significand_bits) - 1)
        significand = (1 << self.significand_bits) + field
        return significand * power_of_two(self.emax - self.significand_bits)

    @cached_property
    def smallest_normal(self) -> Fraction:
        """The smallest positive number with an implicit one (torch.finfo calls it tiny)."""
        return power_of_two(self.emin)

    @cached_property
    def smallest_subnormal(self) -> Fraction | None:
        """The smallest positive number of a format with subnormals; None for E8M0."""
        return self.smallest if self.has_subnormals else None

    @cached_property
    def smallest(self) -> Fraction:
        """The smallest positive number, subnormal or (E8M0) normal."""
        below_one = self.significand_bits if self.has_subnormals else 0
        return power_of_two(self.emin - below_one)

    @cached_property
    def eps(self) -> Fraction:
        """The distance from 1 to the next larger number of this precision."""
        return power_of_two(-self.significand_bits)


def ieee_like(exponent_bits: int, significand_bits: int) -> FloatFormat:
    """Return a format with IEEE 754's rules and the given field widths.

    The bias is 2^(exponent_bits - 1) - 1 and the top biased exponent is reserved (IEEE
    754-2019, 3.4). The widths reach from 2 + 1 bits to 11 + 52; others raise ValueError.
    The name has the prefix ``ieee_``, because with OCP's E4M3 the same widths have other rules.

    >>> ieee_like(4, 3).name, ieee_like(4, 3).max, E4M3.max
    ('ieee_e4m3', Fraction(240, 1), Fraction(448, 1))
    """
    _check_width("exponent_bits", exponent_bits, 2, 11)
    _check_width("significand_bits", significand_bits, 1, 52)
    name = f"ieee_e{exponent_bits}m{significand_bits}"
    return FloatFormat(name, exponent_bits, significand_bits, (1 << (exponent_bits - 1)) - 1)


def get_format(fmt: str | FloatFormat) -> FloatFormat:
    """Return the format of this name, or the record itself if it is one.

    Names are those of FORMATS or of the torch and ml_dtypes dtypes; upper and lower case are
    the same. Raises ValueError for an unknown name and TypeError for anything but text or a
    FloatFormat.

    >>> get_format("FP16") is get_format("float16") is FP16
    True
    """
    if isinstance(fmt, FloatFormat):
        return fmt
    if not isinstance(fmt, str):
        raise TypeError(
            f"a format is a FloatFormat or a name such as 'fp16', not {fmt!r} "
            f"({type(fmt).__name__}); the names are {', '.join(FORMATS)}"
        )
    found = _BY_NAME.get(fmt.strip().lower())
    if found is None:
        raise ValueError(_unknown_name(fmt))
    return found


def _unknown_name(name: str) -> str:
    close = get_close_matches(name.strip().lower(), _BY_NAME, n=1)
    suggestion = f" did you mean {close[0]!r}?" if close else ""
    return (
        f"unknown format {name!r};{suggestion} the names are {', '.join(FORMATS)}, "
        "and ieee_like(exponent_bits, significand_bits) makes others"
    )


def _check_width(field: str, width: int, lowest: int, highest: int) -> None:
    if isinstance(width, bool) or not isinstance(width, int):
        raise TypeError(f"{field} must be an int, not {width!r} ({type(width).__name__})")
    if not lowest <= width <= highest:
        raise ValueError(f"{field} = {width} is outside {lowest} to {highest}")


FP64 = FloatFormat("fp64", 11, 52, bias=1023, library_name="float64")
FP32 = FloatFormat("fp32", 8, 23, bias=127, library_name="float32")
TF32 = FloatFormat("tf32", 8, 10, bias=127)
FP16 = FloatFormat("fp16", 5, 10, bias=15, library_name="float16")
BF16 = FloatFormat("bf16", 8, 7, bias=127, library_name="bfloat16")
E5M2 = FloatFormat("e5m2", 5, 2, bias=15, library_name="float8_e5m2")
E4M3 = FloatFormat("e4m3", 4, 3, 7, "all_ones_nan", library_name="float8_e4m3fn")
E3M2 = FloatFormat("e3m2", 3, 2, 3, "none", library_name="float6_e3m2fn")
E2M3 = FloatFormat("e2m3", 2, 3, 1, "none", library_name="float6_e2m3fn")
E2M1 = FloatFormat("e2m1", 2, 1, 1, "none", library_name="float4_e2m1fn")
E8M0 = FloatFormat(
    "e8m0",
    exponent_bits=8,
    significand_bits=0,
    bias=127,
    special_codes="all_ones_nan",
    signed=False,
    has_subnormals=False,
    library_name="float8_e8m0fnu",
)

#: Every format of the course by lower-case name, widest first, the scale format last.
FORMATS: Mapping[str, FloatFormat] = MappingProxyType(
    {f.name: f for f in (FP64, FP32, TF32, FP16, BF16, E5M2, E4M3, E3M2, E2M3, E2M1, E8M0)}
)

_BY_NAME = {
    **FORMATS,
    **{f.library_name: f for f in FORMATS.values() if f.library_name},
}
