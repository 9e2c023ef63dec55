"""Everything the explorer shows about a state, worked out as plain data.

Markup is that of `numerals`. A piece is a role (a field's name, "implicit" or "") and markup,
so that the browser can colour what belongs to a field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ampcourse.decode import Decoded, decode
from ampcourse.neighbours import gaps, neighbours
from ampcourse.widgets import numerals
from ampcourse.widgets.bits import words
from ampcourse.widgets.bits.deviation import Deviation, deviation, fate, quantum_exponent
from ampcourse.widgets.bits.number_line import number_line
from ampcourse.widgets.bits.state import BitState

Pieces = list[tuple[str, str]]


@dataclass(frozen=True)
class Row:
    """One line of the read-outs; `full` is what to copy where the pieces shorten it."""

    key: str
    pieces: Pieces
    full: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return what the browser draws."""
        pieces = [list(piece) for piece in self.pieces]
        return {"key": self.key, "term": words.TERMS[self.key], "pieces": pieces, "full": self.full}

    @property
    def text(self) -> str:
        """The line for a terminal."""
        return numerals.plain("".join(markup for _, markup in self.pieces))


def readout(state: BitState) -> dict[str, Any]:
    """Return every read-out of a state; the browser draws it and computes nothing."""
    decoded = decode(state.code, state.format)
    return {
        "bits": f"{state.code:0{state.format.bits}b}",
        "kind": words.KINDS[decoded.kind],
        "implicit": _implicit(decoded),
        "formula": [list(piece) for piece in formula(decoded)],
        "rows": [row.as_data() for row in rows(state)],
        "line": number_line(decoded, state.typed),
        "note": state.note,
        "sentence": sentence(state),
        "typed": state.typed,
        "exponentField": decoded.biased_exponent,
        # As text: 52 bits are exact as a JavaScript number, but nothing should rest on that.
        "significandField": str(decoded.significand_field),
    }


def rows(state: BitState) -> list[Row]:
    """Return the read-outs in reading order."""
    decoded = decode(state.code, state.format)
    error = deviation(decoded, state.typed)
    return [
        _value(decoded),
        Row("fraction", [("", _fraction(decoded))]),
        Row("hex", [("", numerals.hex_code(state.code, state.format.bits))]),
        Row("biased", _biased(decoded)),
        Row("exponent", [("", _exponent(decoded))]),
        Row("significand", _significand(decoded)),
        _neighbour(decoded, "below"),
        _neighbour(decoded, "above"),
        Row("error", [("", _error(error, state))]),
    ]


def value_markup(decoded: Decoded) -> str:
    """Write the value with all its digits, cut in the middle if there are many."""
    return numerals.typeset(numerals.shorten(numerals.exact(decoded.value)))


def formula(decoded: Decoded) -> Pieces:
    """Write the value as the formula has it: sign, power of two, significand."""
    fmt = decoded.format
    if decoded.exponent is None or decoded.fraction is None:
        return [("", words.formula_of_special(decoded.kind, decoded.sign, fmt))]
    sign: Pieces = [("sign", f"(-1)^{{{decoded.sign}}}"), ("", " × ")] if fmt.signed else []
    power = f"2^{{{_effective_exponent(decoded)} - {fmt.bias}}}"
    field = f"{decoded.significand_field}/2^{{{fmt.significand_bits}}}"
    significand: Pieces = [("", " × "), ("implicit", str(decoded.implicit_bit))]
    if fmt.significand_bits:
        plus: Pieces = [("", " + "), ("significand", field), ("", ")")]
        significand = [("", " × ("), ("implicit", str(decoded.implicit_bit)), *plus]
    return [*sign, ("exponent", power), *significand, ("", numerals.equals(_short(decoded)))]


