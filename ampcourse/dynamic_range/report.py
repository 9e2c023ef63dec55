"""What becomes of each value in a format: zero, flushed, subnormal, normal, overflow."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ampcourse.dynamic_range.boundaries import Boundaries, boundaries
from ampcourse.dynamic_range.histogram import ExponentHistogram
from ampcourse.dynamic_range.values import CHUNK, flat, is_tensor
from ampcourse.formats import FP32, FP64, FloatFormat, get_format
from ampcourse.rounding import floor_log2

if TYPE_CHECKING:
    from ampcourse.dynamic_range.values import Values

#: The classes of a report; together they hold every value once.
CLASSES = ("zeros", "flushed", "subnormal", "normal", "overflow", "infs", "nans")


@dataclass(frozen=True)
class RangeReport:
    """How many values end in which class when they are scaled and rounded to a format.

    ==========  ====================================================================
    zeros       zero before anything was done to it
    flushed     not zero, but rounds to zero
    subnormal   rounds to a subnormal number
    normal      rounds to a normal number
    overflow    finite, but larger in magnitude than the format's largest after rounding
    infs, nans  were infinite or NaN already
    ==========  ====================================================================

    A report made from a histogram is exact in zeros, flushed, infs and nans. Two boundaries
    lie inside a bin: of the values under ``subnormal``, ``may_be_normal`` may round up to the
    smallest normal number; of those under ``normal``, ``may_overflow`` may be too large. Both
    are 0 in a report made from the values.
    """

    label: str
    format: str
    scale: float
    mode: str
    zeros: int
    flushed: int
    subnormal: int
    normal: int
    overflow: int
    infs: int
    nans: int
    may_be_normal: int = 0
    may_overflow: int = 0

    @property
    def total(self) -> int:
        """How many values were counted."""
        return sum(getattr(self, name) for name in CLASSES)

    @property
    def nonzero(self) -> int:
        """How many values were not zero before scaling, infinities and NaN left out."""
        return self.flushed + self.subnormal + self.normal + self.overflow

    @property
    def fractions(self) -> dict[str, float]:
        """The share of all values in each class; NaN if there are no values."""
        return {name: _share(getattr(self, name), self.total) for name in CLASSES}

    @property
    def flushed_fraction(self) -> float:
        """The share of all values that rounding turns to zero; true zeros are not in it."""
        return _share(self.flushed, self.total)

    @property
    def flushed_of_nonzero(self) -> float:
        """The share, of the finite values that are not zero, that rounding turns to zero."""
        return _share(self.flushed, self.nonzero)

    def __add__(self, other: RangeReport) -> RangeReport:
        if not isinstance(other, RangeReport):
            return NotImplemented
        asked = ("format", "scale", "mode")
        if any(getattr(self, name) != getattr(other, name) for name in asked):
            raise ValueError(
                f"reports for {self.format} at scale {self.scale:g} and {other.format} at scale "
                f"{other.scale:g} do not add up; ask both the same question"
            )
        names = (*CLASSES, "may_be_normal", "may_overflow")
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        label = self.label if self.label == other.label else ""
        return replace(self, label=label, **sums)

    def as_plain(self) -> dict[str, Any]:
        """Return the counts, with the total, as numbers and text only."""
        names = ("label", "format", "scale", "mode", *CLASSES, "may_be_normal", "may_overflow")
        return {name: getattr(self, name) for name in names} | {"total": self.total}


def range_report(
    x: Values | ExponentHistogram,
    fmt: str | FloatFormat,
    scale: float = 1.0,
    mode: str = "nearest_even",
    label: str = "",
) -> RangeReport:
    """Count what becomes of x when every value is multiplied by scale and rounded to a format.

    The product is taken exactly and rounded once, whatever the scale. Under nearest_even a
    tie goes to the even neighbour, so 2^-25 becomes 0 in FP16 but what is just above it 2^-24;
    overflow starts at 65520 (IEEE 754-2019, 4.3.1 and 7.4). Formats that saturate overflow at
    the same place.

    ``x`` is an array, a tensor (counted on its device) or floats, as for exponent_histogram,
    or a histogram; then the scale must be a power of two and the mode must treat both signs
    alike, and RangeReport says what is exact. Raises ValueError for a scale that is not
    positive and finite, for E8M0 and for unknown names.

    >>> r = range_report([0.0, 2.0**-25, 1.0001 * 2.0**-25, 2.0**-14, 65519.0, 65520.0], "fp16")
    >>> r.zeros, r.flushed, r.subnormal, r.normal, r.overflow
    (1, 1, 1, 2, 1)
    >>> range_report([2.0**-25], "fp16", scale=2).flushed
    0
    """
    fmt = get_format(fmt)
    factor = check_scale(scale)
    if isinstance(x, ExponentHistogram):
        counts = _of_histogram(x, fmt, factor, mode)
        label = label or x.label
    else:
        counts = _of_values(flat(x), fmt, factor, mode)
    return RangeReport(label=label, format=fmt.name, scale=float(scale), mode=mode, **counts)


def check_scale(scale: float) -> Fraction:
    """Return a scale as an exact number; raise ValueError unless it is positive and finite."""
    if not 0 < scale < math.inf:
        raise ValueError(f"scale = {scale!r} is no positive number; pass 1.0 for none")
    return Fraction(float(scale))


def power_of_two_exponent(factor: Fraction) -> int:
    """Return k for 2^k; raise ValueError for other numbers, which do not shift a histogram."""
    exponent = floor_log2(factor)
    if factor != Fraction(2) ** exponent:
        near = float(Fraction(2) ** exponent)
        raise ValueError(
            f"scale = {float(factor)!r} is no power of two, and a histogram of exponents can "
            f"only be shifted; pass {near!r} or {2 * near!r}, or the values themselves"
        )
    return exponent


def _of_values(values: Any, fmt: FloatFormat, factor: Fraction, mode: str) -> dict[str, int]:
    """Count by comparing magnitudes with the boundaries, in chunks unless on another device."""
    cuts = [boundaries(fmt, mode, negative).scaled(factor) for negative in (False, True)]
    step = CHUNK if not is_tensor(values) or values.device.type == "cpu" else max(1, len(values))
    tally = dict.fromkeys(CLASSES, 0)
    for start in range(0, len(values), step):
        part = _comparable(values[start : start + step])
        if cuts[0] == cuts[1]:
            _add(tally, abs(part), cuts[0])
        else:
            _add(tally, part[part >= 0], cuts[0])
            _add(tally, -part[~(part >= 0)], cuts[1])
    return tally


def _comparable(part: Any) -> Any:
    """Return 16-bit and narrower floats as float32, the others as they are."""
    if part.dtype.itemsize >= 4:
        return part
    return part.float() if is_tensor(part) else part.astype(np.float32)


def _add(tally: dict[str, int], magnitudes: Any, cuts: Boundaries) -> None:
    """Count magnitudes by class; NaN is not larger than anything and is counted by itself."""
    own = FP64 if magnitudes.dtype.itemsize == 8 else FP32
    above = [
        int((magnitudes >= limit).sum())
        for limit in (
            math.inf,
            cuts.overflow.first_in(own),
            cuts.normal.first_in(own),
            cuts.nonzero.first_in(own),
        )
    ]
    zeros = int((magnitudes == 0).sum())
    nans = int((magnitudes != magnitudes).sum())
    infs, large, normal, kept = above
    tally["infs"] += infs
    tally["overflow"] += large - infs
    tally["normal"] += normal - large
    tally["subnormal"] += kept - normal
    tally["flushed"] += len(magnitudes) - nans - zeros - kept
    tally["zeros"] += zeros
    tally["nans"] += nans


def _of_histogram(
    histogram: ExponentHistogram, fmt: FloatFormat, factor: Fraction, mode: str
) -> dict[str, int]:
    shift = power_of_two_exponent(factor)
    cuts, cuts_of_negative = boundaries(fmt, mode), boundaries(fmt, mode, negative=True)
    if cuts != cuts_of_negative:
        raise ValueError(
            f"mode {mode!r} rounds the two signs differently, and a histogram of exponents has "
            "no signs; pass the values themselves"
        )
    flushed = _flushed(histogram, cuts, shift)
    tiny = histogram.below(fmt.emin - shift)
    too_large = sum(histogram.counts) - histogram.below(fmt.emax + 1 - shift)
    return {
        "zeros": histogram.zeros,
        "flushed": flushed,
        "subnormal": tiny - flushed,
        "normal": sum(histogram.counts) - tiny - too_large,
        "overflow": too_large,
        "infs": histogram.infs,
        "nans": histogram.nans,
        "may_be_normal": _inside(histogram, fmt.emin - 1 - shift),
        "may_overflow": _inside(histogram, fmt.emax - shift),
    }


def _flushed(histogram: ExponentHistogram, cuts: Boundaries, shift: int) -> int:
    """Return how many values round to zero: all below a power of two, and it if on a tie.

    In every mode the boundary is a power of two (the smallest subnormal or half of it) or 0.
    """
    edge = cuts.nonzero
    if edge.value == 0:
        return 0
    exponent = floor_log2(edge.value) - shift
    return histogram.below(exponent) + (0 if edge.included else histogram.powers_at(exponent))


def _inside(histogram: ExponentHistogram, exponent: int) -> int:
    return histogram.at(exponent) - histogram.powers_at(exponent)


def _share(count: int, total: int) -> float:
    return count / total if total else math.nan
