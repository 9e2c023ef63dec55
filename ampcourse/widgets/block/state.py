"""What the block FMA widget holds, and what each gesture turns it into; no widget library here."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import get_format
from ampcourse.tensor_core.configurations import (
    CONFIGURATIONS,
    Configuration,
    configuration,
)
from ampcourse.widgets.bits.state import number_text
from ampcourse.widgets.block import words
from ampcourse.widgets.power_text import read_number

#: Terms are counted from 0; the longest block of the table, FP8 on Hopper, has 32.
LAST_PLACE = 31


@dataclass(frozen=True)
class Entry:
    """A number as it was typed, in a format: the value that the block gets."""

    text: str
    format: str

    @property
    def value(self) -> float:
        """The number rounded to the format, to nearest; exact as a float."""
        return _read(self.text, self.format)[0]

    @property
    def exact(self) -> bool:
        """Whether the format has the number."""
        return _read(self.text, self.format)[1]


# A gesture changes one number of many and compares nine GPUs: reading text is most of the work.
@lru_cache(maxsize=1024)
def _read(text: str, format: str) -> tuple[float, bool]:
    typed = read_number(text)
    value = decode(encode(typed, format), format).value
    if isinstance(typed, float):
        return value, typed == value or typed != typed
    return value, math.isfinite(value) and Fraction(value) == typed


@dataclass(frozen=True)
class Term:
    """One product of the dot product: its place and its two factors as typed."""

    place: int
    a: str
    b: str

    def with_factor(self, name: str, text: str) -> Term:
        """Put another number in for "a" or "b"."""
        return replace(self, a=text) if name == "a" else replace(self, b=text)


@dataclass(frozen=True)
class BlockState:
    """The numbers, the GPU and the formats; `note` says what a change had to give up."""

    gpu: str
    input_format: str
    output_format: str
    terms: tuple[Term, ...]
    c: str
    note: str = ""

    @classmethod
    def of(
        cls,
        a: Sequence[str | float],
        b: Sequence[str | float],
        c: str | float,
        gpu: str,
        input_format: str,
        output_format: str,
    ) -> BlockState:
        """Check and collect the numbers; zero products get no term.

        Raises ValueError for malformed numbers, for sequences of different or too great
        length, and for a GPU that lacks a format.
        """
        if len(a) != len(b):
            raise ValueError(f"a has {len(a)} numbers and b {len(b)}; give one b for each a")
        if len(a) > LAST_PLACE + 1:
            raise ValueError(f"a has {len(a)} numbers; the widget shows {LAST_PLACE + 1} at most")
        rule = configuration(gpu, input_format, output_format)
        pairs = [(number_text(x), number_text(y)) for x, y in zip(a, b, strict=True)]
        terms = [Term(place, x, y) for place, (x, y) in enumerate(pairs)]
        formats = (rule.input_format, rule.output_format)
        state = cls(rule.gpu, *formats, tuple(terms), number_text(c))
        state = state.with_number("c", state.c)  # raises for malformed text
        shown = [term for term in terms if not state._is_zero(term)]
        return replace(state, terms=tuple(shown) or tuple(terms[:1]))

    @property
    def configuration(self) -> Configuration:
        """The block of the chosen GPU."""
        return configuration(self.gpu, self.input_format, self.output_format)

    def entry(self, field: str) -> Entry:
        """Return a number by the name of its field: "c", "a0", "b12"; KeyError if absent."""
        if field == "c":
            return Entry(self.c, self.output_format)
        term = {term.place: term for term in self.terms}[int(field[1:])]
        return Entry(term.a if field[0] == "a" else term.b, self.input_format)

    def vectors(self, length: int) -> tuple[list[float], list[float]]:
        """Return a and b with this many numbers, zero where there is no term."""
        a, b = [0.0] * length, [0.0] * length
        for term in self.terms:
            a[term.place] = Entry(term.a, self.input_format).value
            b[term.place] = Entry(term.b, self.input_format).value
        return a, b

    def with_number(self, field: str, text: str) -> BlockState:
        """Put a number into a field; raises ValueError for malformed text."""
        text = text.strip()
        read_number(text)  # raises before anything changes
        if field == "c":
            return replace(self, c=text, note="")
        place = int(field[1:])
        terms = [t.with_factor(field[0], text) if t.place == place else t for t in self.terms]
        return self._with_terms(terms)

    def moved(self, place: int, text: str) -> BlockState:
        """Put a term at another place; raises ValueError if it is taken or does not exist."""
        if not text.strip().isdecimal() or int(text) > LAST_PLACE:
            raise ValueError(words.wrong_place(text.strip(), LAST_PLACE))
        to = int(text)
        if to != place and to in {term.place for term in self.terms}:
            raise ValueError(words.taken_place(to))
        terms = [replace(t, place=to) if t.place == place else t for t in self.terms]
        return self._with_terms(terms)

    def added(self) -> BlockState:
        """Put 1 · 1 at the first free place; raises ValueError if there is none."""
        taken = {term.place for term in self.terms}
        free = [place for place in range(LAST_PLACE + 1) if place not in taken]
        if not free:
            raise ValueError(words.full(LAST_PLACE))
        return self._with_terms([*self.terms, Term(free[0], "1", "1")])

    def removed(self, place: int) -> BlockState:
        """Take a term away."""
        return self._with_terms([term for term in self.terms if term.place != place])

    def with_gpu(self, gpu: str) -> BlockState:
        """Choose a GPU; where it lacks the formats, others are taken and `note` says so.

        Raises ValueError for an unknown GPU.
        """
        # Every GPU has FP16; the record knows how the name is spelt.
        name = configuration(gpu, "fp16", "fp32").gpu
        return self._fitting(name, self.input_format, self.output_format)

    def with_formats(self, input_format: str, output_format: str) -> BlockState:
        """Choose formats, the nearest that the GPU has."""
        return self._fitting(self.gpu, input_format, output_format)

    def with_preset(self, name: str) -> BlockState:
        """Take the numbers of an example; those made for FP16 bring their formats along."""
        half = replace(self, input_format="fp16", output_format="fp32")
        formats = self if name == "random" else half
        terms, c = PRESETS[name](formats)
        return replace(formats, terms=terms, c=c, note="")

    def _with_terms(self, terms: list[Term]) -> BlockState:
        return replace(self, terms=tuple(sorted(terms, key=lambda t: t.place)), note="")

    def _fitting(self, gpu: str, input_format: str, output_format: str) -> BlockState:
        choices = formats_of(gpu)
        for wanted in ((input_format, output_format), (input_format, "fp32"), choices[0]):
            if wanted in choices:
                break
        note = ""
        if wanted != (input_format, output_format):
            texts = (f"{i} with {o} results" for i, o in ((input_format, output_format), wanted))
            note = words.no_such_format(gpu, *texts)
        return replace(self, gpu=gpu, input_format=wanted[0], output_format=wanted[1], note=note)

    def _is_zero(self, term: Term) -> bool:
        factors = (Entry(term.a, self.input_format), Entry(term.b, self.input_format))
        values = [factor.value for factor in factors]
        return 0.0 in values and all(abs(value) < float("inf") for value in values)


def formats_of(gpu: str) -> list[tuple[str, str]]:
    """Return the (input, output) formats that a GPU's Tensor Cores take."""
    pairs = ((c.input_format, c.output_format) for c in CONFIGURATIONS if c.gpu == gpu)
    return list(dict.fromkeys(pairs))


