"""Which numbers a Tensor Core takes: values that its formats hold exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import FloatFormat, get_format, power_of_two
from ampcourse.rounding import floor_log2
from ampcourse.tensor_core.configurations import Configuration


def check_operands(a: Sequence[float], b: Sequence[float], c: float, rule: Configuration) -> None:
    """Raise ValueError unless a and b are equally long and every value is exact in its format.

    A and B have the input format, C the output format.
    """
    if len(a) != len(b) or not len(a):
        raise ValueError(
            f"a has {len(a)} values and b has {len(b)}; a dot product needs as many of each, "
            "and at least one"
        )
    for name, values in (("a", a), ("b", b)):
        for k, x in enumerate(values):
            if not is_exact(x, rule.input):
                raise ValueError(inexact_message(x, rule.input, f"{name}[{k}]"))
    if not is_exact(c, rule.output):
        raise ValueError(inexact_message(c, rule.output, "c"))


def is_exact(x: float, fmt: str | FloatFormat) -> bool:
    """Whether the format has a code for exactly this value.

    >>> is_exact(2**-24, "fp16"), is_exact(2**-25, "fp16"), is_exact(449.0, "e4m3")
    (True, False, False)
    """
    fmt = get_format(fmt)
    if not math.isfinite(x):
        return fmt.has_nan if math.isnan(x) else fmt.has_infinity
    if x == 0:
        return True
    value = Fraction(x)
    quantum = power_of_two(max(floor_log2(value), fmt.emin) - fmt.significand_bits)
    return (value / quantum).denominator == 1 and abs(value) <= fmt.max


def inexact_message(x: float, fmt: FloatFormat, place: str) -> str:
    """Say that a value at some place is not exact in a format, and what to do.

    >>> inexact_message(0.1, get_format("e5m2"), "a[0]")
    "a[0] = 0.1 is not exact in e5m2, whose nearest is 0.09375; round first: quantize(a, 'e5m2')"
    """
    name = place.split("[")[0]
    start = f"{place} = {float(x)!r} is not exact in {fmt.name}"
    if math.isinf(x):
        return f"{start}, which has no infinity; its largest number is {float(fmt.max):g}"
    nearest = decode(encode(float(x), fmt), fmt).value
    how = f"quantize({name}, {fmt.name!r})"
    if fmt.name == "tf32":
        how += f", or to_tf32({name}) to drop 13 bits as the hardware does"
    if not math.isfinite(nearest):
        return f"{start}, whose largest number is {float(fmt.max):g}; scale it, or {how} first"
    return f"{start}, whose nearest is {nearest!r}; round first: {how}"