def sentence(state: BitState) -> str:
    """Tell the state in one sentence, for a screen reader and for a terminal."""
    decoded = decode(state.code, state.format)
    error = deviation(decoded, state.typed)
    tail = ""
    if error.absolute == 0:
        tail = words.exactly(_typed(state))
    elif error.ulps is not None:
        ulps = numerals.spoken(numerals.about(abs(error.ulps), 3, 5))
        tail = words.distance(ulps, error.ulps < 0, _typed(state))
    value = words.KINDS[decoded.kind] if decoded.fraction is None else _short(decoded)
    code = numerals.hex_code(state.code, state.format.bits)
    name = words.format_name(state.format, state.custom)
    told = words.sentence(name, code, decoded.kind, numerals.spoken(value), tail)
    what = fate(state.code, state.format, state.typed)
    if not what or what == words.SUBNORMAL:  # the sentence says so already
        return told
    return f"{told} {words.told_fate(_typed(state), name, what)}"


def _implicit(decoded: Decoded) -> str:
    if decoded.implicit_bit is None:
        return ""
    return f"{decoded.implicit_bit}{'.' if decoded.format.significand_bits else ''}"


def _value(decoded: Decoded) -> Row:
    full, shown = numerals.exact(decoded.value), value_markup(decoded)
    return Row("value", [("", shown)], full if "…" in shown else "")


def _fraction(decoded: Decoded) -> str:
    quantum = quantum_exponent(decoded)
    if decoded.fraction is None or quantum is None:
        return words.NONE
    return numerals.power_form(decoded.fraction, quantum)


def _short(decoded: Decoded) -> str:
    """Write a finite value with enough digits to tell it from its neighbours."""
    assert decoded.fraction is not None
    if not decoded.fraction:
        return numerals.exact(decoded.value)
    return numerals.typeset(
        numerals.about(decoded.fraction, numerals.digits_for(decoded.format.precision))
    )


def _effective_exponent(decoded: Decoded) -> int:
    """Return the biased exponent that counts: subnormals count as field 1."""
    assert decoded.exponent is not None
    return decoded.exponent + decoded.format.bias


def _biased(decoded: Decoded) -> Pieces:
    bits = f"{decoded.biased_exponent:0{decoded.format.exponent_bits}b}"
    return [("exponent", f"{bits}_{{2}}"), ("", f" = {decoded.biased_exponent}")]


def _exponent(decoded: Decoded) -> str:
    if decoded.exponent is None:
        return words.no_exponent(decoded.format)
    difference = f"{_effective_exponent(decoded)} - {decoded.format.bias} = {decoded.exponent}"
    return difference + ("" if decoded.implicit_bit else words.SUBNORMAL_EXPONENT)


def _significand(decoded: Decoded) -> Pieces:
    significand, width = decoded.significand, decoded.format.significand_bits
    if significand is None:
        return [("", words.no_exponent(decoded.format))]
    digits = f".{decoded.significand_field:0{width}b}" if width else ""
    value = numerals.about(significand, numerals.digits_for(decoded.format.precision))
    return [
        ("implicit", str(decoded.implicit_bit)),
        ("significand", f"{digits}_{{2}}"),
        ("", numerals.equals(value)),
    ]


def _neighbour(decoded: Decoded, side: str) -> Row:
    code = getattr(neighbours(decoded.code, decoded.format), side)
    if code is None:
        return Row(side, [("", words.NONE)])
    there = decode(code, decoded.format)
    gap = getattr(gaps(decoded.code, decoded.format), side)
    # Neighbours differ by one unit in the last place of one of the two: a power of two.
    exponent = None if gap is None else numerals.log2_exact(gap)
    away = None if exponent is None else numerals.power_of_two(exponent)
    return Row(side, [("", words.neighbour(value_markup(there), away))])


def _error(error: Deviation, state: BitState) -> str:
    typed = _typed(state)
    if error.absolute is None or error.ulps is None:
        return words.no_error(error.reason, typed)
    if error.absolute == 0:
        return words.zero_error(typed)
    absolute = numerals.typeset(numerals.about(error.absolute))
    ulps = numerals.typeset(numerals.about(error.ulps, 3, 5))
    relative = error.relative
    told = "" if relative is None else numerals.typeset(numerals.about(relative, 3, 3))
    return words.error(absolute, ulps, told, typed)


def _typed(state: BitState) -> str:
    return numerals.shorten(state.typed)
