"""Rounding as a scalar reference: exact fractions in, exact fractions out.

Written to be read. A number is divided by its quantum (the weight of the last bit that the
precision keeps), the quotient is rounded to an integer, and the quantum is multiplied back.
The mode decides only the middle step. ``ampcourse.quantize`` does the same to whole arrays.
"""

from __future__ import annotations

import random
from difflib import get_close_matches
from fractions import Fraction
from typing import Protocol

from ampcourse.formats import power_of_two

#: The rounding modes. The first five are IEEE 754-2019's rounding-direction attributes
#: (4.3.1 and 4.3.2): roundTiesToEven, roundTiesToAway, roundTowardZero, roundTowardPositive,
#: roundTowardNegative. "to_odd" is not in the standard's list; it keeps a sign of inexactness
#: in the last bit, so that a second rounding to at least two bits fewer is right (Boldo and
#: Melquiond, Emulation of a FMA and correctly rounded sums: proved algorithms using rounding
#: to odd, IEEE Transactions on Computers 57(4), 2008).
MODES = ("nearest_even", "nearest_away", "toward_zero", "up", "down", "to_odd")

#: The mode whose result depends on a random integer; every function that takes a mode takes
#: it too, with ``random_bits`` and a ``generator``.
STOCHASTIC = "stochastic"

#: How many random bits stochastic rounding uses at most, and if not told otherwise.
MOST_RANDOM_BITS = 32


class BitGenerator(Protocol):
    """A source of random integers: a random.Random, or the module random itself."""

    def getrandbits(self, k: int, /) -> int:
        """Return an integer from 0 to 2^k - 1, all equally likely."""


def round_to_integer(
    x: Fraction,
    mode: str = "nearest_even",
    *,
    random_bits: int | None = None,
    generator: BitGenerator | None = None,
) -> int:
    """Round an exact number to one of the two integers around it, as the mode says.

    "stochastic" draws an integer u of ``random_bits`` = r bits from the generator (by default
    32 bits from the module random). The magnitude's fraction f is cut to r bits and goes up
    exactly if floor(f x 2^r) + u carries, that is reaches 2^r: with probability
    floor(f x 2^r) / 2^r. It is the magnitude that is rounded, so x and -x fare alike and
    negative numbers do not drift upwards. If r bits hold f, the expected value of the result
    is x; if not, it falls short of |x| by less than 2^-r. An integer stays itself.

    Raises ValueError for an unknown mode and for random bits outside 1 to 32, or with a mode
    that draws none; TypeError for a generator without getrandbits.

    >>> [round_to_integer(Fraction(5, 2), mode) for mode in MODES]
    [2, 3, 2, 3, 2, 3]
    >>> [round_to_integer(Fraction(-5, 2), mode) for mode in MODES]
    [-2, -3, -2, -2, -3, -3]
    >>> draws = random.Random(2026)
    >>> sum(round_to_integer(Fraction(1, 4), "stochastic", generator=draws) for _ in range(1000))
    260
    """
    check_mode(mode)
    bits = check_randomness(mode, random_bits, generator)
    if mode == STOCHASTIC:
        return _round_stochastically(x, bits, random if generator is None else generator)
    below, remainder = divmod(x.numerator, x.denominator)
    if remainder == 0:
        return below
    above = below + 1
    if mode == "down":
        return below
    if mode == "up":
        return above
    if mode == "toward_zero":
        return below if x > 0 else above
    if mode == "to_odd":
        return below if below % 2 else above
    if 2 * remainder != x.denominator:
        return below if 2 * remainder < x.denominator else above
    if mode == "nearest_even":
        return above if below % 2 else below
    return above if x > 0 else below  # nearest_away