def _random(state: BlockState) -> tuple[tuple[Term, ...], str]:
    """Draw numbers around 1 that the formats hold, so that nothing is rounded on the way in."""

    def draw(format: str) -> str:
        bits = min(get_format(format).precision, 12)
        units = random.randrange(1, 2**bits) * random.choice((1, -1))
        return f"{units}*2^-{bits - 1 + random.randrange(5)}"

    factors = [(draw(state.input_format), draw(state.input_format)) for _ in range(8)]
    terms = tuple(Term(place, a, b) for place, (a, b) in enumerate(factors))
    return terms, draw(state.output_format)


def _unnormalised(state: BlockState) -> tuple[tuple[Term, ...], str]:
    """Let C end at the last place kept: one place less if 1.5·1.5 had the exponent 1."""
    terms = (Term(0, "1.5", "1.5"), Term(1, "-1.5", "1.5"))
    return terms, f"2^-{state.configuration.fraction_bits}"


#: The numbers of each example.
PRESETS: dict[str, Callable[[BlockState], tuple[tuple[Term, ...], str]]] = {
    "last_place": lambda _: ((Term(0, "1", "1"),), "-(1 - 2^-24)"),
    "which_gpu": lambda _: ((Term(0, "2^11", "1"), Term(4, "-2^11", "1")), "3*2^-14"),
    "crumbs": lambda _: (tuple(Term(k, "2^-13", "2^-13") for k in range(16)), "1"),
    "unnormalised": _unnormalised,
    "toward_zero": lambda _: ((Term(0, "1.5*2^-12", "2^-12"),), "1"),
    "random": _random,
}
