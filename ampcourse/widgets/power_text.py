"""Small sums of powers as people write them on paper: `2^11`, `3·2^-14`, `1 - 2^-24`.

A plain number text (see `ampcourse.number_text`) is one too. Everything stays exact.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from fractions import Fraction

from ampcourse.number_text import NumberTextError
from ampcourse.operand import Operand, read_operand

#: Wider than any format of the course; beyond it a power would only cost time.
LARGEST_EXPONENT = 1200
_LONGEST = 120

_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F_.]+(?:[pP][+-]?[0-9]+)?|[0-9_]*\.?[0-9_]*(?:[eE][+-]?[0-9]+)?", re.ASCII
)
_POWER = re.compile(r"\*\*|\^")
_TIMES = re.compile(r"[*·×](?!\*)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4}(?![0-9])", re.ASCII)


def read_number(text: str) -> Fraction | float:
    """Read a number or a small sum of products of powers.

    The result is a Fraction, or a float for an infinity, a NaN and minus zero. Raises
    NumberTextError, a ValueError that shows the place, for anything else.

    >>> read_number("3·2^-14"), read_number("-(1 - 2^-2)"), read_number("-inf")
    (Fraction(3, 16384), Fraction(-3, 4), -inf)
    >>> read_number("2^")
    Traceback (most recent call last):
    ampcourse.number_text.NumberTextError: not a number: a whole exponent is expected (position 2)
        2^
          ^
    """
    # A minus sign of typography is one character too, so positions stay right.
    plain = text.replace("−", "-")
    with suppress(NumberTextError):
        return _value(read_operand(plain))
    return _Sum(plain).read()


def _value(operand: Operand) -> Fraction | float:
    sign = -1.0 if operand.sign else 1.0
    if operand.kind == "nan":
        return math.nan
    if operand.kind == "infinity":
        return sign * math.inf
    return operand.fraction if operand.magnitude or not operand.sign else -0.0


class _Sum:
    """A text read from left to right: a sum of products of powers, with brackets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> Fraction:
        if len(self.text) > _LONGEST:
            raise NumberTextError(self.text, _LONGEST, f"over {_LONGEST} characters")
        total = self._sum()
        if self.at < len(self.text):
            raise self._error(f"the number should end before {self.text[self.at]!r}")
        return total

    def _sum(self) -> Fraction:
        self._take(_SPACE)
        sign = -1 if self._symbol("-") else 1
        if sign > 0:
            self._symbol("+")
        total = sign * self._product()
        while True:
            if self._symbol("+"):
                total += self._product()
            elif self._symbol("-"):
                total -= self._product()
            else:
                return total

    def _product(self) -> Fraction:
        product = self._power()
        while True:
            if self._take(_TIMES):
                self._take(_SPACE)
                product *= self._power()
            elif self._symbol("/"):
                place = self.at
                divisor = self._power()
                if not divisor:
                    raise NumberTextError(self.text, place, "this divides by zero")
                product /= divisor
            else:
                return product

    def _power(self) -> Fraction:
        if self._symbol("("):
            inner = self._sum()
            if not self._symbol(")"):
                raise self._error("a closing bracket is expected")
            return inner
        place = self.at
        number = self._take(_NUMBER)
        if not number:
            raise self._error("a number is expected here")
        try:
            base = read_operand(number).fraction
        except NumberTextError as error:
            raise NumberTextError(self.text, place + error.position, error.reason) from None
        self._take(_SPACE)
        return self._raised(base) if self._take(_POWER) else base

    def _raised(self, base: Fraction) -> Fraction:
        self._take(_SPACE)
        bracket = self._symbol("(")
        place = self.at
        digits = self._take(_INTEGER)
        if not digits:
            raise self._error("a whole exponent is expected")
        exponent = int(digits)
        if abs(exponent) > LARGEST_EXPONENT or (exponent < 0 and not base):
            legal = f"an exponent goes from -{LARGEST_EXPONENT} to {LARGEST_EXPONENT}"
            reason = legal if base else "this divides by zero"
            raise NumberTextError(self.text, place, reason)
        self._take(_SPACE)
        if bracket and not self._symbol(")"):
            raise self._error("a closing bracket is expected")
        # A base with a long exponent of its own (1e300) is cut as `operand` does.
        return base**exponent

    def _symbol(self, symbol: str) -> bool:
        found = self.text.startswith(symbol, self.at)
        if found:
            self.at += len(symbol)
            self._take(_SPACE)
        return found

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        taken = match.group() if match else ""
        self.at += len(taken)
        return taken

    def _error(self, reason: str) -> NumberTextError:
        return NumberTextError(self.text, self.at, reason)
