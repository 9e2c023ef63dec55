"""From a number to its code, rounded exactly once."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from ampcourse.formats import FloatFormat, get_format, power_of_two
from ampcourse.operand import Number, read_operand
from ampcourse.rounding import (
    STOCHASTIC,
    BitGenerator,
    check_mode,
    check_randomness,
    floor_log2,
    round_to_precision,
)

#: What to do with a number too large for the format; None lets the rounding mode decide.
OVERFLOWS = (None, "infinity", "saturate")
Overflow = Literal["infinity", "saturate"] | None

#: Modes that carry an overflow to infinity, for positive and for negative numbers.
_OUTWARD = (
    {"nearest_even", "nearest_away", "up", STOCHASTIC},
    {"nearest_even", "nearest_away", "down", STOCHASTIC},
)


def encode(
    x: Number,
    fmt: str | FloatFormat,
    mode: str = "nearest_even",
    overflow: Overflow = None,
    subnormals: bool = True,
    *,
    random_bits: int | None = None,
    generator: BitGenerator | None = None,
) -> int:
    """Round a number to a format and return the code, an int from 0 to 2^bits - 1.

    ``x`` is an int, float, Fraction, Decimal or text ("0.1", "1e-8", "0x1.8p-3", "-inf",
    "nan"). Its exact value is rounded once, however many digits or whatever exponent it has.
    The sign of zero and of NaN is kept; a NaN loses its payload.

    A number overflows if, rounded with no largest exponent, it is larger in magnitude than
    the format's largest (IEEE 754-2019, 7.4). What comes out then:

    ==========  =====================================================================
    overflow    result
    ==========  =====================================================================
    None        The nearest modes give infinity; toward_zero and to_odd the largest
                finite number; up and down whichever of the two lies on their side;
                stochastic, if it went up past the largest, infinity.
                An infinity stays one (IEEE 754-2019, 6.1).
    "infinity"  Infinity in every mode.
    "saturate"  The largest finite number in every mode, for an infinity as well
                (OFP8 and MX: saturating conversion).
    ==========  =====================================================================

    Formats without infinity: E4M3 and E8M0 have a NaN where this table says infinity (OFP8,
    non-saturating conversion). FP6 and FP4 have neither; None saturates there in every mode
    (MX 6.3 asks for clamping, in FP8 elements too: pass "saturate" there), and "infinity"
    raises ValueError if the number overflows. NaN raises ValueError for FP6 and FP4.

    E8M0 has no sign and no zero, and MX does not say what becomes of numbers it cannot hold.
    Here: positive numbers round by the mode (nearest_even takes a tie, such as 1.5 or 3, to
    the larger power of two, since no significand of one bit is even: IEEE 754-2019, 4.3.1);
    below the smallest they become the smallest, 2^-127, in every mode; zero and negative
    numbers become NaN, or 2^-127 with "saturate". (ml_dtypes does the same with None; torch
    gives 2^-127 for zero and drops the sign.)

    ``subnormals=False`` flushes: if the rounded number is subnormal, a zero with its sign
    comes out. The number is rounded first, so what rounds up to the smallest normal number
    stays. (E8M0 has no subnormals; nothing changes there.)

    Mode "stochastic" takes ``random_bits`` (1 to 32; None is 32) and a ``generator``, a
    random.Random or whatever has its getrandbits; None is the module random. The rule is that
    of ``ampcourse.rounding.round_to_integer``. Zero, infinity, NaN and numbers that the format
    holds draw nothing.

    Raises ValueError for an unknown format, mode or overflow, for malformed text, and for
    random bits outside the range or with another mode; TypeError for other types of x.

    >>> hex(encode("0.1", "fp16")), hex(encode(-0.0, "fp16"))
    ('0x2e66', '0x8000')
    >>> hex(encode("65519.999", "fp16")), hex(encode(65520, "fp16"))
    ('0x7bff', '0x7c00')
    >>> hex(encode(1000, "e4m3")), hex(encode(1000, "e4m3", overflow="saturate"))
    ('0x7f', '0x7e')
    """
    fmt = get_format(fmt)
    check_mode(mode)
    check_randomness(mode, random_bits, generator)
    check_overflow(overflow)
    operand = read_operand(x)
    if operand.kind == "nan":
        code = _nan_code(fmt)
    elif (operand.sign and not fmt.signed) or (operand.is_zero and not fmt.has_zero):
        code = 0 if overflow == "saturate" else _nan_code(fmt)
    elif operand.kind == "infinity":
        code = overflow_code(fmt, overflow, outward=True)
    else:
        rounded = abs(
            round_to_precision(
                operand.fraction,
                fmt.precision,
                mode,
                fmt.emin,
                random_bits=random_bits,
                generator=generator,
            )
        )
        if not subnormals and fmt.has_subnormals and rounded < fmt.smallest_normal:
            code = 0
        elif rounded > fmt.max:
            code = overflow_code(fmt, overflow, outward=goes_outward(mode, operand.sign))
        else:
            code = _finite_code(rounded, fmt)
    return code | (fmt.sign_mask if operand.sign else 0)


def goes_outward(mode: str, sign: int) -> bool:
    """Whether a mode carries an overflow of this sign to infinity (IEEE 754-2019, 7.4)."""
    return mode in _OUTWARD[sign]


def overflow_code(fmt: FloatFormat, overflow: Overflow, outward: bool) -> int:
    """Return the code, without sign, that stands for a number too large for the format.

    Raises ValueError where infinity is asked of a format that has nothing like it.
    """
    if overflow is None:
        overflow = "infinity" if outward and fmt.has_nan else "saturate"
    if overflow == "saturate":
        return fmt.largest_code
    if fmt.infinity_code is not None:
        return fmt.infinity_code
    if fmt.nan_code is not None:
        return fmt.nan_code
    raise ValueError(
        f"the number is larger than {fmt.name}'s largest, {float(fmt.max):g}, and {fmt.name} has "
        'neither infinity nor NaN; use overflow="saturate" or None'
    )


def _nan_code(fmt: FloatFormat) -> int:
    if fmt.nan_code is None:
        raise ValueError(
            f"{fmt.name} has no code for NaN; only numbers and infinities (which saturate to "
            f"{float(fmt.max):g}) can be encoded"
        )
    return fmt.nan_code


def _finite_code(magnitude: Fraction, fmt: FloatFormat) -> int:
    """Return the code, without sign, of a magnitude that has the format's precision.

    Zero has biased exponent 0; so has E8M0's smallest, to which its underflows go.
    """
    exponent = max(floor_log2(magnitude), fmt.emin) if magnitude else fmt.emin
    integer = int(magnitude / power_of_two(exponent - fmt.significand_bits))
    implicit_bit, significand_field = divmod(integer, 1 << fmt.significand_bits)
    biased_exponent = exponent + fmt.bias if implicit_bit else 0
    return (biased_exponent << fmt.significand_bits) | significand_field


def check_overflow(overflow: str | None) -> None:
    """Raise ValueError unless the text is one of OVERFLOWS."""
    if overflow not in OVERFLOWS:
        raise ValueError(f'unknown overflow {overflow!r}; it is None, "infinity" or "saturate"')