def _round_stochastically(x: Fraction, bits: int, generator: BitGenerator) -> int:
    if not hasattr(generator, "getrandbits"):
        raise TypeError(
            f"a generator for one number is a random.Random, not {generator!r} "
            f"({type(generator).__name__})"
        )
    magnitude = abs(x)
    below = magnitude.numerator // magnitude.denominator
    fraction = magnitude - below
    if fraction:
        carry = int(fraction * (1 << bits)) + generator.getrandbits(bits) >= 1 << bits
        below += carry
    return below if x > 0 else -below


def round_to_precision(
    x: Fraction,
    precision: int,
    mode: str = "nearest_even",
    emin: int | None = None,
    *,
    random_bits: int | None = None,
    generator: BitGenerator | None = None,
) -> Fraction:
    """Round an exact number to a number of significant bits, with no largest exponent.

    This is the rounded result "as if the exponent range were unbounded" that decides
    overflow (IEEE 754-2019, 7.4). With ``emin`` the numbers below 2^emin keep the quantum of
    that exponent, which is gradual underflow: fewer bits, same spacing, down to zero.

    Raises as round_to_integer does, and ValueError for a precision below 1.

    >>> round_to_precision(Fraction(2049), 11)
    Fraction(2048, 1)
    >>> round_to_precision(Fraction(3, 2**26), 11) == Fraction(3, 2**26)
    True
    >>> round_to_precision(Fraction(3, 2**26), 11, emin=-14) == Fraction(1, 2**24)
    True
    """
    if precision < 1:
        raise ValueError(f"precision = {precision} is below 1; a significand has a leading bit")
    if x == 0:
        check_mode(mode)
        check_randomness(mode, random_bits, generator)
        return x
    exponent = floor_log2(x)
    if emin is not None:
        exponent = max(exponent, emin)
    quantum = power_of_two(exponent - (precision - 1))
    integer = round_to_integer(x / quantum, mode, random_bits=random_bits, generator=generator)
    return integer * quantum


def floor_log2(x: Fraction) -> int:
    """Return the exponent e with 2^e <= |x| < 2^(e + 1), exactly; x must not be zero.

    Raises ValueError for zero, which has no exponent.

    >>> floor_log2(Fraction(1, 10)), floor_log2(Fraction(-8))
    (-4, 3)
    """
    if x == 0:
        raise ValueError("0 has no binary exponent")
    numerator, denominator = abs(x.numerator), x.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    # An a-bit number over a b-bit one lies between 2^(a-b-1) and 2^(a-b+1).
    if exponent >= 0:
        reached = numerator >= denominator << exponent
    else:
        reached = numerator << -exponent >= denominator
    return exponent if reached else exponent - 1


def check_mode(mode: str) -> None:
    """Raise ValueError unless the text is one of MODES or "stochastic"."""
    known = (*MODES, STOCHASTIC)
    if mode in known:
        return
    close = get_close_matches(str(mode).lower(), known, n=1)
    suggestion = f" did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"unknown rounding mode {mode!r};{suggestion} the modes are {', '.join(known)}"
    )


def check_randomness(mode: str, random_bits: int | None, generator: object) -> int:
    """Return how many random bits a mode draws; 0 for all modes but "stochastic".

    Raises TypeError and ValueError as round_to_integer says. The generator is only looked at
    where no mode needs it: what a generator is depends on what is rounded.
    """
    if mode != STOCHASTIC:
        if random_bits is not None or generator is not None:
            raise ValueError(
                f'mode {mode!r} draws no random bits; random_bits and generator go with mode "'
                f'{STOCHASTIC}"'
            )
        return 0
    if random_bits is None:
        return MOST_RANDOM_BITS
    if isinstance(random_bits, bool) or not isinstance(random_bits, int):
        raise TypeError(
            f"random_bits must be an int, not {random_bits!r} ({type(random_bits).__name__})"
        )
    if not 1 <= random_bits <= MOST_RANDOM_BITS:
        raise ValueError(f"random_bits = {random_bits} is outside 1 to {MOST_RANDOM_BITS}")
    return random_bits
