"""Every word of the block FMA widget, in one place, so that another language needs one file.

BLOCK_LABELS goes to the browser as it stands. Markup is that of `numerals`.
"""

from __future__ import annotations

BLOCK_LABELS = {
    "gpu": "GPU",
    "input": "Inputs a, b",
    "output": "C and result",
    "presets": "Examples",
    "numbers": "Numbers",
    "a": "a",
    "b": "b",
    "c": "C",
    "place": "Place of the term in the dot product",
    "add": "Add a term",
    "remove": "Remove term",
    "number_hint": "Numbers: 0.1, 2^-14, 3*2^-14, 1 - 2^-24; Enter takes one.",
    "stages": "Stage",
    "blocks": "Block",
    "previous": "Previous",
    "next": "Next",
    "picture": "The terms of the block, bit by bit",
    "term": "Term",
    "product": "Exact value",
    "exponent": "Exponent",
    "bits": "Significand bits",
    "largest": "largest",
    "every": "The same numbers on every GPU",
    "legend_kept": "kept",
    "legend_cut": "falls off",
    "legend_point": "binary point after it",
    "legend": "Bits:",
    "silent": "The kernel does not answer: it is busy, or it was restarted. "
    "If it stays silent, run the cell again.",
}

#: The stages of a block, in order; the keys serve Python.
STAGES = {
    "products": "products",
    "exponents": "exponents",
    "alignment": "alignment",
    "cut": "cut",
    "sum": "sum",
    "rounding": "rounding",
}

PRESETS = {
    "last_place": "1·1 − (1 − 2^{-24})",
    "which_gpu": "Which GPU?",
    "crumbs": "Sixteen crumbs",
    "unnormalised": "1.5·1.5 cancelled",
    "toward_zero": "¾ of an ulp",
    "random": "Random",
}

ROUNDINGS = {
    "toward_zero": "toward zero",
    "nearest_even": "to nearest, ties to even",
}

SUM = "Sum of what is kept"
EXACT = "Exactly rounded"
INFINITE = {"infinity": "infinity", "nan": "NaN"}


def plural(count: int, noun: str) -> str:
    """Put a count before a noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def title(gpu: str, input_format: str, output_format: str, length: int, fraction_bits: int) -> str:
    """Say what a block of this GPU is."""
    return (
        f"{gpu}, {input_format} in, {output_format} out: blocks of {length} products; "
        f"terms are kept down to 2^{{emax − {fraction_bits}}}"
    )


def kept_bits(format_name: str, bits: int | None) -> str:
    """Name the output format, and the fraction bits it keeps where these are fewer."""
    return format_name if bits is None else f"{format_name} with {bits} fraction bits"


def evidence(text: str) -> str:
    """Say what the numbers of a GPU rest on."""
    return f"Rests on: {text}."


def became(typed: str, format_name: str, value: str) -> str:
    """Say that a number was rounded to the input format."""
    return f"{typed} is not a number of {format_name}: {value} is used."


def no_such_format(gpu: str, wanted: str, taken: str) -> str:
    """Say that a change of GPU took the format along."""
    return f"{gpu} has no {wanted}; {taken} is taken."


def taken_place(place: int) -> str:
    """Refuse to put a term where another is."""
    return f"Term {place} is there already; choose another place."


def wrong_place(typed: str, last: int) -> str:
    """Refuse a place outside the dot product."""
    return f"{typed!r} is no place; terms are counted from 0 to {last}."


def full(last: int) -> str:
    """Refuse a further term."""
    return f"Places 0 to {last} are all taken."


def block_name(number: int, count: int) -> str:
    """Name a block of a chain."""
    return f"Block {number + 1} of {count}"


def term_span(first: int, last: int, number: int) -> str:
    """Say which terms a block adds, and to what."""
    start = "C" if number == 0 else f"the result of block {number}"
    return f"terms {first} to {last} and {start}"


def chain_c(number: int) -> str:
    """Label the term that a block takes over."""
    return "C" if number == 0 else f"block {number}"


def result_of(gpu: str) -> str:
    """Label the result."""
    return f"{gpu} gives"


def result_row(gpu: str, block: int, count: int) -> str:
    """Label the result of one block."""
    return result_of(gpu) if block + 1 == count else f"to block {block + 2}"


def zeros(places: list[str], c: str) -> str:
    """Say which terms are not drawn; `c` names C if it is among them."""
    if not places:
        return f"{c[0].upper()}{c[1:]} is 0 and not drawn." if c else ""
    several = len(places) > 1 or not places[0].isdecimal()
    everything = join([*places, *([c] if c else [])])
    verb = "are" if several or c else "is"
    return f"{'Terms' if several else 'Term'} {everything} {verb} 0 and not drawn."


def join(parts: list[str]) -> str:
    """Put a list into words."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def beyond(places: int) -> str:
    """Say how far right of the picture the rest of a term lies."""
    return f"→ {plural(places, 'more bit')}"


