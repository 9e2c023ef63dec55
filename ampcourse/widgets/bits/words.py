"""Every word the widgets show, in one place, so that another language needs one other file.

LABELS and COMPARISON_LABELS go to the browser as they stand; the tables and sentences below
serve Python. Markup is that of `numerals`.
"""

from __future__ import annotations

from ampcourse.formats import FloatFormat

LABELS = {
    "formats": "Format",
    "number": "Number",
    "encode": "Encode",
    "keys": "Click a bit, or use the keyboard: ← → move, ↑ ↓ change field, Space flips, "
    "0 and 1 set a bit and move on.",
    "actions": "Change the number",
    "negate": "Flip sign",
    "below": "Next below",
    "above": "Next above",
    "sliders": "Fields and widths",
    "exponentField": "Exponent field",
    "significandField": "Significand field",
    "exponentWidth": "Exponent width",
    "significandWidth": "Significand width",
    "readouts": "Read-outs",
    "full": "All digits",
    "implicit": "implicit",
    "typed": "typed",
    "silent": "The kernel does not answer: it is busy, or it was restarted. "
    "If it stays silent, run the cell again.",
}

COMPARISON_LABELS = {
    "number": LABELS["number"],
    "encode": LABELS["encode"],
    "silent": LABELS["silent"],
    "caption": "One number in eight formats",
    "format": "Format",
    "bits": "Bits",
    "value": "Value",
    "error": "Relative error",
}

TERMS = {
    "value": "Value",
    "fraction": "As a fraction",
    "hex": "Hex",
    "biased": "Biased exponent",
    "exponent": "Exponent",
    "significand": "Significand",
    "below": "Next below",
    "above": "Next above",
    "error": "Error",
}

KINDS = {
    "zero": "zero",
    "subnormal": "subnormal",
    "normal": "normal",
    "infinity": "infinity",
    "nan": "NaN",
}

CUSTOM = "custom"
NONE = "none"

NAN_ERROR = "none, NaN has no distance"
INFINITE_ERROR = "infinite"
FAR_ERROR = "not written out: the number has over 800 digits or lies beyond 10^{±400}"

NO_CODE = "no code"
NO_ERROR = "0, exact"
SHORT_REASONS = {NAN_ERROR: "none", FAR_ERROR: "not written out"}

# What becomes of a number; the subject of each is the format.
OVERFLOW = "overflows to infinity"
OVERFLOW_NAN = "overflows to NaN, having no infinity"
UNDERFLOW = "underflows to zero"
NO_SIGN = "has no sign, so NaN"
NO_ZERO = "has no zero, so NaN"
NO_NAN = "has no NaN"
SUBNORMAL = "has only a subnormal for it, with fewer bits"
SUBNORMAL_EXPONENT = ", as if the field were 1"


def format_name(fmt: FloatFormat, custom: bool) -> str:
    """Name a format in a sentence."""
    return f"{CUSTOM} {fmt.exponent_bits} + {fmt.significand_bits}" if custom else fmt.name


def format_title(fmt: FloatFormat, custom: bool, twin: str) -> str:
    """Say what a format is made of; `twin` is the preset that a custom one equals, if any."""
    specials = {
        "ieee": "has infinity and NaN",
        "all_ones_nan": "has NaN but no infinity",
        "none": "has neither infinity nor NaN",
    }
    sign = "1 sign" if fmt.signed else "no sign"
    same = f" (the same as {twin})" if custom and twin else ""
    return (
        f"{format_name(fmt, custom)}{same}: {fmt.bits} bits = {sign} + "
        f"{fmt.exponent_bits} exponent + {fmt.significand_bits} significand; "
        f"bias {fmt.bias}; {specials[fmt.special_codes]}"
    )


def field_title(field: str, width: int) -> str:
    """Head a field of the bit grid."""
    if field == "sign":
        return "sign"
    return f"{field}, {width} bit{'' if width == 1 else 's'}"


def bit_name(field: str, exponent: int | None) -> str:
    """Name a bit for a screen reader."""
    if exponent is None:
        return "sign bit"
    worth = str(2**exponent) if 0 <= exponent <= 10 else f"2 to the {exponent}"
    return f"{field} bit worth {worth}"


def formula_of_special(kind: str, sign: int, fmt: FloatFormat) -> str:
    """Say which bits make an infinity or a NaN."""
    if kind == "infinity":
        minus = "minus " if sign else ""
        return f"exponent bits all 1 and significand field 0: {minus}infinity"
    if fmt.special_codes == "ieee":
        return "exponent bits all 1 and significand field not 0: NaN"
    return f"all bits 1{' after the sign' if fmt.signed else ''}: NaN"


def no_exponent(fmt: FloatFormat) -> str:
    """Say why a code has no exponent and no significand."""
    if fmt.special_codes == "ieee":
        return f"{NONE}, the exponent field is reserved"
    return f"{NONE}, this code is reserved"


def neighbour(value: str, gap: str | None) -> str:
    """Say where a neighbour is and how far away."""
    return value if gap is None else f"{value}, {gap} away"


def zero_error(typed: str) -> str:
    """Say that there is no error."""
    return f"0, the value is exactly {typed}"


def error(absolute: str, ulps: str, relative: str, typed: str) -> str:
    """Put the three forms of an error in a line."""
    tail = f"; relative {relative}" if relative else ""
    return f"{absolute} against {typed}, that is {ulps} ulp{tail}"


def no_error(reason: str, typed: str) -> str:
    """Say why there is no error to show."""
    return f"{reason} (typed: {typed})"


def not_held(format_name: str) -> str:
    """Say that a change of format found no code for the number."""
    return f"{format_name} has no NaN; all bits are now 0."


def at_largest(value: str) -> str:
    """Say that a number was too large and became the largest."""
    return f"stops at its largest number, {value}"


def at_smallest(value: str) -> str:
    """Say that a number was too small and became the smallest."""
    return f"stops at its smallest number, {value}"


def sentence(name: str, code: str, kind: str, value: str, distance: str) -> str:
    """Tell the whole state in one sentence for a screen reader."""
    articles = {"normal": "a normal number, ", "subnormal": "a subnormal number, "}
    return f"{name} {code} is {articles.get(kind, '')}{value}{distance}."


def told_fate(typed: str, name: str, fate: str) -> str:
    """Say what became of the typed number, after the sentence."""
    return f"For {typed}, {name} {fate}."


def distance(ulps: str, below: bool, typed: str) -> str:
    """Say in the sentence how far the value is from what was typed."""
    return f", {ulps} ulp {'below' if below else 'above'} {typed}"


def exactly(typed: str) -> str:
    """Say in the sentence that the value is what was typed."""
    return f", exactly {typed}"


def right_bits(count: int) -> str:
    """Say how many leading bits of a number survived."""
    return f"{count} bit{'' if count == 1 else 's'} right"


def compared(typed: str) -> str:
    """Head the comparison."""
    return f"{typed} in eight formats"


def compared_sentence(typed: str, exact: list[str], fates: list[tuple[str, str]]) -> str:
    """Sum the comparison up: which formats hold the number, what becomes of it in others."""
    parts = [f"exact in {', '.join(exact)}"] if exact else []
    parts += [f"{name} {fate}" for name, fate in fates]
    return f"{compared(typed)}: {'; '.join(parts) or 'rounded in all of them'}."
