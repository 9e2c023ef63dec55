"""What a check may expect besides one exact value."""

import math
import struct
from dataclasses import dataclass
from typing import Any

from ampcourse.courseware.agent import Tree
from ampcourse.courseware.plain import encode, equal, show, to_number


@dataclass(frozen=True)
class Matcher:
    """Accepts some outcomes of a call; `text` completes "expected …" in a message."""

    text: str

    def accepts(self, outcome: dict[str, Any]) -> bool:
        """Return whether the outcome (see `agent.evaluate`) is right."""
        raise NotImplementedError


@dataclass(frozen=True)
class Exactly(Matcher):
    """The one value, compared by bits and type."""

    tree: Tree

    def accepts(self, outcome: dict[str, Any]) -> bool:
        return "value" in outcome and equal(self.tree, outcome["value"])


@dataclass(frozen=True)
class Between(Matcher):
    """A real number in a closed interval; NaN and booleans are refused."""

    low: float
    high: float

    def accepts(self, outcome: dict[str, Any]) -> bool:
        number = to_number(outcome.get("value"))
        return number is not None and self.low <= number <= self.high


@dataclass(frozen=True)
class Number(Matcher):
    """One real number, as an int, a float, a Fraction or numpy's; no boolean, no NaN."""

    value: float

    def accepts(self, outcome: dict[str, Any]) -> bool:
        return to_number(outcome.get("value")) == self.value


@dataclass(frozen=True)
class OneOf(Matcher):
    """Any of several exact values."""

    trees: tuple[Tree, ...]

    def accepts(self, outcome: dict[str, Any]) -> bool:
        return "value" in outcome and any(equal(tree, outcome["value"]) for tree in self.trees)


@dataclass(frozen=True)
class Ulps(Matcher):
    """A double at most `n` representable steps from `value`, of the same sign."""

    value: float
    n: int

    def accepts(self, outcome: dict[str, Any]) -> bool:
        number = to_number(outcome.get("value"))
        if not isinstance(number, float) or math.isnan(number):
            return False
        if math.copysign(1.0, number) != math.copysign(1.0, self.value):
            return False
        return abs(ordinal(number) - ordinal(self.value)) <= self.n


@dataclass(frozen=True)
class Raises(Matcher):
    """An exception of one of the named types, or derived from one; never a stub's by chance."""

    names: tuple[str, ...]

    def accepts(self, outcome: dict[str, Any]) -> bool:
        bases = set(outcome.get("error", {}).get("bases", []))
        # Python derives NotImplementedError, which an untouched stub raises, from RuntimeError.
        if "NotImplementedError" in bases - set(self.names):
            return False
        return bool(set(self.names) & bases)


def ordinal(number: float) -> int:
    """Return the code of |number| as a double: neighbours differ by one."""
    code: int = struct.unpack("<q", struct.pack("<d", abs(number)))[0]
    return code


def between(low: float, high: float) -> Matcher:
    """Expect a real number from `low` to `high`, both included."""
    if not low <= high:
        raise ValueError(f"between({low}, {high}) accepts nothing: give the smaller number first")
    return Between(f"a number from {low} to {high}", low, high)


def number(value: float) -> Matcher:
    """Expect a number equal to `value`, whatever type holds it."""
    return Number(repr(value), value)


def one_of(*values: Any) -> Matcher:
    """Expect exactly one of `values`."""
    trees = tuple(encode(value) for value in values)
    return OneOf("one of " + ", ".join(show(tree) for tree in trees), trees)


def ulps(value: float, n: int) -> Matcher:
    """Expect a float of the same sign, at most `n` double ulps from `value`."""
    return Ulps(f"{value!r} within {n} ulps", value, n)


def raises(*types: type[BaseException]) -> Matcher:
    """Expect an exception of one of the `types`."""
    names = tuple(kind.__name__ for kind in types)
    return Raises(f"{' or '.join(names)} to be raised", names)


def expect(expected: Any) -> Matcher:
    """Return `expected` itself if it is a matcher, else the matcher of that exact value."""
    if isinstance(expected, Matcher):
        return expected
    tree = encode(expected)
    return Exactly(show(tree), tree)