def far(value: str) -> str:
    """Say that a term lies right of the picture as a whole."""
    return f"→ {value}"


def spoken_bits(significand: str, kept: int, cut: int, lost: str) -> str:
    """Tell the bits of a term to a screen reader."""
    if not cut:
        return f"significand {significand}, all kept"
    return f"significand {significand}: {plural(kept, 'bit')} kept, {cut} cut off, worth {lost}"


def products(count: int) -> str:
    """Describe the stage in which products are formed."""
    if not count:
        return "All products are zero: only C is left."
    subject = "The product is" if count == 1 else f"The {count} products are"
    return f"{subject} exact: multiplying loses nothing. C joins as one more term."


def exponents(largest: int, owner: str) -> str:
    """Describe the stage in which the largest exponent is found."""
    return (
        "The exponent of a product is the sum of its factors' exponents; it is not normalised, "
        f"so a product may begin with 1., 10. or 11. The largest is emax = {largest}, {owner}."
    )


def owner_term(label: str) -> str:
    """Say which term has the largest exponent."""
    return f"that of {label}"


#: Who has the largest exponent if every term is smaller than the one that stands for zero.
OWNER_ZERO = "the one the hardware gives to zero"


def owner_c(number: int) -> str:
    """Name the term that a block takes over, in a sentence."""
    return "C" if number == 0 else f"the result of block {number}"


def alignment(largest: int, fraction_bits: int, quantum: str) -> str:
    """Describe the stage in which terms are shifted to a common grid."""
    return (
        "Every term is shifted to one grid. Its last place is "
        f"2^{{emax − F}} = 2^{{{largest} − {fraction_bits}}} = {quantum}."
    )


def cut(touched: int, terms: int, lost: str, quantum: str) -> str:
    """Describe the stage in which terms are cut."""
    if not touched:
        return f"Nothing falls off: all {plural(terms, 'term')} end at {quantum} or before."
    subject = "the only term" if terms == 1 else f"{touched} of {terms} terms"
    return f"Bits right of the line fall off, whatever they are: {subject}, together {lost}."


def total(value: str) -> str:
    """Describe the stage in which what is left is added."""
    return f"What is left is added exactly: {value}."


def rounding(how: str, format_name: str, result: str, verdict: str) -> str:
    """Describe the last stage."""
    return f"The sum is rounded once, {how}, to {format_name}: {result}. {verdict}"


def verdict(ulps: str | None, above: bool, exact: str, scope: str) -> str:
    """Hold a result against the exactly rounded one; `ulps` is None for none."""
    if ulps is None:
        return f"That is the exactly rounded value{scope}."
    side = "more" if above else "less"
    return f"Exactly rounded{scope} it would be {exact}: the result is {ulps} ulp {side}."


def verdict_of_zero(exact: str, scope: str) -> str:
    """Hold a result against an exact zero, where ulps tell nothing."""
    return f"Exactly rounded{scope} it would be {exact}."


SCOPE_CHAIN = ", over all blocks,"


def special(result: str, cause: str) -> str:
    """Describe every stage of a block with an infinity or a NaN."""
    return f"{cause} decides the result: {result}. Nothing is aligned or cut."


SPECIAL_CAUSE = "An infinity or a NaN"
