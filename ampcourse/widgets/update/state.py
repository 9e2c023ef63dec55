"""One weight update in one format: w + Δ exactly, rounded, and which updates are lost.

No widget library here; every number is an exact fraction.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ampcourse.decode import Decoded, decode
from ampcourse.encode import encode
from ampcourse.formats import FloatFormat, get_format, power_of_two
from ampcourse.operand import read_operand
from ampcourse.rounding import floor_log2, round_to_precision
from ampcourse.widgets.bits.state import number_text
from ampcourse.widgets.update import words

#: Slider positions in each binade; eight of them hit both a power of two and the next above.
PER_BINADE = 8
_BINADES_BELOW_GAP = 6


@dataclass(frozen=True)
class UpdateState:
    """A weight, an update and a rounding mode; `draws` counts (down, up) stochastic draws."""

    format: FloatFormat
    w_typed: str
    delta: str
    mode: str = "nearest_even"
    draws: tuple[int, int] = (0, 0)
    drawn_up: bool = False

    @classmethod
    def of(
        cls, fmt: str | FloatFormat, w: str | float, delta: str | float, mode: str
    ) -> UpdateState:
        """Take a weight and an update; the weight is rounded to the format, the update is not.

        Raises ValueError for an unknown or unsigned format, an unknown mode, malformed number
        text, and numbers that are not finite or too long to add exactly.
        """
        state = cls(get_format(fmt), "0", "0").with_mode(mode)
        return state.with_format(fmt).with_w(w).with_delta(delta)

    def with_format(self, fmt: str | FloatFormat) -> UpdateState:
        """Round the weight as it was typed to another format."""
        found = get_format(fmt)
        if not found.signed:
            raise ValueError(words.wants_sign(found.name))
        return replace(self, format=found, draws=(0, 0))

    def with_w(self, w: str | float) -> UpdateState:
        """Take another weight."""
        return replace(self, w_typed=_finite("w", w), draws=(0, 0))

    def with_delta(self, delta: str | float) -> UpdateState:
        """Take another update, sign included."""
        return replace(self, delta=_finite("Δ", delta), draws=(0, 0))

    def with_sign(self, negative: bool) -> UpdateState:
        """Give the update this sign."""
        bare = self.delta.lstrip("+-")
        return self.with_delta(f"-{bare}" if negative else bare)

    def with_mode(self, mode: str) -> UpdateState:
        """Round another way."""
        if mode not in words.MODES:
            raise ValueError(words.wants_mode(mode))
        return replace(self, mode=mode, draws=(0, 0))

    def drawn(self, generator: random.Random, times: int = 1) -> UpdateState:
        """Round stochastically some more times; the last draw is the one that is shown."""
        chance, state = self.probability_up, self
        for _ in range(times):
            up = generator.randrange(chance.denominator) < chance.numerator
            down_count, up_count = state.draws
            draws = (down_count + (not up), up_count + up)
            state = replace(state, draws=draws, drawn_up=up)
        return state

    # The slider

    @cached_property
    def slider_exponents(self) -> tuple[int, int]:
        """The exponents of Δ at both ends: far below the gap, and w's own (or a wide range)."""
        lowest = floor_log2(self.gap_below) - _BINADES_BELOW_GAP
        highest = floor_log2(self.w) if self.w else floor_log2(self.gap_below)
        return lowest, max(highest, lowest + 2 * _BINADES_BELOW_GAP)

    @property
    def slider_end(self) -> int:
        """The highest slider position."""
        lowest, highest = self.slider_exponents
        return (highest - lowest) * PER_BINADE

    @property
    def slider_position(self) -> int:
        """The position at or below the size of Δ."""
        if not self.change:
            return 0
        exponent = floor_log2(self.change)
        part = int((abs(self.change) / power_of_two(exponent) - 1) * PER_BINADE)
        position = (exponent - self.slider_exponents[0]) * PER_BINADE + part
        return min(max(position, 0), self.slider_end)

    def slid(self, position: int) -> UpdateState:
        """Take Δ from the slider: 2^e (1 + j/8), which is exact; the sign stays."""
        binade, part = divmod(min(max(position, 0), self.slider_end), PER_BINADE)
        exponent = self.slider_exponents[0] + binade
        size = power_of_two(exponent) * (1 + Fraction(part, PER_BINADE))
        text = number_text(float(size))
        if read_operand(text).fraction != size:  # the shortest digits stand for the double only
            text = f"0x1.{2 * part:x}p{exponent}"
        return self.with_delta(f"-{text}" if self.negative else text)

    # The numbers

    @cached_property
    def w_code(self) -> int:
        """The code of the weight: the nearest number of the format, the largest if too large."""
        return encode(self.w_typed, self.format, overflow="saturate")

    @cached_property
    def w(self) -> Fraction:
        """The weight, exactly."""
        fraction = decode(self.w_code, self.format).fraction
        assert fraction is not None
        return fraction

    @cached_property
    def w_is_typed(self) -> bool:
        """Whether the number that was typed is in the format."""
        return read_operand(self.w_typed).fraction == self.w

    @cached_property
    def change(self) -> Fraction:
        """The update, exactly as typed."""
        return read_operand(self.delta).fraction

    @property
    def negative(self) -> bool:
        """Whether Δ has a minus sign."""
        return bool(read_operand(self.delta).sign)

    @cached_property
    def exact(self) -> Fraction:
        """The sum w + Δ before rounding."""
        return self.w + self.change

    @cached_property
    def around(self) -> tuple[Fraction, Fraction]:
        """The numbers at or below and at or above the sum, as if there were no largest one."""
        fmt = self.format
        low, high = (
            round_to_precision(self.exact, fmt.precision, mode, fmt.emin) for mode in ("down", "up")
        )
        return low, high

    @cached_property
    def probability_up(self) -> Fraction:
        """The chance that stochastic rounding goes up: the sum's place between its neighbours."""
        low, high = self.around
        return (self.exact - low) / (high - low) if high > low else Fraction(0)

    @cached_property
    def result(self) -> Decoded:
        """What w + Δ is rounded to."""
        if self.mode == "stochastic":
            code = encode(self.around[int(self.drawn_up)], self.format)
        else:
            code = encode(self.exact, self.format, self.mode)
        return decode(code, self.format)

    @property
    def lost(self) -> bool:
        """Whether w + Δ == w although Δ is not 0."""
        return self.result.fraction == self.w and self.change != 0

    @property
    def steps(self) -> int | None:
        """How many numbers of the format the weight moved on; None for an infinity or NaN."""
        if self.result.fraction is None:
            return None
        return ordinal(self.result.code, self.format) - ordinal(self.w_code, self.format)

    @cached_property
    def gap_above(self) -> Fraction:
        """The distance from w to the next number above, as if there were no largest one."""
        return _gap(self.w, self.format, up=True)

    @cached_property
    def gap_below(self) -> Fraction:
        """The distance from w to the next number below, as if there were no largest one."""
        return _gap(self.w, self.format, up=False)

    @cached_property
    def lost_up(self) -> tuple[Fraction | None, bool]:
        """How large an update upward may be and still be lost, and whether that is included.

        None where any size is lost: at the largest number in a mode that never passes it.
        """
        if self._stays(up=True):
            return None, True
        return self._reach(self.gap_above, away=self.w >= 0, mode_that_moves="up")

    @cached_property
    def lost_down(self) -> tuple[Fraction | None, bool]:
        """The same for an update downward."""
        if self._stays(up=False):
            return None, True
        return self._reach(self.gap_below, away=self.w <= 0, mode_that_moves="down")

    def _reach(self, gap: Fraction, away: bool, mode_that_moves: str) -> tuple[Fraction, bool]:
        if self.mode == "nearest_even":
            return gap / 2, self.w_code % 2 == 0
        if self.mode in (mode_that_moves, "stochastic") or (
            self.mode == "toward_zero" and not away
        ):
            return Fraction(0), True
        return gap, False

    def _stays(self, up: bool) -> bool:
        """Whether w is the largest number and even twice as much is rounded back to it."""
        fmt = self.format
        if abs(self.w) != fmt.max or (self.w > 0) != up or self.mode == "stochastic":
            return False
        return encode(2 * self.w, fmt, self.mode) == self.w_code


def ordinal(code: int, fmt: FloatFormat) -> int:
    """Number the values of a format in their order, zero being 0.

    >>> [ordinal(code, get_format("fp16")) for code in (0x0001, 0x8000, 0x8001)]
    [1, 0, -1]
    """
    magnitude = code & ~fmt.sign_mask
    return -magnitude if code & fmt.sign_mask else magnitude


def _gap(w: Fraction, fmt: FloatFormat, up: bool) -> Fraction:
    quantum = power_of_two(max(floor_log2(w), fmt.emin) - fmt.significand_bits) if w else None
    if quantum is None:
        return fmt.smallest
    # Toward zero, a power of two has the numbers of the binade below beside it.
    inward = (w > 0) != up
    border = abs(w) == power_of_two(floor_log2(w)) and abs(w) > fmt.smallest_normal
    return quantum / 2 if inward and border else quantum


def _finite(what: str, number: str | float) -> str:
    text = number_text(number)
    operand = read_operand(text)
    if operand.kind != "finite":
        raise ValueError(words.wants_finite(what, text))
    if not operand.exact:
        raise ValueError(words.wants_written(what, text if len(text) < 40 else text[:37] + "…"))
    return text
